// <rules-from-examples>: networks that learned rules from examples, in the page; the reader hides, corrupts and changes the examples.
// The data that stands in it holds the first row with its rule, and the networks that can be asked, each with what its training showed.
// What stands in it besides is for readers without scripts and for print; a sentence of class `said` is what the first network says.
import { Card, numberChoice, percent } from "./card.js";
import { make } from "./elements.js";
import { readGpt, traceRow } from "./gpt.js";
import { largest, softmax } from "./network.js";
import { allPairs, answerOf, drawRow } from "./rows.js";
import { checkpoint, unpacked } from "./shelf.js";
import { determined, formula, pair, ratioMatching, regression, twoLatest } from "./solvers.js";
import { saying } from "./words.js";

const MOST = 8; // examples of a row
const WAITS = "Fetching the network …";
const ROWS = { page: "of this page", unseen: "of a rule that training never showed", seen: "of a rule that training showed" };

const option = (text, value) => make("option", { text: String(text), value });
const upTo = (most) => Array.from({ length: most }, (_, i) => option(i + 1, i + 1));

/** What an algorithm says of the row. */
const said = ({ head, lines }) => make("p", {}, make("strong", { text: head }), ...lines.map((line) => make("span", { text: ` ${line}` })));

class RulesFromExamples extends HTMLElement {
  #data = null;
  #network = null; // one of those of the data
  #weights = null; // of that network, once they are there
  #first = {}; // the row as it was opened or drawn, and ...
  #row = {}; // ... as it is now: {rule, question, examples}

  connectedCallback() {
    if (this.live) return;
    if (document.readyState === "loading") { // what stands in it comes after its tag
      return document.addEventListener("readystatechange", () => this.connectedCallback(), { once: true });
    }
    this.#data = JSON.parse(this.querySelector("script").textContent);
    this.#build();
    this.#ask(this.#data.networks[0]);
    this.many.value = this.#data.inputs.length - 1;
    this.#open();
    this.verdict.replaceChildren(...this.querySelector(":scope > .said").cloneNode(true).childNodes);
    const near = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      near.disconnect();
      this.#load();
    }, { rootMargin: "300px" }); // weights are fetched once the reader comes near
    near.observe(this);
  }

  #build() {
    const { p, networks } = this.#data, part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    const labelled = (words, element) => make("label", { text: words }, element);
    const asked = ["x", "y"].map((axis) => {
      const [label, select] = numberChoice(axis, `${axis} of the question`, p, (number) => {
        this.#row.question[axis] = number;
        this.#show();
      });
      this[axis] = select;
      return label;
    });
    this.cards = Array.from({ length: MOST }, (_, place) => new Card(place, p, () => this.#show()));
    this.bars = Array.from({ length: p }, () => ({ odds: make("span"), bar: make("div", { class: "bar" }), by: make("td") }));
    this.classList.add("live");
    this.append(part("live", "div", { class: "live-view" },
      make("div", { class: "controls" },
        ...(networks.length > 1 ? [labelled("Network", part("networks", "select", {}, ...networks.map(({ name }, i) => option(name, i))))] : []),
        labelled("Row", part("of", "select", {}, ...Object.entries(ROWS).map(([of, words]) => option(words, of)))),
        labelled("Number of the draw", part("seed", "input", { type: "number", min: 0, max: 9999, value: 0 })),
        labelled("Examples", part("many", "select", {}, ...upTo(MOST))),
        part("draw", "button", { type: "button", text: "Draw another row" }), part("undo", "button", { type: "button", text: "Undo all changes" })),
      part("rule", "p", { class: "rule" }),
      make("ol", { class: "examples" }, ...this.cards.map(({ root }) => root)),
      make("div", { class: "controls" }, "Attention of the question, at its y, to each example and its x, y, z, in percent:", labelled("layer", part("layer", "select")), labelled("head", part("head", "select")), part("self", "span")),
      make("div", { class: "question" }, make("strong", { text: "Question" }), ...asked, make("span", { text: "z = ?" })),
      part("verdict", "p", { class: "verdict", role: "status" }),
      part("error", "p", { class: "error", role: "status" }),
      part("again", "button", { type: "button", text: "Try again", hidden: "" }),
      make("div", { class: "below" }, this.#table(), part("says", "div", { class: "says" }))));
    this.networks?.addEventListener("change", () => {
      this.#ask(networks[this.networks.value]);
      this.#show();
      this.#load();
    });
    for (const drawn of [this.of, this.seed]) drawn.addEventListener("change", () => this.#open());
    for (const shown of [this.many, this.layer, this.head]) shown.addEventListener("change", () => this.#show());
    this.draw.addEventListener("click", () => {
      if (this.of.value === "page") this.of.value = "unseen";
      else this.seed.value = (this.seed.valueAsNumber + 1) % 10_000;
      this.#open();
    });
    this.undo.addEventListener("click", () => this.#hold());
    this.again.addEventListener("click", () => this.#load());
  }

  /** The table of probabilities, its cells to be filled. */
  #table() {
    const row = ({ bar, odds, by }, z) => make("tr", {}, make("th", { scope: "row", text: String(z) }), make("td", { class: "chance" }, odds, bar), by);
    const head = ["z", "probability", "said by"].map((text) => make("th", { scope: "col", text }));
    return make("table", { class: "odds" }, make("caption", { text: "The network’s probability of each answer, and who gives it" }),
      make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...this.bars.map(row)));
  }

  /** Take the row that the controls ask for. */
  #open() {
    const { p, rule, inputs } = this.#data, { seen, shown } = this.#network, of = this.of.value, pairs = allPairs(p);
    if (!this.seed.validity.valid || !this.seed.value) this.seed.value = 0;
    this.seed.disabled = of === "page";
    const rules = pairs.filter((_, place) => seen.includes(place) === (of === "seen"));
    const drawn = drawRow(rules, pairs.filter((_, place) => shown.includes(place)), MOST, this.seed.valueAsNumber);
    const [question, ...first] = inputs.map(([x, y]) => ({ x, y })).reverse();
    this.#first = of === "page" ? { rule, question, inputs: [...first.reverse(), ...drawn.inputs] } : drawn;
    this.#hold();
  }

  /** Take the row as it was opened or drawn, all of it right and shown. */
  #hold() {
    const { rule, question, inputs } = this.#first, examples = inputs.slice(0, MOST);
    this.#row = { rule, question: { ...question }, examples: examples.map((input) => ({ ...input, by: 0, shown: true })) };
    this.#show();
  }

  /** Ask a network from now on, once its weights are there, and show whom the head reads that the page names. */
  #ask(network) {
    this.#network = network;
    this.#weights = null;
    this.error.textContent = "";
    this.layer.replaceChildren(...upTo(network.depth));
    this.head.replaceChildren(...upTo(network.heads));
    [this.layer.value, this.head.value] = network.reads;
  }

  /** Fetch the network that is asked, and show what it says. */
  async #load() {
    const network = this.#network, read = (buffer) => readGpt(buffer, network.heads);
    this.again.hidden = true;
    this.error.textContent = "";
    try {
      const { run, step, sum, file } = network, weights = file ? read(unpacked(file)) : await checkpoint(run, step, read, async () => sum);
      if (this.#network !== network) return; // another was asked meanwhile
      this.#weights = weights;
      this.#show();
    } catch (error) {
      if (this.#network !== network) return;
      this.verdict.textContent = "";
      this.error.textContent = error.message;
      this.again.hidden = false;
    }
  }

  /** Show the row as it is now, and all that is said of it. */
  #show() {
    const { p } = this.#data, { rule, question, examples } = this.#row, right = answerOf(rule, question, p), many = Number(this.many.value);
    const solved = examples.slice(0, many).map((example, place) => ({ ...example, place, z: (answerOf(rule, example, p) + example.by) % p }));
    const shown = solved.filter((example) => example.shown);
    const solvers = { "ratio matching": ratioMatching(shown, question, p), regression: regression(shown, question, p), "two latest": twoLatest(shown, question, p) };
    this.cards.forEach((card, place) => {
      card.root.hidden = place >= many;
      card.show(examples[place], rule);
    });
    [this.x.value, this.y.value] = [question.x, question.y];
    this.rule.textContent = this.#known(rule, question);
    this.says.replaceChildren(...[...Object.values(solvers), determined(shown, question, p)].map(said));
    const acts = this.#weights && traceRow(this.#weights, [...shown.flatMap(({ x, y, z }) => [x, y, z]), question.x, question.y]);
    const odds = acts && softmax(acts.logits.subarray(-p), p);
    this.#showReading(acts, shown);
    this.#showOdds(odds, right, solvers);
    if (!odds) return (this.verdict.textContent = this.error.textContent ? "" : WAITS);
    const wrong = shown.filter(({ by }) => by).length, after = shown.length === 1 ? "1 example" : `${shown.length || "no"} examples`;
    this.verdict.replaceChildren(`On ${pair(question)}, after ${after}${wrong ? `, ${wrong} of them wrong` : ""}, `, ...saying(odds, right));
  }

  /** Show the network's probabilities, where there are any, and who says each number. */
  #showOdds(odds, right, solvers) {
    const answer = odds && largest(odds), voted = Object.entries(solvers);
    this.bars.forEach(({ bar, odds: number, by }, z) => {
      const others = voted.flatMap(([name, { votes }]) => (votes[z] ? [name] : []));
      bar.style.width = odds ? `${4 * odds[z]}rem` : 0;
      number.textContent = odds ? odds[z].toFixed(2) : "";
      by.textContent = [...(z === answer ? ["network"] : []), ...(z === right ? ["hidden rule"] : []), ...others].join(", ");
      by.parentElement.classList.toggle("most", z === answer);
    });
  }

  /** What training showed of a rule and of a question. */
  #known([a, b], { x, y }) {
    const { p } = this.#data, { seen, shown } = this.#network, whether = (places, place) => (places.includes(place) ? "showed" : "never showed");
    return `Hidden rule: ${formula([a, b])}, modulo ${p}. Training ${whether(seen, a * p + b)} this rule. It ${whether(shown, x * p + y)} the input ${pair({ x, y })}.`;
  }

  /** Show how much the question, at its y, reads of each example and of itself, in the layer and head that are chosen. */
  #showReading(acts, shown) {
    const weights = acts && acts.patterns[this.layer.value - 1][this.head.value - 1].subarray(-3 * shown.length - 2);
    for (const card of this.cards) card.showRead(null);
    shown.forEach(({ place }, i) => this.cards[place].showRead(weights && [...weights.subarray(3 * i, 3 * i + 3)]));
    const [x, y] = weights?.subarray(-2) ?? [];
    this.self.textContent = weights ? `of itself ${percent(x + y)} % (x ${percent(x)} · y ${percent(y)})` : "";
  }
}

if (!customElements.get("rules-from-examples")) customElements.define("rules-from-examples", RulesFromExamples);
