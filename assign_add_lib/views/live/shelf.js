// The networks that a page can ask: those of the site, fetched when they are asked for, and those handed over in the page.
import { readWeights } from "./network.js";

const RUNS = new URL("runs/", import.meta.url);
const fetched = new Map();

/** What lies at an address, asked for once; an Error of one line where it cannot be had. */
function once(url, read) {
  if (!fetched.has(url.href)) {
    const asked = fetch(url).catch(() => ({ ok: false, status: "no connection" })).then((response) => {
      if (!response.ok) throw new Error(`${url.pathname.split("/").slice(-3).join("/")} could not be fetched (${response.status})`);
      return read(response);
    });
    asked.catch(() => fetched.delete(url.href)); // so that it can be tried again
    fetched.set(url.href, asked);
  }
  return fetched.get(url.href);
}

/** What `read` makes of a checkpoint of the site, once its file is found to have the SHA-256 that `sum` promises. */
export const checkpoint = (run, step, read, sum) =>
  once(new URL(`${run}/checkpoints/step-${String(step).padStart(6, "0")}.safetensors`, RUNS), async (response) => {
    const buffer = await response.arrayBuffer(), weights = read(buffer);
    if (globalThis.crypto?.subtle) {
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", buffer));
      const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
      if (found !== (await sum())) throw new Error("the checkpoint is damaged: its checksum is not the one listed");
    }
    return weights;
  });

/** The bytes that a text in base64 stands for. */
export const unpacked = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;

/** The site's runs: {run: {step: {sum, right}}}, the SHA-256 of a file and the accuracies on trained problems by kind. */
const site = {
  listing: () => once(new URL("index.json", RUNS), (response) => response.json()),
  weights: (run, step) => checkpoint(run, step, readWeights, async () => (await site.listing())[run][step].sum),
};

/** Networks handed over as {run: {step: file in base64}}. */
function held(files) {
  const read = new Map();
  return {
    listing: async () => Object.fromEntries(Object.entries(files).map(([run, steps]) => [run, Object.fromEntries(Object.keys(steps).map((step) => [step, {}]))])),
    weights: async (run, step) => {
      const name = `${run} ${step}`;
      if (!read.has(name)) read.set(name, readWeights(unpacked(files[run][step])));
      return read.get(name);
    },
  };
}

/** Where an element's networks come from: the data that stands in it, or else the site. */
export function shelfOf(element) {
  const script = element.querySelector("script[type='application/json']");
  return script ? held(JSON.parse(script.textContent)) : site;
}
