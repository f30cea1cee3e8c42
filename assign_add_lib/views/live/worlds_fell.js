// <worlds-fell>: worlds and what was measured in them, one after the other: say what trained networks will do, then see where they fell.
// It holds [{world, given, asked, statement, rule, level, least, untrained, seeds, verdict, reason, rival, why}, …]; shares from 0 to 1.
import { draw, make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";

const WIDE = 600, LEFT = 20, RIGHT = 580;
const NEAR = 0.05; // of a share: as good as foreseen

const percent = (share) => `${Math.round(100 * share)} %`;
/** A share in percent, with as many digits as it takes to see on which side of the level it is. */
const beside = (level) => (share) => {
  const shown = [0, 1, 2, 3].map((digits) => (100 * share).toFixed(digits));
  return `${shown.find((each) => each >= 100 * level === share >= level) ?? shown.at(-1)} %`;
};
/** A text with what stands between backticks as code. */
const marked = (text) => text.split("`").map((part, at) => (at % 2 ? make("code", { text: part }) : part));
const middle = (shares) => [...shares].sort((a, b) => a - b)[Math.floor(shares.length / 2)];

class WorldsFell extends Explorable {
  #told = new Map(); // what the reader said of each world

  build() {
    this.worlds = JSON.parse(this.querySelector("script").textContent);
    const part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    const button = (text, told) => {
      const made = make("button", { type: "button", text });
      made.addEventListener("click", told);
      return made;
    };
    this.guess = slider("you say", { least: 0, most: 100, value: 50, says: (each) => `${each} %` }, (each) => this.#draw(each / 100));
    this.view.replaceChildren(
      part("question", "p", { class: "question" }), make("div", { class: "controls" }, this.guess.root, (this.reveal = button("Reveal", () => this.#tell()))),
      part("picture", "div", { class: "fallen" }), part("key", "p", { class: "caption" }), part("verdict", "p", { class: "verdict", role: "status" }), part("meant", "div", { class: "meant" }),
      part("onward", "div", { class: "controls" }, (this.next = button("Next question", () => this.#ask(this.at + 1))), (this.again = button("Start again", () => this.#begin())), part("score", "span")));
    this.#begin();
  }

  #begin() {
    this.#told.clear();
    this.#ask(0);
  }

  #ask(at) {
    this.at = at;
    const { world, given, asked } = this.worlds[at];
    this.question.replaceChildren(make("strong", { text: `${world}.` }), " ", ...marked(given), " ", make("strong", {}, ...marked(asked)));
    this.guess.set(50);
    this.#draw(0.5);
    this.#say();
  }

  /** Keep what the reader says, and show what came out. */
  #tell() {
    this.#told.set(this.at, this.value);
    this.#draw(this.value);
    this.#say();
    (this.next.hidden ? this.again : this.next).focus({ preventScroll: true }); // for what was pressed is over
  }

  #x = (share) => LEFT + (RIGHT - LEFT) * share;

  /** The line of shares with the reader's; once that is kept, with the networks', the untrained one's and the level. */
  #draw(value) {
    this.value = value;
    const { seeds, untrained, level, least } = this.worlds[this.at], known = this.#told.has(this.at), x = this.#x;
    const drawing = draw("svg", { viewBox: `0 0 ${WIDE} 110`, role: "img", "aria-label": known ? `The networks: ${seeds.map(percent).join(", ")}; untrained: ${percent(untrained)}.` : "A line from 0 to 100 %." });
    if (known) drawing.append(draw("rect", { class: "foreseen", x: x(least ? level : 0), y: 46, width: x(least ? 1 - level : level) - LEFT, height: 28 }));
    drawing.append(draw("path", { d: `M${LEFT} 60H${RIGHT}` }), ...[0, 0.5, 1].map((share) => draw("text", { x: x(share), y: 98 }, percent(share))));
    if (known) drawing.append(draw("path", { class: "untrained", d: `M${x(untrained)} 53v14` }), ...seeds.map((share) => draw("circle", { cx: x(share), cy: 60, r: 8 })));
    drawing.append(draw("path", { class: "you", d: `M${x(value) - 9} 22h18l-9 16z` }), draw("text", { x: Math.min(Math.max(x(value), 30), WIDE - 30), y: 16 }, "you"));
    this.picture.replaceChildren(drawing);
    this.reveal.disabled = known;
    this.guess.root.querySelector("input").disabled = known;
  }

  /** What came out, once the reader has said a share; after the last question, how near all were. */
  #say() {
    const { seeds, statement, rule, verdict, level, reason, rival, why } = this.worlds[this.at], told = this.#told.get(this.at), known = told !== undefined, many = this.worlds.length;
    const off = known ? Math.abs(told - middle(seeds)) : 0, all = [...this.#told].map(([at, each]) => Math.abs(each - middle(this.worlds[at].seeds)));
    const mean = `${Math.round((100 * all.reduce((sum, each) => sum + each, 0)) / all.length)} points`, last = all.length === many;
    this.verdict.textContent = known ? `Three networks: ${seeds.map(beside(level)).join(", ")}. ${off <= NEAR ? "Well foreseen" : `You were ${Math.round(100 * off)} points from the one in the middle`}.` : "";
    this.key.textContent = known ? `Dots: trained networks. Tick: an untrained one. Shaded: predicted, ${rule}.` : "";
    const meant = [`We had written: ${statement}`, `Our reason: ${reason} The rival: ${rival}`, `Verdict: ${verdict}. ${why}`];
    this.meant.replaceChildren(...(known ? meant.map((each) => make("p", {}, ...marked(each))) : []));
    this.onward.hidden = !known;
    this.next.hidden = last;
    this.again.hidden = !last;
    const held = this.worlds.filter((each) => each.verdict.startsWith("held")).length;
    const end = `That was the last question. You came within ${100 * NEAR} points in ${all.filter((each) => each <= NEAR).length} of ${many}, and were ${mean} off on average. Of our own ${many} predictions ${held} held.`;
    this.score.textContent = last ? end : all.length ? `${all.length} of ${many} questions, on average ${mean} off` : "";
  }
}

if (!customElements.get("worlds-fell")) customElements.define("worlds-fell", WorldsFell);
