// Chance that gives the same for the same seed.

/** What draws a whole number below n each time, as a seed has it, by default any (Mulberry32). */
export function chance(seed = 2 ** 32 * Math.random()) {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n;
  };
}
