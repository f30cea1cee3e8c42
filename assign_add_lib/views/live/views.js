// What a page with live views runs, while the page is still being read: attention is drawn from its numbers, and <assign-add> becomes an element.
import { drawAttentionView } from "./attention.js";
import "./explorer.js";

const draw = () => document.querySelectorAll(".attention-view").forEach(drawAttentionView);
if (document.readyState === "loading") document.addEventListener("readystatechange", draw, { once: true });
else draw();
