// What the things to move share: each is an element that holds a still picture, for print and where no script runs.
// Once the reader comes near, it fetches its network and is drawn in the place of that picture: by `build(weights)`.
// One that can be drawn before its network is there has a `sketch()`, too, and fetches it once all the page is there.
import { make, onceNear } from "./elements.js";
import { shelfOf } from "./shelf.js";

export class Explorable extends HTMLElement {
  connectedCallback() {
    if (this.view) return;
    if (document.readyState === "loading") { // what stands in it comes after its tag
      return document.addEventListener("readystatechange", () => this.connectedCallback(), { once: true });
    }
    this.view = make("div", { class: "live-view" });
    if (!this.sketch) return onceNear(this, () => this.#begin());
    this.sketch();
    this.#stand();
    onceNear(this, () => (document.readyState === "complete" ? this.#begin() : addEventListener("load", () => this.#begin(), { once: true })));
  }

  /** Take the place of the still picture. */
  #stand() {
    this.classList.add("live");
    if (!this.view.isConnected) this.append(this.view);
  }

  async #begin() {
    try {
      const weights = this.hasAttribute("run") && (await shelfOf(this).weights(this.getAttribute("run"), this.getAttribute("step")));
      this.build(weights);
      this.#stand();
    } catch (error) {
      const again = make("button", { type: "button", text: "Try again" }), trouble = make("div", {}, make("p", { class: "error", role: "alert", text: error.message }), again);
      again.addEventListener("click", () => (trouble.remove(), this.#begin()));
      this.view.append(trouble);
      if (!this.view.isConnected) this.append(this.view);
    }
  }

  /** The numbers of an attribute. */
  numbers(name) {
    return this.getAttribute(name).split(" ").map(Number);
  }
}
