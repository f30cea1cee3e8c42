// <break-it run="seed-42" step="30000" runs="seed-42 seed-6" problem="…">: the reader tries to bring a network's right answer behind another.
import { chance } from "./chance.js";
import { descend, inContext, marginOf } from "./descent.js";
import { draw, make } from "./elements.js";
import { Explorable } from "./explorable.js";
import { problemField } from "./field.js";
import { largest, run } from "./network.js";
import { Problem } from "./problem.js";
import { shelfOf } from "./shelf.js";

const KEPT = "break-it", MOST = 20; // finds
const ENOUGH = 10; // tries, after which the search may help
const DESCENTS = 3, SLICE = 12; // of the search: descents, and milliseconds at a time
const SETTLED = 1200; // milliseconds from which on what stands in the field is a try
const MARGINS = [-45, 25], WIDE = 600; // the margins that the bar shows, and its width
const at = (margin) => (WIDE * (Math.min(Math.max(margin, MARGINS[0]), MARGINS[1]) - MARGINS[0])) / (MARGINS[1] - MARGINS[0]);
const signed = (margin) => margin.toFixed(1).replace("-", "−");
const many = (n, word) => `${n} ${n === 1 ? word : word.replace(/y$/, "ie") + "s"}`;
const spoken = (name) => name.replace("-", " ");
const same = (one, other) => one.run === other.run && one.problem === other.problem;

class BreakIt extends Explorable {
  build(weights) {
    Object.assign(this, { weights, run: this.getAttribute("run"), runs: this.getAttribute("runs").split(" "), below: chance(), least: new Map(), tried: new Set() });
    this.kept = this.#recall();
    const part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    const button = (name, text, pressed) => part(name, "button", { type: "button", text }).addEventListener("click", pressed);
    this.field = problemField((problem) => this.#ask(problem), { marked: (wrong) => this.#mark(wrong) });
    this.field.text.addEventListener("change", () => this.#count());
    part("choice", "select", {}, ...this.runs.map((name) => make("option", { value: name, text: spoken(name) })));
    this.choice.addEventListener("change", () => this.#choose(this.choice.value).then(() => this.#count()));
    button("another", "Random context", () => this.#try(inContext(this.problem, this.below)));
    button("go", "", () => (this.searching ? this.searching() : this.#search()));
    button("clear", "Clear", () => this.#clear());
    this.view.replaceChildren(
      make("div", { class: "controls" }, make("label", { text: "Network " }, this.choice), this.field.root), this.field.fault,
      make("div", { class: "controls" }, this.another, this.go, part("score", "span", { class: "score" })), part("note", "p", { class: "search-note", role: "status" }),
      part("verdict", "p", { class: "verdict", role: "status" }),
      part("body", "div", { class: "broken-body" }, make("div", {}, this.#bar(), make("p", { class: "caption", text: "The margin. Dashed: your lowest with this question." })),
        make("div", {}, part("bars", "ol", { class: "attended", "aria-label": "Layer 2's attention of =" }), part("share", "p", { class: "caption" }))),
      part("shelf", "div", { class: "finds" }, make("div", { class: "controls" }, make("span", { text: "Finds, the worst first" }), this.clear), part("list", "ol", {})));
    this.field.ask(this.getAttribute("problem"));
    this.tried.add(this.#key()); // that one is not the reader's
    clearTimeout(this.late);
    this.#tell();
  }

  #key() {
    return `${this.run} ${this.problem}`;
  }

  /** What an earlier visit left: how many tries and finds there were, the least margin, and the finds, worst first. */
  #recall() {
    const none = { tries: 0, found: 0, worst: null, finds: [] };
    try {
      const { tries, found, worst, finds } = JSON.parse(localStorage.getItem(KEPT)) ?? none;
      const whole = finds.every((each) => Number.isFinite(each.margin) && Problem.parse(each.problem)) && [tries, found].every(Number.isInteger) && (!tries || Number.isFinite(worst));
      return whole ? { tries, found, worst, finds: finds.filter((each) => this.runs.includes(each.run)) } : none;
    } catch {
      return none;
    }
  }

  #keep() {
    try {
      localStorage.setItem(KEPT, JSON.stringify(this.kept));
    } catch {} // where a browser forbids to keep anything, finds last as long as the page
    this.#tell();
  }

  #clear() {
    Object.assign(this.kept, { tries: 0, found: 0, worst: null, finds: [] });
    this.tried = new Set([this.#key()]);
    this.least.clear();
    this.#keep();
    this.another.focus();
  }

  #mark(wrong) {
    if (wrong) clearTimeout(this.late);
    for (const each of [this.body, this.verdict]) each?.classList.toggle("stale", wrong);
  }

  /** Have another network answer. */
  async #choose(name) {
    this.choice.value = name;
    try {
      this.held ??= shelfOf(this);
      const weights = await this.held.weights(name, this.getAttribute("step"));
      if (this.choice.value !== name) return; // another was chosen meanwhile
      Object.assign(this, { weights, run: name });
      this.#ask(this.problem);
    } catch (error) {
      this.choice.value = this.run;
      this.field.fault.textContent = error.message;
    }
  }

  #try(problem) {
    this.field.ask(String(problem));
    this.#count();
  }

  /** Show what the network makes of a problem. */
  #ask(problem) {
    if (!problem.assignments.length) throw new Error("put at least one assignment beside the sum, as training always does");
    this.problem = problem;
    this.note.textContent = "";
    if (this.searching) { // of another question, or at its end
      this.searching = null;
      this.#tell();
    }
    const { logits, sites } = run(this.weights, problem.tokens()), right = problem.answer, said = largest(logits), margin = marginOf(logits, right);
    this.found = { run: this.run, problem: String(problem), said, right, margin };
    this.verdict.textContent = said === right ? `The network says ${said}, and is right: the margin is ${signed(margin)}.` : `The network says ${said}, but ${right} is right: the margin is ${signed(margin)}.`;
    this.verdict.classList.toggle("is-broken", margin < 0);
    this.#drawMargin(margin);
    this.#drawAttention(sites["blocks.1.attn.hook_pattern"]);
    clearTimeout(this.late);
    this.late = setTimeout(() => this.#count(), SETTLED);
  }

  /** What stands there is a try, and where the network is wrong, a find; once. */
  #count() {
    clearTimeout(this.late);
    const { kept, found } = this, key = this.#key();
    if (this.field.text.ariaInvalid === "true" || this.tried.has(key) || kept.finds.some((each) => same(each, found))) return;
    this.tried.add(key);
    kept.tries++;
    kept.worst = Math.min(kept.worst ?? Infinity, found.margin);
    if (found.margin < 0) {
      kept.found++;
      this.#add(found);
    }
    this.least.set(this.#question(), Math.min(found.margin, this.least.get(this.#question()) ?? Infinity));
    this.#drawMargin(found.margin);
    this.#keep();
  }

  #add(found) {
    this.kept.finds = [...this.kept.finds, found].toSorted((one, other) => one.margin - other.margin).slice(0, MOST);
  }

  /** What is asked, of whom. */
  #question() {
    const { left, right, values } = this.problem;
    return [this.run, left, right, ...values].join();
  }

  #bar() {
    const parts = { drawing: ["svg", { viewBox: `-30 -26 ${WIDE + 60} 90`, role: "img" }], fill: ["rect", { y: 0, height: 34 }], low: ["path", { class: "low" }], value: ["text", { y: -8, class: "value" }] };
    for (const [name, [tag, attributes]] of Object.entries(parts)) this[name] = draw(tag, attributes);
    const marks = [-40, -20, 0, 20].map((margin) => draw("text", { x: at(margin), y: 56 }, signed(margin).replace(".0", "")));
    const words = [["wrong", -10], ["right", 10]].map(([text, margin]) => draw("text", { class: "side", x: at(margin), y: 56 }, text));
    this.drawing.append(draw("rect", { class: "all", width: WIDE, height: 34 }), ...words, this.fill, this.low, draw("path", { class: "zero", d: `M${at(0)} -6v46` }), this.value, ...marks);
    return this.drawing;
  }

  #drawMargin(margin) {
    const low = this.least.get(this.#question()), [from, to] = [0, margin].map(at).toSorted((one, other) => one - other);
    for (const [name, value] of Object.entries({ x: from, width: to - from, class: margin < 0 ? "behind" : "ahead" })) this.fill.setAttribute(name, value);
    this.value.textContent = signed(margin);
    this.value.setAttribute("x", at(margin));
    this.low.setAttribute("d", low === undefined ? "" : `M${at(low)} -2v38`);
    this.drawing.setAttribute("aria-label", `The margin is ${signed(margin)}${low === undefined ? "" : `, your lowest with this question ${signed(low)}`}.`);
  }

  /** Bars of what = reads: of each assigned number, of those typed in the sum, and of all the rest. */
  #drawAttention(pattern) {
    const { assignments, left, right, task } = this.problem, side = (operand) => (operand === left ? "x" : operand === right ? "y" : "");
    const read = assignments.map(([letter, number], slot) => [`${letter}=${number}`, pattern[2 * slot + 1], side(letter)]);
    for (const [operand, place, name] of [[left, task.left, "x"], [right, task.right, "y"]]) if (typeof operand === "number") read.push([String(operand), pattern[place], name]);
    const sum = (of) => of.reduce((total, [, weight]) => total + weight, 0), percent = (weight) => `${Math.round(100 * weight)}%`;
    this.bars.replaceChildren(...[...read, ["rest", 1 - sum(read), "others"]].map(([name, weight, kind]) => {
      const fill = make("div", { class: "fill" });
      fill.style.height = `${5 * Math.max(0, weight)}rem`;
      return make("li", { class: kind }, make("span", { text: percent(Math.max(0, weight)) }), fill, make("b", { text: name }));
    }));
    this.share.textContent = `Layer 2's attention of =: ${percent(sum(read.filter(([, , kind]) => kind)))} goes to the numbers to add.`;
  }

  /** Search for a worse problem of the same question, a slice at a time; what comes out is shown. */
  #search() {
    const steps = descend(this.weights, this.problem, DESCENTS, this.below);
    let tried = 0, worst;
    const end = () => {
      this.field.ask(String(worst.problem));
      clearTimeout(this.late);
      if (worst.margin < 0 && !this.kept.finds.some((each) => same(each, this.found))) this.#add({ ...this.found, search: true });
      this.tried.add(this.#key()); // it is no try of the reader's
      this.#keep();
      this.note.textContent = `The search tried ${many(tried, "problem")}. ${worst.margin < 0 ? "This is the worst it found." : "It found none that is wrong, which does not show that there is none."}`;
    };
    const go = () => {
      if (this.searching !== end) return; // something else was asked
      const until = performance.now() + SLICE;
      let step;
      do {
        step = steps.next();
        if (!step.done) [worst, tried] = [step.value, tried + 1];
      } while (!step.done && performance.now() < until);
      if (step.done) return end();
      this.score.textContent = `${many(tried, "problem")} tried, lowest margin ${signed(worst.margin)}`;
      setTimeout(go);
    };
    this.searching = end;
    this.#tell();
    go();
  }

  /** Write the score and the finds. */
  #tell() {
    const { tries, found, worst, finds } = this.kept;
    this.score.textContent = tries ? `${many(tries, "try")}, ${many(found, "find")}, least margin ${signed(worst)}` : "";
    this.go.textContent = this.searching ? "Stop the search" : "Let the search try";
    this.go.hidden = tries < ENOUGH && !found;
    this.shelf.hidden = !tries && !finds.length;
    this.list.replaceChildren(...finds.map((each) => {
      const back = make("button", { type: "button", title: "Put it back into the field", text: each.problem });
      back.addEventListener("click", async () => {
        await this.#choose(each.run);
        this.#try(each.problem);
      });
      return make("li", {}, back, make("span", { text: `${spoken(each.run)} said ${each.said}, right is ${each.right}, margin ${signed(each.margin)}${each.search ? ", by the search" : ""}` }));
    }));
  }
}

if (!customElements.get("break-it")) customElements.define("break-it", BreakIt);
