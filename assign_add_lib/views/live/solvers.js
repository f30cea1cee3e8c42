// What ratio matching, regression and the two latest examples make of a row, and whether its examples determine the answer at all,
// in words: {head, lines, votes}.
// Examples are {place, x, y, z}; `votes` counts how often each number is said to be the answer.
import { answerOf, isOrigin, matchRatios, rulesThatFit, solveRule } from "./rows.js";

const onOneLine = (words) => words.replaceAll(" ", "\u00a0");

/** The x and y of a question or an example. */
export const pair = ({ x, y }) => onOneLine(`(${x}, ${y})`);

/** A rule as a formula. */
export const formula = ([a, b]) => onOneLine(`z = ${a}x + ${b}y`);

/** Examples by their numbers: "example 1", "examples 1, 2 and 4". */
function named(examples) {
  const numbers = examples.map(({ place }) => place + 1), last = numbers.pop();
  return numbers.length ? `examples ${numbers.join(", ")} and ${last}` : `example ${last}`;
}

const capital = (words) => words[0].toUpperCase() + words.slice(1);

/** That a question is so many times an example, and what follows. */
const multiple = (question, example, factor, z) =>
  factor === 1 ? `${pair(question)} is asked there too, and z is ${z}` : `${pair(question)} is ${factor} times ${pair(example)}, so z is ${onOneLine(`${factor} × ${example.z} = ${z}`)}`;

export function ratioMatching(examples, question, p) {
  const { matches, votes } = matchRatios(examples, question, p), said = votes.flatMap((count, z) => (count ? [[z, count]] : []));
  const lines = matches.map(({ example, factor, z }) => `${capital(named([example]))}: ${multiple(question, example, factor, z)}.`);
  if (isOrigin(question)) lines.push("(0, 0) has z = 0 under every rule.");
  if (!said.length) lines.push(`${pair(question)} is a multiple of no example shown.`);
  const head = said.length > 1 ? said.map(([z, count]) => `${z} (${count} of ${matches.length})`).join(" or ") : String(said[0]?.[0] ?? "a guess");
  return { head: `Ratio matching: ${head}.`, lines, votes };
}

export function regression(examples, question, p) {
  const { one, two, rule, factor, z } = solveRule(examples, question, p), lines = [], votes = Array(p).fill(0);
  if (z !== null) votes[z] = 1;
  if (rule) {
    const [a, b] = rule, others = examples.filter((each) => !rulesThatFit([one, two, each], p).length);
    lines.push(`${capital(named([one, two]))} are the first on different lines. The rule that fits both is ${formula(rule)}, so z is ${onOneLine(`${a} × ${question.x} + ${b} × ${question.y} = ${z}`)}.`);
    if (others.length) lines.push(`${capital(named(others))} ${others.length > 1 ? "do" : "does"} not fit it.`);
  } else if (isOrigin(question)) lines.push("(0, 0) has z = 0 under every rule.");
  else if (factor) lines.push(`All that is shown lies on one line, and so does the question: ${multiple(question, one, factor, z)}.`);
  else if (one) lines.push("All that is shown lies on one line, and the question on another.");
  else lines.push("Nothing is shown that tells rules apart.");
  return { head: `Regression: ${z ?? "a guess"}.`, lines, votes };
}

/** What the two latest examples say by themselves: what all rules that fit them say. */
export function twoLatest(examples, question, p) {
  const two = examples.slice(-2), rules = rulesThatFit(two, p), said = new Set(rules.map((rule) => answerOf(rule, question, p)));
  const z = said.size === 1 ? [...said][0] : null, votes = Array.from({ length: p }, (_, answer) => Number(answer === z));
  const fit = () => `${capital(named(two))} ${two.length > 1 ? "fit" : "fits"}`, agreed = z === null ? "they give different answers" : `all give ${z}`;
  const line = !two.length ? "Nothing is shown."
    : !rules.length ? `No rule fits ${named(two)}.`
    : rules.length === 1 ? `${fit()} one rule alone, ${formula(rules[0])}.`
    : `${fit()} ${rules.length} rules, and ${agreed}.`;
  return { head: `By the two latest: ${z ?? "a guess"}.`, lines: [line], votes };
}

export function determined(examples, question, p) {
  const rules = rulesThatFit(examples, p), said = new Set(rules.map(([a, b]) => (a * question.x + b * question.y) % p));
  const all = `${rules.length || "None"} of the ${p * p} rules ${rules.length > 1 ? "fit" : "fits"} all that is shown`;
  const head = "Do the examples determine the answer?";
  if (!rules.length) return { head: `${head} No: they contradict each other.`, lines: [`${all}.`] };
  if (said.size > 1) return { head: `${head} No.`, lines: [`${all}, and they give different answers.`] };
  return { head: `${head} Yes.`, lines: [`${all}, and ${rules.length > 1 ? "all give" : "it gives"} ${[...said][0]}.`] };
}
