// What the flow shows of a network's pass over a problem, and what is said of it, and of a guess.
import { patternOf } from "./interventions.js";
import { softmax } from "./network.js";

export const LEAST = 0.04; // of attention, that it is shown
const LIKELIEST = 5;

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
  const pair = pairs.find(([left, right]) => (left + right) % N === answer);
  return pair ? `${pair[0]} + ${pair[1]}${pair[0] + pair[1] < N ? "" : ` − ${N}`}` : "";
}

/** What a network says of a problem, in words. */
export function said(problem, [[answer]]) {
  const sum = sumBehind(problem, answer), so = `says ${answer}${sum && ` = ${sum}`}`;
  return answer === problem.answer ? `${so}, and that is right.` : `${so}; right is ${problem.answer}.`;
}

/** What is said of the number that a reader foresaw, where a network gave an answer to a problem, or to tokens that spell none. */
export function judged(guess, answer, problem) {
  const sum = problem ? sumBehind(problem, guess) : "", foreseen = ` You said ${guess}${sum && ` = ${sum}`}`;
  if (guess === answer) return `${foreseen}: well foreseen.`;
  return guess === problem?.answer ? `${foreseen}: the right sum, but not what it says.` : `${foreseen}: not quite.`;
}
