// The adder of a network, for a page: what its neurons get of each number, what they write, and both as waves.
// It is that of `assign_add_lib.circuits.bare_addition`: no attention, and no way past the neurons.
import { times } from "./network.js";

/** Of a network: what the neurons get of each number, `pre` (N, neurons), and what they write, `out` (neurons, N). */
export function adderOf(w) {
  const { model, head, mlp, numbers: N } = w.sizes, embedded = w.W_E.subarray(0, N * model);
  const moved = times(times(embedded, w.W_V[1], model, head), w.W_O[1], head, model);
  return { N, neurons: mlp, pre: times(moved, w.W_in, model, mlp), out: times(w.W_out, w.W_U, model, N) };
}

/** The logits (N,) where the neurons get `left` of one number and `right` of the other, (neurons,) each. */
export function logitsOf({ N, neurons, out }, left, right) {
  const logits = new Float32Array(N);
  for (let j = 0; j < neurons; j++) {
    const active = left[j] + right[j];
    if (active > 0) for (let q = 0, at = j * N; q < N; q++, at++) logits[q] += active * out[at];
  }
  return logits;
}

/** What the neurons get of each number, taken apart into waves: the constant, and by frequency cosine and sine, (neurons,) each. */
export function wavesOf({ N, neurons, pre }) {
  const waves = Array.from({ length: Math.floor(N / 2) + 1 }, () => [new Float32Array(neurons), new Float32Array(neurons)]);
  waves.forEach(([cosine, sine], k) => {
    for (let number = 0; number < N; number++) {
      const angle = (2 * Math.PI * k * number) / N, size = (k ? 2 : 1) / N, [c, s] = [size * Math.cos(angle), size * Math.sin(angle)];
      for (let j = 0, at = number * neurons; j < neurons; j++, at++) {
        cosine[j] += c * pre[at];
        sine[j] += s * pre[at];
      }
    }
  });
  return waves;
}

/** What the neurons get, (neurons,), of a number that may lie between two, by the constant and the waves of these frequencies. */
export function given(waves, N, number, ks) {
  const found = Float32Array.from(waves[0][0]);
  for (const k of ks) {
    const angle = (2 * Math.PI * k * number) / N, [c, s] = [Math.cos(angle), Math.sin(angle)], [cosine, sine] = waves[k];
    for (let j = 0; j < found.length; j++) found[j] += c * cosine[j] + s * sine[j];
  }
  return found;
}
