// <transplant-bench run="seed-42" step="30000" problem="…" others="another value: …; …">: what a network holds on one problem, put into another.
import { make } from "./elements.js";
import { Explorable } from "./explorable.js";
import { largest, run } from "./network.js";
import { Problem } from "./problem.js";

const ROWS = [ // of sockets: what a row is called, its site, and a socket in words; a row of one lies at =, or over all that = reads
  { name: "tokens", site: "hook_embed", words: (at) => `the token at ${at}` },
  { name: "layer 1's output", site: "blocks.0.hook_attn_out", words: (at) => `layer 1's output at ${at}` },
  { name: "where = attends", site: "blocks.1.attn.hook_pattern", words: () => "layer 2's weights from =", one: "wide" },
  { name: "what = holds", site: "blocks.1.hook_resid_mid", words: () => "what = holds before the neurons", one: "last" },
  { name: "neurons", site: "blocks.1.mlp.hook_post", words: () => "the neurons' activations at =", one: "last" },
];
const percent = (share) => `${Math.round(100 * share) || 0}%`.replace("-", "−");

class TransplantBench extends Explorable {
  build(weights) {
    this.weights = weights;
    this.base = Problem.parse(this.getAttribute("problem"));
    this.others = this.getAttribute("others").split("; ").map((each) => {
      const [name, problem] = each.split(": ");
      return { name, problem: Problem.parse(problem), button: make("button", { type: "button", text: name }) };
    });
    for (const other of this.others) other.button.addEventListener("click", () => this.#lay(other));
    this.grid = make("div", { class: "bench" });
    this.prompt = make("p", { class: "prompt" });
    this.guesses = make("div", { class: "controls guesses", role: "group" });
    this.verdict = make("p", { class: "verdict", role: "status" });
    this.score = make("span");
    this.result = make("strong", { class: "result" });
    this.all = make("button", { type: "button", text: "Open all sockets" });
    this.all.addEventListener("click", () => this.#openAll());
    this.view.replaceChildren(
      make("div", { class: "controls", role: "group", "aria-label": "B has" }, "B has", ...this.others.map(({ button }) => button)),
      this.grid, this.prompt, make("div", { class: "slot" }, this.guesses, this.verdict), make("div", { class: "controls" }, this.all, this.score),
    );
    this.#lay(this.others[0]);
  }

  /** Put two problems on the bench, all sockets closed. */
  #lay(other) {
    for (const { button } of this.others) button.setAttribute("aria-pressed", String(button === other.button));
    const [A, B] = [this.base, other.problem].map((problem) => {
      const tokens = problem.tokens();
      return { problem, tokens, right: problem.answer, ...run(this.weights, tokens) };
    });
    const places = [...A.tokens.keys()].filter((place) => A.tokens[place] !== A.problem.task.pad);
    Object.assign(this, { A, B, places, guessed: 0, foreseen: 0, chosen: null });
    this.start = this.#gap(A.logits);
    this.whole = this.#gap(B.logits) - this.start;
    this.sockets = ROWS.flatMap((row) => (row.one ? [A.problem.task.last] : places).map((place) => this.#socket(row, place)));
    this.grid.style.setProperty("--columns", places.length);
    this.grid.replaceChildren(...["A", "B"].flatMap((name, side) => this.#written(name, [A, B][side])), ...ROWS.flatMap((row) => [
      make("span", { class: row.one === "last" ? "site-row beside" : "site-row", text: row.name }), ...this.sockets.filter((socket) => socket.row === row).map(({ button }) => button),
    ]), make("span", { class: "site-row beside", text: "A's answer" }), this.result);
    this.#choose(null);
  }

  /** The logit of B's answer less that of A's. */
  #gap(logits) {
    return logits[this.B.right] - logits[this.A.right];
  }

  #written(name, { tokens, problem, logits }) {
    const differs = (place) => this.A.tokens[place] !== this.B.tokens[place];
    return [make("span", { class: "site-row side" }, `${name} answers `, make("strong", { class: name, text: String(largest(logits)) })), ...this.places.map((place) =>
      make("span", { class: differs(place) ? "token differs" : "token", text: problem.task.names[tokens[place]] }))];
  }

  #socket(row, place) {
    const { task } = this.A.problem, at = `${place === task.left || place === task.right ? "the operand " : ""}${task.names[this.A.tokens[place]]}`;
    const button = make("button", { type: "button", class: `socket ${row.one ?? ""}`, "aria-label": row.words(at) });
    const socket = { row, place, words: row.words(at), button };
    button.addEventListener("click", () => this.#choose(socket));
    return socket;
  }

  /** Ask what A will answer with B's activation in this socket; where that is known, say it. */
  #choose(socket) {
    this.chosen = socket;
    for (const each of this.sockets) each.button.setAttribute("aria-pressed", String(each === socket));
    if (!socket) this.prompt.textContent = "Choose a socket: what the network holds there on B is put into A.";
    else this.prompt.textContent = `Into A, put ${socket.words} as it is on B.${socket.logits ? "" : " What will A answer?"}`;
    this.guesses.setAttribute("aria-label", this.prompt.textContent);
    this.guesses.replaceChildren(...(socket && !socket.logits ? ["as A", "as B", ""] : []).map((guess) => {
      const text = { "as A": `still ${this.#answer(this.A)}`, "as B": `${this.#answer(this.B)}, as B`, "": "something else" }[guess];
      const button = make("button", { type: "button", text });
      button.addEventListener("click", () => this.#judge(socket, guess));
      return button;
    }));
    this.guesses.firstChild?.focus({ preventScroll: true });
    this.#say(socket?.logits ? socket : null);
  }

  #answer({ logits }) {
    return largest(logits);
  }

  /** How an answer is: as A's, as B's or neither. */
  #kind(answer) {
    return answer === this.#answer(this.A) ? "as A" : answer === this.#answer(this.B) ? "as B" : "";
  }

  #judge(socket, guess) {
    this.#open(socket);
    const right = this.#kind(this.#answer(socket)) === guess;
    this.guessed++;
    this.foreseen += right;
    this.#choose(socket);
    this.#say(socket, right ? "Foreseen: " : "Not foreseen: ");
    socket.button.focus({ preventScroll: true });
  }

  /** Run the network on A with what B holds in a socket: activation patching. */
  #open(socket) {
    const { A, B } = this, { row: { site, one }, place, button } = socket, there = B.sites[site], length = A.tokens.length;
    const put = (held) => {
      if (one) return there;
      const out = held.slice(), d = held.length / length;
      out.set(there.subarray(place * d, (place + 1) * d), place * d);
      return out;
    };
    socket.logits = run(this.weights, A.tokens, { [site]: put }).logits;
    socket.moved = (this.#gap(socket.logits) - this.start) / this.whole;
    button.textContent = percent(socket.moved);
    button.classList.add("open");
    button.style.setProperty("--moved", `${Math.round(100 * Math.min(1, Math.max(0, socket.moved)))}%`);
    button.setAttribute("aria-label", `${socket.words}: ${percent(socket.moved)}, A answers ${this.#answer(socket)}`);
  }

  /** Open those that are closed, one in each frame. */
  #openAll() {
    this.#choose(null);
    const { sockets } = this, next = () => {
      const closed = sockets.find(({ logits }) => !logits);
      if (sockets !== this.sockets) return;
      if (!closed) return this.#choose(this.chosen);
      this.#open(closed);
      requestAnimationFrame(next);
    };
    next();
  }

  #say(socket, judged = "") {
    const answer = this.#answer(socket ?? this.A), kind = this.#kind(answer);
    this.result.textContent = answer;
    this.result.className = `result ${kind.slice(-1)}`;
    const how = { "as A": `A still answers ${answer}`, "as B": `A answers ${answer}, as B does`, "": `A answers ${answer}, as neither did` }[kind];
    this.verdict.textContent = socket ? `${judged}${how}. ${percent(socket.moved)} of the logit difference comes across.` : "";
    this.score.textContent = this.guessed ? `You foresaw ${this.foreseen} of ${this.guessed}.` : "";
  }
}

if (!customElements.get("transplant-bench")) customElements.define("transplant-bench", TransplantBench);
