// What a reader may change inside the network: the knock-outs and alterations of chapter 9, as changes that `trace` applies.
import { times } from "./network.js";

/** What can be set, by name: its words, and its values from least to most with the one that changes nothing. */
export const SETTINGS = {
  numbers: { words: "layer 1: assigned numbers read evenly", least: 0, most: 1, step: 1, none: 0 },
  equal: { words: "layer 1: = reads evenly", least: 0, most: 1, step: 1, none: 0 },
  ideal: { words: "layer 2: = reads the two numbers to add, and nothing else", least: 0, most: 1, step: 1, none: 0 },
  mlp: { words: "no MLP", least: 0, most: 1, step: 1, none: 0 },
  places: { words: "layer 1: strength of positions in its scores", least: 0, most: 2, step: 0.25, none: 1 },
  names: { words: "layer 2: strength of names in the scores of =", least: 0, most: 2, step: 0.25, none: 1 },
  shift: { words: "layer 2: = looks for a later letter, by", least: 0, most: 11, step: 1, none: 0 },
};

/** The settings that change nothing. */
export const untouched = () => Object.fromEntries(Object.entries(SETTINGS).map(([name, { none }]) => [name, none]));

/** Scores between rows of two matrices, x (n, model) as queries and y (m, model) as keys of a layer: (n, m). */
function scoresBetween(w, layer, x, y) {
  const { model, head } = w.sizes, q = times(x, w.W_Q[layer], model, head), k = times(y, w.W_K[layer], model, head);
  return Array.from({ length: x.length / model }, (_, i) =>
    Array.from({ length: y.length / model }, (_, j) => {
      let sum = 0;
      for (let c = 0; c < head; c++) sum += q[i * head + c] * k[j * head + c];
      return sum / Math.sqrt(head);
    }));
}

const tables = new WeakMap();

/** Of a network, once: positions against positions in layer 1, and moved variables against moved variables in layer 2. */
function tablesOf(w, task) {
  if (!tables.has(w)) {
    const { model, head } = w.sizes, variables = w.W_E.subarray(task.firstVariable * model);
    const moved = times(times(variables, w.W_V[0], model, head), w.W_O[0], head, model); // (V, model)
    tables.set(w, { places: scoresBetween(w, 0, w.W_pos, w.W_pos), names: scoresBetween(w, 1, moved, moved) });
  }
  return tables.get(w);
}

/** The change that `trace` applies on one problem's tokens, for these settings; nothing where they change nothing. */
export function alteration(w, task, tokens, settings) {
  const n = task.length, { last } = task, changes = Object.keys(SETTINGS).filter((name) => settings[name] !== SETTINGS[name].none);
  if (!changes.length) return undefined;
  const { places, names } = tablesOf(w, task);
  const numbers = tokens.flatMap((token, place) => (place < task.room && token < task.numbers ? [place] : []));
  const even = [...(settings.numbers ? numbers : []), ...(settings.equal ? [last] : [])];
  let read; // (position, variable): how much of each variable's token layer 1 reads
  const acts = {
    scores0: (scores) => scores.map((score, at) => score + (settings.places - 1) * places[Math.floor(at / n)][at % n]),
    pattern0: (pattern) => {
      for (const query of even) for (let key = 0; key <= query; key++) pattern[query * n + key] = 1 / (query + 1);
      read = tokens.map((_, query) => task.variables.map((_, variable) =>
        tokens.reduce((sum, token, key) => sum + (token === task.firstVariable + variable ? pattern[query * n + key] : 0), 0)));
      return pattern;
    },
    scores1: (scores) => {
      const V = task.variables.length;
      for (let key = 0; key < n; key++) {
        for (let asked = 0; asked < V; asked++) {
          for (let held = 0; held < V; held++) {
            const weight = read[last][asked] * read[key][held], shifted = names[asked][(held - settings.shift + V) % V];
            scores[last * n + key] += weight * (settings.names * shifted - names[asked][held]);
          }
        }
      }
      return scores;
    },
    pattern1: (pattern) => {
      if (settings.ideal) {
        const found = [task.left, task.right].map((side) => (tokens[side] < task.firstVariable ? side : tokens.slice(0, task.room).indexOf(tokens[side]) + 1));
        if (found.some((place) => place === 0 || tokens[place] >= task.numbers)) return pattern; // an operand has no number
        pattern.fill(0, last * n);
        for (const place of found) pattern[last * n + place] += 0.5;
      }
      return pattern;
    },
    mlp_out1: (out) => (settings.mlp ? out.fill(0) : out),
  };
  return (name, values, layer) => acts[name + layer]?.(values) ?? values;
}
