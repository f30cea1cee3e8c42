// <train-here p="29" share="80" decay="1" seed="1" width="32" neurons="128">: a small adder that the reader trains in the page.
import { wavesOf } from "./adder.js";
import { draw, make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";
import { LOOK, pairsOf, preOf, training, untrained } from "./trainer.js";

const MODULI = [29, 59], DECAYS = [0, 0.1, 0.3, 1, 2];
const SLICE = 12; // thousandths of a second of work in a frame
const LONGEST = 1600, SURE = 5; // steps at most; looks that must find all new pairs right
const LEFT = 34, TOP = 30, ROOM = 270, HIGH = 142; // of the curves

const inPercent = (share) => `${Math.floor(100 * share + 1e-9)}%`; // 100% is all
const line = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
const cell = (x, y, size) => `M${x + (1 - size) / 2} ${y + (1 - size) / 2}h${size}v${size}h${-size}z`;

class TrainHere extends Explorable {
  build() {
    for (const name of ["p", "share", "decay", "seed", "width", "neurons"]) [this[name]] = this.numbers(name);
    const modulo = make("select", {}, ...MODULI.map((p) => make("option", { value: p, text: String(p) })));
    modulo.value = this.p;
    modulo.addEventListener("change", () => this.#anew({ p: Number(modulo.value) }));
    const share = slider("pairs in training", { least: 30, most: 90, step: 5, value: this.share, says: (value) => `${value}%` }, (value) => this.#anew({ share: value }));
    const says = (place) => (place ? String(DECAYS[place]) : "off");
    const decay = slider("weight decay", { least: 0, most: DECAYS.length - 1, value: DECAYS.indexOf(this.decay), says }, (place) => { this.decay = DECAYS[place]; });
    const button = (text, told) => {
      const element = make("button", { type: "button", text });
      element.addEventListener("click", told);
      return element;
    };
    this.switch = button("Train", () => {
      if (this.going) this.#say("Paused", "");
      this.#go(!this.going);
    });
    this.switch.className = "go";
    const again = button("Start anew", () => this.#anew({ going: true }));
    const other = button("Another start", () => this.#anew({ seed: this.seed + 1, going: true }));
    this.verdict = make("p", { class: "verdict", role: "status" });
    this.curves = draw("svg", { viewBox: "0 0 400 200", role: "img" });
    this.bars = draw("svg", { viewBox: "0 0 400 126", role: "img" });
    this.board = draw("svg", { class: "board", role: "img" });
    const key = make("p", { class: "caption" }, "Every cell is a sum x + y: ", make("b", { class: "seen", text: "■ seen" }), " in training, ", make("b", { class: "new", text: "■ new" }), ". Small while it is wrong.");
    this.view.replaceChildren(
      make("div", { class: "controls" }, this.switch, again, other, make("label", {}, "modulo", modulo)),
      make("div", { class: "sliders" }, share.root, decay.root),
      this.verdict,
      make("div", { class: "pictures" }, make("div", { class: "wide" }, this.curves, this.bars), make("div", {}, this.board, key)),
    );
    this.#anew({});
    new IntersectionObserver((entries) => {
      this.inSight = entries.at(-1).isIntersecting;
      this.#wake();
    }).observe(this);
  }

  /** Back to nothing, with what is new of the settings. */
  #anew(changed) {
    const former = this.history?.length > 1 ? this.history : this.former;
    Object.assign(this, { former, history: [], sure: 0, learned: false }, changed);
    this.pairs = pairsOf(this.p, this.share / 100, this.seed);
    this.adder = untrained(this, this.seed);
    this.work = training(this.adder, this.pairs, () => this.decay, () => this.#look());
    this.verdict.textContent = "Nothing is learned yet. Which line will rise first, and will the other follow?";
    this.#go(Boolean(this.going));
    this.#draw();
  }

  #go(going) {
    this.going = going;
    this.switch.textContent = going ? "Pause" : this.history.length ? "Train on" : "Train";
    this.#wake();
  }

  #wake() {
    if (this.awake || !this.going || !this.inSight) return;
    this.awake = true;
    requestAnimationFrame(() => {
      this.awake = false;
      const until = performance.now() + SLICE;
      while (!this.work.next().value && performance.now() < until); // at most one step, so that there is time to see it
      if (this.stale) this.#draw();
      this.#wake();
    });
  }

  /** What all pairs are marked as now goes into the history; at a milestone it is said. */
  #look() {
    const share = (seen) => {
      const pairs = this.pairs.filter((pair) => pair.seen === seen);
      return pairs.filter(({ right }) => right).length / pairs.length;
    };
    const now = { step: this.adder.steps, seen: share(true), fresh: share(false) };
    this.history.push(now);
    this.stale = true;
    this.sure = now.seen === 1 && now.fresh === 1 ? this.sure + 1 : 0;
    if (!this.learned && now.seen === 1 && now.fresh < 1) this.#say("Training has what it wants", "Does the other line follow?");
    this.learned ||= now.seen === 1;
    if (this.sure === SURE) this.#say("It adds pairs that it never saw", "");
    else if (now.step === LONGEST) this.#say("Stopped", now.fresh < 1 ? "Try more pairs, or more weight decay." : "");
    if (this.sure === SURE || now.step === LONGEST) this.#go(false);
  }

  #say(first, last) {
    const { step, seen, fresh } = this.history.at(-1) ?? { step: 0, seen: 0, fresh: 0 };
    this.verdict.textContent = `${first}. After ${step} steps ${inPercent(seen)} of the seen pairs are right, and ${inPercent(fresh)} of the new ones. ${last}`;
  }

  #draw() {
    this.stale = false;
    this.#drawCurves();
    this.#drawBars();
    this.#drawBoard();
  }

  #drawCurves() {
    const now = this.history.at(-1) ?? { step: 0, seen: 0, fresh: 0 };
    let span = 20 * LOOK;
    while (span < now.step) span *= 2;
    const at = (step, share) => [LEFT + (ROOM * step) / span, TOP + HIGH * (1 - share)];
    const curve = (kind, history, name) => draw("polyline", { class: kind, points: line(history.filter(({ step }) => step <= span).map((each) => at(each.step, each[name]))) });
    const ticks = [0, 0.5, 1].flatMap((share) => {
      const [, y] = at(0, share);
      return [draw("line", { class: "grid", x1: LEFT, x2: LEFT + ROOM, y1: y, y2: y }), draw("text", { class: "end", x: LEFT - 5, y: y + 4 }, inPercent(share))];
    });
    const [x, ySeen] = at(now.step, now.seen), [, yNew] = at(now.step, now.fresh), apart = Math.max(0, 14 - Math.abs(ySeen - yNew)) / 2, up = now.seen >= now.fresh ? -apart : apart;
    const high = Math.min(0, TOP + HIGH - 4 - Math.max(ySeen + up, yNew - up)); // no name stands below the axis
    const name = (kind, share, y) => draw("text", { class: kind, x: x + 6, y: y + high + 4 }, this.history.length ? `${kind} ${inPercent(share)}` : "");
    this.curves.setAttribute("aria-label", `Step ${now.step}: right on ${inPercent(now.seen)} of the seen pairs and ${inPercent(now.fresh)} of the new pairs`);
    this.curves.replaceChildren(
      draw("text", { x: LEFT, y: 12 }, this.former ? "right answers; dotted: new pairs, the run before" : "right answers"), ...ticks,
      draw("text", { x: LEFT, y: 190 }, "0"), draw("text", { class: "end", x: LEFT + ROOM, y: 190 }, `step ${span}`),
      curve("former", this.former ?? [], "fresh"), curve("seen", this.history, "seen"), curve("new", this.history, "fresh"),
      name("seen", now.seen, ySeen + up), name("new", now.fresh, yNew - up),
    );
  }

  /** How much of each frequency is in what the neurons get of the numbers. */
  #drawBars() {
    const power = wavesOf({ N: this.p, neurons: this.neurons, pre: preOf(this.adder) }).slice(1).map((both) => both.flatMap((wave) => [...wave]).reduce((sum, value) => sum + value ** 2, 0));
    const all = power.reduce((sum, each) => sum + each), even = 1 / power.length, most = Math.max(4 * even, ...power.map((each) => each / all)), wide = ROOM / power.length;
    const large = power.flatMap((each, place) => (each / all > 1.5 * even ? [place] : []));
    let row = 0;
    this.bars.setAttribute("aria-label", `The largest frequencies in what the neurons get: ${large.map((place) => place + 1).join(", ") || "none stands out"}`);
    this.bars.replaceChildren(draw("text", { x: LEFT, y: 12 }, "frequencies in what the neurons get"), ...power.map((each, place) => {
      const height = Math.max(1, (78 * each) / all / most);
      return draw("rect", { class: large.includes(place) ? "large" : "", x: LEFT + wide * (place + 0.12), width: 0.76 * wide, y: 98 - height, height });
    }), ...large.map((place, i) => {
      row = wide < 16 && place - large[i - 1] === 1 ? 1 - row : 0; // names of neighbours in two rows
      return draw("text", { class: "middle", x: LEFT + wide * (place + 0.5), y: 111 + 12 * row }, String(place + 1));
    }));
  }

  #drawBoard() {
    const paths = { "seen wrong": "", "seen right": "", "new wrong": "", "new right": "" };
    for (const { x, y, seen, right } of this.pairs) {
      const kind = `${seen ? "seen" : "new"} ${right ? "right" : "wrong"}`, size = right ? 0.86 : 0.36;
      paths[kind] += cell(x, y, size) + (x === y ? "" : cell(y, x, size));
    }
    this.board.setAttribute("viewBox", `0 0 ${this.p} ${this.p}`);
    this.board.setAttribute("aria-label", `All ${this.p} times ${this.p} sums; ${this.share}% of the pairs are in training`);
    this.board.replaceChildren(...Object.entries(paths).map(([kind, d]) => draw("path", { class: kind, d })));
  }
}

if (!customElements.get("train-here")) customElements.define("train-here", TrainHere);
