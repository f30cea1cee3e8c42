// Rows of examples of a rule z = a x + b y modulo p, and what can be made of them: `companions.rules.solvers`, example by example.
// A rule is [a, b], a question {x, y}, an example {x, y, z}.
import { chance } from "./chance.js";

/** What a rule says of a question. */
export const answerOf = ([a, b], { x, y }, p) => (a * x + b * y) % p;

/** All pairs of numbers modulo p in order: rules, or inputs. */
export const allPairs = (p) => Array.from({ length: p * p }, (_, place) => [Math.floor(place / p), place % p]);

/** Whether it is (0, 0), whose answer is 0 under every rule. */
export const isOrigin = ({ x, y }) => x === 0 && y === 0;

/** By what number one must multiply an example's x and y to get the question's; 0 where by none. */
export function factorOf(question, example, p) {
  for (let c = 1; c < p; c++) if ((c * example.x) % p === question.x && (c * example.y) % p === question.y) return isOrigin(example) ? 0 : c;
  return 0;
}

/** The rules that say of all these examples what stands there. */
export const rulesThatFit = (examples, p) => allPairs(p).filter((rule) => examples.every((each) => answerOf(rule, each, p) === each.z));

/** Ratio matching: the examples of which the question is a multiple, {example, factor, z}, and the votes for each answer. */
export function matchRatios(examples, question, p) {
  const factors = examples.map((example) => ({ example, factor: factorOf(question, example, p) }));
  const matches = factors.filter(({ factor }) => factor).map((match) => ({ ...match, z: (match.factor * match.example.z) % p }));
  const votes = Array(p).fill(0);
  if (isOrigin(question)) votes[0] = 1;
  for (const { z } of matches) votes[z]++;
  return { matches, votes };
}

/**
 * Regression: the first example that is not the origin, `one`, and the first of another direction, `two`, which together give
 * `rule`; `z` is what follows for the question, null where nothing does.
 */
export function solveRule(examples, question, p) {
  const turned = examples.filter((each) => !isOrigin(each)), one = turned[0];
  const two = turned.find((each) => !factorOf(each, one, p));
  const rule = two && rulesThatFit([one, two], p)[0], factor = one && factorOf(question, one, p);
  const z = rule ? answerOf(rule, question, p) : isOrigin(question) ? 0 : factor ? (factor * one.z) % p : null;
  return { one, two, rule, factor, z };
}

/** A rule, a question and as many inputs as asked, each one of those given, as a seed has it. */
export function drawRow(rules, inputs, many, seed) {
  const below = chance(seed), one = (of) => of[below(of.length)], input = () => {
    const [x, y] = one(inputs);
    return { x, y };
  };
  return { rule: one(rules), question: input(), inputs: Array.from({ length: many }, input) };
}
