// The worst problem of a question that a small search in the page comes to: coordinate descent, `proof.attack` in small.
// A question is what a problem asks, with the numbers of its letters; its context is all the rest.
import { run } from "./network.js";
import { Problem } from "./problem.js";

/** The logit of the right answer less the largest other one: where it is below 0, the answer is wrong. */
export const marginOf = (logits, right) => logits[right] - Math.max(...logits.filter((_, answer) => answer !== right));

/** The letters that a question leaves free. */
const freeIn = ({ left, right, task }) => task.variables.filter((letter) => letter !== left && letter !== right);

/** The question of a problem in a random context, of any number of assignments from `least` on, 1 or more. */
export function inContext(problem, below, least = 1) {
  const { left, right, task } = problem, free = freeIn(problem), take = (from) => from.splice(below(from.length), 1)[0];
  const chosen = problem.assignments.filter(([letter]) => !free.includes(letter)), from = Math.max(least, chosen.length);
  const many = from + below(task.slots - from + 1);
  while (chosen.length < many) chosen.push([take(free), below(task.numbers)]);
  return new Problem(Array.from({ length: many }, () => take(chosen)), left, right, task);
}

/** The same question with another number at a place, or in the next respects another name there or none, or in the last one more assignment. */
function neighbours({ assignments, left, right, task }, respect, below) {
  const { slots, numbers } = task, n = assignments.length, place = respect % slots, [letter, number] = assignments[place] ?? [];
  const free = freeIn({ left, right, task }), unused = free.filter((each) => !assignments.some(([used]) => used === each));
  const put = (at, ...others) => new Problem(assignments.toSpliced(at, 1, ...others), left, right, task);
  if (respect === 2 * slots) return n < slots ? unused.map((each) => put(n, [each, below(numbers)])) : [];
  if (!free.includes(letter)) return [];
  if (respect < slots) return Array.from({ length: numbers }, (_, other) => put(place, [letter, other]));
  return [...unused.map((other) => put(place, [other, number])), ...(n > 1 ? [put(place)] : [])];
}

/** Descend from a problem, then from random contexts of its question, `starts` times in all; after each problem comes the worst so far, {problem, margin}. */
export function* descend(weights, problem, starts, below) {
  const { slots } = problem.task, judge = (each) => ({ problem: each, margin: marginOf(run(weights, each.tokens()).logits, each.answer) });
  let worst = judge(problem);
  for (let start = 0; start < starts; start++) {
    let here = start ? judge(inContext(problem, below, slots)) : worst, before;
    do {
      before = here.margin;
      for (let respect = 0; respect <= 2 * slots; respect++) {
        for (const each of neighbours(here.problem, respect, below)) {
          const tried = judge(each);
          if (tried.margin < here.margin) here = tried;
          if (here.margin < worst.margin) worst = here;
          yield worst;
        }
      }
    } while (here.margin < before);
  }
}
