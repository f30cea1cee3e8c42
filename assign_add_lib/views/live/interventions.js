// What a reader may change inside the network: the interventions of chapter 9, as alterations of one step that `run` takes.
// Layers are counted from 1; the names of sites count blocks from 0, as TransformerLens does.
import { products, times } from "./network.js";
import { STUDY } from "./problem.js";

/** What can be set, by name: its words, and its values from least to most with the one that changes nothing. */
export const SETTINGS = {
  numbers: { words: "layer 1: assigned numbers read evenly", least: 0, most: 1, step: 1, none: 0 },
  equal: { words: "layer 1: = reads evenly", least: 0, most: 1, step: 1, none: 0 },
  ideal: { words: "layer 2: = reads the two numbers to add, and nothing else", least: 0, most: 1, step: 1, none: 0 },
  mlp: { words: "no MLP", least: 0, most: 1, step: 1, none: 0 },
  places: { words: "layer 1: strength of positions in its scores", least: 0, most: 2, step: 0.25, none: 1 },
  names: { words: "layer 2: strength of names in the scores of =", least: 0, most: 2, step: 0.25, none: 1 },
  shift: { words: "layer 2: = looks for a later letter, by", least: 0, most: STUDY.variables.length - 1, step: 1, none: 0 },
};

/** The settings that change nothing. */
export const untouched = () => Object.fromEntries(Object.entries(SETTINGS).map(([name, { none }]) => [name, none]));

/** The names of settings that change something. */
export const changes = (settings) => Object.keys(SETTINGS).filter((name) => settings[name] !== SETTINGS[name].none);

/** The site of a layer's scores. */
export const scoresOf = (layer) => `blocks.${layer - 1}.attn.hook_attn_scores`;

/** The site of a layer's pattern. */
export const patternOf = (layer) => `blocks.${layer - 1}.attn.hook_pattern`;

/** All of these alterations at once; where two alter the same site, the first goes first. */
export function together(...alterations) {
  const joined = {};
  for (const [site, act] of alterations.flatMap(Object.entries)) {
    const first = joined[site] ?? ((held) => held);
    joined[site] = (held, sites) => act(first(held, sites), sites);
  }
  return joined;
}

/** Put 0 in place of all that a site holds. */
export const silence = (site) => ({ [site]: (held) => held.map(() => 0) });

/** Let a query bring nothing from a key: one weight of a layer's pattern is set to 0, and all others stay. */
export const cutArrow = (layer, query, key, length) => ({
  [patternOf(layer)]: (pattern) => pattern.with(pattern.length - length * length + query * length + key, 0), // of all queries, or the last alone
});

/** Let the queries at these positions attend equally to all that they may see; `length` is that of the sequence. */
export const makeUniform = (layer, positions, length) => ({
  [patternOf(layer)]: (pattern) => pattern.map((weight, at) => {
    const query = Math.floor(at / length) + length - pattern.length / length; // of all, or the last alone
    return positions.includes(query) ? Number(at % length <= query) / (query + 1) : weight;
  }),
});

/** Add `change` (query, key), row after row, to the scores of a layer; its last row stands for `=`. */
export const addToScores = (layer, change) => ({
  [scoresOf(layer)]: (scores) => scores.map((score, at) => score + change.at(at - scores.length)),
});

/** Add to layer 2's scores of `=` a change (key) that follows from the sites before them. */
export const addToScoresOfEqual = (change) => ({
  [scoresOf(2)]: (scores, sites) => {
    const added = change(sites);
    return scores.map((score, key) => score + added[key]);
  },
});

/** Let layer 2's `=` attend to the two numbers to add, half each, and to nothing else; as it does where an operand has no number. */
export function readValues(tokens, task) {
  const places = [task.left, task.right].map((side) => (tokens[side] < task.firstVariable ? side : tokens.slice(0, task.room).indexOf(tokens[side]) + 1));
  if (places.some((place) => place === 0 || tokens[place] >= task.numbers)) return {};
  return { [patternOf(2)]: (pattern) => pattern.map((_, key) => places.filter((place) => place === key).length / 2) };
}

/** Scores of a layer, x QK y^T, row after row: of x (n, model) as queries for y (m, model) as keys. */
function scored(w, layer, x, y) {
  const { model, head } = w.sizes, [q, k] = [[x, w.W_Q], [y, w.W_K]].map(([rows, W]) => times(rows, W[layer - 1], model, head));
  const queries = Array.from({ length: q.length / head }, (_, i) => q.subarray(i * head, (i + 1) * head));
  return queries.flatMap((query) => Array.from(products(query, k, head), (score) => score / Math.sqrt(head)));
}

/** P QK1 P^T, the share of the layer-1 scores (query, key) that no token changes. */
export const positionTerm = (w) => scored(w, 1, w.W_pos, w.W_pos);

/** The variable block (V, V), (E_var OV1) QK2 (E_var OV1)^T: what layer 2 scores of names that layer 1 moved. */
export function variableIdentity(w, task) {
  const { model, head } = w.sizes, variables = w.W_E.subarray(task.firstVariable * model);
  const moved = times(times(variables, w.W_V[0], model, head), w.W_O[0], head, model); // (V, model)
  return scored(w, 2, moved, moved);
}

/** The share of layer 2's scores (key) of `=` that passes through a variable block (V, V), where layer 1 has this pattern. */
export function identityTerm(tokens, task, pattern, block) {
  const V = task.variables.length, n = tokens.length;
  const read = Array.from({ length: n }, () => Array(V).fill(0)); // how much each query reads of each variable's token
  tokens.forEach((token, key) => {
    if (token >= task.firstVariable) read.forEach((row, query) => (row[token - task.firstVariable] += pattern[query * n + key]));
  });
  const asked = read[task.last], wanted = asked.map((_, held) => asked.reduce((sum, share, v) => sum + share * block[v * V + held], 0));
  return read.map((row) => wanted.reduce((sum, score, held) => sum + score * row[held], 0));
}

/** Let `strength` times the identity term with its block turned by `shift` letters stand in place of the identity term. */
function exchangeNames(tokens, task, block, strength, shift) {
  const V = task.variables.length, turned = block.map((_, at) => block[at - (at % V) + ((at % V) - shift + V) % V]);
  const change = block.map((score, at) => strength * turned[at] - score);
  return addToScoresOfEqual((sites) => identityTerm(tokens, task, sites[patternOf(1)], change));
}

const terms = new WeakMap(); // of a network, the two that no problem changes

/** The alteration of one problem's tokens by these settings. */
export function alteration(w, task, tokens, settings) {
  if (!changes(settings).length) return {};
  if (!terms.has(w)) terms.set(w, { places: positionTerm(w), block: variableIdentity(w, task) });
  const { places, block } = terms.get(w), on = (name) => changes(settings).includes(name);
  const numbers = [...tokens.keys()].filter((place) => place < task.room && tokens[place] < task.numbers);
  return together(
    on("places") ? addToScores(1, places.map((score) => (settings.places - 1) * score)) : {},
    on("numbers") ? makeUniform(1, numbers, task.length) : {},
    on("equal") ? makeUniform(1, [task.last], task.length) : {},
    on("names") || on("shift") ? exchangeNames(tokens, task, block, settings.names, settings.shift) : {},
    on("ideal") ? readValues(tokens, task) : {},
    on("mlp") ? silence("blocks.1.hook_mlp_out") : {},
  );
}
