// <clock-board run="seed-42" step="30000" ks="…" x="17" y="19">: switches for the key frequencies, and all the sums that the adder gets right.
import { adderOf, given, logitsOf, wavesOf } from "./adder.js";
import { coloursOf, inPieces, onTheme } from "./canvas.js";
import { draw, make } from "./elements.js";
import { Explorable } from "./explorable.js";
import { largest } from "./network.js";

const CELL = 12, EDGE = 36; // pixels, of a cell and of the names of rows and columns
const UNKNOWN = -1;

const list = new Intl.ListFormat("en-GB");
const percent = (share) => `${(100 * share).toFixed(share > 0.99 && share < 1 ? 2 : 1)} %`;

class ClockBoard extends Explorable {
  build(weights) {
    this.adder = adderOf(weights);
    this.waves = wavesOf(this.adder);
    this.ks = this.numbers("ks");
    this.others = this.waves.map((_, k) => k).filter((k) => k && !this.ks.includes(k));
    this.said = new Int16Array(this.adder.N ** 2);
    this.cell = [this.numbers("x")[0], this.numbers("y")[0]];
    this.on = new Set([this.ks[0]]);
    this.tried = new Map(); // by the clocks that are on: how many, and the share of right sums

    this.switches = this.ks.map((k) => this.#button([k], String(k), this.#wave(k)));
    this.switches.push(this.#button(this.others, `the other ${this.others.length}`));
    const all = make("button", { type: "button", text: `all ${this.ks.length}` }), none = make("button", { type: "button", text: "none" });
    all.addEventListener("click", () => this.#switch(new Set(this.ks)));
    none.addEventListener("click", () => this.#switch(new Set()));
    this.share = make("p", { class: "share", "aria-hidden": "true" });
    this.chart = draw("svg", { class: "tried", viewBox: "0 0 300 155", role: "img" });
    this.verdict = make("p", { class: "verdict", role: "status" });
    this.reading = make("p", { class: "caption", role: "status" });
    const switches = make("div", { class: "switches", role: "group", "aria-label": "Clocks, by how often they go round" }, ...this.switches.map(({ root }) => root), all, none);
    this.view.replaceChildren(make("div", { class: "board-and-clocks" },
      make("div", { class: "clocks" }, switches, this.share, this.verdict),
      make("div", { class: "board" }, this.#board(), this.reading),
      this.chart));
    onTheme(() => this.#draw());
    this.#switch(this.on);
  }

  /** A switch for some frequencies. */
  #button(ks, text, ...before) {
    const root = make("button", { type: "button", class: ks.length > 1 ? "wide" : "" }, ...before, make("span", { text }));
    root.addEventListener("click", () => {
      const on = new Set(this.on), act = this.on.has(ks[0]) ? "delete" : "add";
      ks.forEach((k) => on[act](k));
      this.#switch(on);
    });
    return { ks, root };
  }

  #wave(k) {
    const points = Array.from({ length: 201 }, (_, i) => `${(i * 0.3).toFixed(1)},${(9 - 6 * Math.cos((2 * Math.PI * k * i) / 200)).toFixed(1)}`);
    const drawing = draw("svg", { viewBox: "0 0 60 18", "aria-hidden": "true" });
    drawing.append(draw("polyline", { points: points.join(" ") }));
    return drawing;
  }

  /** The canvas, with a cell that follows the pointer and the arrow keys. */
  #board() {
    const { N } = this.adder, size = N * CELL + EDGE;
    this.canvas = make("canvas", { width: size, height: size, tabindex: 0, role: "application", "aria-roledescription": "board" });
    const within = (number) => Math.max(0, Math.min(N - 1, number));
    const point = ({ offsetX, offsetY }) => {
      const scale = size / this.canvas.clientWidth / CELL;
      this.#read(within(Math.floor(offsetX * scale - EDGE / CELL)), within(N - 1 - Math.floor(offsetY * scale)));
    };
    for (const kind of ["pointermove", "pointerdown"]) this.canvas.addEventListener(kind, point);
    const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
    this.canvas.addEventListener("keydown", (event) => {
      if (!Object.hasOwn(keys, event.key)) return;
      event.preventDefault();
      this.#read(...this.cell.map((number, axis) => within(number + keys[event.key][axis])));
    });
    return this.canvas;
  }

  /** Let these frequencies alone stand in what the neurons get, and try all sums anew: both orders at once, as the adder adds. */
  #switch(on) {
    this.on = on;
    for (const { ks, root } of this.switches) root.setAttribute("aria-pressed", on.has(ks[0]));
    const { N } = this.adder, table = Array.from({ length: N }, (_, number) => given(this.waves, N, number, on));
    this.said.fill(UNKNOWN);
    this.stop?.();
    this.stop = inPieces(N, (x) => {
      for (let y = x; y < N; y++) this.said[x * N + y] = this.said[y * N + x] = largest(logitsOf(this.adder, table[x], table[y]));
    }, (done) => (done === N ? this.#tell() : this.#draw()));
  }

  #right(x, y) {
    return this.said[x * this.adder.N + y] === (x + y) % this.adder.N;
  }

  /** Say and keep what came out. */
  #tell() {
    const { on, ks, others } = this, { N } = this.adder, clocks = ks.filter((k) => on.has(k)), whole = on.has(others[0]);
    const right = this.said.reduce((sum, answer, at) => sum + (answer === (Math.floor(at / N) + at) % N), 0);
    this.now = { many: clocks.length, share: right / N ** 2, whole };
    this.tried.set([...on].toSorted((a, b) => a - b).join(), this.now);
    const names = list.format([...clocks.map((k, i) => (i ? "" : clocks.length > 1 ? "clocks " : "clock ") + k), ...(whole ? [`the other ${others.length}`] : [])]) || "no clock at all";
    this.verdict.textContent = `With ${names}: ${right} of ${N ** 2} sums right.`;
    this.canvas.setAttribute("aria-label", `Board of all sums from 0 + 0 to ${N - 1} + ${N - 1}, ${right} of them right; arrow keys move the cell`);
    this.#draw();
    this.#read(...this.cell);
    this.#plot();
  }

  /** Choose a cell and say what the adder answers there. */
  #read(x, y) {
    this.cell = [x, y];
    const answer = this.said[x * this.adder.N + y];
    if (answer !== UNKNOWN) this.reading.textContent = `${x} + ${y}: says ${answer}, ${this.#right(x, y) ? "right" : `not ${(x + y) % this.adder.N}`}`;
    this.#draw();
  }

  #draw() {
    const { N } = this.adder, pen = this.canvas.getContext("2d"), [full, empty, ink] = coloursOf(this.view, "--sum", "--faint", "--ink");
    let right = 0, known = 0;
    pen.reset();
    pen.fillStyle = ink;
    pen.font = "24px sans-serif";
    pen.textAlign = "center";
    for (const [name, at] of [[0, 1], ["x", N / 2], [N - 1, N - 1]]) pen.fillText(name, EDGE + at * CELL, N * CELL + 24);
    for (const [name, at] of [[0, 1], ["y", N / 2], [N - 1, N - 1]]) pen.fillText(name, EDGE / 2 - 2, (N - at) * CELL + 8);
    pen.translate(EDGE, 0);
    for (let x = 0; x < N; x++) for (let y = 0; y < N; y++) {
      if (this.said[x * N + y] === UNKNOWN) continue;
      const fits = this.#right(x, y), gap = fits ? 1 : 4.5;
      known++;
      right += fits;
      pen.fillStyle = fits ? full : empty;
      pen.fillRect(x * CELL + gap, (N - 1 - y) * CELL + gap, CELL - 2 * gap, CELL - 2 * gap);
    }
    pen.strokeStyle = ink;
    pen.lineWidth = 4;
    pen.strokeRect(this.cell[0] * CELL - 3, (N - 1 - this.cell[1]) * CELL - 3, CELL + 6, CELL + 6);
    this.share.textContent = percent(right / Math.max(known, 1));
  }

  /** Each set of clocks tried so far: how many, and how much it got right. */
  #plot() {
    const most = this.ks.length, at = ({ many, share }) => [34 + (255 * many) / most, 120 - 108 * share];
    this.chart.setAttribute("aria-label", `${this.tried.size} sets of clocks tried: their number, and the share of sums right`);
    this.chart.replaceChildren(
      ...[0, 0.5, 1].flatMap((share) => [draw("line", { x1: 34, x2: 289, y1: 120 - 108 * share, y2: 120 - 108 * share }), draw("text", { class: "level", x: 26, y: 124 - 108 * share }, String(100 * share))]),
      ...Array.from({ length: most + 1 }, (_, many) => draw("text", { x: at({ many, share: 0 })[0], y: 135 }, String(many))),
      draw("text", { x: 161, y: 151 }, "clocks on, and percent right, of all you have tried"),
      ...Array.from(this.tried.values(), (each) => {
        const [cx, cy] = at(each);
        return draw("circle", { class: `${each.whole ? "whole" : ""} ${each === this.now ? "now" : ""}`, cx, cy, r: each === this.now ? 6 : 4 });
      }),
    );
  }
}

if (!customElements.get("clock-board")) customElements.define("clock-board", ClockBoard);
