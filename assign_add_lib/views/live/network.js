// The network, for a page: reads the book's safetensors files and computes what `assign_add_lib.model.run` computes.
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
export function plus(x, y) {
  const out = new Float32Array(x.length);
  for (let i = 0; i < x.length; i++) out[i] = x[i] + y[i];
  return out;
}

/** The place of the largest value. */
export const largest = (values) => values.indexOf(Math.max(...values));

/** Scores of all queries for all keys that they may see, q (n, d) and k (n, d) -> (n, n), -Infinity for what comes later. */
export function causalScores(q, k, d) {
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
export const products = (x, W, d) => Float32Array.from({ length: W.length / d }, (_, i) => {
  let sum = 0;
  for (let c = 0; c < d; c++) sum += x[c] * W[i * d + c];
  return sum;
});

/** The names of all sites, in the order in which they arise: those of TransformerLens, which counts blocks from 0. */
const SITES = [
  "hook_embed", "hook_pos_embed",
  ...["blocks.0", "blocks.1"].flatMap((block) => [
    `${block}.hook_resid_pre`,
    ...["q", "k", "attn_scores", "pattern", "v", "z"].map((part) => `${block}.attn.hook_${part}`),
    `${block}.hook_attn_out`,
  ]),
  ...["hook_resid_mid", "hook_mlp_in", "mlp.hook_pre", "mlp.hook_post", "hook_mlp_out", "hook_resid_post"].map((each) => `blocks.1.${each}`),
];
const ELSEWHERE = "those inside of a head `keep` must name; the stream behind a block is hook_resid_pre of the next";

/** The sites before layer 1 reads anything. */
const STARTS = ["hook_embed", "hook_pos_embed", "blocks.0.hook_resid_pre"];

/** Of vectors (n, model): layer 1's queries and keys (n, head), and what layer 1 brings to those that read them (n, model). */
function begin(w, resid) {
  const { model, head } = w.sizes, [q, k, v] = [w.W_Q, w.W_K, w.W_V].map((W) => times(resid, W[0], model, head));
  return [q, k, times(v, w.W_O[0], head, model)];
}

const begun = new WeakMap(); // of a network, by token and place: what `begin` makes of them

/** What `begin` makes of a stream (n, model) that holds these tokens at their places. */
function beginKnown(w, tokens, resid) {
  const { model, head } = w.sizes, n = tokens.length, parts = [head, head, model].map((d) => new Float32Array(n * d));
  if (!begun.has(w)) begun.set(w, new Map());
  const known = begun.get(w);
  tokens.forEach((token, place) => {
    const which = token * n + place; // from one problem to the next most tokens stay
    if (!known.has(which)) known.set(which, begin(w, resid.subarray(place * model, (place + 1) * model)));
    known.get(which).forEach((values, part) => parts[part].set(values, place * values.length));
  });
  return parts;
}

/**
 * The plain forward on the token ids of one problem, {logits, sites}, in which any site may be altered: the one way to change the network.
 *
 * `alter` maps the name of a site to a function from what arises there, and from the sites before it, to what shall stand there
 * instead; it leaves what it is given as it is.  Streams are (n, model), scores and patterns (n query, n key).  The answer is read
 * at the last position, so in layer 2 only its query is computed, one row from there on; `complete` adds what others read.  The
 * four sites inside of a head, hook_q, hook_k, hook_v and hook_z, (n, head), are kept only where `alter` or `keep` names them.
 * An Error of one line for a name that is no site.
 */
export function run(w, tokens, alter = {}, keep = []) {
  const { model, head, mlp, numbers } = w.sizes, n = tokens.length, sites = {};
  const named = new Set([...Object.keys(alter), ...keep]), unknown = [...named].filter((name) => !SITES.includes(name)).sort();
  if (unknown.length) throw new Error(`no site is called ${unknown[0]}; the sites are ${SITES.join(", ")}; ${ELSEWHERE}`);
  const at = (name, values) => (sites[name] = Object.hasOwn(alter, name) ? alter[name](values, sites) : values);
  const inside = (name, values) => (named.has(name) ? at(name, values) : values);

  const embed = new Float32Array(n * model);
  tokens.forEach((token, place) => embed.set(w.W_E.subarray(token * model, (token + 1) * model), place * model));
  let resid = plus(at("hook_embed", embed), at("hook_pos_embed", w.W_pos.subarray(0, n * model))); // (n, model)

  resid = at("blocks.0.hook_resid_pre", resid);
  let [q, k, moved] = STARTS.some((name) => Object.hasOwn(alter, name)) ? begin(w, resid) : beginKnown(w, tokens, resid);
  let scores = causalScores(inside("blocks.0.attn.hook_q", q), inside("blocks.0.attn.hook_k", k), head); // (n query, n key)
  let pattern = softmax(at("blocks.0.attn.hook_attn_scores", scores), n); // (n query, n key)
  pattern = at("blocks.0.attn.hook_pattern", pattern);
  if (["blocks.0.attn.hook_v", "blocks.0.attn.hook_z"].some((name) => named.has(name))) {
    const v = inside("blocks.0.attn.hook_v", times(resid, w.W_V[0], model, head)); // (n, head)
    moved = times(inside("blocks.0.attn.hook_z", times(pattern, v, n, head)), w.W_O[0], head, model);
  } else moved = times(pattern, moved, n, model);
  resid = plus(resid, at("blocks.0.hook_attn_out", moved));

  resid = at("blocks.1.hook_resid_pre", resid);
  const reader = resid.subarray(-model); // (1, model), as all that follows has one row
  q = inside("blocks.1.attn.hook_q", times(reader, w.W_Q[1], model, head));
  if (named.has("blocks.1.attn.hook_k")) scores = products(q, at("blocks.1.attn.hook_k", times(resid, w.W_K[1], model, head)), head);
  else scores = products(products(q, w.W_K[1], head), resid, model); // what the query meets in a vector, before that becomes a key
  scores = at("blocks.1.attn.hook_attn_scores", scores.map((score) => score / Math.sqrt(head)));
  pattern = at("blocks.1.attn.hook_pattern", softmax(scores, n));
  let z;
  if (named.has("blocks.1.attn.hook_v")) z = times(pattern, at("blocks.1.attn.hook_v", times(resid, w.W_V[1], model, head)), n, head);
  else z = times(times(pattern, resid, n, model), w.W_V[1], model, head);
  moved = times(inside("blocks.1.attn.hook_z", z), w.W_O[1], head, model);
  resid = at("blocks.1.hook_resid_mid", plus(reader, at("blocks.1.hook_attn_out", moved)));

  const pre = at("blocks.1.mlp.hook_pre", times(at("blocks.1.hook_mlp_in", resid), w.W_in, model, mlp)); // (1, mlp)
  const post = at("blocks.1.mlp.hook_post", pre.map((value) => Math.max(value, 0)));
  resid = plus(resid, at("blocks.1.hook_mlp_out", times(post, w.W_out, mlp, model)));
  return { logits: times(at("blocks.1.hook_resid_post", resid), w.W_U, model, numbers), sites };
}

/** The same with the scores and the pattern of layer 2, (n query, n key), of all queries: of those before the last too, which no answer needs. */
export function complete(w, seen) {
  const { model, head } = w.sizes, resid = seen.sites["blocks.1.hook_resid_pre"], n = resid.length / model;
  const names = ["blocks.1.attn.hook_attn_scores", "blocks.1.attn.hook_pattern"], [own, read] = names.map((name) => seen.sites[name]);
  if (own.length > n) return seen; // they are there
  const [q, k] = [w.W_Q, w.W_K].map((W) => times(resid, W[1], model, head)); // (n, head) each
  const scores = causalScores(q, k, head), pattern = softmax(scores, n);
  scores.set(own, (n - 1) * n);
  pattern.set(read, (n - 1) * n);
  return { ...seen, sites: { ...seen.sites, [names[0]]: scores, [names[1]]: pattern } };
}

/** Logits at the last position read off the stream: before layer 1, after it, after layer 2's attention, and after the MLP. */
export function logitsAt(w, { sites }) {
  const { model, numbers } = w.sizes, stages = ["blocks.0.hook_resid_pre", "blocks.1.hook_resid_pre", "blocks.1.hook_resid_mid", "blocks.1.hook_resid_post"];
  return stages.map((stage) => times(sites[stage].subarray(-model), w.W_U, model, numbers));
}

/** A score as a sum over what query (rows) and key (columns) hold: token and place, in layer 2 also what layer 1 brought. */
export function partsOf(w, { sites }, layer, query, key) {
  const { model, head } = w.sizes, held = ["hook_embed", "hook_pos_embed", "blocks.0.hook_attn_out"].slice(0, layer + 2);
  const [queries, keys] = [[w.W_Q, query], [w.W_K, key]].map(([W, i]) =>
    held.map((site) => times(sites[site].subarray(i * model, (i + 1) * model), W[layer], model, head)));
  return queries.map((q) => keys.map((k) => q.reduce((sum, value, c) => sum + value * k[c], 0) / Math.sqrt(head)));
}
