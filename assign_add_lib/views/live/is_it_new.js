// <is-it-new run="seed-42" step="30000" problem="…" left="…" right="…" pairs="…" examples="…">: could training have contained the reader's problem?
// `left` and `right` are the letters that training puts there, `pairs` the pairs that it adds: a bit each, x after x, as hexadecimal digits.
import { draw, make } from "./elements.js";
import { Explorable } from "./explorable.js";
import { problemField } from "./field.js";
import { largest, run } from "./network.js";
import { Problem } from "./problem.js";

class IsItNew extends Explorable {
  build(weights) {
    this.weights = weights;
    this.bits = Array.from(this.getAttribute("pairs"), (digit) => parseInt(digit, 16).toString(2).padStart(4, "0")).join("").slice(-(weights.sizes.numbers ** 2));
    this.field = problemField((problem) => this.#judge(problem), { marked: (wrong) => [this.body, this.verdict].forEach((each) => each?.classList.toggle("stale", wrong)) });
    const examples = this.getAttribute("examples").split("; ").map((text) => {
      const button = make("button", { type: "button", text });
      button.addEventListener("click", () => this.field.ask(text));
      return button;
    });
    const part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    this.view.replaceChildren(
      this.field.root, make("div", { class: "controls examples", role: "group", "aria-label": "Problems to try" }, "try", ...examples), this.field.fault,
      part("body", "div", { class: "newness" }, part("board", "div", { class: "pairs" }), part("checks", "ul", { class: "checks" })),
      part("verdict", "p", { class: "verdict", role: "status" }));
    this.field.ask(this.getAttribute("problem"));
  }

  #isHeld = (x, y, N) => this.bits[x * N + y] === "0";

  /** What is new about a problem, and what the network says of it. */
  #judge(problem) {
    const { values: [x, y], left, right, task, answer } = (this.problem = problem);
    if (!this.board.childElementCount) this.board.append(this.#pairs(task.numbers));
    const pair = this.#isHeld(x, y, task.numbers), twice = typeof left === "string" && left === right;
    const sides = ["left", "right"].flatMap((side) => (typeof problem[side] !== "string" ? [] : [[side, problem[side], !this.getAttribute(side).includes(problem[side])]]));
    const checks = [
      [pair, `${x} + ${y} is a pair that training ${pair ? "never adds" : "adds"}${pair && x !== y ? (this.#isHeld(y, x, task.numbers) ? `, nor ${y} + ${x}` : `; it adds ${y} + ${x}`) : ""}.`],
      ...sides.map(([side, letter, isNew]) => [isNew, `On the ${side}, training ${isNew ? "never asks" : "asks"} for ${letter}.`]),
      ...(sides.length ? [] : [[false, "Training asks for two typed numbers."]]),
      ...(twice ? [[true, `Training never asks for ${left} twice.`]] : []),
      [false, "Assignments stand in any order, in any places."],
    ];
    this.checks.replaceChildren(...checks.map(([isNew, words]) => make("li", { class: isNew ? "is-new" : "" }, make("b", { text: isNew ? "new" : "seen" }), words)));
    for (const [name, at] of [["cx", x + 0.5], ["cy", task.numbers - y - 0.5]]) this.spot.setAttribute(name, at);
    const many = checks.filter(([isNew]) => isNew).length, said = largest(run(this.weights, problem.tokens()).logits);
    const ways = many === 0 ? "Training could have contained it" : many === 1 ? "This problem is new" : `This problem is new in ${many} ways`;
    this.verdict.textContent = `${ways}. The network says ${said}: ${said === answer ? "right" : `wrong, it is ${answer}`}.`;
  }

  /** All pairs, those that training never adds filled, and a mark for the reader's. */
  #pairs(N) {
    const all = [...Array(N * N).keys()].map((at) => [Math.floor(at / N), at % N]).filter(([x, y]) => this.#isHeld(x, y, N));
    const drawing = draw("svg", { viewBox: `-4 -1 ${N + 5} ${N + 5}`, role: "img", "aria-label": `${all.length} of ${N * N} pairs are never added in training.` });
    this.spot = draw("circle", { class: "spot", r: 1.6 });
    drawing.append(draw("rect", { class: "all", width: N, height: N }), draw("path", { class: "held", d: all.map(([x, y]) => `M${x} ${N - 1 - y}h1v1h-1z`).join("") }), this.spot, draw("text", { x: N / 2, y: N + 3.4 }, "x"), draw("text", { x: -2, y: N / 2 }, "y"));
    drawing.addEventListener("click", ({ clientX, clientY }) => {
      const { x, y } = new DOMPoint(clientX, clientY).matrixTransform(drawing.getScreenCTM().inverse()), pair = [x, N - y].map(Math.floor);
      if (pair.every((number) => number >= 0 && number < N)) this.#add(pair);
    });
    return drawing;
  }

  /** Ask for a pair in the words of the problem that stands there; where that has one letter twice, as typed numbers. */
  #add(pair) {
    const { assignments, left, right } = this.problem, numbers = new Map(assignments);
    const operands = [left, right].map((operand, side) => {
      if (left === right || !numbers.has(operand)) return pair[side];
      numbers.set(operand, pair[side]);
      return operand;
    });
    this.field.ask(String(new Problem([...numbers], ...operands)));
  }
}

if (!customElements.get("is-it-new")) customElements.define("is-it-new", IsItNew);
