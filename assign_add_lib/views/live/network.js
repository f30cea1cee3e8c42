// The network, for a page: reads the book's safetensors files and computes what `assign_add_lib.model.trace` computes.
// Vectors are rows, x @ W.  A matrix is a Float32Array, row after row; comments give its shape.

const LAYERS = 2;

/** What the shapes of a file's weights must be, by name, from the sizes that W_E, W_pos, W_Q, W_in and W_U have. */
function shapesFor({ vocab, length, model, head, mlp, numbers }) {
  return {
    W_E: [vocab, model], W_pos: [length, model],
    W_Q: [LAYERS, model, head], W_K: [LAYERS, model, head], W_V: [LAYERS, model, head], W_O: [LAYERS, head, model],
    W_in: [model, mlp], W_out: [mlp, model], W_U: [model, numbers],
  };
}

const SCALES = Float32Array.from({ length: 32 }, (_, exponent) => 2 ** (Math.max(exponent, 1) - 25)); // of the fraction, by exponent

/** The number that 16 bits stand for: 1 bit of sign, 5 of exponent, 10 of fraction. */
function half(bits) {
  const exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const size = exponent === 31 ? (fraction ? NaN : Infinity) : SCALES[exponent] * (exponent ? 1024 + fraction : fraction);
  return bits & 0x8000 ? -size : size;
}

function halves(buffer) {
  const bits = new Uint16Array(buffer), values = new Float32Array(bits.length);
  for (let i = 0; i < bits.length; i++) values[i] = half(bits[i]);
  return values;
}

/** How bytes are read as numbers, by the type of the values, and how many bytes one takes. */
const READERS = {
  F16: { bytes: 2, read: halves },
  F32: { bytes: 4, read: (buffer) => new Float32Array(buffer) },
};

/** The tensors of a safetensors file, {name: {shape, values}}; an Error of one line where it is cut short or altered. */
export function readTensors(buffer) {
  const view = new DataView(buffer), damaged = (what) => new Error(`the checkpoint is damaged: ${what}`);
  if (buffer.byteLength < 8) throw damaged("it is cut short");
  const start = 8 + Number(view.getBigUint64(0, true));
  if (start > buffer.byteLength) throw damaged("it is cut short");
  let header;
  try {
    header = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(buffer, 8, start - 8)));
  } catch {
    throw damaged("its header is no JSON");
  }
  const tensors = {};
  let end = start;
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const { dtype, shape, data_offsets: [from, to] = [] } = entry ?? {};
    const n = Array.isArray(shape) ? shape.reduce((product, size) => product * size, 1) : NaN;
    const { bytes, read } = READERS[dtype] ?? {};
    if (!(to - from === n * bytes) || !(from >= 0)) throw damaged(`${name} has no shape that fits its bytes`);
    if (start + to > buffer.byteLength) throw damaged("it is cut short");
    tensors[name] = { shape, values: read(buffer.slice(start + from, start + to)) };
    end = Math.max(end, start + to);
  }
  if (end !== buffer.byteLength) throw damaged("it is longer than its header says");
  return tensors;
}

/** The values of one of these tensors, which must have this shape and hold numbers; an Error of one line where it does not. */
export function valuesOf(tensors, name, shape) {
  const { shape: found, values } = tensors[name] ?? {};
  if (String(found) !== String(shape)) throw new Error(`the checkpoint does not fit this network: ${name} is ${found ? `(${found})` : "missing"}`);
  if (!values.every(Number.isFinite)) throw new Error(`the checkpoint is damaged: ${name} holds a value that is no number`);
  return values;
}

/** The weights in a safetensors file, {sizes, W_E, ...}, per layer where they have one: W_Q[0], W_Q[1]. */
export function readWeights(buffer) {
  const tensors = readTensors(buffer), size = (name, axis) => tensors[name]?.shape.at(axis);
  const sizes = {
    vocab: size("W_E", 0), length: size("W_pos", 0), model: size("W_E", 1), head: size("W_Q", 2),
    mlp: size("W_in", 1), numbers: size("W_U", 1),
  };
  const weights = { sizes };
  for (const [name, shape] of Object.entries(shapesFor(sizes))) {
    const values = valuesOf(tensors, name, shape), each = values.length / LAYERS;
    weights[name] = shape.length < 3 ? values : [values.subarray(0, each), values.subarray(each)];
  }
  return weights;
}

/** (n, d) @ (d, m) -> (n, m), four rows of W at a time. */
export function times(x, W, d, m) {
  const n = x.length / d, out = new Float32Array(n * m);
  for (let i = 0; i < n; i++) {
    const to = i * m;
    let k = 0;
    for (; k + 3 < d; k += 4) {
      const from = i * d + k, a = x[from], b = x[from + 1], c = x[from + 2], e = x[from + 3];
      if (a || b || c || e) {
        for (let j = 0, at = k * m; j < m; j++, at++) {
          out[to + j] += a * W[at] + b * W[at + m] + c * W[at + 2 * m] + e * W[at + 3 * m];
        }
      }
    }
    for (; k < d; k++) for (let j = 0; j < m; j++) out[to + j] += x[i * d + k] * W[k * m + j];
  }
  return out;
}

/** The sum of two matrices of one shape. */
export const plus = (x, y) => x.map((value, i) => value + y[i]);

/** The place of the largest value. */
export const largest = (values) => values.indexOf(Math.max(...values));

/** Scores of all queries for all keys that they may see, q (n, d) and k (n, d) -> (n, n), -Infinity for what comes later. */
export function scoresOf(q, k, d) {
  const n = q.length / d, scores = new Float32Array(n * n).fill(-Infinity);
  for (let i = 0; i < n; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = 0;
      for (let c = 0; c < d; c++) sum += q[i * d + c] * k[j * d + c];
      scores[i * n + j] = sum / Math.sqrt(d);
    }
  }
  return scores;
}

/** The softmax of each row of a matrix (n, m). */
export function softmax(x, m) {
  const out = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += m) {
    const row = x.subarray(at, at + m), most = Math.max(...row), grown = Array.from(row, (value) => Math.exp(value - most));
    const sum = grown.reduce((total, value) => total + value, 0);
    grown.forEach((value, j) => (out[at + j] = value / sum));
  }
  return out;
}

/** The products of a row x (d,) with each row of W (m, d) -> (m,). */
const products = (x, W, d) => Float32Array.from({ length: W.length / d }, (_, i) => {
  let sum = 0;
  for (let c = 0; c < d; c++) sum += x[c] * W[i * d + c];
  return sum;
});

const begun = new WeakMap(); // of a network, by token and place: what layer 1 makes of it before it reads others

/** Of each token at its place, a row: the stream, layer 1's query and key, and what layer 1 brings to those that read it. */
function starts(w, tokens) {
  const { model, head } = w.sizes, n = tokens.length;
  if (!begun.has(w)) begun.set(w, new Map());
  const known = begun.get(w), row = (x, i) => x.subarray(i * model, (i + 1) * model);
  const parts = [model, head, head, model].map((d) => new Float32Array(n * d));
  tokens.forEach((token, place) => {
    const which = token * n + place;
    if (!known.has(which)) { // from one problem to the next most tokens stay
      const resid = plus(row(w.W_E, token), row(w.W_pos, place));
      const [q, k, v] = [w.W_Q, w.W_K, w.W_V].map((W) => times(resid, W[0], model, head));
      known.set(which, [resid, q, k, times(v, w.W_O[0], head, model)]);
    }
    known.get(which).forEach((values, part) => parts[part].set(values, place * values.length));
  });
  return parts;
}

/**
 * The forward pass on the token ids of one problem, keeping what arises on the way by the names of `Activations`.
 *
 * The answer is read at the last position, the only one computed from layer 2's attention on; `complete` adds what others read there.
 * `alter(name, values, layer)`, where given, sees what arises at "scores", "pattern" and "mlp_out",
 * and returns what is to stand in its place; in layer 2 the last row alone is there.
 */
export function trace(w, tokens, alter = (name, values) => values) {
  const { model, head, mlp, numbers } = w.sizes, n = tokens.length, last = n - 1;
  const [resid_pre, q, k, brings] = starts(w, tokens); // (n, model), (n, head), (n, head), (n, model)
  const scores = [alter("scores", scoresOf(q, k, head), 0), new Float32Array(n * n).fill(-Infinity)]; // (n query, n key) each
  const pattern = [alter("pattern", softmax(scores[0], n), 0), new Float32Array(n * n)]; // (n query, n key) each
  const attn_out = [times(pattern[0], brings, n, model)]; // (n, model)
  const resid = plus(resid_pre, attn_out[0]), asks = times(resid.subarray(last * model), w.W_Q[1], model, head); // (n, model), (1, head)
  const meets = products(asks, w.W_K[1], head); // (1, model): what it has in common with a key, before a token becomes one
  scores[1].set(products(meets, resid, model).map((score) => score / Math.sqrt(head)), last * n);
  scores[1] = alter("scores", scores[1], 1);
  pattern[1].set(softmax(scores[1].subarray(last * n), n), last * n);
  pattern[1] = alter("pattern", pattern[1], 1);
  const read = times(pattern[1].subarray(last * n), resid, n, model); // (1, model)
  attn_out.push(times(times(read, w.W_V[1], model, head), w.W_O[1], head, model)); // (1, model)
  const mlp_in = plus(resid.subarray(last * model), attn_out[1]), pre = times(mlp_in, w.W_in, model, mlp); // (1, model), (1, mlp)
  const mlp_out = alter("mlp_out", times(pre.map((value) => Math.max(value, 0)), w.W_out, mlp, model), 1); // (1, model)
  const logits = times(plus(mlp_in, mlp_out), w.W_U, model, numbers); // (1, numbers)
  return { resid_pre, scores, pattern, attn_out, mlp_in, pre, mlp_out, logits };
}

/** Fill in what the queries before the last read in layer 2, which no answer needs. */
export function complete(w, acts) {
  if (acts.scores[1][0] > -Infinity) return acts; // it is there
  const { model, head } = w.sizes, resid = plus(acts.resid_pre, acts.attn_out[0]), n = resid.length / model, end = (n - 1) * n;
  const [q, k] = [w.W_Q, w.W_K].map((W) => times(resid, W[1], model, head)); // (n, head) each
  const scores = scoresOf(q, k, head).subarray(0, end);
  acts.scores[1].set(scores);
  acts.pattern[1].set(softmax(scores, n));
  return acts;
}

/** Logits at the last position read off the stream: before layer 1, after it, after layer 2's attention, and after the MLP. */
export function logitsAt(w, acts) {
  const { model, numbers } = w.sizes, last = (x) => x.subarray(-model), start = last(acts.resid_pre);
  const stages = [start, plus(start, last(acts.attn_out[0])), acts.mlp_in];
  return [...stages.map((stream) => times(stream, w.W_U, model, numbers)), acts.logits];
}

/** A score as a sum over what query (rows) and key (columns) hold: token and place, in layer 2 also what layer 1 brought. */
export function partsOf(w, acts, layer, query, key) {
  const { model, head } = w.sizes, row = (x, i) => x.subarray(i * model, (i + 1) * model);
  const held = (i) => {
    const place = row(w.W_pos, i), token = row(acts.resid_pre, i).map((value, c) => value - place[c]);
    return [token, place, row(acts.attn_out[0], i)].slice(0, layer + 2);
  };
  const [queries, keys] = [[w.W_Q, query], [w.W_K, key]].map(([W, i]) => held(i).map((part) => times(part, W[layer], model, head)));
  return queries.map((q) => keys.map((k) => q.reduce((sum, value, c) => sum + value * k[c], 0) / Math.sqrt(head)));
}
