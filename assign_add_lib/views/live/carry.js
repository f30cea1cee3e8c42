// What the reader carries with the pointer.

const FAR = 6; // pixels from which on it is no click

/** Let an element go with the pointer that came `down` on it; `over` and `dropped` are told where it is, if it was moved at all. */
export function carry(element, down, over, dropped) {
  let moved = false;
  const move = (event) => {
    const [x, y] = [event.clientX - down.clientX, event.clientY - down.clientY];
    moved ||= Math.hypot(x, y) > FAR;
    if (!moved) return;
    element.style.transform = `translate(${x}px, ${y}px)`;
    over(event);
  };
  const end = (event) => {
    element.removeEventListener("pointermove", move);
    element.style.transform = "";
    if (moved) dropped(event.type === "pointerup" ? event : null);
  };
  element.setPointerCapture(down.pointerId);
  element.addEventListener("pointermove", move);
  for (const kind of ["pointerup", "pointercancel"]) element.addEventListener(kind, end, { once: true });
}

/** Which of these elements the pointer is on, -1 for none. */
export const under = ({ clientX, clientY }, elements) => elements.findIndex((element) => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return clientX >= left && clientX <= right && clientY >= top && clientY <= bottom;
});
