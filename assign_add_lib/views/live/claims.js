// <claim-board chosen="F5a, margin" alone="yes">: claims as rows of ten marks, by verdict; of the chosen one the values, and a level to move.
// It holds { seeds, claims: [{name, study, statement, measured, words, level, least, values, seen}, …] }; `words` explains words of the row.  A value is a number, "never",
// "nothing" where there was nothing to measure, or null where a run was not asked; `seen` has the places of the runs that set the level.
import { draw, make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";

const WIDE = 600, LEFT = 30, RIGHT = 570, STEPS = 240;
const GROUPS = { "held in all": ["held in all", "held once"], "held in most": ["held in most"], "not held": ["not held", "failed once"], "count only": ["count only"] };

const FOLDED = ["held in all", "count only"]; // what teaches least at first sight

const digits = (x) => (Math.abs(x) >= 100 ? x.toFixed(0) : String(Number(x.toPrecision(3))));

/** Whether a value bears a claim out; what never comes is infinitely late. */
function holds({ least }, value, level) {
  return value === "never" ? least : typeof value === "number" && (least ? value >= level : value <= level);
}

/** In how many of the runs that are evidence a claim holds at a level, of how many, and the verdict. */
function judged(claim, level) {
  const { values, seen } = claim, asked = values.flatMap((value, run) => (value === null ? [] : [run]));
  const evidence = asked.filter((run) => !seen.includes(run)), counted = evidence.length ? evidence : asked;
  const held = counted.filter((run) => holds(claim, values[run], level)).length, of = counted.length;
  const once = held ? "held once" : "failed once", many = held === of ? "held in all" : held >= 0.75 * of ? "held in most" : "not held";
  return { held, of, verdict: evidence.length ? (of === 1 ? once : many) : "count only" };
}

class ClaimBoard extends Explorable {
  build() {
    Object.assign(this, JSON.parse(this.querySelector("script").textContent));
    const part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    const back = make("button", { type: "button", text: "The level that was set" });
    back.addEventListener("click", () => (this.slider.set(this.home), this.#judge(this.home)));
    this.slider = slider("level", { least: 0, most: STEPS, value: 0, says: (at) => (this.claim ? digits(this.#levelAt(at)) : "") }, (at) => this.#judge(at));
    const one = make("div", { class: "one" },
      part("statement", "p", { class: "statement" }), part("measured", "p", { class: "caption" }), part("words", "p", { class: "caption words" }),
      part("line", "div", { class: "line" }), part("numbers", "ul", { class: "numbers", "aria-label": "The number of each run" }),
      make("div", { class: "controls" }, this.slider.root, back));
    this.rows = this.hasAttribute("alone") ? [] : this.claims.map((claim) => this.#row(claim));
    const sides = [["The study’s", true], ["This book’s", false]].map(([words, study]) => this.#side(words, study));
    this.view.replaceChildren(...(this.rows.length ? [make("div", { class: "all" }, ...sides)] : []), one, part("verdict", "p", { class: "verdict", role: "status" }));
    this.#choose(this.claims.find(({ name }) => name === this.getAttribute("chosen")));
  }

  /** A claim as a button with its name and a mark for each run. */
  #row(claim) {
    const marks = draw("svg", { viewBox: "0 0 120 12", "aria-hidden": "true" }), { verdict } = judged(claim, claim.level);
    claim.values.forEach((value, run) => value !== null && marks.append(this.#mark(claim, run, claim.level, 6 + 12 * run, 6, 4)));
    const root = make("button", { type: "button", class: "claim-row", title: claim.name, "aria-label": `${claim.name}: ${verdict}` }, make("span", { text: claim.name }), marks);
    root.addEventListener("click", () => this.#choose(claim));
    return { claim, verdict, root };
  }

  /** The claims of the study or of the book, by verdict. */
  #side(words, study) {
    const groups = Object.entries(GROUPS).map(([name, verdicts]) => {
      const rows = this.rows.filter(({ claim, verdict }) => claim.study === study && verdicts.includes(verdict));
      const open = FOLDED.includes(name) ? {} : { open: "" };
      return make("details", { class: "group", ...open }, make("summary", { text: `${name}: ${rows.length}` }), this.#heads(), ...rows.map(({ root }) => root));
    });
    return make("div", { class: study ? "side wide" : "side" }, make("p", { class: "whose", text: words }), make("div", { class: "groups" }, ...groups));
  }

  /** Which run each mark of the rows below is. */
  #heads() {
    const heads = draw("svg", { viewBox: "0 0 120 12" });
    this.seeds.forEach((name, run) => heads.append(draw("text", { x: 6 + 12 * run, y: 10 }, name.replace("seed ", ""))));
    return make("div", { class: "heads", "aria-hidden": "true" }, make("span", { text: "seed" }), heads);
  }

  /** A run's mark: a dot where the claim holds, a cross where not; in grey where its value was known when the level was set. */
  #mark(claim, run, level, x, y, size) {
    const value = claim.values[run], good = holds(claim, value, level);
    const known = claim.seen.includes(run) ? " known" : "", s = size * 0.85;
    const mark = good ? draw("circle", { cx: x, cy: y, r: size }) : draw("path", { d: `M${x - s} ${y - s}l${2 * s} ${2 * s}m0 ${-2 * s}l${-2 * s} ${2 * s}` });
    mark.setAttribute("class", (good ? "holds" : "fails") + known);
    mark.append(draw("title", {}, `${this.seeds[run]}: ${typeof value === "number" ? digits(value) : value}`));
    return mark;
  }

  #choose(claim) {
    const numbers = claim.values.filter((value) => typeof value === "number"), all = [...numbers, claim.level];
    const least = Math.min(...all), most = numbers.length ? Math.max(...all) : 2 * claim.level, edge = 0.12 * (most - least || Math.abs(most) || 1);
    Object.assign(this, { claim, from: least - edge, to: most + edge, whole: most > 1 && all.every(Number.isInteger) });
    this.home = Math.round((STEPS * (claim.level - this.from)) / (this.to - this.from));
    for (const { claim: each, root } of this.rows) root.setAttribute("aria-pressed", each === claim);
    this.statement.replaceChildren(make("strong", { text: `${claim.name}. ` }), claim.statement);
    this.measured.textContent = `Measured: ${claim.measured}.`;
    this.words.textContent = claim.words && `(${claim.words}.)`;
    this.slider.set(this.home);
    this.#judge(this.home);
  }

  /** The level at a step of the slider, whole where the claim counts; at its home the one that was set, to the last digit. */
  #levelAt(at) {
    if (at === this.home) return this.claim.level;
    const level = Number((this.from + ((this.to - this.from) * at) / STEPS).toPrecision(3));
    return this.whole ? Math.round(level) : level;
  }

  #judge(at) {
    const level = this.#levelAt(at), { held, of, verdict } = judged(this.claim, level), moved = at === this.home ? "" : " The level was moved after the look.";
    this.#draw(level);
    const name = this.rows.length ? `${this.claim.name}. ` : ""; // said where its statement may be out of sight
    this.verdict.textContent = `${name}${this.claim.least ? "At least" : "At most"} ${digits(level)}: in ${held} of ${of}, ${verdict}.${moved}`;
  }

  /** The values on a line, those that coincide one above the other, and the side of the level on which the claim holds. */
  #draw(level) {
    const { claim, from, to } = this, placed = [], x = (value) => LEFT + ((RIGHT - LEFT) * (value - from)) / (to - from);
    const drawing = draw("svg", { viewBox: `0 0 ${WIDE} 150`, role: "img", "aria-label": `The values of ${claim.values.filter((each) => each !== null).length} runs, and the level ${digits(level)}.` });
    const cut = Math.max(0, Math.min(WIDE, x(level)));
    drawing.append(draw("rect", { class: "enough", x: claim.least ? cut : 0, y: 4, width: claim.least ? WIDE - cut : cut, height: 106 }), draw("path", { class: "axis", d: `M0 110H${WIDE}` }));
    claim.values.forEach((value, run) => {
      if (value === null || value === "nothing") return;
      const at = value === "never" ? WIDE - 12 : x(value), up = [...Array(10).keys()].find((k) => !placed.some(([there, above]) => above === k && Math.abs(there - at) < 17));
      placed.push([at, up]);
      drawing.append(this.#mark(claim, run, level, at, 98 - 10 * up, 7));
    });
    drawing.append(draw("path", { class: "level", d: `M${cut} 4V116` }), draw("text", { x: Math.max(20, Math.min(WIDE - 20, cut)), y: 140 }, digits(level)));
    const numbers = claim.values.filter((value) => typeof value === "number"), ends = numbers.length ? [Math.min(...numbers), Math.max(...numbers)] : [];
    for (const end of new Set(ends)) if (Math.abs(x(end) - cut) > 60) drawing.append(draw("text", { class: "end", x: x(end), y: 140 }, digits(end)));
    this.line.replaceChildren(drawing);
    this.numbers.replaceChildren(...claim.values.flatMap((value, run) => (value === null ? [] : [this.#number(claim, run, level)])));
  }

  /** A run's seed and its number, in the colour of its mark. */
  #number(claim, run, level) {
    const value = claim.values[run], good = holds(claim, value, level), told = typeof value === "number" ? digits(value) : value;
    return make("li", { class: (good ? "holds" : "fails") + (claim.seen.includes(run) ? " known" : "") }, make("span", { text: `${this.seeds[run]} ` }), `${told}${good ? "" : " ✗"}`);
  }
}

if (!customElements.get("claim-board")) customElements.define("claim-board", ClaimBoard);
