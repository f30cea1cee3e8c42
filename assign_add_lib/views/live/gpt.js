// The network of rows of examples, for a page: computes what `companions.rules.model` computes, of weights in a safetensors file.
// Vectors are rows, x @ W.  A matrix is a Float32Array, row after row; comments give its shape.
import { causalScores, plus, readTensors, softmax, times, valuesOf } from "./network.js";

/** A matrix (m, n) turned over its diagonal, (n, m). */
function transposed(x, n) {
  const m = x.length / n, out = new Float32Array(x.length);
  for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) out[j * m + i] = x[i * n + j];
  return out;
}

/** The weights in a safetensors file, {sizes, W_E, W_U, norm, layers}; how many heads there are, which no shape tells, is given. */
export function readGpt(buffer, heads) {
  const tensors = readTensors(buffer), [p, model] = tensors["embed.weight"]?.shape ?? [], head = model / heads, mlp = 4 * model;
  const norm = (name) => ({ scale: valuesOf(tensors, `${name}.weight`, [model]), shift: valuesOf(tensors, `${name}.bias`, [model]) });
  const linear = (name, from, to) => valuesOf(tensors, `${name}.weight`, [to, from]); // (to, from), as PyTorch has it
  const perHead = (values) => Array.from({ length: heads }, (_, h) => values.subarray(h * head * model, (h + 1) * head * model));
  const reading = (name) => perHead(linear(name, model, model)).map((rows) => transposed(rows, model)); // a (model, head) each
  const layer = (at) => ({
    attentionNorm: norm(`${at}.norm_attention`), mlpNorm: norm(`${at}.norm_mlp`),
    W_Q: reading(`${at}.q`), W_K: reading(`${at}.k`), W_V: reading(`${at}.v`),
    W_O: perHead(transposed(linear(`${at}.out`, model, model), model)), // a (head, model) each
    W_in: transposed(linear(`${at}.up`, model, mlp), model), // (model, mlp)
    W_out: transposed(linear(`${at}.down`, mlp, model), mlp), // (mlp, model)
  });
  const W_E = valuesOf(tensors, "embed.weight", [p, model]), layers = [layer("layers.0")]; // (p, model)
  while (`layers.${layers.length}.q.weight` in tensors) layers.push(layer(`layers.${layers.length}`));
  return { sizes: { p, model, heads, head, mlp }, W_E, W_U: transposed(W_E, model), norm: norm("norm"), layers };
}

/** The vectors of x (n, model), each brought to mean 0 and variance 1, then scaled and shifted. */
function normalised(x, { scale, shift }) {
  const model = scale.length, out = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += model) {
    const row = x.subarray(at, at + model), mean = row.reduce((sum, value) => sum + value, 0) / model;
    const size = Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / model + 1e-5);
    row.forEach((value, c) => (out[at + c] = ((value - mean) / size) * scale[c] + shift[c]));
  }
  return out;
}

/** Vectors x (n, d) turned by their positions: coordinates c and c + d / 2 of the one at i by the angle i / 10 000^(2c / d). */
function rotary(x, d) {
  const half = d / 2, out = new Float32Array(x.length);
  for (let i = 0; i < x.length / d; i++) {
    for (let c = 0, one = i * d, two = i * d + half; c < half; c++, one++, two++) {
      const angle = i / 10_000 ** ((2 * c) / d), cos = Math.cos(angle), sin = Math.sin(angle);
      out[one] = x[one] * cos - x[two] * sin;
      out[two] = x[one] * sin + x[two] * cos;
    }
  }
  return out;
}

/** The forward pass on the tokens x y z x y z ... of one row: logits (n, p), and patterns [layer][head], each (n query, n key). */
export function traceRow(w, tokens) {
  const { p, model, head, mlp } = w.sizes, n = tokens.length, patterns = [];
  let resid = new Float32Array(n * model); // (n, model)
  tokens.forEach((token, position) => resid.set(w.W_E.subarray(token * model, (token + 1) * model), position * model));
  for (const layer of w.layers) {
    const normed = normalised(resid, layer.attentionNorm); // (n, model)
    const ofHeads = layer.W_Q.map((W_Q, h) => {
      const [q, k, v] = [W_Q, layer.W_K[h], layer.W_V[h]].map((W) => times(normed, W, model, head)); // (n, head) each
      const pattern = softmax(causalScores(rotary(q, head), rotary(k, head), head), n); // (n query, n key)
      resid = plus(resid, times(times(pattern, v, n, head), layer.W_O[h], head, model)); // (n, model)
      return pattern;
    });
    patterns.push(ofHeads);
    const pre = times(normalised(resid, layer.mlpNorm), layer.W_in, model, mlp); // (n, mlp)
    resid = plus(resid, times(pre.map((value) => Math.max(value, 0)), layer.W_out, mlp, model)); // (n, model)
  }
  return { logits: times(normalised(resid, w.norm), w.W_U, model, p), patterns };
}
