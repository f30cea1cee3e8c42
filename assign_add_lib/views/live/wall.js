// <neuron-wall run="seed-42" step="30000" x="17" y="19" clocks="yes">: all neurons of the adder as tiles, lit by the pair that the reader chooses.
import { adderOf, wavesOf } from "./adder.js";
import { coloursOf, inPieces, onTheme } from "./canvas.js";
import { make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";
import { largest } from "./network.js";
import { GAP, activeAt, crosshair, groupsOf, orderOf, tileOf, tint } from "./tiles.js";
import { drawVotes, votesDrawing } from "./votes.js";

class NeuronWall extends Explorable {
  build(weights) {
    this.adder = adderOf(weights);
    const { N, neurons } = this.adder;
    this.groups = groupsOf(wavesOf(this.adder), neurons);
    this.places = this.groups.flatMap((group) => group.neurons.map((neuron, place) => ({ group, neuron, place })));
    this.most = new Float32Array(neurons); // of each neuron's activation over all pairs, once its tile is painted
    [this.x, this.y, this.round] = [this.numbers("x")[0], this.numbers("y")[0], false];
    this.chosen = largest(this.places.map(({ neuron }) => activeAt(this.adder, neuron, this.x, this.y)));

    const ends = { least: 0, most: N - 1 }, says = (at) => `${this.places[at].place + 1} of group ${this.places[at].group.k}`;
    this.sliders = {
      x: slider("left number x", { ...ends, value: this.x }, (x) => this.#set({ x })),
      y: slider("right number y", { ...ends, value: this.y }, (y) => this.#set({ y })),
      chosen: slider("neuron", { least: 0, most: neurons - 1, value: this.chosen, says }, (chosen) => this.#set({ chosen })),
    };
    const round = make("input", { type: "checkbox" });
    round.addEventListener("change", () => this.#paint((this.round = round.checked)));
    this.verdict = make("p", { class: "verdict", role: "status" });
    this.votes = votesDrawing(this.groups.length, N);
    this.large = make("canvas", { width: 5 * N, height: 5 * N, role: "img" });
    this.large.addEventListener("pointerdown", (event) => this.large.setPointerCapture(event.pointerId));
    for (const kind of ["pointerdown", "pointermove"]) this.large.addEventListener(kind, (event) => event.buttons && this.#drag(event));
    this.reading = make("p", { class: "caption" });
    const order = make("label", { class: "check" }, round, make("span", { text: "order the numbers round each group's clock" }));
    this.wall = make("div", { class: "wall" },
      ...(this.hasAttribute("clocks") ? [order] : []),
      ...this.groups.map((group) => this.#row(group)));
    this.view.replaceChildren(
      make("div", { class: "sliders" }, this.sliders.x.root, this.sliders.y.root), this.verdict,
      make("div", { class: "neurons" }, this.votes, this.wall, make("div", { class: "tile" }, this.large, this.reading, this.sliders.chosen.root)),
    );
    onTheme(() => this.#light());
    new ResizeObserver(() => this.#lay()).observe(this.wall);
    this.#set({});
  }

  /** A group's switch and its tiles, of which one can be chosen. */
  #row(group) {
    const act = make("span", { text: "silence" });
    const button = make("button", { type: "button", "aria-pressed": "false" }, make("b", { text: String(group.k) }), make("small", { text: `${group.neurons.length} neurons` }), act);
    button.addEventListener("click", () => {
      group.on = !group.on;
      button.ariaPressed = String(!group.on);
      act.textContent = group.on ? "silence" : "silenced";
      this.#set({});
    });
    Object.assign(group, { canvas: make("canvas", { "aria-hidden": "true" }), atlas: make("canvas") });
    group.canvas.addEventListener("click", ({ offsetX, offsetY }) => {
      const at = Math.floor(offsetX / this.tile) + this.columns * Math.floor(offsetY / this.tile);
      if (at in group.neurons) this.#set({ chosen: this.places.findIndex((each) => each.group === group) + at });
    });
    return make("div", { class: "group" }, button, make("div", {}, group.canvas));
  }

  /** Lay out the tiles anew where the room has changed. */
  #lay() {
    const room = this.groups[0].canvas.parentElement.clientWidth, tile = room < 400 ? 15 : 21, columns = Math.floor(room / tile);
    if (!columns || (columns === this.columns && tile === this.tile)) return;
    Object.assign(this, { tile, columns });
    const step = this.adder.N + GAP, sharp = Math.min(2, devicePixelRatio);
    for (const { neurons, canvas, atlas } of this.groups) {
      const rows = Math.ceil(neurons.length / columns);
      Object.assign(atlas, { width: columns * step, height: rows * step });
      Object.assign(canvas, { width: columns * tile * sharp, height: rows * tile * sharp });
      canvas.style.width = `${columns * tile}px`;
    }
    this.#paint();
  }

  /** Where a tile of this side stands among those of its group. */
  #corner(place, side) {
    return [(place % this.columns) * side, Math.floor(place / this.columns) * side];
  }

  #order(group) {
    return orderOf(this.adder.N, this.round ? group.k : 1);
  }

  /** Paint all tiles, once for all pairs. */
  #paint() {
    this.stop?.();
    this.stop = inPieces(this.places.length, (at) => {
      const { group, neuron, place } = this.places[at], { image, most } = tileOf(this.adder, neuron, this.#order(group));
      this.most[neuron] = most;
      group.atlas.getContext("2d").putImageData(image, ...this.#corner(place, this.adder.N + GAP));
    }, () => this.#light());
  }

  /** Take the pair under the pointer. */
  #drag({ offsetX, offsetY }) {
    const order = this.#order(this.places[this.chosen].group), { N } = this.adder;
    const at = (offset) => Math.max(0, Math.min(N - 1, Math.floor((offset * N) / this.large.clientWidth)));
    this.#set({ x: order[at(offsetX)], y: order[N - 1 - at(offsetY)] });
  }

  /** Take what is new, let the neurons vote, and draw what follows. */
  #set(changed) {
    Object.assign(this, changed);
    for (const [name, { set }] of Object.entries(this.sliders)) set(this[name]);
    const { x, y } = this, { N, neurons, out } = this.adder, logits = new Float32Array(N);
    this.active = Float32Array.from({ length: neurons }, (_, neuron) => activeAt(this.adder, neuron, x, y));
    for (const group of this.groups) {
      group.votes = new Float32Array(N);
      for (const neuron of group.neurons) if (this.active[neuron]) for (let q = 0; q < N; q++) group.votes[q] += this.active[neuron] * out[neuron * N + q];
      if (group.on) group.votes.forEach((vote, q) => (logits[q] += vote));
    }
    const voters = this.groups.filter(({ on }) => on).flatMap(({ neurons }) => neurons), answer = largest(logits), sum = (x + y) % N;
    const active = voters.filter((neuron) => this.active[neuron]).length, says = `say ${answer}${answer === sum ? "" : `, not ${sum}`}`;
    this.verdict.textContent = `${x} + ${y}: ${active ? `${active} of ${voters.length} neurons are active, and ${says}` : "no neuron votes"}.`;
    drawVotes(this.votes, this.groups, logits);
    this.waits ??= requestAnimationFrame(() => this.#light((this.waits = null)));
  }

  /** Light each tile by how active its neuron is at this pair, of the most that it can be. */
  #light() {
    if (!this.columns) return;
    const [glow, ink, faint] = coloursOf(this.view, "--sum", "--ink", "--faint"), chosen = this.places[this.chosen];
    for (const group of this.groups) {
      const { canvas, atlas, on } = group, pen = canvas.getContext("2d"), side = canvas.width / this.columns, width = (side * this.adder.N) / (this.adder.N + GAP);
      tint(pen, atlas, [0, 0, atlas.width, atlas.height], on ? 0.6 : 0.15, ink);
      pen.globalCompositeOperation = "destination-over";
      group.neurons.forEach((neuron, place) => {
        for (const [colour, opacity] of [[glow, on ? this.active[neuron] / (this.most[neuron] || Infinity) : 0], [faint, 0.25]]) {
          pen.globalAlpha = opacity;
          pen.fillStyle = colour;
          pen.fillRect(...this.#corner(place, side), width, width);
        }
      });
      if (chosen.group !== group) continue;
      Object.assign(pen, { globalAlpha: 1, globalCompositeOperation: "source-over", strokeStyle: ink, lineWidth: side / 9 });
      pen.strokeRect(...this.#corner(chosen.place, side), width, width);
    }
    this.#enlarge(chosen);
  }

  /** The chosen tile, with the pair on it. */
  #enlarge({ group, neuron, place }) {
    const { N } = this.adder, size = this.large.width, pen = this.large.getContext("2d"), order = this.#order(group);
    const [left, right, ink, glow, paper] = coloursOf(this.view, "--x", "--y", "--ink", "--sum", "--paper"), share = this.active[neuron] / (this.most[neuron] || Infinity);
    const at = (number) => ((order.indexOf(number) + 0.5) * size) / N, [x, y] = [at(this.x), size - at(this.y)];
    tint(pen, group.atlas, [...this.#corner(place, N + GAP), N, N], 0.8, ink);
    crosshair(pen, x, y, 6 + 11 * share, { left, right, glow, paper });
    this.reading.textContent = `At this pair: ${Math.round(100 * share)} % of its peak.`;
    this.large.setAttribute("aria-label", `Neuron ${place + 1} of group ${group.k} over all x and y. ${this.reading.textContent}`);
  }
}

if (!customElements.get("neuron-wall")) customElements.define("neuron-wall", NeuronWall);
