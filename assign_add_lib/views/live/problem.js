// Problems, for a page: the grammar, the token ids and the error sentences of `assign_add_lib.task`, and the law of `assign_add_lib.sampling`.
import { chance } from "./chance.js";

export const KINDS = ["0-var", "1-var left", "1-var right", "2-var"];
const EXAMPLE = "write it like c=1, b=17, b+19=?";
const SPACE = "[\\t-\\r\\x1c-\\x20]"; // what Python takes for white space, of ASCII

/** The sizes of a task and the meaning of every token id: numbers, then +, = and PAD, then the variables. */
export class Task {
  constructor(numbers = 59, variables = 12, length = 16) {
    const names = Array.from({ length: variables }, (_, v) => String.fromCharCode(97 + v));
    const room = length - 4;
    Object.assign(this, {
      numbers, variables: names, length, room, plus: numbers, equal: numbers + 1, pad: numbers + 2, firstVariable: numbers + 3,
      left: length - 3, right: length - 2, last: length - 1, slots: Math.min(Math.floor(room / 2), variables),
      names: [...Array.from({ length: numbers }, (_, number) => String(number)), "+", "=", "PAD", ...names],
    });
  }

  /** The variables that training puts on a side, 0 for the left and 1 for the right: all but the last there, or but the first here. */
  variablesOn(side) {
    const barred = Math.max(1, Math.floor(this.variables.length / 6));
    return side ? this.variables.slice(barred) : this.variables.slice(0, -barred);
  }

  /** The token id of a number or of a variable's name. */
  token(symbol) {
    return typeof symbol === "number" ? symbol : this.firstVariable + this.variables.indexOf(symbol);
  }
}

export const STUDY = new Task();

/** A text as Python's ascii() writes it, in quotes. */
function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  return quote + escaped(text.replaceAll("\\", "\\\\").replaceAll(quote, `\\${quote}`)) + quote;
}

/** A piece of the reader's text, quoted and shortened. */
const shown = (text) => quoted(text.length <= 40 ? text : `${text.slice(0, 37)}...`);

/** A text with each character outside printable ASCII written as Python writes it: \x.., \u.... or \U......... */
function escaped(text) {
  const special = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };
  const hex = (character) => {
    const code = character.codePointAt(0), digits = code.toString(16);
    if (code < 256) return `\\x${digits.padStart(2, "0")}`;
    return code < 65536 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
  };
  return text.replace(/[^ -~]/gu, (character) => special[character] ?? hex(character));
}

/** Read a number or a variable's name; the Error says what is allowed. */
function symbolOf(text, task, where) {
  if (/^[0-9]{1,9}$/.test(text)) {
    if (Number(text) < task.numbers) return Number(text);
    throw new Error(`${where}: the number ${Number(text)} is out of range; numbers go from 0 to ${task.numbers - 1}`);
  }
  if (task.variables.includes(text)) return text;
  const [first, last] = [task.variables[0], task.variables.at(-1)];
  throw new Error(`${where}: ${shown(text)} is neither a number from 0 to ${task.numbers - 1} nor a variable from ${first} to ${last}`);
}

/** One problem: assignments [variable, number], and a left and a right operand, each a number or a variable's name; a loose one may ask for others. */
export class Problem {
  constructor(assignments, left, right, task = STUDY, loose = false) {
    Object.assign(this, { assignments, left, right, task });
    const assigned = assignments.map(([variable]) => variable);
    const twice = assigned.find((variable) => assigned.indexOf(variable) !== assigned.lastIndexOf(variable));
    if (twice) throw new Error(`the variable ${twice} is assigned twice; each variable takes one number`);
    if (assigned.length > task.slots) {
      throw new Error(`${assigned.length} assignments do not fit; a sequence holds at most ${task.slots}`);
    }
    for (const [side, operand] of [["left", left], ["right", right]]) {
      if (!loose && typeof operand === "string" && !assigned.includes(operand)) {
        const known = assigned.join(", ") || "none";
        throw new Error(`the ${side} operand ${operand} is never assigned; assigned variables: ${known}`);
      }
    }
  }

  /** Read a problem as people write it, `c=1, b=17, b+19=?`; an Error of one line says what was wrong. */
  static parse(text, task = STUDY, loose = false) {
    if (/[^\x00-\x7f]/.test(text)) {
      const start = Array.from(text).slice(0, 40).join("");
      throw new Error(`the problem holds a character outside ASCII: ${quoted(start)}; ${EXAMPLE}`);
    }
    const trimmed = text.toLowerCase().replace(new RegExp(`^${SPACE}+|${SPACE}+$`, "g"), "");
    const pieces = trimmed.split(new RegExp(`${SPACE}*[,;\\n]${SPACE}*`)).map((each) => each.replace(new RegExp(`${SPACE}+`, "g"), " "));
    while (pieces.length && !pieces.at(-1)) pieces.pop();
    if (!pieces.length) throw new Error(`the problem is empty; ${EXAMPLE}`);
    const question = pieces.pop();
    const assignments = pieces.map((piece, place) => {
      const where = `assignment ${place + 1}`, match = /^([a-z]+) ?= ?([^ ]+)$/.exec(piece);
      if (!match) throw new Error(`${where}: ${shown(piece)} does not read as variable=number; the sum comes last, and once`);
      const [variable, value] = match.slice(1).map((part) => symbolOf(part, task, where));
      if (typeof value === "string") {
        throw new Error(`${where}: ${shown(piece)} sets a variable to a variable; a variable takes a number`);
      }
      return [variable, value];
    });
    const match = /^([^+=?]*)\+([^+=?]*)=? ?\??$/.exec(question);
    if (!match) throw new Error(`the last piece must be one sum of two operands such as b+19=?, not ${shown(question)}`);
    const [left, right] = ["left", "right"].map((side, i) => symbolOf(match[i + 1].replace(/^ | $/g, ""), task, `${side} operand`));
    return new Problem(assignments, left, right, task, loose);
  }

  /** Read a problem back from its token ids; an Error where they do not spell one. */
  static fromTokens(ids, task = STUDY, loose = false) {
    const symbols = ids.map((id) => (id < task.numbers ? id : task.names[id])), assignments = [];
    for (const [place, sign] of [[task.room, "+"], [task.last, "="]]) {
      if (symbols[place] !== sign) throw new Error(`position ${task.room} must hold + and position ${task.last} must hold =`);
    }
    for (let place = 0; place < task.room; place++) {
      if (symbols[place] === "PAD") continue;
      if (!task.variables.includes(symbols[place]) || place + 1 === task.room || typeof symbols[place + 1] !== "number") {
        throw new Error(`position ${place} holds ${symbols[place]}, where a variable with its number or a PAD must stand`);
      }
      assignments.push([symbols[place], symbols[++place]]);
    }
    return new Problem(assignments, symbols[task.left], symbols[task.right], task, loose);
  }

  /**
   * Draw a problem of a kind by the law of training, though of all pairs of numbers, of which each run was trained on others.
   *
   * The number of assignments is uniform, and at least that of the variables asked for; the others are distractors.
   */
  static draw(kind, task = STUDY, below = chance()) {
    const number = () => below(task.numbers), take = (from) => from.splice(below(from.length), 1)[0];
    const operand = (side) => (kind & (1 << side) ? take([...task.variablesOn(side)]) : number());
    let [left, right] = [operand(0), operand(1)];
    while (kind === 3 && left === right) [left, right] = [operand(0), operand(1)];
    const assigned = [left, right].filter((each) => typeof each === "string"), count = Math.max(1 + below(task.slots), assigned.length);
    const others = task.variables.filter((variable) => !assigned.includes(variable));
    while (assigned.length < count) assigned.push(take(others));
    const assignments = Array.from({ length: count }, () => [take(assigned), number()]); // in random order
    return new Problem(assignments, left, right, task);
  }

  toString() {
    return [...this.assignments.map(([variable, number]) => `${variable}=${number}`), `${this.left}+${this.right}=?`].join(", ");
  }

  /** The two numbers to add, each variable replaced by its number. */
  get values() {
    const numbers = new Map(this.assignments);
    return [this.left, this.right].map((operand) => numbers.get(operand) ?? operand);
  }

  /** The letters asked for to which nothing is assigned, in a loose problem. */
  get unassigned() {
    return [...new Set(this.values.filter((each) => typeof each === "string"))];
  }

  /** The sum modulo N. */
  get answer() {
    return (this.values[0] + this.values[1]) % this.task.numbers;
  }

  /** An index into KINDS: which operands are variables. */
  get kind() {
    return (typeof this.left === "string") + 2 * (typeof this.right === "string");
  }

  /** Token ids: assignments packed to the left, or, with chance, each PAD in any of the gaps around them. */
  tokens(below = null) {
    const { task, assignments } = this, n = assignments.length, pads = Array(n + 1).fill(0); // before each assignment, and after all
    for (let pad = 2 * n; pad < task.room; pad++) pads[below ? below(n + 1) : n]++;
    const head = pads.flatMap((many, slot) => [...Array(many).fill(task.pad), ...(slot < n ? [task.token(assignments[slot][0]), assignments[slot][1]] : [])]);
    return [...head, task.plus, task.token(this.left), task.token(this.right), task.equal];
  }
}
