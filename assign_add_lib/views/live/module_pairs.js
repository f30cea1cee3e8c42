// <module-pairs>: which pairs of modules a training mixes, as cells; press one, and see how right three networks of each kind are on it.
// It holds {trainings: {name: ["0 1", …]}, scores: {name: {kind: {"0 1": [share, …]}}}, first: "1 5"}; shares are at most 1.
import { draw, make } from "./elements.js";
import { Explorable } from "./explorable.js";

const MODULES = 8;
const WIDE = 420, LEFT = 130, RIGHT = 405, ROW = 34;
const MARKS = { // one for each kind, drawn around a place
  hypernetwork: (x, y) => draw("circle", { class: "of-hypernetwork", cx: x, cy: y, r: 6 }),
  vanilla: (x, y) => draw("rect", { class: "of-vanilla", x: x - 5, y: y - 5, width: 10, height: 10 }),
  MLP: (x, y) => draw("path", { class: "of-mlp", d: `M${x - 6} ${y + 5}h12l-6 -11z` }),
};

const percent = (share) => `${Math.round(100 * share)}%`;
const mean = (shares) => shares.reduce((sum, each) => sum + each, 0) / shares.length;

class ModulePairs extends Explorable {
  build() {
    Object.assign(this, JSON.parse(this.querySelector("script").textContent));
    this.buttons = Object.keys(this.trainings).map((text) => this.#button({ text }, () => this.#show(text, this.pair)));
    this.cells = new Map();
    const numbers = [...Array(MODULES).keys()], grid = make("div", { class: "pair-cells" }, make("span"));
    grid.append(...numbers.slice(1).map((text) => make("span", { text })));
    for (const one of numbers.slice(0, -1)) {
      grid.append(make("span", { text: one }));
      for (const other of numbers.slice(1)) grid.append(one < other ? this.#cell(`${one} ${other}`) : make("span"));
    }
    this.picture = make("div", { class: "pair-scores" });
    this.verdict = make("p", { class: "verdict", role: "status" });
    this.view.replaceChildren(make("div", { class: "controls" }, ...this.buttons), make("div", { class: "pairs-and-scores" }, grid, this.picture), this.verdict);
    this.#show(Object.keys(this.trainings)[0], this.first);
  }

  #button(attributes, told) {
    const button = make("button", { type: "button", ...attributes });
    button.addEventListener("click", told);
    return button;
  }

  #cell(pair) {
    const cell = this.#button({}, () => this.#show(this.training, pair));
    this.cells.set(pair, cell);
    return cell;
  }

  #show(training, pair) {
    Object.assign(this, { training, pair });
    const trained = new Set(this.trainings[training]), words = (each) => each.replace(" ", " with ");
    for (const button of this.buttons) button.ariaPressed = String(button.textContent === training);
    for (const [each, cell] of this.cells) {
      cell.ariaPressed = String(each === pair);
      cell.className = trained.has(each) ? "mixed" : "never";
      cell.textContent = trained.has(each) ? "" : "?";
      cell.ariaLabel = `${words(each)}, ${trained.has(each) ? "in training" : "never mixed"}`;
    }
    const found = Object.entries(this.scores[training]).map(([kind, pairs]) => [kind, pairs[pair]]);
    const told = found.map(([kind, shares]) => `${kind} ${percent(mean(shares))}`).join(", ");
    this.#draw(found);
    this.verdict.textContent = `${words(pair)}: ${trained.has(pair) ? "in training" : "never mixed"}. Means of three: ${told}.`;
  }

  /** A line from 0 to 100% for each kind, with a mark for each of its networks. */
  #draw(found) {
    const bottom = ROW * found.length + 8, x = (share) => LEFT + (RIGHT - LEFT) * Math.max(share, 0);
    const said = found.map(([kind, shares]) => `${kind}: ${shares.map(percent).join(", ")}`).join("; ");
    const drawing = draw("svg", { viewBox: `0 0 ${WIDE} ${ROW * 3 + 36}`, role: "img", "aria-label": `Scores of three networks each. ${said}.` });
    for (const share of [0, 0.5, 1]) drawing.append(draw("path", { class: "level", d: `M${x(share)} 4V${bottom}` }), draw("text", { x: x(share), y: bottom + 20 }, percent(share)));
    found.forEach(([kind, shares], row) => {
      const y = ROW * row + 22;
      drawing.append(draw("text", { class: "kind", x: 0, y: y + 5 }, kind), draw("path", { class: "level", d: `M${LEFT} ${y}H${RIGHT}` }), ...shares.map((share) => MARKS[kind](x(share), y)));
    });
    this.picture.replaceChildren(drawing);
  }
}

if (!customElements.get("module-pairs")) customElements.define("module-pairs", ModulePairs);
