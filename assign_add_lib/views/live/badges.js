// <name-badges run="seed-42" step="30000" problem="c=1, b=17, a=42, b+19=?">: numbers wear the names that layer 1 noted, and can exchange them.
import { carry, under } from "./carry.js";
import { chance } from "./chance.js";
import { make, slider } from "./elements.js";
import { Explorable } from "./explorable.js";
import { problemField } from "./field.js";
import { largest, run } from "./network.js";
import { Problem } from "./problem.js";

const NOTED = "blocks.0.hook_attn_out", READ = ["blocks.0.attn.hook_pattern", "blocks.1.attn.hook_pattern"];
const SEEN = 0.08; // the least share of a name that its badge shows
const TALL = 0.6; // the attention of which a bar has its whole height
const percent = (share) => `${Math.round(100 * share)}%`;

class NameBadges extends Explorable {
  build(weights) {
    this.weights = weights;
    this.field = problemField((problem) => {
      if (problem.assignments.length < 2) throw new Error("Only two numbers or more can exchange their badges.");
      this.#ask(problem);
    });
    const [another, back] = ["Another problem", "Put badges back"].map((text) => make("button", { type: "button", text }));
    another.addEventListener("click", () => this.#draw());
    back.addEventListener("click", () => this.#ask(this.problem));
    this.cards = make("ol", { class: "number-cards" });
    this.question = make("p", { class: "question" });
    this.verdict = make("p", { class: "verdict", role: "status" });
    this.blend = slider("", { least: 0, most: 1, step: 0.05, value: 0, says: percent }, (part) => this.#turn({ part }));
    this.view.replaceChildren(
      make("div", { class: "controls" }, this.field.root, another), this.field.fault, this.cards,
      make("p", { class: "caption", text: "Bars: how much attention = pays to each number in layer 2." }),
      this.question, this.verdict, make("div", { class: "controls" }, this.blend.root, back),
    );
    this.field.ask(this.getAttribute("problem"));
  }

  #draw() {
    const below = chance();
    let problem;
    do problem = Problem.draw(1 + below(2), undefined, below);
    while (problem.assignments.length < 3);
    this.field.ask(String(problem));
  }

  /** Lay the cards of a problem, each with the badge that layer 1 gave it. */
  #ask(problem) {
    const { task } = problem, tokens = problem.tokens(), pattern = run(this.weights, tokens).sites[READ[0]];
    const numbers = tokens.map((token, place) => place).filter((place) => tokens[place] < task.numbers);
    const read = (place, letter) => tokens.reduce((sum, token, key) => sum + (token === task.token(letter)) * pattern[place * task.length + key], 0);
    this.given = numbers.filter((place) => place < task.room).map((place) => problem.assignments.map(([letter]) => [letter, read(place, letter)]));
    this.slots = numbers.map((place) => this.#card(place, tokens[place], numbers.length, place < task.room));
    Object.assign(this, { problem, tokens, worn: this.given.map((_, card) => card), lifted: null });
    this.cards.replaceChildren(...this.slots.map(({ root }) => root));
    const asked = Math.max(0, this.given.findIndex((held) => this.#side(this.#name(held))));
    this.#turn({ pair: [asked, asked + 1 < this.given.length ? asked + 1 : asked - 1], part: 0 });
  }

  /** On which side of the sum a name is asked for: x, y or none. */
  #side(letter) {
    return letter === this.problem.left ? "x" : letter === this.problem.right ? "y" : "";
  }

  /** The name of which most is held. */
  #name(held) {
    return held[largest(held.map(([, share]) => share))][0];
  }

  #card(place, number, many, named) {
    const bar = make("div", { class: "fill" }), share = make("span", { class: "share" });
    const badge = named ? make("button", { type: "button", class: "name-badge" }) : make("span", { class: "typed", text: "typed" });
    const root = make("li", { class: "number-card" }, make("span", { class: "number", text: String(number) }), badge, make("div", { class: "bar" }, share, bar));
    root.style.maxWidth = `${100 / many}%`;
    const slot = { place, number, root, badge, bar, share };
    if (named) {
      badge.addEventListener("click", () => this.#lift(this.slots.indexOf(slot)));
      badge.addEventListener("keydown", (event) => this.#step(event, this.slots.indexOf(slot)));
      badge.addEventListener("pointerdown", (event) => this.#drag(event, this.slots.indexOf(slot)));
    }
    return slot;
  }

  /** A first badge is lifted, and goes to the card that is chosen next. */
  #lift(card) {
    if (this.dragged) return;
    const from = this.lifted;
    this.lifted = from === null ? card : null;
    if (from === null || from === card) this.#turn({});
    else this.#exchange(from, card);
  }

  /** Arrow keys take a badge one card further. */
  #step(event, card) {
    const to = card + { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!(to >= 0 && to < this.given.length)) return;
    event.preventDefault();
    this.#exchange(card, to);
    this.slots[to].badge.focus();
  }

  /** Where a badge is let go on another card, the two exchange theirs. */
  #drag(down, card) {
    const roots = this.slots.slice(0, this.given.length).map(({ root }) => root);
    const mark = (to) => roots.forEach((root, which) => root.classList.toggle("target", which === to && to !== card));
    carry(this.slots[card].badge, down, (event) => mark(under(event, roots)), (event) => {
      const to = event ? under(event, roots) : -1;
      mark(-1);
      this.dragged = true; // the click that follows is none
      setTimeout(() => (this.dragged = false));
      if (to >= 0 && to !== card) this.#exchange(card, to);
    });
  }

  /** Two cards exchange their badges; of a blend before it, what was the nearer stays. */
  #exchange(one, other) {
    if (this.part >= 0.5) this.#swap(this.pair);
    this.lifted = null;
    this.#turn({ pair: [one, other], part: 1 });
  }

  #swap([one, other]) {
    [this.worn[one], this.worn[other]] = [this.worn[other], this.worn[one]];
  }

  /** How much of which badge a card wears: [badge, share]. */
  #mix(card) {
    const at = this.pair.indexOf(card), own = this.worn[card];
    return at < 0 ? [[own, 1]] : [[own, 1 - this.part], [this.worn[this.pair[1 - at]], this.part]];
  }

  /** Take what is new of the pair and the blend, run the network with layer 1's output so mixed, and draw what it does. */
  #turn(changed) {
    Object.assign(this, changed);
    const { slots, given } = this, mixes = given.map((_, card) => this.#mix(card));
    const { logits, sites } = run(this.weights, this.tokens, { [NOTED]: (held) => this.#mixed(held, mixes) });
    const held = mixes.map((mix) => given[0].map(([letter], which) => [letter, mix.reduce((sum, [badge, share]) => sum + share * given[badge][which][1], 0)]));
    slots.forEach((slot, card) => this.#drawCard(slot, sites[READ[1]][slot.place], held[card], card));
    const [one, other] = this.pair.map((card) => this.#name(given[this.worn[card]]));
    this.blend.root.firstChild.textContent = `exchange ${one} and ${other}`;
    this.blend.set(this.part);
    this.#say(largest(logits), held);
  }

  /** Layer 1's output (n, model) with the rows at the cards so mixed. */
  #mixed(held, mixes) {
    const { model } = this.weights.sizes, out = held.slice();
    mixes.forEach((mix, card) => {
      const row = out.subarray(this.slots[card].place * model).subarray(0, model).fill(0);
      for (const [badge, share] of mix) {
        for (let c = 0, from = this.slots[badge].place * model; c < model; c++) row[c] += share * held[from + c];
      }
    });
    return out;
  }

  #drawCard({ number, badge, bar, share }, read, held, card) {
    bar.style.height = `${(100 * read) / Math.max(TALL, read)}%`;
    share.textContent = percent(read);
    if (!held) return;
    const worn = held.filter(([, part]) => part >= SEEN), words = worn.map(([letter, part]) => (worn.length > 1 ? `${percent(part)} ${letter}` : letter)).join(", ");
    badge.setAttribute("aria-label", `Badge ${words} on ${number}`);
    badge.setAttribute("aria-pressed", String(card === this.lifted));
    badge.replaceChildren(...worn.map(([letter, part]) => {
      const piece = make("span", { class: this.#side(letter), text: part > 0.2 ? letter : "" });
      piece.style.flexGrow = part;
      return piece;
    }));
  }

  /** Say the answer, and whose badge it follows. */
  #say(answer, held) {
    const { problem, slots } = this, { numbers } = problem.task, asked = [problem.left, problem.right];
    const wearers = (name) => {
      const shares = held.map((each) => each.find(([letter]) => letter === name)[1]), sum = shares.reduce((all, share) => all + share);
      return slots.filter((_, card) => shares[card] > 0.1 * sum).map(({ number }) => number);
    };
    const tag = (operand) => (typeof operand === "number" ? String(operand) : make("span", { class: `name-badge ${this.#side(operand)}`, text: operand }));
    this.question.replaceChildren(tag(asked[0]), " + ", tag(asked[1]), " = ", make("strong", { text: String(answer) }));
    const [left, right] = asked.map((operand) => (typeof operand === "number" ? [operand] : wearers(operand)));
    const who = asked.flatMap((operand, side) => {
      const found = [left, right][side];
      return typeof operand === "number" ? [] : `${found.join(" and ")} ${found.length > 1 ? "share" : "wears"} ${operand}`;
    });
    const sum = left.flatMap((x) => right.map((y) => [x, y])).find(([x, y]) => (x + y) % numbers === answer);
    const wrapped = sum && sum[0] + sum[1] !== answer ? ` (mod ${numbers})` : "";
    const words = `${who.length ? `${who.join(", ")}, and t` : "T"}he network answers ${sum ? `${sum.join(" + ")} = ` : ""}${answer}${wrapped}.`;
    if (this.verdict.textContent !== words) this.verdict.textContent = words; // said anew only where it changes
  }
}

if (!customElements.get("name-badges")) customElements.define("name-badges", NameBadges);
