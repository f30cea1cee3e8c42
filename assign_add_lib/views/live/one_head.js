// <one-head values="…" scores="…">: one query of one head, whose scores the reader sets: weights, and the average of the values.
import { draw, make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";
import { softmax } from "./network.js";

const MOST = 8; // of a score, and least below 0
const WIDE = 600, EDGE = 20; // of the line of numbers

const signed = (number) => String(number).replace("-", "−");
const percent = (weight) => `${Math.round(100 * weight)}%`;

class OneHead extends Explorable {
  build() {
    this.values = this.numbers("values");
    this.start = this.numbers("scores");
    this.most = Math.max(...this.values);
    this.rows = this.values.map((value, key) => {
      const score = slider(String(value), { least: -MOST, most: MOST, step: 0.5, value: 0, says: signed }, (to) => this.#set(this.scores.with(key, to)));
      const power = make("span", { class: "power" }), fill = make("div", { class: "fill" }), share = make("span", { class: "share" });
      return { score, power, fill, share, root: make("li", {}, score.root, power, make("div", { class: "track" }, fill), share) };
    });
    this.ways = { "Add 1 to all": (score) => score + 1, "Double all": (score) => 2 * score, "Start again": (_, key) => this.start[key] };
    this.buttons = Object.entries(this.ways).map(([text, way]) => {
      const button = make("button", { type: "button", text });
      button.addEventListener("click", () => this.#fits(way) && this.#set(this.scores.map(way)));
      return button;
    });
    const part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    this.view.replaceChildren(
      make("ol", { class: "head-keys" }, ...this.rows.map(({ root }) => root)),
      make("div", { class: "controls" }, ...this.buttons), this.#line(), part("sum", "p", { class: "sum-line" }), part("verdict", "p", { class: "verdict", role: "status" }));
    this.#set(this.start);
  }

  /** The line of numbers, with the values on it. */
  #line() {
    const line = draw("svg", { class: "number-line", viewBox: `0 0 ${WIDE} 74`, "aria-hidden": "true" });
    line.append(draw("path", { d: `M${EDGE} 44H${WIDE - EDGE}` }));
    this.spots = this.values.map((value) => draw("circle", { cx: this.#x(value), cy: 44 }));
    this.mark = draw("path", { class: "mix" });
    this.mixed = draw("text", { class: "sum", y: 16 });
    line.append(...this.spots, ...this.values.map((value) => draw("text", { x: this.#x(value), y: 70 }, String(value))), this.mark, this.mixed);
    return line;
  }

  #x = (value) => EDGE + ((WIDE - 2 * EDGE) * value) / this.most;

  /** Whether a button leaves all scores on their sliders: cut off at an end, they would no longer be as far apart as it says. */
  #fits = (way) => this.scores.map(way).every((score) => Math.abs(score) <= MOST);

  #allow(button, fits) {
    button.ariaDisabled = String(!fits);
    button.title = fits ? "" : "A score would leave its slider.";
  }

  /** Take these scores, and show what softmax and the average make of them. */
  #set(scores) {
    this.scores = scores;
    Object.values(this.ways).forEach((way, place) => this.#allow(this.buttons[place], this.#fits(way)));
    const weights = [...softmax(Float64Array.from(this.scores), this.scores.length)], { values } = this;
    const mix = weights.reduce((sum, weight, key) => sum + weight * values[key], 0);
    this.rows.forEach(({ score, power, fill, share }, key) => {
      const e = Math.exp(this.scores[key]);
      score.set(this.scores[key]);
      power.replaceChildren("e", make("sup", { text: signed(this.scores[key]) }), ` = ${e < 10 ? e.toFixed(2) : Math.round(e)}`);
      fill.style.width = percent(weights[key]);
      share.textContent = percent(weights[key]);
      this.spots[key].setAttribute("r", 3 + 11 * Math.sqrt(weights[key]));
    });
    this.mark.setAttribute("d", `M${this.#x(mix) - 8} 20h16l-8 14z`);
    this.mixed.setAttribute("x", Math.min(WIDE - 24, Math.max(24, this.#x(mix))));
    this.mixed.textContent = mix.toFixed(1);
    this.sum.textContent = `${weights.map((weight, key) => `${weight.toFixed(2)} × ${values[key]}`).join(" + ")} = ${mix.toFixed(1)}`;
    const key = weights.findIndex((weight) => weight >= 0.95);
    const most = Math.max(...weights), leading = values.filter((_, at) => most - weights[at] < 1e-9);
    const so = key >= 0 ? `as good as a copy of ${values[key]}`
      : leading.length === values.length ? "the plain average: no score stands out"
      : leading.length > 1 ? `a mixture, as much of ${leading.join(" as of ")}`
      : `a mixture, most of ${leading[0]}`;
    this.verdict.textContent = `The head brings back ${mix.toFixed(1)}, ${so}.`;
  }
}

if (!customElements.get("one-head")) customElements.define("one-head", OneHead);
