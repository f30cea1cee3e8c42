// <assign-add problem="c=1, b=17, b+19=?" run="seed-42" step="30000">: the trained network in the page, asked by the reader.
// With the attribute `address`, what is asked stands in the page's address, so that a link shows it again.
// With `predict`, the reader first says a number, and then sees what the network says.
import { SETTINGS, alteration, untouched } from "./interventions.js";
import { logitsAt, partsOf, readWeights, softmax, trace } from "./network.js";
import { KINDS, Problem, Task } from "./problem.js";

const RUNS = new URL("runs/", import.meta.url);
const TASK = new Task();
const STAGES = ["token and position", "after layer 1", "after layer 2's attention", "after the MLP"];
const FULL = [8, 81, 156]; // the colour of a weight of 1; that of 0 is white
const FRESH = 500; // problems of each kind on which an accuracy is taken
const PARTS = ["token", "position", "from layer 1"];

/** An element with properties, attributes and children. */
function make(tag, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...(text === undefined ? [] : [text]), ...children);
  return element;
}

/** The same for an element of a drawing. */
function draw(tag, attributes, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
}

const fetched = new Map();

/** What lies at an address, asked for once; an Error of one line where it cannot be had. */
function once(url, read) {
  if (!fetched.has(url.href)) {
    const asked = fetch(url).catch(() => ({ ok: false, status: "no connection" })).then((response) => {
      if (!response.ok) throw new Error(`${url.pathname.split("/").slice(-3).join("/")} could not be fetched (${response.status})`);
      return read(response);
    });
    asked.catch(() => fetched.delete(url.href)); // so that it can be tried again
    fetched.set(url.href, asked);
  }
  return fetched.get(url.href);
}

/** The runs there are: {run: {step: SHA-256 of its file}}. */
const listing = () => once(new URL("index.json", RUNS), (response) => response.json());

/** The weights of a run at a step, once its file is found to be the one that was listed. */
const weightsOf = (run, step, sum) =>
  once(new URL(`${run}/checkpoints/step-${String(step).padStart(6, "0")}.safetensors`, RUNS), async (response) => {
    const buffer = await response.arrayBuffer(), weights = readWeights(buffer);
    if (globalThis.crypto?.subtle) {
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", buffer));
      const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
      if (found !== sum) throw new Error("the checkpoint is damaged: its checksum is not the one listed");
    }
    return weights;
  });

const share = (value) => (value >= 0.995 ? "above 0.99" : value < 0.005 ? "below 0.01" : value.toFixed(2));

class AssignAdd extends HTMLElement {
  #state = {};
  #weights = null;
  #chosen = { layer: 1, query: TASK.last, key: null };
  #timer = 0;
  #revealed = true;
  #settings = untouched();
  #guess = "";
  #asked = ""; // the run and step that were asked for last
  #note = 0;
  #faults = { problem: "", settings: "", link: "", weights: "" }; // what is wrong with what was asked, one line each

  connectedCallback() {
    if (this.#state.run) return;
    const asked = this.hasAttribute("address") ? new URLSearchParams(location.search) : new URLSearchParams();
    const given = (name, other) => asked.get(name) ?? this.getAttribute(name) ?? other;
    this.#state = { problem: given("problem", "c=1, b=17, a=42, b+19=?"), run: given("run", "seed-42"), step: given("step", "30000") };
    this.#build();
    this.#adjust(asked);
    // weights are fetched once the reader comes near
    const near = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      near.disconnect();
      this.#start(asked.get("tokens"));
    }, { rootMargin: "300px" });
    near.observe(this);
  }

  #build() {
    const part = (name, tag, attributes, ...children) => (this[name] = make(tag, attributes, ...children));
    const still = make("div", { class: "still" });
    still.append(...this.childNodes); // what stands there without scripts, and in print
    const draws = KINDS.map((kind, index) => {
      const button = make("button", { type: "button", text: kind });
      button.addEventListener("click", () => this.#ask(String(Problem.draw(index, TASK))));
      return button;
    });
    const guess = make("form", { class: "guess" }, make("label", { text: "What will it say? " },
      part("prediction", "input", { type: "number", min: 0, max: TASK.numbers - 1, required: "" })), make("button", { text: "Reveal" }), "(a number from 0 to 58)");
    guess.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#revealed = true;
      this.#guess = this.prediction.value;
      this.#show();
    });
    this.#revealed = !this.hasAttribute("predict");
    this.append(still, part("live", "div", { class: "live" },
      make("div", { class: "controls" },
        make("label", { class: "problem", text: "Problem " }, part("text", "input", { type: "text", spellcheck: "false", autocomplete: "off", autocapitalize: "off" })),
        make("div", { class: "draws", role: "group", "aria-label": "Draw a problem by its kind" }, "draw: ", ...draws),
        make("label", { text: "Run " }, part("runs", "select")),
        make("label", { class: "steps", text: "Step " }, part("slider", "input", { type: "range", min: 0, step: 1 })),
        part("output", "output"),
        part("play", "button", { type: "button", text: "Play" })),
      part("error", "p", { class: "error", role: "alert" }),
      ...(this.#revealed ? [] : [guess]),
      part("verdict", "p", { class: "verdict", role: "status" }),
      make("details", { class: "changes" }, make("summary", { text: "Change the network" }), part("changes", "div"), part("reset", "button", { type: "button", text: "Undo all changes" })),
      part("tokens", "div", { class: "tokens", role: "group", "aria-label": "The sixteen tokens" }),
      make("p", { class: "hint", text: "Start at the last row of layer 2: which numbers does = read?" }),
      make("div", { class: "layers" }, part("layer0", "div"), part("layer1", "div")),
      part("reading", "p", { class: "reading", role: "status" }),
      make("div", { class: "below" }, make("div", {}, part("terms", "div"), part("lens", "div")), part("circle", "div")),
      make("div", { class: "fresh" }, part("measure", "button", { type: "button", text: "Accuracy on fresh problems" }), part("accuracy", "div", { role: "status" }))));
    this.changes.append(...Object.entries(SETTINGS).map(([name, { words, least, most, step }]) => this.#control(name, words, least, most, step)));
    this.reset.addEventListener("click", () => {
      this.#adjust(new URLSearchParams());
      this.#show();
    });
    this.measure.addEventListener("click", () => this.#measure());
    this.text.addEventListener("input", () => this.#ask(this.text.value, true));
    this.runs.addEventListener("change", () => this.#choosing(this.runs.value, this.#state.step));
    this.slider.addEventListener("input", () => this.#choosing(this.runs.value, this.steps[this.slider.valueAsNumber]));
    this.play.addEventListener("click", () => (this.#timer ? this.#stop() : this.#go()));
  }

  /** A switch for what is on or off, a slider for what has more values. */
  #control(name, words, min, max, step) {
    const onOff = max === 1, input = make("input", onOff ? { type: "checkbox", name } : { type: "range", name, min, max, step });
    const output = make("output", { text: "" });
    input.addEventListener("input", () => {
      this.#settings[name] = onOff ? Number(input.checked) : input.valueAsNumber;
      this.#fault("settings", "");
      if (!onOff) output.textContent = String(this.#settings[name]);
      this.#show();
    });
    return make("label", {}, ...(onOff ? [input, words] : [words, input, output]));
  }

  /** Take the settings that a link names. */
  #adjust(asked) {
    this.#fault("settings", "");
    for (const [name, { least, most, step, none }] of Object.entries(SETTINGS)) {
      const text = asked.get(name) ?? String(none), value = Number(text);
      const known = text.trim() && value >= least && value <= most && (value - least) % step === 0;
      if (!known) this.#fault("settings", `${name} is a number from ${least} to ${most} in steps of ${step}, not ${text.slice(0, 30)}`);
      else this.#settings[name] = value;
      const input = this.changes.querySelector(`[name="${name}"]`);
      if (input.type === "checkbox") input.checked = this.#settings[name] === 1;
      else [input.value, input.nextSibling.textContent] = [this.#settings[name], String(this.#settings[name])];
      if (this.#settings[name] !== none) this.querySelector("details").open = true;
    }
  }

  /** The share right on fresh problems of each kind, with the network as it is set; in pieces, so that the page stays alive. */
  async #measure() {
    const [weights, settings, right] = [this.#weights, { ...this.#settings }, KINDS.map(() => 0)], { run, near } = this.#state;
    const changed = Object.keys(SETTINGS).some((name) => settings[name] !== SETTINGS[name].none);
    if (!weights) return;
    this.measure.disabled = true;
    for (let done = 1; done <= FRESH; done++) {
      for (let kind = 0; kind < KINDS.length; kind++) {
        const problem = Problem.draw(kind, TASK), ids = problem.tokens();
        const { logits } = trace(weights, ids, alteration(weights, TASK, ids, settings));
        right[kind] += logits.indexOf(Math.max(...logits)) === problem.answer;
      }
      if (done % 10 === 0) {
        this.accuracy.textContent = `${done} of ${FRESH} problems of each kind …`;
        await new Promise((resolve) => setTimeout(resolve));
      }
    }
    this.accuracy.textContent = `${run}, step ${near}${changed ? ", changed" : ""}: right of ${FRESH} fresh problems ${KINDS.map((kind, i) => `${kind} ${(right[i] / FRESH).toFixed(2)}`).join(", ")}.`;
    this.measure.disabled = false;
  }

  async #start(tokens) {
    try {
      this.listed = await listing();
    } catch (error) {
      return this.#fault("weights", error.message);
    }
    this.runs.replaceChildren(...Object.keys(this.listed).map((run) => make("option", { value: run, text: run })));
    let { run, step } = this.#state;
    const faults = [];
    if (!Object.hasOwn(this.listed, run)) {
      faults.push(`there is no run ${run.slice(0, 30)}; there are ${Object.keys(this.listed).join(", ")}`);
      run = "seed-42";
    }
    if (!/^\d+$/.test(step)) {
      faults.push(`the step is a whole number, not ${step.slice(0, 30)}`);
      step = "30000";
    }
    this.#fault("link", faults.join("; "));
    if (tokens === null) this.#ask(this.#state.problem);
    else this.#take(tokens);
    await this.#load(run, step);
  }

  /** Take a problem as text; where it does not read as one, say why and keep the last. */
  #ask(text, typing = false) {
    try {
      const problem = Problem.parse(text, TASK);
      this.#state = { ...this.#state, problem: String(problem), ids: problem.tokens() };
      this.#fault("problem", "");
      this.#revealed = !this.hasAttribute("predict");
      this.#show();
    } catch (error) {
      this.#fault("problem", error.message);
    }
    if (!typing) this.text.value = text;
  }

  #fault(of, line) {
    this.#faults[of] = line;
    this.error.textContent = Object.values(this.#faults).filter(Boolean).join("; ");
    this.live.classList.toggle("stale", Boolean(this.#faults.problem || this.#faults.weights)); // shown is not what was asked
  }

  /** Take token ids from a link. */
  #take(text) {
    const ids = text.split(" ").map((name) => TASK.names.indexOf(name));
    if (ids.length !== TASK.length || ids.includes(-1)) return this.#fault("problem", `the link does not name ${TASK.length} tokens of this task`);
    this.#state.ids = ids;
    this.#spell();
    this.#show();
  }

  /** Write into the box what the tokens spell, if that is a problem. */
  #spell() {
    try {
      this.text.value = String(Problem.fromTokens(this.#state.ids, TASK));
    } catch {
      this.text.value = ""; // the line above the maps says why
    }
  }

  /** Let the controls stand at a run and a step. */
  #mark(run, near) {
    this.steps = Object.keys(this.listed[run]).map(Number).sort((a, b) => a - b);
    this.runs.value = run;
    this.slider.max = this.steps.length - 1;
    this.slider.value = this.steps.indexOf(near);
    this.slider.disabled = this.play.disabled = this.steps.length < 2;
    this.output.textContent = near.toLocaleString("en").replace(",", " ");
    this.slider.setAttribute("aria-valuetext", `step ${near}`);
  }

  /** Take a run and its step nearest to the one asked for; until its weights are there, what is shown is of the last. */
  async #load(run, step) {
    const steps = Object.keys(this.listed[run]).map(Number);
    const near = steps.reduce((best, each) => (Math.abs(each - step) < Math.abs(best - step) ? each : best));
    const asked = (this.#asked = `${run} ${near}`);
    this.#mark(run, near);
    this.live.classList.add("stale");
    try {
      const weights = await weightsOf(run, near, this.listed[run][near]);
      if (this.#asked !== asked) return; // something else was asked meanwhile
      this.#weights = weights;
      Object.assign(this.#state, { run, step: String(near), near });
      this.#fault("weights", "");
      this.#show();
    } catch (error) {
      if (this.#asked !== asked) return;
      this.#stop();
      if (this.#state.near !== undefined) this.#mark(this.#state.run, this.#state.near); // what is shown still
      this.#fault("weights", error.message);
    }
  }

  #choosing(run, step) {
    this.#fault("link", "");
    this.#load(run, step);
  }

  #go() {
    this.play.textContent = "Stop";
    if (this.slider.valueAsNumber === this.steps.length - 1) this.slider.value = 0;
    const next = async () => {
      await this.#load(this.runs.value, this.steps[this.slider.valueAsNumber]);
      if (!this.#timer) return;
      if (this.slider.valueAsNumber === this.steps.length - 1) return this.#stop();
      this.slider.value = this.slider.valueAsNumber + 1;
      this.#timer = setTimeout(next, 500);
    };
    this.#timer = setTimeout(next, 0);
  }

  #stop() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    this.play.textContent = "Play";
  }

  /** Ask the network and show all that it says. */
  #show() {
    const { ids } = this.#state;
    this.live.classList.toggle("waiting", !this.#revealed);
    if (!ids || !this.#weights) return;
    this.#showTokens();
    if (!this.#revealed) return;
    const alter = alteration(this.#weights, TASK, ids, this.#settings);
    this.acts = trace(this.#weights, ids, alter);
    if (!this.measure.disabled) this.accuracy.textContent = ""; // it was of what stood here before
    const odds = softmax(this.acts.logits, TASK.numbers), answer = odds.indexOf(Math.max(...odds));
    let right = null, fault = "";
    try {
      const problem = Problem.fromTokens(ids, TASK);
      [right, this.#state.problem] = [problem.answer, String(problem)];
    } catch (error) {
      fault = `These tokens spell no problem: ${error.message}. `;
    }
    const packed = right !== null && String(Problem.parse(this.#state.problem, TASK).tokens()) === String(ids);
    this.verdict.replaceChildren(fault, "The network says ", make("strong", { text: String(answer) }), `, with probability ${share(odds[answer])}`,
      right === null ? "." : answer === right ? ": right." : `; right is ${right} (probability ${share(odds[right])}).`);
    if (alter) {
      const { logits } = trace(this.#weights, ids);
      this.verdict.append(` Unchanged it says ${logits.indexOf(Math.max(...logits))}.`);
    }
    if (this.hasAttribute("predict")) this.verdict.append(` You said ${this.#guess}.`);
    this.verdict.dataset.right = String(answer === right);
    for (const layer of [0, 1]) this.#showLayer(layer);
    this.#choose(this.#chosen.layer, this.#chosen.query, this.#chosen.key ?? this.#mostRead(1, TASK.last));
    this.#showLens(right);
    this.#showCircle(odds, answer, right);
    if (this.hasAttribute("address")) {
      const what = packed ? { problem: this.#state.problem } : { tokens: ids.map((id) => TASK.names[id]).join(" ") };
      const changed = Object.fromEntries(Object.entries(this.#settings).filter(([name, value]) => value !== SETTINGS[name].none));
      const state = `?${new URLSearchParams({ ...what, run: this.#state.run, step: this.#state.near, ...changed })}${location.hash}`;
      clearTimeout(this.#note); // browsers allow a page few changes of its address in a short time
      this.#note = setTimeout(() => history.replaceState(null, "", state), 300);
    }
  }

  #mostRead(layer, query) {
    const row = this.acts.pattern[layer].subarray(query * TASK.length, (query + 1) * TASK.length);
    return row.indexOf(Math.max(...row));
  }

  #showTokens() {
    if (!this.tokens.childElementCount) {
      this.tokens.append(...Array.from({ length: TASK.length }, (_, place) => {
        const select = make("select", { "aria-label": `token at position ${place}` }, ...TASK.names.map((name, id) => make("option", { value: id, text: name })));
        select.addEventListener("change", () => {
          this.#state.ids = this.#state.ids.with(place, Number(select.value));
          this.#fault("problem", "");
          this.#revealed = !this.hasAttribute("predict");
          this.#spell();
          this.#show();
        });
        return select;
      }));
    }
    [...this.tokens.children].forEach((select, place) => (select.value = this.#state.ids[place]));
  }

  #showLayer(layer) {
    const box = this[`layer${layer}`], names = this.#state.ids.map((id) => TASK.names[id]);
    if (!box.childElementCount) {
      const head = make("tr", {}, make("td"), ...names.map(() => make("th", { scope: "col" })));
      const rows = names.map((_, query) => make("tr", {}, make("th", { scope: "row" }), ...names.map((_, key) => make("td", key > query ? { class: "later" } : { tabindex: -1 }))));
      box.append(make("table", { class: "attention" }, make("caption", { text: `Layer ${layer + 1}: how much each row reads of each column, in percent (below 10 not printed)` }), make("thead", {}, head), make("tbody", {}, ...rows)));
      const pick = (event) => {
        const cell = event.target.closest("td[tabindex]");
        if (cell) this.#choose(layer, cell.parentElement.rowIndex - 1, cell.cellIndex - 1);
      };
      box.addEventListener("pointerover", pick);
      box.addEventListener("click", pick);
      box.addEventListener("focusin", pick);
      box.addEventListener("keydown", (event) => this.#step(event, layer));
    }
    const table = box.firstChild;
    [...table.tHead.rows[0].cells].slice(1).forEach((cell, place) => cell.replaceChildren(make("span", { text: names[place] })));
    [...table.tBodies[0].rows].forEach((row, query) => {
      row.cells[0].textContent = names[query];
      for (let key = 0; key <= query; key++) {
        const weight = this.acts.pattern[layer][query * TASK.length + key], cell = row.cells[key + 1];
        cell.textContent = weight >= 0.1 ? String(Math.round(100 * weight)) : "";
        cell.dataset.weight = weight.toFixed(3);
        cell.dataset.dark = String(weight > 0.77); // there white letters stand out as well as black ones
        cell.style.backgroundColor = `rgb(${FULL.map((channel) => Math.round(255 + weight * (channel - 255)))})`;
      }
    });
  }

  #step(event, layer) {
    const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }, move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const query = Math.min(Math.max(this.#chosen.query + move[0], 0), TASK.last);
    const key = Math.min(Math.max(this.#chosen.key + move[1], 0), query);
    this.#choose(layer, query, key, true);
  }

  /** Say what one token reads of another, and of what its score is made. */
  #choose(layer, query, key, focus = false) {
    this.#chosen = { layer, query, key };
    for (const each of [0, 1]) {
      const rows = this[`layer${each}`].firstChild.tBodies[0].rows;
      for (const row of rows) row.classList.toggle("chosen", each === layer && row.rowIndex - 1 === query);
      for (const cell of this[`layer${each}`].querySelectorAll("td[tabindex='0']")) cell.tabIndex = -1;
      const cell = rows[each === layer ? query : TASK.last].cells[(each === layer ? key : 0) + 1];
      cell.tabIndex = 0;
      if (focus && each === layer) cell.focus();
    }
    const at = (place) => `${TASK.names[this.#state.ids[place]]} (position ${place})`, spot = query * TASK.length + key;
    const names = PARTS.slice(0, layer + 2), parts = partsOf(this.#weights, this.acts, layer, query, key);
    const score = this.acts.scores[layer][spot], changed = score - parts.flat().reduce((sum, part) => sum + part, 0);
    const row = [query * TASK.length, (query + 1) * TASK.length], soft = softmax(this.acts.scores[layer].subarray(...row), TASK.length);
    const set = soft.some((weight, place) => Math.abs(weight - this.acts.pattern[layer][row[0] + place]) > 0.005);
    const said = Math.abs(changed) < 0.05 ? "" : `, of which ${changed.toFixed(1)} by the change`;
    this.reading.textContent = `Layer ${layer + 1}: ${at(query)} reads ${at(key)} with weight ${this.acts.pattern[layer][spot].toFixed(2)}; score ${score.toFixed(1)}${said}${set ? "; the weight is set by a switch" : ""}.`;
    const rows = names.map((name, i) => make("tr", {}, make("th", { scope: "row", text: name }), ...names.map((_, j) => make("td", { text: parts[i][j].toFixed(1) }))));
    this.terms.replaceChildren(make("table", { class: "terms" }, make("caption", { text: `The parts of this score of layer ${layer + 1}, which add up to it: what the reader holds (rows) and what is read (columns)` }),
      make("thead", {}, make("tr", {}, make("td"), ...names.map((name) => make("th", { scope: "col", text: name })))), make("tbody", {}, ...rows)));
  }

  #showLens(right) {
    const rows = logitsAt(this.#weights, this.acts).map((logits, stage) => {
      const odds = softmax(logits, TASK.numbers), best = odds.indexOf(Math.max(...odds));
      return make("tr", {}, make("th", { scope: "row", text: STAGES[stage] }), make("td", { text: String(best) }), make("td", { text: odds[best].toFixed(2) }), make("td", { text: right === null ? "" : odds[right].toFixed(2) }));
    });
    const head = ["read at =", "likeliest", "its probability", "the answer's"].map((text) => make("th", { scope: "col", text }));
    this.lens.replaceChildren(make("table", { class: "lens" }, make("caption", { text: `The stream at = read through the unembedding; chance is ${(1 / TASK.numbers).toFixed(2)}` }), make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows)));
  }

  #showCircle(odds, answer, right) {
    const N = TASK.numbers, { logits } = this.acts, low = Math.min(...logits), high = Math.max(...logits);
    const said = `Logits of the ${N} numbers on a circle. Longest: ${answer}.${right === null ? "" : ` The answer: ${right}.`}`;
    const drawing = draw("svg", { viewBox: "-130 -130 260 260", role: "img", "aria-label": said });
    const at = (number, radius) => [radius * Math.sin((2 * Math.PI * number) / N), -radius * Math.cos((2 * Math.PI * number) / N)];
    for (let number = 0; number < N; number++) {
      const [[x1, y1], [x2, y2]] = [at(number, 40), at(number, 42 + (62 * (logits[number] - low)) / (high - low || 1))];
      drawing.append(draw("line", { x1, y1, x2, y2, class: number === answer ? "said" : "other" }));
      const named = [answer, right].includes(number), near = [answer, right].some((each) => each !== null && Math.abs(each - number) < 3);
      if (named || (number % 5 === 0 && !near)) {
        const [x, y] = at(number, 116);
        drawing.append(draw("text", { x, y: y + 4, class: number === answer ? "said" : "other" }, number === right ? `(${number})` : String(number)));
      }
    }
    drawing.append(draw("text", { x: 0, y: 8, class: "middle" }, String(answer)));
    this.circle.replaceChildren(drawing, make("p", { class: "caption", text: "The 59 logits around a circle: the longer a line, the larger; in brackets the right answer" }));
  }
}

if (!customElements.get("assign-add")) customElements.define("assign-add", AssignAdd);
