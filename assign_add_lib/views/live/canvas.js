// What things that draw on a canvas share: the page's colours, and long work cut into pieces.

/** The colours that stand in an element's custom properties. */
export function coloursOf(element, ...names) {
  const style = getComputedStyle(element);
  return names.map((name) => style.getPropertyValue(name));
}

/** Do something whenever the page turns from light to dark, or back. */
export function onTheme(todo) {
  new MutationObserver(todo).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
}

const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Take `count` steps, as many between two frames as leave the page quick; returns what stops it.
 *
 * `seen` is called with how many are done: after each piece, or, where the reader wants less motion, after the last.
 */
export function inPieces(count, step, seen) {
  let done = 0, waits;
  const piece = () => {
    const until = performance.now() + 5; // milliseconds
    do step(done++); while (done < count && performance.now() < until);
    if (done < count) waits = requestAnimationFrame(piece);
    if (done === count || !still.matches) seen(done);
  };
  waits = requestAnimationFrame(piece);
  return () => cancelAnimationFrame(waits);
}
