// What the flow shows of a network's pass over a problem, and what is said of it, and of a guess.
import { patternOf } from "./interventions.js";
import { softmax } from "./network.js";

export const LEAST = 0.04; // of attention, that it is shown
const LIKELIEST = 5;
const BESIDE = 0.2, ALONE = 0.5; // of what is read of a number, that another is read beside it, and that it is not read alone

/** What is drawn of a pass: `layers`, in each the rows of weights by query; `odds` of the likeliest answers; `neurons` from 0 to 1. */
export function passOf({ logits, sites }, n) {
  const row = (query) => sites[patternOf(1)].subarray(query * n, query * n + query + 1), post = sites["blocks.1.mlp.hook_post"];
  const most = Math.max(...post), odds = [...softmax(logits, logits.length).entries()].sort((a, b) => b[1] - a[1]);
  const layers = [Object.fromEntries(Array.from({ length: n }, (_, query) => [query, row(query)])), { [n - 1]: sites[patternOf(2)].subarray(-n) }];
  return { layers, odds: odds.slice(0, LIKELIEST), neurons: Array.from(post, (value) => value / most) };
}

/** The same as Python hands it over: weights and odds in thousandths, neurons as digits to base 36. */
export function handedPass({ layers, odds, neurons }) {
  const rows = (layer) => Object.fromEntries(Object.entries(layer).map(([query, row]) => [query, row.map((weight) => weight / 1000)]));
  return { layers: layers.map(rows), odds: odds.map(([answer, odd]) => [answer, odd / 1000]), neurons: Array.from(neurons, (digit) => parseInt(digit, 36) / 35) };
}

/** Which of the tokens are numbers, as text: where that stays, an arrow that is cut means the same. */
export const formOf = (ids, task) => String(ids.map((id) => id < task.numbers));

/** These arrows, [layer, query, key] each, with one more, or without it where it is among them. */
export function toggled(arrows, arrow) {
  const others = arrows.filter((each) => String(each) !== String(arrow));
  return others.length < arrows.length ? others : [...others, arrow];
}

/** A weight in percent. */
export const inPercent = (weight) => `${Math.round(100 * weight)} %`;

/** The sum of two numbers of a problem that an answer is, in words: the two that are asked for, or else one of them with another. */
export function sumBehind(problem, answer) {
  const [x, y] = problem.values, N = problem.task.numbers, numbers = [x, y, ...problem.assignments.map(([, number]) => number)];
  const pairs = [[x, y], ...numbers.map((other) => [other, y]), ...numbers.map((other) => [x, other])];
  return inWords(pairs, answer, N);
}

/** The sum that a pass makes of what the last token reads in layer 2, in words: of the two numbers read most, or of one read nearly alone with itself; "" where its answer is neither. */
export function sumRead(ids, problem, { layers, odds: [[answer]] }, task) {
  const row = layers[1][ids.length - 1], [first, second] = [...ids.keys()].filter((key) => ids[key] < task.numbers).sort((a, b) => row[b] - row[a]);
  const [x, y] = problem?.values ?? [], [most, next] = [ids[first], ids[second]];
  const pairs = [...(row[second] >= BESIDE * row[first] ? [next === x || most === y ? [next, most] : [most, next]] : []), ...(row[second] >= ALONE * row[first] ? [] : [[most, most]])];
  return inWords(pairs, answer, task.numbers);
}

/** The first of these pairs whose sum an answer is, in words. */
function inWords(pairs, answer, N) {
  const pair = pairs.find(([left, right]) => (left + right) % N === answer);
  return pair ? `${pair[0]} + ${pair[1]}${pair[0] + pair[1] < N ? "" : ` − ${N}`}` : "";
}

/** What a network says of a problem in a pass, in words. */
export function said(problem, pass) {
  const [[answer]] = pass.odds, sum = sumRead(problem.tokens(), problem, pass, problem.task), so = `says ${answer}${sum && ` = ${sum}`}`;
  if (problem.unassigned.length) return `${so}; there is no right answer, for nothing is assigned to ${problem.unassigned.join(" or ")}.`;
  return answer === problem.answer ? `${so}, and that is right.` : `${so}; right is ${problem.answer}.`;
}

/** What is said of the number that a reader foresaw, where a network gave an answer to a problem, or to tokens that spell none. */
export function judged(guess, answer, problem) {
  const sum = problem ? sumBehind(problem, guess) : "", foreseen = ` You said ${guess}${sum && ` = ${sum}`}`;
  if (guess === answer) return `${foreseen}: well foreseen.`;
  return guess === problem?.answer ? `${foreseen}: the right sum, but not what it says.` : `${foreseen}: not quite.`;
}
