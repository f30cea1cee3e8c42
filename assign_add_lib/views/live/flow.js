// <the-flow run="seed-42" step="30000" problem="…" pass="…">: what flows where on the reader's problem; any arrow of attention can be cut.
// With `steps`, those of the algorithm are numbered. `pass` is what the network computes on the problem it opens with, so that all is drawn before its weights are there.
import { FlowPicture } from "./arrows.js";
import { make, onceNear } from "./elements.js";
import { Explorable } from "./explorable.js";
import { problemField } from "./field.js";
import { cutArrow, together } from "./interventions.js";
import { run } from "./network.js";
import { LEAST, formOf, handedPass, inPercent, passOf, said, toggled } from "./passes.js";
import { Problem, STUDY } from "./problem.js";

class TheFlow extends Explorable {
  #cuts = []; // [layer, query, key] each
  #chosen = null;

  sketch() {
    const part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    this.picture = new FlowPicture(STUDY, { tapped: (place) => this.#choose(place), cut: (...arrow) => this.#cut(arrow) }, this.hasAttribute("steps"));
    this.field = problemField((problem) => this.#ask(problem), { marked: (wrong) => this.body.classList.toggle("stale", wrong), loose: true });
    this.view.append(this.field.root, this.field.fault,
      part("body", "div", {}, this.picture.root, part("verdict", "p", { class: "verdict", role: "status" }),
        make("div", { class: "reads" }, part("reads", "div", {}), part("mend", "button", { type: "button", text: "Mend all" }), part("note", "p", { class: "note" }))));
    this.field.put(this.getAttribute("problem"));
    this.mend.addEventListener("click", () => {
      this.#cuts = [];
      this.field.text.focus({ preventScroll: true }); // for the button goes
      this.#show(true);
    });
    this.opening = { problem: Problem.parse(this.getAttribute("problem")), pass: handedPass(JSON.parse(this.getAttribute("pass"))) };
    this.problem = this.opening.problem;
    this.#show();
    onceNear(this, () => this.picture.flow());
  }

  build(weights) {
    this.weights = weights;
    this.#show();
  }

  #ask(problem) {
    const [form, old] = [problem, this.problem].map((each) => formOf(each.tokens(), STUDY));
    if (form !== old) [this.#cuts, this.#chosen] = [[], null]; // now other tokens stand there
    this.problem = problem;
    this.#show(true);
  }

  #choose(place) {
    this.#chosen = this.#chosen === place ? null : place;
    this.#show();
  }

  /** Cut an arrow, or mend it. */
  #cut(arrow) {
    this.#cuts = toggled(this.#cuts, arrow);
    this.#show(true);
  }

  /** Show what the network, cut as it is, makes of the problem, once its weights are there if they are needed for that. */
  #show(flowing = false) {
    const { problem, opening, weights, picture } = this, ids = problem.tokens(), cuts = this.#cuts;
    const known = !weights && !cuts.length && String(problem) === String(opening.problem);
    if (!weights && !known) return (this.verdict.textContent = "The network is not here yet …");
    const pass = known ? opening.pass : passOf(run(weights, ids, together(...cuts.map((each) => cutArrow(...each, ids.length)))), ids.length);
    picture.show(ids, problem, pass, this.#chosen, cuts);
    if (flowing) picture.flow();
    const [[layer, query, key]] = cuts.length ? cuts : [[]], name = (place) => STUDY.names[ids[place]];
    const lead = cuts.length > 1 ? `With ${cuts.length} arrows cut, the network ` : cuts.length ? `Layer ${layer}: ${name(query)} no longer attends to ${name(key)}. The network now ` : "The network ";
    const line = lead + said(problem, pass);
    if (this.verdict.textContent !== line) this.verdict.textContent = line;
    this.#list(pass, name);
  }

  /** In words, where the chosen token attends, with a button for each arrow. */
  #list({ layers }, name) {
    const place = this.#chosen, held = document.activeElement?.dataset?.arrow, cuts = this.#cuts;
    const rows = place === null ? [] : [1, 2].filter((layer) => layers[layer - 1][place]);
    this.reads.replaceChildren(...rows.map((layer) => {
      const row = layers[layer - 1][place], isCut = (key) => cuts.some((each) => String(each) === String([layer, place, key]));
      const keys = [...row.keys()].filter((key) => row[key] >= LEAST || isCut(key)).sort((a, b) => row[b] - row[a]);
      const rest = [...row].reduce((sum, weight, key) => sum + (keys.includes(key) ? 0 : weight), 0);
      return make("p", {}, `In layer ${layer}, `, make("strong", { text: name(place) }), " attends to ", ...keys.map((key) => this.#chip([layer, place, key], name, isCut(key), row[key])), rest >= 0.005 ? `and ${inPercent(rest)} to others, each too little to be drawn.` : "");
    }));
    this.mend.hidden = !cuts.length;
    this.note.textContent = cuts.length ? "A cut arrow carries nothing. The others into the same token stay as they were; later ones may change." : "";
    if (held) this.reads.querySelector(`[data-arrow="${held}"]`)?.focus();
  }

  #chip(arrow, name, cut, weight) {
    const [layer, query, key] = arrow;
    const chip = make("button", { type: "button", class: "chip", "data-arrow": String(arrow), "aria-pressed": cut, "aria-label": `${cut ? "Mend" : "Cut"} the arrow from ${name(key)} to ${name(query)} in layer ${layer}, ${cut ? "now 0 %" : inPercent(weight)}` }, make("strong", { text: name(key) }), ` ${cut ? "0 %" : inPercent(weight)} `, make("span", { text: cut ? "mend" : "✂ cut" }));
    chip.addEventListener("click", () => this.#cut(arrow));
    return chip;
  }
}

if (!customElements.get("the-flow")) customElements.define("the-flow", TheFlow);
