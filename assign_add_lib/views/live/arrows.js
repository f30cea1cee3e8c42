// The network at work on one problem, drawn: the tokens, above them arrows as thick as the attention is, the neurons, and the answer.
import { draw, make } from "./elements.js";
import { LEAST, inPercent, sumRead } from "./passes.js";

const READ = 0.1; // by layer 2, of a variable beside + whose row in layer 1 is drawn, too
export const WIDE = 720; // of the drawing
const WIDEST = 22, STEPPED_BACK = 0.32; // widths: of an arrow of 100 %, and of a PAD, where another token has 1

export class FlowPicture {
  #arrows = new Map(); // by layer, query and key
  #still = matchMedia("(prefers-reduced-motion: reduce)");

  /** `told`, if the reader may touch it: `tapped(place)` for a token, `cut(layer, query, key)` for an arrow; `steps`, to number the algorithm's. */
  constructor(task, told = null, steps = false) {
    const tall = matchMedia("(max-width: 600px)").matches ? 1.7 : 1; // so that a finger finds its arrow
    const two = 222, one = two + 20 + 120 * tall, bottom = one + 20 + 130 * tall, part = (tag, name) => draw(tag, { class: name });
    Object.assign(this, { task, told, steps, levels: { two, one, bottom } });
    this.svg = draw("svg", { viewBox: `0 0 ${WIDE} ${bottom}`, role: "img", "aria-label": "What flows where" });
    this.parts = { streams: part("path", "streams"), lens: part("path", "lens"), arrows: part("g", "arrows"), pulses: part("g", "pulses"), heads: part("path", "heads"), names: part("g", "names"), words: part("g", "words"), steps: part("g", "steps"), neurons: part("path", "neurons"), bars: part("g", "odds"), answer: part("text", "answer"), sum: part("text", "sum behind") };
    for (const [key, value] of Object.entries({ x: WIDE, y: 52 })) this.parts.answer.setAttribute(key, value);
    for (const [key, value] of Object.entries({ x: WIDE, y: 82 })) this.parts.sum.setAttribute(key, value);
    const labels = [[steps ? "5 answer" : "answer", 18], [steps ? "4 neurons" : "neurons", 98], ["layer 2", two + 50], ["layer 1", one + (steps ? 66 : 42)]].map(([text, y]) => draw("text", { class: "label", x: 0, y }, text));
    this.svg.append(...Object.values(this.parts), ...labels);
    this.tokens = make("div", { class: "tokens", ...(told && { role: "group", "aria-label": "The tokens: where does each attend?" }) });
    const hint = "Look: tap a box to see what it reads, tap an arrow to cut it.";
    this.root = make("div", { class: "flow" }, this.svg, this.tokens, ...(told ? [make("p", { class: "caption", text: hint })] : []));
  }

  /** Draw a pass (`passOf`) over tokens, and over the problem that they spell, or null; `chosen` is a token that stands out, or null; `cuts` holds [layer, query, key] each. */
  show(ids, problem, pass, chosen = null, cuts = []) {
    const { task } = this, names = ids.map((id) => task.names[id]), noted = (id) => ids.slice(0, task.room).indexOf(id);
    const place = (side) => (ids[side] < task.numbers ? side : noted(ids[side]) < 0 ? null : noted(ids[side]) + 1);
    this.carriers = { x: place(task.left), y: place(task.right) };
    this.#place(ids, names, chosen);
    const rows = this.#rows(ids, pass.layers, chosen, cuts), drawn = rows.flatMap((row) => this.#ribbons(row, pass.layers, cuts, chosen));
    for (const [name, { root, words }] of this.#arrows) {
      if (drawn.includes(name)) continue;
      root.remove();
      words.remove();
      this.#arrows.delete(name);
    }
    this.svg.classList.toggle("choosing", chosen !== null);
    this.parts.heads.setAttribute("d", rows.map(([layer, query]) => `M${this.xs[query] - 14} ${this.#ends(layer)[1] + 12}l14 -14l14 14z`).join(""));
    if (this.steps) this.parts.steps.replaceChildren(...this.#numbered(ids, rows));
    this.#showAnswer(ids, problem, pass);
    const reads = rows.map(([layer, query]) => `in layer ${layer} ${names[query]} attends to ${this.#strong(pass.layers[layer - 1][query]).map((key) => `${names[key]} (${inPercent(pass.layers[layer - 1][query][key])})`).join(", ") || "nothing much"}`);
    this.svg.setAttribute("aria-label", `${reads.join("; ")}. The answer: ${pass.odds[0][0]}.`);
  }

  /** Where the tokens stand, PADs narrow; the tokens themselves, and their streams. */
  #place(ids, names, chosen) {
    const wide = ids.map((id) => (id === this.task.pad ? STEPPED_BACK : 1)), unit = WIDE / wide.reduce((sum, each) => sum + each, 0);
    this.xs = wide.map((each, i) => unit * (wide.slice(0, i).reduce((sum, other) => sum + other, 0) + each / 2));
    const { two, one, bottom } = this.levels, real = [...ids.keys()].filter((i) => ids[i] !== this.task.pad), last = this.xs.at(-1);
    this.parts.streams.setAttribute("d", `${real.map((i) => `M${this.xs[i]} ${bottom}V${one}`).join("")}M${last} ${one}V${two}`);
    this.parts.lens.setAttribute("d", `M0 166H${WIDE}L${last + 8} ${two - 20}H${last - 8}Z`);
    const text = (i, y) => draw("text", { x: this.xs[i], y, class: this.#carrier(i) }, names[i]);
    this.parts.names.replaceChildren(...real.map((i) => text(i, one + 7)), text(ids.length - 1, two + 7));
    if (String(ids) !== String(this.ids)) this.tokens.replaceChildren(...names.map((name, i) => this.#token(name, i, wide[i])));
    this.ids = ids;
    [...this.tokens.children].forEach((token, i) => {
      if (token.matches("button")) token.ariaPressed = String(i === chosen);
      token.classList.remove("x", "y");
      if (this.#carrier(i)) token.classList.add(this.#carrier(i));
    });
  }

  #carrier = (i) => Object.keys(this.carriers).find((side) => this.carriers[side] === i) ?? "";

  #token(name, i, wide) {
    const tap = this.told && wide === 1, token = make(tap ? "button" : "span", { text: name, ...(tap && { type: "button" }), class: wide < 1 ? "pad" : "token" });
    token.style.flexGrow = wide;
    if (tap) token.addEventListener("click", () => this.told.tapped(i));
    return token;
  }

  /** The rows [layer, query] that matter: of =, of assigned numbers, of what layer 2 reads beside +, of the token that is chosen, and of cuts. */
  #rows(ids, [first, second], chosen, cuts) {
    const { task } = this, read = [task.left, task.right].filter((i) => ids[i] >= task.firstVariable && second[task.last][i] >= READ);
    const numbers = [...ids.keys()].filter((i) => i < task.room && ids[i] < task.numbers);
    const queries = new Set([...numbers, ...read, task.last, ...(chosen === null ? [] : [chosen]), ...cuts.map(([, query]) => query)]);
    return [...[...queries].filter((i) => first[i]).map((query) => [1, query]), [2, task.last]];
  }

  /** The numbers of steps 1 to 3, beside the heads of their arrows. */
  #numbered(ids, rows) {
    const { last, room, numbers } = this.task, step = ([layer, query]) => (layer === 2 ? 3 : query === last ? 2 : query < room && ids[query] < numbers ? 1 : 0);
    return rows.filter(step).map((row) => draw("text", { class: "step", x: this.xs[row[1]] - 26, y: this.#ends(row[0])[1] + 18 }, String(step(row))));
  }

  #strong = (row) => [...row.keys()].filter((key) => row[key] >= LEAST);

  /** The heights between which a layer's arrows run. */
  #ends = (layer) => (layer === 1 ? [this.levels.bottom, this.levels.one + 14] : [this.levels.one - 14, this.levels.two + 14]);

  /** The arrows of one row, which meet side by side at its query, as wide together as they are apart; returns what they are called. */
  #ribbons([layer, query], layers, cuts, chosen) {
    const row = layers[layer - 1][query], isCut = (key) => cuts.some((each) => String(each) === String([layer, query, key]));
    const keys = [...row.keys()].filter((key) => row[key] >= LEAST || isCut(key)), wide = keys.map((key) => (isCut(key) ? 2 : Math.max(1.5, WIDEST * row[key])));
    const [from, to] = this.#ends(layer), end = to + 10, middle = (from + end) / 2;
    let x = this.xs[query] - wide.reduce((sum, each) => sum + each, 0) / 2;
    return keys.map((key, i) => {
      const name = String([layer, query, key]), { root, line, hit, words } = this.#arrow(layer, query, key, name), start = this.xs[key];
      x += wide[i];
      const d = `M${start} ${from}C${start} ${middle} ${x - wide[i] / 2} ${middle} ${x - wide[i] / 2} ${end}`;
      for (const path of [line, hit]) path.setAttribute("d", d);
      line.style.strokeWidth = `${wide[i]}px`;
      hit.style.strokeWidth = `${Math.max(24, wide[i])}px`;
      const lit = query === chosen, cut = isCut(key), spot = cut ? [(start + x) / 2, middle + 9] : [start, from - 8];
      for (const [axis, at] of [["x", spot[0]], ["y", spot[1]]]) words.setAttribute(axis, at);
      words.textContent = cut ? "✂" : lit ? `${Math.round(100 * row[key])}%` : "";
      words.setAttribute("class", cut ? "cut" : "");
      root.setAttribute("class", `arrow ${layer === 2 ? this.#carrier(key) : ""} ${lit ? "lit" : ""} ${cut ? "cut" : ""}`);
      return name;
    });
  }

  #arrow(layer, query, key, name) {
    if (!this.#arrows.has(name)) {
      const root = draw("g", {}), line = draw("path", { class: "line", pathLength: 1 }), hit = draw("path", { class: "hit" }), words = draw("text", {});
      if (this.told) hit.addEventListener("click", () => this.told.cut(layer, query, key));
      root.append(line, hit);
      this.parts.arrows.append(root);
      this.parts.words.append(words);
      this.#arrows.set(name, { root, line, hit, words });
    }
    return this.#arrows.get(name);
  }

  #showAnswer(ids, problem, pass) {
    const { odds, neurons } = pass, [[answer]] = odds, right = !problem || problem.unassigned.length > 0 || answer === problem.answer, sum = problem ? sumRead(ids, problem, pass, this.task) : "", step = WIDE / neurons.length;
    this.parts.neurons.setAttribute("d", neurons.map((value, i) => (value > 0 ? `M${((i + 0.5) * step).toFixed(1)} 164v-${(52 * value).toFixed(1)}` : "")).join(""));
    this.parts.answer.textContent = answer;
    this.parts.answer.classList.toggle("wrong", !right);
    this.parts.sum.textContent = [sum, right ? "" : `not ${problem.answer}`].filter(Boolean).join(", ");
    this.parts.bars.replaceChildren(...odds.flatMap(([number, odd], i) => {
      const x = 104 + 80 * i, y = 56 - 50 * odd;
      return [draw("rect", { x, y, width: 58, height: 56 - y + 1, class: i ? "" : "said" }), draw("text", { x: x + 29, y: 80 }, String(number))];
    }));
  }

  /** Let what flows be seen flowing once, from the tokens to the answer; not for those who ask for less motion. */
  flow() {
    this.parts.pulses.replaceChildren();
    if (this.#still.matches) return;
    for (const [name, { root, line }] of this.#arrows) {
      if (root.classList.contains("cut")) continue;
      const pulse = line.cloneNode(), delay = 800 * (Number(name[0]) - 1);
      pulse.setAttribute("class", "pulse");
      this.parts.pulses.append(pulse);
      pulse.animate([{ strokeDashoffset: 0.3 }, { strokeDashoffset: -1 }], { duration: 900, delay, fill: "both" }).onfinish = () => pulse.remove();
    }
    const rise = [{ opacity: 0.25 }, { opacity: 1 }];
    this.parts.neurons.animate(rise, { duration: 500, delay: 1500, fill: "backwards" });
    this.parts.answer.animate([{ opacity: 1 }, { opacity: 0.3, offset: 0.4 }, { opacity: 1 }], { duration: 700, delay: 1700 });
  }
}
