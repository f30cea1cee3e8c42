// <set-weights run="hand-built" step="0" knobs='[{"name": …, "layer": …, "rows": […], "columns": […]}, …]' size="500">: weights that the reader turns.
import { chance } from "./chance.js";
import { make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";
import { largest, run } from "./network.js";
import { KINDS, Problem } from "./problem.js";

const EXAMPLES = ["17 + 19", "b + 19", "17 + b", "a + b"]; // of the kinds
const OURS = "c=1, b=17, a=42, b+19=?"; // the problem of the book
const SLICE = 8; // ms of work at a time

class SetWeights extends Explorable {
  build(weights) {
    this.weights = weights;
    this.knobs = JSON.parse(this.getAttribute("knobs"));
    this.strengths = this.knobs.map(() => 0);
    const below = chance(1), [size] = this.numbers("size");
    this.problems = Array.from({ length: size }, (_, i) => Problem.draw(i % KINDS.length, undefined, below));
    this.tokens = this.problems.map((problem) => problem.tokens());
    this.sliders = this.knobs.map(({ name }, knob) => {
      const says = (strength) => `× ${strength}`;
      return slider(`${knob + 1}. ${name}`, { least: 0, most: 2, step: 0.1, value: 0, says }, (strength) => this.#turn((old, which) => (which === knob ? strength : old)));
    });
    this.kinds = KINDS.map((kind, which) => {
      const bar = make("div", { class: "fill" }), share = make("span", { class: "share" });
      return { bar, share, root: make("li", {}, make("span", { class: "kind", text: EXAMPLES[which] }), make("div", { class: "track" }, bar), share) };
    });
    this.ours = Problem.parse(OURS).tokens();
    this.said = make("p", { class: "said" });
    this.score = make("p", { class: "score" });
    this.verdict = make("p", { class: "verdict", role: "status" });
    const all = [["All off", 0], ["All as built", 1]].map(([text, strength]) => {
      const button = make("button", { type: "button", text });
      button.addEventListener("click", () => this.#turn(() => strength));
      return button;
    });
    this.view.replaceChildren(
      make("div", { class: "hand" }, make("div", { class: "knobs" }, ...this.sliders.map(({ root }) => root), make("div", { class: "controls" }, ...all)),
        make("div", {}, this.score, make("ol", { class: "kinds" }, ...this.kinds.map(({ root }) => root)), this.said)),
      this.verdict,
    );
    this.#turn((old) => old);
  }

  /** Take new strengths, and ask the network so made all problems. */
  #turn(change) {
    this.strengths = this.strengths.map(change);
    this.sliders.forEach(({ set }, knob) => set(this.strengths[knob]));
    const made = this.#made(), counts = KINDS.map(() => [0, 0]);
    this.round = made;
    this.verdict.classList.add("stale"); // until all problems are asked
    this.said.replaceChildren(make("code", { text: OURS }), " gets ", make("strong", { text: String(largest(run(made, this.ours).logits)) }));
    let at = 0;
    const more = () => {
      if (this.round !== made) return; // other strengths came meanwhile
      const end = performance.now() + SLICE;
      while (at < this.problems.length && performance.now() < end) {
        const problem = this.problems[at], count = counts[problem.kind];
        count[0] += largest(run(made, this.tokens[at++]).logits) === problem.answer;
        count[1]++;
      }
      this.#draw(counts);
      if (at < this.problems.length) requestAnimationFrame(more);
      else this.#say(counts);
    };
    requestAnimationFrame(more);
  }

  /** The network with each knob's block of W_Q as strong as that knob is turned. */
  #made() {
    const { weights, knobs, strengths } = this, { model, head } = weights.sizes, W_Q = weights.W_Q.map((W) => W.slice());
    knobs.forEach(({ layer, rows, columns }, knob) => {
      for (let row = rows[0]; row < rows[1]; row++) {
        for (let column = columns[0]; column < columns[1]; column++) W_Q[layer - 1][row * head + column] *= strengths[knob];
      }
    });
    return { ...weights, W_Q };
  }

  #draw(counts) {
    this.kinds.forEach(({ bar, share }, kind) => {
      const [right, of] = counts[kind];
      if (!of) return;
      bar.style.width = `${(100 * right) / of}%`;
      share.textContent = `${Math.round((100 * right) / of)}%`;
    });
    const [right, of] = [0, 1].map((part) => counts.reduce((sum, count) => sum + count[part], 0));
    this.score.replaceChildren(make("strong", { text: String(right) }), ` of ${of} right`);
  }

  #say(counts) {
    const named = (wanted) => EXAMPLES.filter((_, kind) => wanted(counts[kind][0] / counts[kind][1])).map((example) => example.replaceAll(" ", ""));
    const all = KINDS.length, kinds = [["solves", (share) => share === 1], ["mostly solves", (share) => share >= 0.5 && share < 1], ["fails at", (share) => share < 0.5]];
    const found = kinds.map(([does, wanted]) => [does, named(wanted)]).filter(([, examples]) => examples.length);
    const said = found.map(([does, examples]) => `${does} ${examples.length === all ? "all four kinds of sums" : `sums like ${examples.join(", ")}`}`);
    this.verdict.classList.remove("stale");
    this.verdict.textContent = `The network ${said.join(", and ")}.`;
  }
}

if (!customElements.get("set-weights")) customElements.define("set-weights", SetWeights);
