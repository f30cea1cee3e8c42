// <learning-film>: one slider over the kept steps of a run, above it the accuracies, below it what flows where on a problem at that step.
// It holds all that it shows as data, {steps, measured, curves, problems, frames}: some hundred bytes a step, where weights are 560 000.
import { FlowPicture, WIDE } from "./arrows.js";
import { draw, make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";
import { handedPass, said } from "./passes.js";
import { Problem, STUDY } from "./problem.js";

const HIGH = 150, LEFT = 40, FIRST = 100; // of the chart, whose steps from FIRST on are logarithmic, and its left end
const PAUSE = 900; // milliseconds a frame
const SAME = 10; // thousandths: how far odds may move and still be said to stay

const spaced = (step) => String(step).replace(/\B(?=(\d{3})+$)/g, "\u2009");

const LOOKS = { "0-var": "no-letter", "1-var": "one-letter", "2-var": "two-letters" }; // whole names, by which the site keeps their rules

class LearningFilm extends Explorable {
  #playing = 0;

  build() {
    const { steps, measured, curves, problems, frames } = JSON.parse(this.querySelector("script").textContent);
    const part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    Object.assign(this, { steps, measured, curves, at: 0, asked: 0 });
    this.films = problems.map((text, i) => ({ problem: Problem.parse(text), frames: frames[i] }));
    this.picture = new FlowPicture(STUDY);
    this.step = slider("step", { least: 0, most: steps.length - 1, value: 0, says: (at) => spaced(steps[at]) }, (at) => {
      this.#stop();
      this.#show(at);
    });
    const choices = problems.map((text, i) => {
      const input = make("input", { type: "radio", name: "problem", ...(i === 0 && { checked: "" }) });
      input.addEventListener("change", () => this.#show(this.at, i));
      return make("label", {}, input, ` ${text}`);
    });
    this.view.replaceChildren(
      this.#chart(), part("shares", "p", { class: "shares" }),
      make("div", { class: "steps" }, this.step.root, part("play", "button", { type: "button", text: "Play" })),
      make("div", { class: "kinds", role: "radiogroup", "aria-label": "The problem" }, ...choices),
      part("verdict", "p", { class: "verdict", role: "status" }), this.picture.root);
    this.play.addEventListener("click", () => (this.#playing ? this.#stop() : this.#go()));
    this.#show(0);
  }

  #x = (step) => LEFT + ((WIDE - LEFT - 12) * Math.log(Math.max(step, FIRST) / FIRST)) / Math.log(this.measured.at(-1) / FIRST);

  /** The accuracies over training, with a line where the slider stands; a click moves it there. */
  #chart() {
    const y = (share) => HIGH - 24 - ((HIGH - 34) * share) / 1000, chart = draw("svg", { class: "chart", viewBox: `0 0 ${WIDE} ${HIGH}`, "aria-hidden": "true" });
    const text = (x, at, words) => draw("text", { x, y: at }, words), edge = this.measured.at(-1);
    const ticks = [FIRST, 1000, 10000].filter((step) => step < edge);
    chart.append(...ticks.map((step) => text(this.#x(step), HIGH - 2, spaced(step))), draw("text", { class: "end", x: WIDE, y: HIGH - 2 }, spaced(edge)), text(16, y(1000) + 8, "1"), text(16, y(0) + 4, "0"));
    chart.append(draw("path", { class: "axis", d: `M${LEFT} ${y(1000)}V${y(0)}H${WIDE}${this.steps.map((step) => `M${this.#x(step)} ${y(0)}v6`).join("")}` }));
    for (const [kind, shares] of Object.entries(this.curves)) {
      chart.append(draw("path", { class: `curve ${LOOKS[kind]}`, d: `M${shares.map((share, i) => `${this.#x(this.measured[i]).toFixed(1)} ${y(share).toFixed(1)}`).join("L")}` }));
    }
    this.line = draw("path", { class: "now" });
    chart.append(this.line);
    chart.addEventListener("click", ({ clientX }) => {
      const { left, width } = chart.getBoundingClientRect(), x = ((clientX - left) / width) * WIDE, far = (i) => Math.abs(this.#x(this.steps[i]) - x);
      this.#stop();
      this.#show([...this.steps.keys()].reduce((best, i) => (far(i) < far(best) ? i : best)));
    });
    return chart;
  }

  /** Show a frame of a problem's film. */
  #show(at, asked = this.asked) {
    Object.assign(this, { at, asked });
    const { problem, frames } = this.films[asked], step = this.steps[at], row = this.measured.indexOf(step), pass = handedPass(frames[at]);
    this.step.set(at);
    this.line.setAttribute("d", `M${this.#x(step)} 4V${HIGH - 24}`);
    this.shares.replaceChildren("Right answers: ", ...Object.entries(this.curves).map(([kind, shares]) => make("span", { class: LOOKS[kind], text: `${kind} ${Math.round(shares[row] / 10)} %` })));
    this.picture.show(problem.tokens(), problem, pass);
    const stays = at >= this.#settled() ? " In all later frames it says the same." : "";
    this.verdict.textContent = `Step ${spaced(step)}: the network ${said(problem, pass)}${stays}`;
  }

  /** The frame from which neither the answer nor its odds change any more. */
  #settled() {
    const { frames } = this.films[this.asked], [answer, odd] = frames.at(-1).odds[0];
    return frames.findLastIndex(({ odds: [[other, its]] }) => other !== answer || Math.abs(its - odd) > SAME) + 1;
  }

  #go() {
    const play = ++this.#playing, end = this.#settled();
    this.play.textContent = "Stop";
    this.verdict.ariaLive = "off"; // the last is read out
    const next = (at) => {
      if (this.#playing !== play) return;
      if (at === end) this.#stop();
      this.#show(at);
      this.picture.flow();
      if (at < end) this.timer = setTimeout(() => next(at + 1), PAUSE);
    };
    next(this.at < end ? this.at + 1 : 0);
  }

  #stop() {
    clearTimeout(this.timer);
    this.#playing = 0;
    this.play.textContent = "Play";
    this.verdict.ariaLive = null;
  }
}

if (!customElements.get("learning-film")) customElements.define("learning-film", LearningFilm);
