// <assign-add problem="c=1, b=17, b+19=?" run="seed-42" step="30000">: the trained network in the page, asked by the reader.
// run2, step2, or a setting such as shift2, put a second network beside it.  `shows` names the parts to draw, all by default.
// With `address`, what is asked stands in the page's address, so that a link shows it again.
// With `unassigned`, the reader may type a problem that asks for a letter without a number.
// With `predict`, the reader first says a number, and then sees what the network says.
// What stands in it is for readers without scripts and for print; a sentence of class `said` is what its network says of its problem.
import { chance } from "./chance.js";
import { afterPaint, make, onceNear } from "./elements.js";
import { problemField } from "./field.js";
import { SETTINGS } from "./interventions.js";
import { Pane } from "./pane.js";
import { KINDS, Problem, STUDY } from "./problem.js";
import { shelfOf } from "./shelf.js";

const FRESH = 500; // problems of each kind on which an accuracy is taken
const PROBLEM = "c=1, b=17, a=42, b+19=?"; // where none is asked
const ALL = "run tokens changes flow attention rows score stream circle accuracy";
const NAMES = ["run", "step", ...Object.keys(SETTINGS)]; // what distinguishes a network

const option = (id) => make("option", { value: id, text: STUDY.names[id] });

class AssignAdd extends HTMLElement {
  #shelf = null;
  #shows = new Set();
  #ids = null;
  #panes = [];
  #chosen = {};
  #revealed = true;
  #guess = null; // what the reader foresaw
  #faults = new Map(); // what is wrong with what was asked, one line each
  #note = 0;
  #measuring = false;

  connectedCallback() {
    if (this.live) return;
    if (document.readyState === "loading") { // what stands in it comes after its tag
      return document.addEventListener("readystatechange", () => this.connectedCallback(), { once: true });
    }
    const asked = new URLSearchParams(this.hasAttribute("address") ? location.search : "");
    const given = (name) => asked.get(name) ?? this.getAttribute(name);
    this.#revealed = !this.hasAttribute("predict");
    this.#shelf = shelfOf(this);
    this.#shows = new Set((this.getAttribute("shows") ?? ALL).split(" "));
    const sides = NAMES.some((name) => given(`${name}2`) !== null) ? ["", "2"] : [""];
    this.#build(sides.length === 2);
    this.field.put(given("problem") ?? PROBLEM);
    const of = (name, side) => {
      if (name === "step" && asked.has(`run${side}`) && !asked.has(`step${side}`)) return ""; // of another run, its last
      return given(name + side) ?? (name in SETTINGS ? null : given(name));
    };
    const starts = sides.map((side) => this.#open(Object.fromEntries(NAMES.map((name) => [name, of(name, side)]))));
    const sentence = this.querySelector(":scope > .said"), same = ([name, value]) => this.getAttribute(name) === value;
    if (sentence && [...asked].every(same)) this.#panes[0].quote(sentence); // or the address asks for something else
    const tokens = asked.get("tokens"), known = ["run", "step"].every((name) => this.hasAttribute(name) && !asked.has(name));
    const begin = () => {
      if (known) this.#shelf.weights(given("run"), given("step")).catch(() => {}); // on its way while the list of runs is
      this.#begin(tokens, given("problem") ?? PROBLEM);
      starts.forEach((start) => start());
    };
    if (this.hasAttribute("address")) return begin(); // for it the reader came
    onceNear(this, begin); // of the others, weights are fetched once the reader comes near
  }

  #build(both) {
    const shows = this.#shows, part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    const draws = KINDS.map((kind, index) => {
      const button = make("button", { type: "button", text: kind });
      button.addEventListener("click", () => this.#hold(Problem.draw(index).tokens(chance()), true));
      return button;
    });
    const guess = make("form", { class: "guess" }, make("label", { text: `What will ${both ? "the second network" : "it"} say? ` },
      part("prediction", "input", { type: "number", min: 0, max: STUDY.numbers - 1, required: "" })), make("button", { text: "Reveal" }), `(a number from 0 to ${STUDY.numbers - 1})`);
    guess.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#revealed = guess.hidden = true;
      this.#guess = this.prediction.valueAsNumber;
      this.#show();
      const { verdict } = this.#panes.at(-1);
      verdict.tabIndex = -1;
      verdict.focus({ preventScroll: true });
    });
    this.field = problemField((problem) => this.#hold(problem.tokens()), { marked: (wrong) => this.live.classList.toggle("stale", wrong), said: (line) => this.#fault("problem", line), loose: this.hasAttribute("unassigned") });
    this.classList.add("live");
    this.append(part("live", "div", { class: "live-view" },
      this.field.root,
      make("div", { class: "draw-row" }, make("div", { class: "draws", role: "group", "aria-label": "Draw a problem by its kind" }, "draw: ", ...draws),
        ...(document.fullscreenEnabled && shows.has("run") ? [part("large", "button", { type: "button", class: "large", text: "Projector" })] : [])),
      part("error", "p", { class: "error", role: "status" }),
      ...(shows.has("tokens") ? [part("tokens", "div", { class: "tokens", role: "group", "aria-label": `The ${STUDY.length} tokens` })] : []),
      ...(this.#revealed ? [] : [guess]),
      part("panes", "div", { class: "panes" }),
      make("div", { class: "more" }, part("second", "button", { type: "button" }),
        ...(shows.has("accuracy") ? [part("measure", "button", { type: "button", text: "Accuracy on fresh problems" }), part("progress", "progress", { max: FRESH, hidden: "", "aria-label": "problems of each kind answered" }), part("accuracy", "div", { role: "status" })] : []))));
    this.large?.addEventListener("click", () => this.live.requestFullscreen());
    this.measure?.addEventListener("click", () => this.#measure());
    this.second.hidden = !shows.has("run");
    this.second.addEventListener("click", () => {
      if (this.#panes.length === 1) return this.#open(this.#panes[0].beside(KINDS[this.#problem()[0]?.kind]?.slice(0, 5)))();
      this.#panes.pop().close();
      for (const of of ["settings 2", "link 2", "weights 2"]) this.#fault(of, "");
      this.#counted();
      this.#show();
    });
  }

  /** Put one more network on the page, a run, a step and settings by name; returns what fetches its weights. */
  #open({ run, step, ...settings }) {
    const place = this.#panes.length ? " 2" : "";
    const pane = new Pane(STUDY, this.#shelf, this.#shows, place ? "second network" : "first network", {
      changed: () => this.#show(),
      chosen: (...cell) => this.#choose(...cell),
      fault: (of, line) => {
        this.#fault(of + place, line && place ? `second network: ${line}` : line);
        this.#showRest(); // the tokens, also where no network answers
      },
    });
    this.#panes.push(pane);
    this.panes.append(pane.root);
    this.#counted();
    pane.adjust(Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, value === null ? undefined : String(value)])));
    return () => pane.start(run ?? "seed-42", String(step ?? 30000));
  }

  #counted() {
    const both = this.#panes.length === 2;
    this.panes.classList.toggle("both", both);
    this.second.textContent = both ? "Close the second network" : "Compare with a second network";
  }

  /** Take what a link or the page asks; where that is no problem, say why and take the usual one. */
  #begin(tokens, text) {
    const ids = tokens?.split(" ").map((name) => STUDY.names.indexOf(name));
    if (!ids) this.field.ask(text);
    else if (ids.length === STUDY.length && !ids.includes(-1)) this.#hold(ids, true);
    else this.#fault("problem", `the link does not name ${STUDY.length} tokens of this task`);
    if (this.#ids) return;
    const fault = this.#faults.get("problem");
    this.field.ask(this.hasAttribute("address") ? PROBLEM : this.getAttribute("problem"));
    this.#fault("asked", fault);
  }

  /** Ask about these tokens from now on. */
  #hold(ids, spell = false) {
    this.#ids = ids;
    this.#chosen = { layer: 1, query: STUDY.last, key: null };
    this.#guess = null;
    if (spell) this.field.put(this.#problem(this.hasAttribute("unassigned"))[0]?.toString() ?? ""); // where there is none, the verdict says why
    this.#fault("asked", "");
    this.#show();
  }

  /** The problem that the tokens spell, or what keeps them from it. */
  #problem(loose = false) {
    try {
      return [Problem.fromTokens(this.#ids, STUDY, loose), ""];
    } catch (error) {
      return [null, error.message];
    }
  }

  #fault(of, line) {
    this.#faults.set(of, line);
    this.error.textContent = [...this.#faults.values()].filter(Boolean).join("; ");
  }

  /** Say what the networks answer on the tokens, and once that is painted, show what lies behind it. */
  #show() {
    this.live.classList.toggle("waiting", !this.#revealed);
    if (!this.#ids) return;
    const ready = this.#ready, [problem, fault] = this.#problem();
    const words = problem ? `On ${problem} ` : `These tokens spell no problem: ${fault}. On them `;
    for (const pane of this.#panes) if (!pane.weights) pane.wait(words);
    if (this.#revealed && !ready.length) return; // the first answer comes before all else
    this.#showRest();
    if (!this.#revealed) return;
    if (this.measure && !this.#measuring) this.accuracy.replaceChildren(); // it was of what stood here before
    for (const pane of ready) pane.say(this.#ids, words, problem, pane === this.#panes.at(-1) ? this.#guess : null);
    if (this.hasAttribute("address")) this.#write(problem);
  }

  #showRest = afterPaint(() => {
    if (!this.#ids) return;
    this.#showTokens();
    const said = this.#panes.filter((pane) => pane.seen);
    if (!said.length) return;
    for (const pane of said) pane.show();
    const { layer, query, key } = this.#chosen;
    this.#choose(layer, query, key ?? said[0].mostRead(layer, query));
  });

  /** The networks whose weights are there. */
  get #ready() {
    return this.#panes.filter((pane) => pane.weights);
  }

  /** Let all networks show one cell. */
  #choose(layer, query, key) {
    this.#chosen = { layer, query, key };
    for (const pane of this.#panes) if (pane.seen) pane.choose(layer, query, key);
  }

  /** Put what is asked into the page's address: later, since browsers allow a page few changes of it in a short time. */
  #write(problem) {
    clearTimeout(this.#note);
    this.#note = setTimeout(() => {
      const packed = problem && String(problem.tokens()) === String(this.#ids);
      const what = packed ? { problem: String(problem) } : { tokens: this.#ids.map((id) => STUDY.names[id]).join(" ") };
      const sides = this.#panes.map((pane, i) => Object.entries(pane.state).map(([name, value]) => [i ? `${name}2` : name, value]));
      history.replaceState(null, "", `?${new URLSearchParams({ ...what, ...Object.fromEntries(sides.flat()) })}${location.hash}`);
    }, 300);
  }

  #showTokens() {
    if (!this.tokens) return;
    if (!this.tokens.childElementCount) this.tokens.append(...this.#ids.map((_, place) => this.#choice(place)));
    [...this.tokens.children].forEach((select, place) => {
      const id = String(this.#ids[place]);
      if (select.length > 1) select.value = id;
      else if (select.value !== id) select.replaceChildren(option(id));
      select.classList.toggle("pad", this.#ids[place] === STUDY.pad);
    });
  }

  /** A choice of the token at a place; the tokens to choose from are put there once the reader turns to it. */
  #choice(place) {
    const select = make("select", { "aria-label": `token at position ${place}` });
    const fill = () => {
      const id = select.value;
      if (select.length === 1) select.replaceChildren(...STUDY.names.map((_, each) => option(each)));
      select.value = id;
    };
    for (const event of ["pointerdown", "focus"]) select.addEventListener(event, fill);
    select.addEventListener("change", () => this.#hold(this.#ids.with(place, Number(select.value)), true));
    return select;
  }

  /** The share right on fresh problems of each kind, the same for all networks; in pieces, so that the page stays alive. */
  async #measure() {
    const below = chance(), asked = this.#ready.map(({ name, asker }) => ({ name, asker, right: KINDS.map(() => 0) }));
    if (!asked.length || this.#measuring) return;
    this.#measuring = true;
    this.measure.ariaDisabled = "true";
    this.progress.hidden = false;
    this.accuracy.replaceChildren();
    for (let done = 1; done <= FRESH; done++) {
      for (let kind = 0; kind < KINDS.length; kind++) {
        const problem = Problem.draw(kind, STUDY, below), ids = problem.tokens(below);
        for (const { asker, right } of asked) right[kind] += asker(ids) === problem.answer;
      }
      if (done % 10 === 0) {
        this.progress.value = done;
        await new Promise((resolve) => setTimeout(resolve));
      }
    }
    this.accuracy.replaceChildren(...asked.map(({ name, right }, side) =>
      make("p", { text: `${asked.length === 1 ? "" : side ? "Second network, " : "First network, "}${name}: right of ${FRESH} fresh problems ${KINDS.map((kind, i) => `${kind} ${(right[i] / FRESH).toFixed(3)}`).join(", ")}.` })));
    this.#measuring = false;
    this.measure.ariaDisabled = "false";
    this.progress.hidden = true;
  }
}

if (!customElements.get("assign-add")) customElements.define("assign-add", AssignAdd);
