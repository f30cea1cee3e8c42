// <one-step letters="a b …" block="…" tokens="c 1 b 17 …" scores="…" added="…" right="…" stride="0.01" window="1.18 1.26" …>:
// the theorem's step, at a length that the reader chooses.  All scores are linear in it, and what one problem makes of them is
// computed here; the share of other problems that are right is handed over, at each multiple of the stride, and drawn as far as
// the reader has gone, so that the curve does not tell before it is asked.
import { draw, make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";
import { largest } from "./network.js";

const CELL = 26, EDGE = 24; // of the table
const SPAN = [36, 386], LEVEL = [286, 30]; // of the curve, from its least to its most

const rounded = (value, digits) => value.toFixed(digits).replace("-", "−");

class OneStep extends Explorable {
  build() {
    const words = (name) => this.getAttribute(name).split(" ");
    Object.assign(this, { letters: words("letters"), tokens: words("tokens") });
    for (const name of ["block", "scores", "added", "right", "window"]) this[name] = this.numbers(name);
    for (const name of ["stride", "N", "x", "y"]) [this[name]] = this.numbers(name);
    this.most = (this.right.length - 1) * this.stride;
    this.reached = 0;
    const says = (place) => rounded(place * this.stride, 2);
    this.slider = slider("length of the step", { least: 0, most: this.right.length - 1, value: 0, says }, (place) => this.#turn(place));
    this.verdict = make("p", { class: "verdict", role: "status" });
    const drawing = (kind, width, height) => draw("svg", { class: kind, viewBox: `0 0 ${width} ${height}`, role: "img" });
    const side = EDGE + CELL * this.letters.length;
    this.table = drawing("letters", side, side);
    this.curve = drawing("curve", 400, 330);
    this.attention = drawing("attention-bars", 400, 138);
    this.sums = drawing("sums", 400, 138);
    const to = ({ clientX, buttons }) => {
      const { left, width } = this.curve.getBoundingClientRect(), [from, until] = SPAN;
      const h = ((((clientX - left) / width) * 400 - from) / (until - from)) * this.most;
      if (buttons) this.#turn(Math.max(0, Math.min(this.right.length - 1, Math.round(h / this.stride))));
    };
    for (const kind of ["pointerdown", "pointermove"]) this.curve.addEventListener(kind, to);
    const panel = (picture, text) => make("div", {}, picture, make("p", { class: "caption", text }));
    this.view.replaceChildren(this.slider.root, this.verdict, make("div", { class: "pictures" },
      panel(this.table, "What a number's letter (row) scores for the letter that is asked (column): the gradient's entry, times the length."),
      panel(this.curve, "How many other problems are right, with one variable and six assignments: drawn as far as you have gone."),
      panel(this.attention, `Where = looks in ${this.#problem()}`),
      panel(this.sums, "What the neurons make of it, by answer."),
    ));
    this.#turn(0);
  }

  #problem() {
    const shown = this.tokens.filter((token) => token !== "PAD"), many = shown.length - 4;
    const pairs = Array.from({ length: many / 2 }, (_, i) => `${shown[2 * i]}=${shown[2 * i + 1]}`);
    return `${pairs.join(", ")}, ${shown[many + 1]}+${shown[many + 2]}=?`;
  }

  /** Go to a multiple of the stride, and draw all that follows. */
  #turn(place) {
    this.slider.set(place);
    this.reached = Math.max(this.reached, place);
    const h = place * this.stride, raised = this.scores.map((score, t) => score + h * this.added[t]), most = Math.max(...raised);
    const grown = raised.map((score) => Math.exp(score - most)), all = grown.reduce((sum, each) => sum + each), a = grown.map((each) => each / all);
    const content = new Float64Array(this.N), logits = new Float64Array(this.N);
    this.tokens.forEach((token, t) => { if (/^\d+$/.test(token)) content[token] += a[t]; });
    content.forEach((one, n) => content.forEach((other, m) => { logits[(n + m) % this.N] += one * other; }));
    const answer = largest(logits), right = (this.x + this.y) % this.N;
    const twice = [this.x, this.y].find((n) => answer === (2 * n) % this.N), why = answer === right ? ": right" : twice ? `, twice ${twice}` : "";
    const [ofX, ofY] = [this.x, this.y].map((n) => rounded(content[n], 2)), share = this.right[place] === 1 ? 100 : Math.min(99, Math.round(100 * this.right[place]));
    this.verdict.textContent = `= reads ${this.x} with ${ofX} and ${this.y} with ${ofY}, and answers ${answer}${why}. Of other problems ${share}% are right.`;
    this.#drawTable(h);
    this.#drawCurve(place);
    this.#drawBars(this.attention, this.#groups(a), "Attention");
    const marked = { [(2 * this.x) % this.N]: "x", [(2 * this.y) % this.N]: "y", [right]: "sum" };
    this.#drawBars(this.sums, Array.from(logits, (size, q) => ({ size, kind: marked[q] ?? "", name: q in marked ? String(q) : "" })), "Logits");
  }

  /** Positions with what each gets, all PAD as one. */
  #groups(a) {
    const groups = [];
    this.tokens.forEach((name, t) => {
      if (name === "PAD" && groups.at(-1)?.name === "PAD") groups.at(-1).size += a[t];
      else groups.push({ name, size: a[t], kind: { [this.x]: "x", [this.y]: "y" }[name] ?? "" });
    });
    return groups.map((each) => ({ ...each, says: true }));
  }

  #drawTable(h) {
    const many = this.letters.length, at = (place) => EDGE + CELL * (place + 0.5);
    const parts = this.letters.flatMap((letter, i) => [[at(i), 16], [10, at(i) + 4]].map(([x, y]) => draw("text", { class: "middle", x, y }, letter)));
    this.block.forEach((each, place) => {
      const [row, column, score] = [Math.floor(place / many), place % many, h * each];
      const square = { x: EDGE + CELL * column + 1, y: EDGE + CELL * row + 1, width: CELL - 2, height: CELL - 2 };
      parts.push(draw("rect", { ...square, class: "cell" }), draw("rect", { ...square, class: score < 0 ? "minus" : "plus", "fill-opacity": Math.min(0.6, (0.6 * Math.abs(score)) / this.most) }));
      if (Math.abs(score) >= 0.05) parts.push(draw("text", { class: "middle", x: at(column), y: at(row) + 4 }, rounded(score, 1)));
    });
    this.table.setAttribute("aria-label", `${many} letters by ${many}: each scores ${rounded(h * this.block[0], 2)} for itself and ${rounded(Math.abs(h * this.block[1]), 2)} for another`);
    this.table.replaceChildren(...parts);
  }

  #drawCurve(place) {
    const x = (h) => SPAN[0] + ((SPAN[1] - SPAN[0]) * h) / this.most, y = (share) => LEVEL[0] + (LEVEL[1] - LEVEL[0]) * share;
    const [from, until] = this.window.map(x), here = [x(place * this.stride), y(this.right[place])];
    const passed = this.reached * this.stride >= this.window[1], points = this.right.slice(0, this.reached + 1).map((share, i) => `${x(i * this.stride).toFixed(1)},${y(share).toFixed(2)}`).join(" ");
    this.curve.setAttribute("aria-label", `Accuracy over the length of the step${passed ? `: above one half only near ${rounded((this.window[0] + this.window[1]) / 2, 2)}` : ""}`);
    this.curve.replaceChildren(
      ...(passed ? [draw("rect", { class: "window", x: from, width: until - from, y: LEVEL[1], height: LEVEL[0] - LEVEL[1] }), draw("text", { class: "middle", x: (from + until) / 2, y: LEVEL[1] - 12 }, `${this.x} and ${this.y} in balance`)] : []),
      ...[0, 0.5, 1].flatMap((share) => [draw("line", { class: "grid", x1: SPAN[0], x2: SPAN[1], y1: y(share), y2: y(share) }), draw("text", { class: "end", x: SPAN[0] - 5, y: y(share) + 4 }, `${100 * share}%`)]),
      ...[0, 0.5, 1, 1.5].filter((h) => h <= this.most).map((h) => draw("text", { class: "middle", x: x(h), y: 304 }, String(h))),
      draw("polyline", { points }),
      draw("line", { class: "here", x1: here[0], x2: here[0], y1: LEVEL[1], y2: LEVEL[0] }), draw("circle", { class: "spot", cx: here[0], cy: here[1], r: 6 }),
      draw("text", { class: "middle", x: (SPAN[0] + SPAN[1]) / 2, y: 324 }, "length of the step"),
    );
  }

  #drawBars(drawing, bars, of) {
    const wide = 392 / bars.length, most = Math.max(...bars.map(({ size }) => size)), best = bars.find(({ size }) => size === most);
    drawing.setAttribute("aria-label", `${of}: the most is that of ${best.name || "another"}`);
    drawing.replaceChildren(...bars.flatMap(({ size, kind, name, says }, i) => {
      const height = (84 * size) / (says ? 1 : most), middle = 4 + wide * (i + 0.5);
      const parts = [draw("rect", { class: kind, x: middle - 0.38 * wide, width: 0.76 * wide, y: 106 - height, height }), draw("text", { class: `middle ${kind}`, x: middle, y: kind === "sum" ? 134 : 121 }, name)];
      return says && size >= 0.005 ? [...parts, draw("text", { class: "middle", x: middle, y: 102 - height }, rounded(size, 2))] : parts;
    }));
  }
}

if (!customElements.get("one-step")) customElements.define("one-step", OneStep);
