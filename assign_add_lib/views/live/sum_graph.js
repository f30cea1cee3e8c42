// <sum-graph>: a graph of sums that fills round by round, or one that is solved and gets a wrong value from the reader.
// It holds {names, operands, places, ways, tall, solution, networks: {arm: {filled, planted}}, wrong}; places in percent.
// What each network holds after each round is handed over; the reader says before a round which nodes will change.
import { draw, make } from "./elements.js";
import { Explorable } from "./explorable.js";

const listed = (names) => (names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names.join(""));

class SumGraph extends Explorable {
  build() {
    Object.assign(this, JSON.parse(this.querySelector("script").textContent));
    const press = (text, todo) => {
      const made = make("button", { type: "button", text });
      made.addEventListener("click", todo);
      return made;
    };
    const picture = make("div", { class: "sums-picture" }), lines = draw("svg", { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
    picture.style.setProperty("--tall", this.tall);
    lines.append(...this.ways.map((way) => draw("path", { d: this.#curve(way) })));
    this.nodes = this.names.map((name, node) => {
      const made = make("button", { type: "button", class: "sum-node" }, make("small", { text: name }), make("b"));
      const [x, y] = this.places[node];
      made.style.setProperty("left", `${x}%`);
      made.style.setProperty("top", `${y}%`);
      made.addEventListener("click", () => this.#tap(node));
      return made;
    });
    picture.append(lines, ...this.nodes);
    this.arms = Object.keys(this.networks).map((arm) => press(arm, () => this.#choose(arm)));
    this.next = press("Next round", () => this.#step());
    this.next.classList.add("go");
    this.verdict = make("p", { class: "verdict", role: "status" });
    const choice = this.arms.length > 1 ? [make("div", { class: "controls" }, make("span", { text: "network" }), ...this.arms)] : [];
    this.view.replaceChildren(...choice, picture, make("div", { class: "controls" }, this.next, press("Start again", () => this.#start())), this.verdict);
    this.arm = Object.keys(this.networks)[0];
    this.#start();
  }

  /** A way through points, level at each of them. */
  #curve([[x, y], ...rest]) {
    let path = `M${x} ${y}`, from = x, at = y;
    for (const [to, down] of rest) {
      const middle = (from + to) / 2;
      path += `C${middle} ${at} ${middle} ${down} ${to} ${down}`;
      [from, at] = [to, down];
    }
    return path;
  }

  #choose(arm) {
    this.arm = arm;
    this.#start(this.origin);
  }

  /** Begin with an empty graph; or with a solved one, in which one value may be wrong. */
  #start(origin) {
    this.round = 0;
    this.origin = origin;
    this.said = new Set();
    const { names, solution } = this;
    if (!this.wrong) this.#say("Nothing is filled in yet. Which nodes will hold a value after the first round?");
    else if (origin === undefined) this.#say("The graph is solved. Tap a node to make its value wrong.");
    else this.#say(`${names[origin]} holds ${this.#held()[origin]}, and should hold ${solution[origin]}. Which nodes will be wrong after one round?`);
    this.#draw();
  }

  /** The values after this round, or after another. */
  #held(round = this.round) {
    const { filled, planted } = this.networks[this.arm];
    if (!this.wrong) return filled[round];
    return this.origin === undefined ? this.solution : planted[this.origin][round];
  }

  #last() {
    const { filled } = this.networks[this.arm];
    return this.round === filled.length - 1 || (this.wrong && this.origin === undefined);
  }

  #bad = (round) => this.nodes.map((_, node) => node).filter((node) => this.#held(round)[node] !== null && this.#held(round)[node] !== this.solution[node]);

  #tap(node) {
    if (this.wrong && this.origin === undefined) return this.#start(node);
    if (this.#last()) return;
    if (!this.said.delete(node)) this.said.add(node);
    this.#draw();
  }

  /** Go on by a round, and say what came, beside what the reader said. */
  #step() {
    const before = this.#held(), said = [...this.said];
    this.round += 1;
    this.said = new Set();
    const now = this.#held(), names = (nodes) => listed(nodes.map((node) => this.names[node]));
    const came = this.wrong ? this.#bad() : this.nodes.map((_, node) => node).filter((node) => before[node] === null && now[node] !== null);
    const hits = said.filter((node) => came.includes(node)).length, missed = said.length - hits;
    const guess = said.length ? ` You named ${hits} of ${came.length}${missed ? `, and ${missed} that ${missed > 1 ? "are" : "is"} not among them` : ""}.` : "";
    const whole = now.every((value, node) => value === this.solution[node]);
    let words;
    if (this.wrong) words = came.length ? `After round ${this.round} wrong: ${names(came)}.${guess}` : `After round ${this.round} all are right.${guess}`;
    else words = came.length ? `Round ${this.round} fills ${names(came)}.${guess}${whole ? " All are right." : ""}` : `Round ${this.round} changes nothing.${guess}`;
    this.#say(words);
    this.#draw();
  }

  #say(words) {
    this.verdict.textContent = words;
  }

  #draw() {
    const held = this.#held(), bad = new Set(this.#bad());
    this.nodes.forEach((made, node) => {
      const value = held[node];
      made.querySelector("b").textContent = value ?? "";
      made.classList.toggle("holds", value !== null);
      made.classList.toggle("off", bad.has(node));
      made.setAttribute("aria-pressed", this.said.has(node));
      made.setAttribute("aria-label", `${this.names[node]}, ${value === null ? "empty" : `holds ${value}`}${bad.has(node) ? ", wrong" : ""}`);
    });
    this.arms.forEach((made) => made.setAttribute("aria-pressed", made.textContent === this.arm));
    this.next.disabled = this.#last();
  }
}

if (!customElements.get("sum-graph")) customElements.define("sum-graph", SumGraph);
