// What a page with live views runs once it is read: attention is drawn from its numbers, and <assign-add> becomes an element.
import { drawAttentionView } from "./attention.js";
import "./explorer.js";

document.querySelectorAll(".attention-view").forEach(drawAttentionView);
