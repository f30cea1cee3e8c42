// A small adder that learns in the page, from nothing: sums modulo p, all seen pairs at once, by AdamW.
// It knows no order: what its neurons get of x + y is a row for x plus one for y, so that x + y and y + x are one pair.
import { chance } from "./chance.js";

export const LOOK = 5; // steps from one look at all pairs to the next
const RATE = 0.02, [KEPT, KEPT_SQUARES] = [0.9, 0.98], TINY = 1e-8; // of AdamW
const AT_ONCE = 16; // pairs between two pauses

/** All pairs {x, y, sum, seen, right} modulo p, each in one order; training sees a share of them, drawn with a seed. */
export function pairsOf(p, share, seed) {
  const below = chance(seed), pairs = [];
  for (let x = 0; x < p; x++) for (let y = x; y < p; y++) pairs.push({ x, y, sum: (x + y) % p, lot: below(2 ** 32) });
  pairs.toSorted((a, b) => a.lot - b.lot).forEach((pair, place) => Object.assign(pair, { seen: place < share * pairs.length, right: false }));
  return pairs;
}

/** An untrained adder; its weights: a table (p, width), what leads into the neurons (width, neurons), and out (neurons, p). */
export function untrained({ p, width, neurons }, seed) {
  const below = chance(seed), uniform = () => (below(2 ** 32) + 0.5) / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
  const drawn = (length, size) => Float64Array.from({ length }, () => normal() / Math.sqrt(size));
  const weights = [drawn(p * width, width), drawn(width * neurons, width), drawn(neurons * p, neurons)];
  const [gradient, means, squares] = [0, 1, 2].map(() => weights.map(({ length }) => new Float64Array(length)));
  return { p, width, neurons, weights, gradient, means, squares, steps: 0, loss: NaN };
}

/** What the neurons get of each number, (p, neurons). */
export function preOf({ p, width, neurons, weights: [table, into] }) {
  const pre = new Float64Array(p * neurons);
  for (let x = 0; x < p; x++) {
    for (let i = 0; i < width; i++) {
      const held = table[x * width + i];
      for (let j = 0, at = x * neurons, from = i * neurons; j < neurons; j++) pre[at + j] += held * into[from + j];
    }
  }
  return pre;
}

/** Answer pairs, a few at a time, and mark each as right or not; `told` gets the active neurons and all odds. */
export function* answers({ p, neurons, weights: [, , out] }, pre, pairs, told = () => {}) {
  const active = new Float64Array(neurons), odds = new Float64Array(p);
  for (const [place, pair] of pairs.entries()) {
    if (place % AT_ONCE === 0) yield;
    odds.fill(0);
    for (let j = 0, left = pair.x * neurons, right = pair.y * neurons; j < neurons; j++) {
      const value = active[j] = Math.max(0, pre[left + j] + pre[right + j]);
      if (value) for (let q = 0, at = j * p; q < p; q++, at++) odds[q] += value * out[at];
    }
    const most = Math.max(...odds);
    pair.right = odds.indexOf(most) === pair.sum;
    let all = 0;
    for (let q = 0; q < p; q++) all += odds[q] = Math.exp(odds[q] - most);
    for (let q = 0; q < p; q++) odds[q] /= all;
    told(pair, active, odds);
  }
}

/** The mean loss over pairs and its gradient, a few pairs at a time; both stay in the adder. */
export function* differentiate(adder, pairs) {
  const { p, width, neurons, weights: [table, into, out], gradient: [byTable, byInto, byOut] } = adder;
  const pre = preOf(adder), byPre = new Float64Array(p * neurons);
  for (const each of adder.gradient) each.fill(0);
  adder.loss = 0;
  yield* answers(adder, pre, pairs, ({ x, y, sum }, active, odds) => {
    adder.loss -= Math.log(odds[sum]) / pairs.length;
    odds[sum] -= 1; // now how fast the loss rises with each logit
    for (let j = 0; j < neurons; j++) {
      if (!active[j]) continue;
      const value = active[j] / pairs.length;
      let pull = 0;
      for (let q = 0, at = j * p; q < p; q++, at++) {
        pull += odds[q] * out[at];
        byOut[at] += value * odds[q];
      }
      byPre[x * neurons + j] += pull / pairs.length;
      byPre[y * neurons + j] += pull / pairs.length;
    }
  });
  for (let x = 0; x < p; x++) {
    for (let i = 0; i < width; i++) {
      const held = table[x * width + i];
      for (let j = 0, at = x * neurons, from = i * neurons; j < neurons; j++, at++, from++) {
        byTable[x * width + i] += byPre[at] * into[from];
        byInto[from] += held * byPre[at];
      }
    }
  }
}

/** Move the weights down the gradient, by AdamW with a weight decay. */
export function descend({ weights, gradient, means, squares, steps }, decay) {
  const [begun, begunSquares] = [1 - KEPT ** (steps + 1), 1 - KEPT_SQUARES ** (steps + 1)];
  weights.forEach((w, i) => {
    for (let j = 0; j < w.length; j++) {
      means[i][j] += (1 - KEPT) * (gradient[i][j] - means[i][j]);
      squares[i][j] += (1 - KEPT_SQUARES) * (gradient[i][j] ** 2 - squares[i][j]);
      w[j] -= RATE * (means[i][j] / begun / (Math.sqrt(squares[i][j] / begunSquares) + TINY) + decay * w[j]);
    }
  });
}

/** Train without end, in pieces, each some thousandths of a second; yields true after a step.  `looked` is called when all pairs are marked. */
export function* training(adder, pairs, decay, looked) {
  const seen = pairs.filter((pair) => pair.seen), fresh = pairs.filter((pair) => !pair.seen);
  for (;;) {
    const look = adder.steps % LOOK === 0;
    if (look) yield* answers(adder, preOf(adder), fresh);
    yield* differentiate(adder, seen);
    if (look) looked();
    yield false;
    descend(adder, decay());
    adder.steps += 1;
    yield true;
  }
}
