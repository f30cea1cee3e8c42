// The neurons of an adder as tiles: each darkest at the pairs where it is most active.  A tile is N pixels wide, one for each number.
import { largest } from "./network.js";

export const GAP = 5; // between tiles, in their pixels

/** The neurons by the frequency that explains most of each, {k, neurons}; those of a group in the order in which its clock meets their peaks. */
export function groupsOf(waves, neurons) {
  const groups = new Map();
  for (let j = 0; j < neurons; j++) {
    const k = largest(waves.map(([cosine, sine], each) => (each ? Math.hypot(cosine[j], sine[j]) : 0)));
    groups.set(k, [...(groups.get(k) ?? []), j]);
  }
  const peak = (k, j) => Math.atan2(waves[k][1][j], waves[k][0][j]);
  return Array.from(groups, ([k, found]) => ({ k, on: true, neurons: found.toSorted((a, b) => peak(k, a) - peak(k, b)) })).toSorted((a, b) => a.k - b.k);
}

/** The numbers as they stand round a clock that they go k times round: for once round, from 0 on. */
export function orderOf(N, k) {
  return Array.from({ length: N }, (_, number) => number).toSorted((a, b) => ((k * a) % N) - ((k * b) % N));
}

/** How active a neuron is at a pair. */
export const activeAt = ({ neurons, pre }, neuron, x, y) => Math.max(0, pre[x * neurons + neuron] + pre[y * neurons + neuron]);

/** A neuron's tile, as opaque as it is active of the most that it can be, x to the right and y up, with the numbers in this order; and that most. */
export function tileOf({ N, neurons, pre }, neuron, order) {
  const image = new ImageData(N, N), given = order.map((number) => pre[number * neurons + neuron]), most = Math.max(1e-9, 2 * Math.max(...given));
  for (let y = 0, at = 3; y < N; y++) for (let x = 0; x < N; x++, at += 4) image.data[at] = (255 * (given[x] + given[N - 1 - y])) / most;
  return { image, most };
}

/** Draw what `mask` holds, a canvas of opacities, in one colour. */
export function tint(pen, mask, from, opacity, colour) {
  const { width, height } = pen.canvas;
  pen.reset();
  pen.imageSmoothingEnabled = from[2] > width; // pixels when drawn larger
  pen.globalAlpha = opacity;
  pen.drawImage(mask, ...from, 0, 0, width, height);
  pen.globalCompositeOperation = "source-in";
  pen.globalAlpha = 1;
  pen.fillStyle = colour;
  pen.fillRect(0, 0, width, height);
  pen.globalCompositeOperation = "source-over";
}

/** Draw lines at x and at y, and a dot of this radius where they cross, all with an edge of paper. */
export function crosshair(pen, x, y, radius, { left, right, glow, paper }) {
  const size = pen.canvas.width, dot = new Path2D();
  const lines = [
    ["x", left, [10, 6], `M${x} 0V${size}`, x < size - 30 ? x + 7 : x - 19, y > size / 2 ? 18 : size - 8],
    ["y", right, [3, 6], `M0 ${y}H${size}`, x < size / 2 ? size - 18 : 6, y > 30 ? y - 9 : y + 20],
  ];
  Object.assign(pen, { font: "bold 20px sans-serif", lineJoin: "round" });
  for (const [name, colour, dash, path, ...place] of lines) {
    for (const [strokeStyle, lineWidth, gaps] of [[paper, 7, []], [colour, 3, dash]]) {
      Object.assign(pen, { strokeStyle, lineWidth, fillStyle: colour });
      pen.setLineDash(gaps);
      pen.stroke(new Path2D(path));
      if (strokeStyle === paper) pen.strokeText(name, ...place);
    }
    pen.fillText(name, ...place);
  }
  dot.arc(x, y, radius, 0, 7);
  Object.assign(pen, { fillStyle: glow, strokeStyle: paper });
  pen.setLineDash([]);
  pen.fill(dot);
  pen.stroke(dot);
}
