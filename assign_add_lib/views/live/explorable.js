// What the things to move share: each is an element that holds a still picture, for print and where no script runs.
// Once the reader comes near, it fetches its network and is drawn in the place of that picture.
import { make, onceNear } from "./elements.js";
import { shelfOf } from "./shelf.js";

export class Explorable extends HTMLElement {
  connectedCallback() {
    if (this.view) return;
    if (document.readyState === "loading") { // what stands in it comes after its tag
      return document.addEventListener("readystatechange", () => this.connectedCallback(), { once: true });
    }
    this.view = make("div", { class: "live-view" });
    onceNear(this, () => this.#begin());
  }

  async #begin() {
    try {
      const weights = this.hasAttribute("run") && (await shelfOf(this).weights(this.getAttribute("run"), this.getAttribute("step")));
      this.build(weights);
      this.classList.add("live");
    } catch (error) {
      const again = make("button", { type: "button", text: "Try again" });
      again.addEventListener("click", () => this.#begin());
      this.view.replaceChildren(make("p", { class: "error", role: "alert", text: error.message }), again);
    }
    this.append(this.view);
  }

  /** The numbers of an attribute. */
  numbers(name) {
    return this.getAttribute(name).split(" ").map(Number);
  }
}
