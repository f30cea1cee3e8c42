// <nine-clocks run="seed-42" step="30000" ks="…" x="17" y="19">: a clock for each key frequency, whose hands the reader turns.
import { adderOf, given, logitsOf, wavesOf } from "./adder.js";
import { draw, make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";
import { largest } from "./network.js";

const R = 44; // of a face, which is 128 wide
const FINE = 0.25; // the steps in which a number is turned

class NineClocks extends Explorable {
  build(weights) {
    this.adder = adderOf(weights);
    this.N = this.adder.N;
    this.waves = wavesOf(this.adder);
    this.ks = this.numbers("ks");
    [this.x, this.y] = [this.numbers("x")[0], this.numbers("y")[0]];
    this.candidate = 0;
    const most = this.N - FINE;
    this.sliders = {
      x: slider("left number x", { least: 0, most, step: FINE, value: this.x }, (value) => this.#turn({ x: value })),
      y: slider("right number y", { least: 0, most, step: FINE, value: this.y }, (value) => this.#turn({ y: value })),
      candidate: slider("try an answer", { least: 0, most: this.N - 1, value: this.candidate }, (value) => this.#turn({ candidate: value })),
    };
    this.verdict = make("p", { class: "verdict", role: "status" });
    this.faces = this.ks.map((k) => this.#face(k));
    this.bars = draw("svg", { class: "bars", viewBox: `0 0 ${10 * this.N} 150`, role: "img" });
    this.bars.addEventListener("click", ({ clientX }) => {
      const { left, width } = this.bars.getBoundingClientRect();
      this.#turn({ candidate: Math.min(this.N - 1, Math.floor(((clientX - left) / width) * this.N)) });
    });
    this.view.replaceChildren(
      make("div", { class: "sliders" }, ...Object.values(this.sliders).map(({ root }) => root)),
      make("div", { class: "faces" }, ...this.faces.map(({ root }) => root)),
      this.verdict, this.bars,
      make("p", { class: "caption", text: `What the network's adder says: the logits of all ${this.N} answers. Click one to try it.` }),
    );
    this.#turn({});
  }

  /** A face that the reader can turn: where a number stands on it, k times round for all of them. */
  #face(k) {
    const drawing = draw("svg", { viewBox: "-64 -64 128 128", "aria-hidden": "true" }), parts = {};
    drawing.append(draw("circle", { class: "rim", r: R }));
    for (const name of ["x", "y", "sum"]) {
      parts[name] = draw("line", { class: `hand ${name}` });
      parts[`${name} name`] = draw("text", { class: name }, name === "sum" ? "x+y" : name);
      drawing.append(parts[name], parts[`${name} name`]);
    }
    parts.candidate = draw("circle", { class: "candidate", r: 6 });
    drawing.append(parts.candidate);
    const says = make("figcaption", {});
    const root = make("figure", { class: "face" }, drawing, says);
    drawing.addEventListener("pointerdown", (event) => this.#drag(event, drawing, k));
    return { k, root, parts, says };
  }

  /** Turn the nearer of the two hands as long as the pointer is held. */
  #drag(event, drawing, k) {
    const box = drawing.getBoundingClientRect(), middle = [box.left + box.width / 2, box.top + box.height / 2];
    const angle = ({ clientX, clientY }) => Math.atan2(clientX - middle[0], middle[1] - clientY);
    const off = (one, other) => Math.atan2(Math.sin(one - other), Math.cos(one - other)), whole = (2 * Math.PI * k) / this.N;
    const [name] = ["x", "y"].toSorted((a, b) => Math.abs(off(angle(event), whole * this[a])) - Math.abs(off(angle(event), whole * this[b])));
    let last = angle(event), exact = this[name];
    const move = (moved) => {
      const now = angle(moved);
      exact = (exact + off(now, last) / whole + this.N) % this.N;
      last = now;
      this.#turn({ [name]: (Math.round(exact / FINE) * FINE) % this.N });
    };
    event.preventDefault();
    drawing.setPointerCapture(event.pointerId);
    drawing.addEventListener("pointermove", move);
    const end = () => drawing.removeEventListener("pointermove", move);
    for (const kind of ["pointerup", "pointercancel"]) drawing.addEventListener(kind, end, { once: true });
  }

  /** Take what is new of x, y and the candidate, and draw all that follows. */
  #turn(changed) {
    Object.assign(this, changed);
    for (const [name, { set }] of Object.entries(this.sliders)) set(this[name]);
    const { N, x, y, candidate } = this, sum = (x + y) % N;
    let agree = 0;
    for (const { k, parts, says } of this.faces) {
      const at = (number, radius) => {
        const angle = (2 * Math.PI * k * number) / N;
        return [radius * Math.sin(angle), -radius * Math.cos(angle)];
      };
      for (const [name, number, length] of [["x", x, 22], ["y", y, 30], ["sum", sum, R]]) {
        const [[x2, y2], [tx, ty]] = [at(number, length), at(number, length + (name === "sum" ? 13 : 7))];
        for (const [key, value] of Object.entries({ x1: 0, y1: 0, x2, y2 })) parts[name].setAttribute(key, value.toFixed(2));
        for (const [key, value] of Object.entries({ x: tx, y: ty + 3.5 })) parts[`${name} name`].setAttribute(key, value.toFixed(2));
      }
      const [cx, cy] = at(candidate, R), match = Math.cos((2 * Math.PI * k * (candidate - sum)) / N);
      parts.candidate.setAttribute("cx", cx.toFixed(2));
      parts.candidate.setAttribute("cy", cy.toFixed(2));
      says.replaceChildren(make("span", { text: k === 1 ? "once round" : `${k} times round` }), make("span", { class: match > 0.99 ? "hit" : "", text: `vote ${match.toFixed(2).replace("-", "−")}` }));
      agree += match;
    }
    const logits = logitsOf(this.adder, given(this.waves, N, x, this.ks), given(this.waves, N, y, this.ks));
    this.answer = largest(logits);
    const all = `${agree.toFixed(1).replace("-", "−")} of ${this.ks.length}`;
    const off = Math.abs(this.answer - sum), between = Number.isInteger(sum) ? "" : `, ${Math.min(off, N - off) > 0.5 ? "not " : ""}the nearest to ${sum}`;
    this.verdict.textContent = `${x} + ${y}: the network's adder says ${this.answer}${between}. For ${candidate} the clocks vote ${all}.`;
    this.#drawBars(logits);
  }

  #drawBars(logits) {
    const most = Math.max(...logits), least = Math.min(...logits), height = (logit) => 4 + (116 * (logit - least)) / (most - least);
    this.bars.setAttribute("aria-label", `Logits of the ${this.N} answers; the largest is that of ${this.answer}`);
    this.bars.replaceChildren(...Array.from(logits, (logit, q) => {
      const kind = q === this.answer ? "said" : q === this.candidate ? "tried" : "";
      return draw("rect", { class: kind, x: 10 * q + 1.5, width: 7, y: 126 - height(logit), height: height(logit) });
    }), ...this.#named().map((near) => {
      const middle = 10 * (near.reduce((sum, q) => sum + q) / near.length) + 5;
      return draw("text", { x: Math.max(12 * near.length, Math.min(10 * this.N - 12 * near.length, middle)), y: 145 }, near.join("\u2002"));
    }));
  }

  /** The answers that have their number below the bars: neighbours, which would print over each other, together. */
  #named() {
    const [one, other = one] = [...new Set([this.answer, this.candidate])].toSorted((a, b) => a - b);
    if (one === other) return [[one]];
    return other - one < 3 ? [[one, other]] : [[one], [other]];
  }
}

if (!customElements.get("nine-clocks")) customElements.define("nine-clocks", NineClocks);
