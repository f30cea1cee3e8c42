// One network, asked: which run and step it is, what is changed inside it, and all that it says of sixteen tokens.
import { FlowPicture } from "./arrows.js";
import { AttentionMaps } from "./attention.js";
import { circleOf, readOff, rowsOfEqual } from "./behind.js";
import { make, table } from "./elements.js";
import { SETTINGS, alteration, changes, cutArrow, patternOf, scoresOf, together, untouched } from "./interventions.js";
import { complete, largest, logitsAt, partsOf, run, softmax } from "./network.js";
import { formOf, judged, passOf, toggled } from "./passes.js";
import { saying } from "./words.js";

const WAITS = "Fetching the network …";
const PARTS = ["token", "position", "from layer 1"];
const LEARNED = 0.6; // right of a kind of problem: at a step with less, the network does something else

/** A number with one digit after the point, and no -0.0. */
const tenths = (value) => (Math.abs(value) < 0.05 ? 0 : value).toFixed(1);

export class Pane {
  weights = null;
  run = "";
  step = null; // of the weights that are shown
  settings = untouched();
  #asked = { run: "", step: null }; // what was asked for last, whether or not it came
  #closed = false;
  #soon = 0;
  #said = {}; // of which tokens it said what, and what is right
  #cell = []; // the one that is chosen: layer, query, key
  #cuts = []; // arrows of the flow, [layer, query, key] each, layers from 1 on
  #tapped = null; // the token whose arrows stand out
  #listed = {};
  #steps = [];

  /**
   * `shows` holds the parts to be drawn, `name` says which network it is.  `told` is called with what happens: `changed()` when there is something else to show,
   * `chosen(layer, query, key)` when the reader picks a cell, and `fault(of, line)`, with an empty line when it is mended.
   */
  constructor(task, shelf, shows, name, told) {
    Object.assign(this, { task, shelf, told });
    const part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    const shown = (name, elements) => (shows.has(name) ? elements() : []);
    part("changes", "details", { class: "changes" }, make("summary", { text: "Change the network" }),
      make("div", {}, ...Object.entries(SETTINGS).map(([name, setting]) => this.#control(name, setting))),
      part("reset", "button", { type: "button", text: "Undo all changes" }));
    part("runs", "select");
    part("slider", "input", { type: "range", min: 0, step: 1, disabled: "" });
    part("output", "output", { "aria-live": "off" });
    part("again", "button", { type: "button", text: "Try again", hidden: "" });
    part("root", "div", { class: "pane", role: "group", "aria-label": name },
      ...shown("run", () => [
        make("div", { class: "controls" }, make("label", { text: "Run " }, this.runs), make("label", { class: "steps", text: "Step " }, this.slider), this.output, this.again),
        part("right", "p", { class: "right" })]),
      part("verdict", "p", { class: "verdict", role: "status", text: WAITS }),
      ...shown("changes", () => [this.changes]), // below the answer, which stays in sight
      ...shown("rows", () => [part("equal", "div", { class: shows.has("attention") ? "equal" : "equal alone" })]), // beside whole maps on a projector only
      ...shown("flow", () => [(this.picture = new FlowPicture(task, { tapped: (place) => this.#tap(place), cut: (...arrow) => this.#cut(arrow) })).root]),
      ...shown("attention", () => [part("patterns", "div"), make("div", { class: "read-out" }, part("reading", "p", { class: "reading" }), ...(shows.has("flow") ? [part("cutter", "button", { type: "button", text: "Cut" })] : []))]));
    part("below", "div", { class: "below" },
      make("div", {}, ...shown("score", () => [part("terms", "div")]), ...shown("stream", () => [part("lens", "div")])),
      ...shown("circle", () => [part("circle", "div")]));
    this.reset.addEventListener("click", () => {
      this.adjust({});
      told.changed();
    });
    this.runs.addEventListener("change", () => this.#choose(this.runs.value, this.#asked.step));
    this.slider.addEventListener("input", () => {
      const run = this.runs.value, step = this.#steps[this.slider.valueAsNumber];
      clearTimeout(this.#soon);
      if (this.root.ariaBusy !== "true") return this.#choose(run, step);
      this.#mark(run, step); // while one is on its way, those that are passed over are not fetched
      this.#soon = setTimeout(() => this.#choose(run, step), 150);
    });
    this.cutter?.addEventListener("click", () => this.#cut([this.#cell[0] + 1, ...this.#cell.slice(1)]));
    this.again.addEventListener("click", () => this.start(this.#asked.run, String(this.#asked.step)));
  }

  /** A switch for what is on or off, a slider for what has more values. */
  #control(name, { words, least, most, step }) {
    const onOff = most === 1, output = make("output", { "aria-live": "off" });
    const input = make("input", onOff ? { type: "checkbox", name } : { type: "range", name, min: least, max: most, step });
    input.addEventListener("input", () => {
      this.settings[name] = onOff ? Number(input.checked) : input.valueAsNumber;
      if (!onOff) output.textContent = String(this.settings[name]);
      this.told.fault("settings", "");
      this.told.changed();
    });
    return make("label", {}, ...(onOff ? [input, words] : [words, input, output]));
  }

  /** Take settings by name, as texts; what is not named changes nothing. */
  adjust(asked) {
    const faults = [];
    this.#cuts = [];
    for (const [name, { least, most, step, none }] of Object.entries(SETTINGS)) {
      const text = asked[name] ?? String(none), value = Number(text);
      if (text.trim() && value >= least && value <= most && (value - least) % step === 0) this.settings[name] = value;
      else faults.push(`${name} is a number from ${least} to ${most} in steps of ${step}, not ${text.slice(0, 30)}`);
      const input = this.changes.querySelector(`[name="${name}"]`);
      if (input.type === "checkbox") input.checked = this.settings[name] === 1;
      else [input.value, input.nextSibling.textContent] = [this.settings[name], String(this.settings[name])];
    }
    if (changes(this.settings).length) this.changes.open = true;
    this.told.fault("settings", faults.join("; "));
  }

  /** Say what a sentence of the page says of this network, until its weights are there. */
  quote(sentence) {
    this.verdict.replaceChildren(...sentence.cloneNode(true).childNodes);
  }

  /** Until the weights are there, say nothing of another problem than these words name, nor of a network that was not yet changed. */
  wait(words) {
    if (changes(this.settings).length || !this.verdict.textContent.startsWith(words)) this.verdict.textContent = WAITS;
  }

  /** Take a run and a step, as texts, the last step where that is empty; for what there is not, and said so, the nearest stands in. */
  async start(run, step) {
    this.#asked = { run, step };
    this.again.hidden = true;
    try {
      this.#listed = await this.shelf.listing();
    } catch (error) {
      return this.#failed(error);
    }
    if (this.#closed) return;
    const names = Object.keys(this.#listed), faults = [];
    this.runs.replaceChildren(...names.map((name) => make("option", { value: name, text: name })));
    if (!Object.hasOwn(this.#listed, run)) {
      faults.push(`there is no run ${run.slice(0, 30) || "without a name"}; there are ${names.join(", ")}`);
      run = names.includes("seed-42") ? "seed-42" : names[0];
    }
    const near = this.#nearest(run, /^\d+$/.test(step) ? Number(step) : Infinity);
    if (step && !/^\d+$/.test(step)) faults.push(`the step is a whole number, not ${step.slice(0, 30)}`);
    else if (step && near !== Number(step)) faults.push(`step ${step.slice(0, 30)} of ${run} is not kept; this is ${near}`);
    this.told.fault("link", faults.join("; "));
    await this.#load(run, near, true);
  }

  /** The step of a run whose weights are there that is nearest to one. */
  #nearest(run, step) {
    const far = (each) => Math.abs(each - Math.min(step, Number.MAX_SAFE_INTEGER));
    return Object.keys(this.#listed[run]).map(Number).reduce((best, each) => (far(each) < far(best) ? each : best));
  }

  #failed(error) {
    if (this.#closed) return;
    this.again.hidden = false;
    if (!this.weights) this.verdict.textContent = "";
    this.told.fault("weights", error.message);
  }

  /** Fetch nothing more, and say nothing more. */
  close() {
    this.#closed = true;
    this.root.remove();
  }

  /** Let the controls stand at a run and a step. */
  #mark(run, step) {
    const right = this.#listed[run][step].right, spaced = String(step).replace(/\B(?=(\d{3})+$)/g, "\u2009");
    this.#steps = Object.keys(this.#listed[run]).map(Number).sort((a, b) => a - b);
    this.runs.value = run;
    this.slider.max = this.#steps.length - 1;
    this.slider.value = this.#steps.indexOf(step);
    this.slider.disabled = this.#steps.length < 2;
    this.output.textContent = spaced;
    this.slider.setAttribute("aria-valuetext", `step ${step}`);
    if (this.right) this.right.textContent = right ? `Accuracy on trained problems at this step: ${Object.entries(right).map(([kind, value]) => `${kind} ${value.toFixed(2)}`).join(", ")}.` : "";
  }

  /** Take a run and one of its steps; until the weights are there, what is shown is of the last, or, at first, what the page says. */
  async #load(run, step, first = false) {
    const asked = (this.#asked = { run, step });
    this.#mark(run, step);
    if (this.weights) this.root.classList.add("stale");
    else if (!first) this.verdict.textContent = WAITS;
    this.root.ariaBusy = "true";
    this.again.hidden = true;
    try {
      const weights = await this.shelf.weights(run, step);
      if (this.#asked !== asked || this.#closed) return; // something else was asked meanwhile
      Object.assign(this, { weights, run, step });
      this.root.classList.remove("stale");
      this.told.fault("weights", "");
      this.told.changed();
    } catch (error) {
      if (this.#asked !== asked) return;
      if (this.step !== null) { // which is shown still
        this.#mark(this.run, this.step);
        this.root.classList.remove("stale");
      }
      this.#failed(error);
    } finally {
      if (this.#asked === asked) this.root.ariaBusy = "false";
    }
  }

  #choose(run, step) {
    this.told.fault("link", "");
    this.#load(run, this.#nearest(run, step));
  }

  /** What distinguishes it, as an address holds it. */
  get state() {
    const { run, step } = this.weights ? this : this.#asked;
    return { run, step, ...Object.fromEntries(changes(this.settings).map((name) => [name, this.settings[name]])) };
  }

  /** What is worth a look beside it, as `state`: itself unchanged, its run before it knew a kind of problem, another step, another run. */
  beside(kind) {
    const { run, step } = this.state, listed = this.#listed[run];
    if (changes(this.settings).length || !listed) return { run, step };
    const steps = Object.keys(listed).map(Number), knows = (each) => (listed[each].right?.[kind] ?? 1) >= LEARNED;
    const before = knows(step) ? steps.findLast((each) => each < step && !knows(each)) : undefined;
    const other = [before, steps.at(-1), steps[0]].find((each) => each !== undefined && each !== step);
    return other === undefined ? { run: Object.keys(this.#listed).find((each) => each !== run) ?? run, step: "" } : { run, step: other };
  }

  /** What it is called where its results stand alone. */
  get name() {
    return `${this.run}, step ${this.step}${changes(this.settings).length ? ", changed" : ""}`;
  }

  /** What says a number for any tokens, as this network now does. */
  get asker() {
    const { task, weights } = this, settings = { ...this.settings };
    return (ids) => largest(run(weights, ids, alteration(weights, task, ids, settings)).logits);
  }

  /** The key that a query reads most. */
  mostRead(layer, query) {
    const n = this.task.length;
    return largest(this.seen.sites[patternOf(layer + 1)].subarray(query * n, (query + 1) * n));
  }

  /** Let the arrows of a token stand out, and the cell that it reads most be chosen; tapped again, they step back. */
  #tap(place) {
    const layer = place === this.task.last ? 1 : 0;
    this.#tapped = this.#tapped === place ? null : place;
    if (this.#tapped !== null) this.told.chosen(layer, place, this.mostRead(layer, place));
    this.#draw();
  }

  /** Cut an arrow, or mend it. */
  #cut(arrow) {
    this.#cuts = toggled(this.#cuts, arrow);
    this.told.chosen(arrow[0] - 1, ...arrow.slice(1));
    this.told.changed();
  }

  #draw() {
    const { ids, problem } = this.#said;
    this.picture?.show(ids, problem, passOf(this.seen, ids.length), this.#tapped, this.#cuts);
  }

  /** Say what it answers on these tokens: `words` names them, `problem` is what they spell, if they do; and judge a guess, if there is one. */
  say(ids, words, problem, guess) {
    const { task, weights } = this, right = problem?.answer ?? null;
    if (formOf(ids, task) !== formOf(this.#said.ids ?? [], task)) [this.#cuts, this.#tapped] = [[], null]; // other tokens stand there
    this.seen = run(weights, ids, together(alteration(weights, task, ids, this.settings), ...this.#cuts.map((arrow) => cutArrow(...arrow, ids.length))));
    const odds = softmax(this.seen.logits, task.numbers), answer = largest(odds);
    const unchanged = changes(this.settings).length || this.#cuts.length ? ` Unchanged it says ${largest(run(weights, ids).logits)}.` : "";
    this.verdict.replaceChildren(words, ...saying(odds, right), `${unchanged}${guess === null ? "" : judged(guess, answer, problem)}`);
    this.verdict.dataset.right = String(answer === right);
    this.#said = { ids, answer, right, problem };
  }

  /** Show what lies behind the answer that it gave last. */
  show() {
    const { ids, answer, right } = this.#said;
    const { sites } = (this.seen = complete(this.weights, this.seen));
    if (this.patterns && !this.maps) {
      this.maps = new AttentionMaps(2, this.task.length, this.told.chosen);
      this.patterns.replaceWith(this.maps.root);
    }
    if (!this.below.isConnected) this.root.append(this.below);
    this.maps?.show([1, 2].map((layer) => sites[patternOf(layer)]), ids.map((id) => this.task.names[id]));
    this.equal?.replaceChildren(rowsOfEqual(this.task, ids, [1, 2].map((layer) => sites[patternOf(layer)].slice(-ids.length))));
    this.#draw();
    this.lens?.replaceChildren(readOff(this.task, logitsAt(this.weights, this.seen), right));
    this.circle?.replaceChildren(...circleOf(this.task, this.seen.logits, answer, right));
  }

  /** Say what one token reads of another, and of what its score is made. */
  choose(layer, query, key) {
    const { sites } = (this.seen = complete(this.weights, this.seen)), n = this.task.length, spot = query * n + key;
    this.#cell = [layer, query, key];
    if (this.cutter) this.cutter.textContent = this.#cuts.some((arrow) => String(arrow) === String([layer + 1, query, key])) ? "Mend" : "Cut";
    const [scores, pattern] = [scoresOf, patternOf].map((of) => sites[of(layer + 1)]);
    const parts = partsOf(this.weights, this.seen, layer, query, key);
    const score = scores[spot], changed = score - parts.flat().reduce((sum, part) => sum + part, 0);
    if (this.maps) {
      const row = [query * n, (query + 1) * n], soft = softmax(scores.subarray(...row), n);
      const set = soft.some((weight, place) => Math.abs(weight - pattern[row[0] + place]) > 0.005);
      const by = Math.abs(changed) < 0.05 ? "" : `, of which ${changed.toFixed(1)} by the change`;
      this.maps.mark(layer, query, key);
      this.reading.textContent = `${this.maps.words(layer, query, key)}; score ${tenths(score)}${by}${set ? "; the weight is set by the change" : ""}.`;
    }
    const rows = PARTS.map((name, i) => [name, ...PARTS.map((_, j) => (parts[i]?.[j] === undefined ? "" : tenths(parts[i][j])))]); // as high for both layers
    if (changes(this.settings).length) rows.push(["by the change", "", "", tenths(changed)]);
    const caption = `The parts of this score of layer ${layer + 1}, which add up to it: what the query holds (rows) and what the key holds (columns)`;
    this.terms?.replaceChildren(table("terms", caption, ["", ...PARTS], rows));
  }
}
