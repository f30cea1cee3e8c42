// Sets the reader's theme before anything is drawn, and brings sliders over drawn frames and scroll boxes to life.
(() => {
  const page = document.documentElement;
  if (location.search) page.dataset.asked = "";
  let mode = "auto";
  try {
    mode = localStorage.getItem("mode") || mode;
  } catch {} // where a browser forbids to keep anything
  page.dataset.mode = mode;
  page.dataset.theme = mode !== "auto" ? mode : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  // a page that opens at its top is drawn without what lies beyond its first sight, until that is painted, and then bit by bit
  if (!location.hash && performance.getEntriesByType("navigation")[0]?.type === "navigate") page.dataset.top = page.dataset.rest = "";

  // Whether no closed box holds it: to ask a browser whether it is seen would lay out what the box holds
  const opened = (each) => !each.closest("details:not([open]) > :not(summary)");

  // A formula that is somewhat too wide is set smaller, as far as it can be read; one that is wider yet scrolls
  function shrinkFormulas(within) {
    const formulas = [...within.querySelectorAll("div.math")].filter(opened);
    for (const { style } of formulas) if (style.fontSize) style.fontSize = "";
    const fits = (each) => (parseFloat(getComputedStyle(each).fontSize) * each.clientWidth) / each.scrollWidth;
    const wide = formulas.filter((each) => each.scrollWidth > each.clientWidth).map((each) => [each.style, fits(each)]);
    for (const [style, size] of wide) if (size >= 11) style.fontSize = `${Math.floor(10 * size) / 10}px`;
  }

  // What scrolls can be scrolled by keys; all is read before anything is changed, or each change would cost a layout
  const BOXES = "pre, .view, p, div.math, .cell_output > .output, .pst-scrollable-table-container";
  function letScroll(within = document.querySelector("main")) {
    shrinkFormulas(within);
    const scrolls = (box) => opened(box) && box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto";
    const boxes = [...within.querySelectorAll(BOXES)].map((box) => [box, scrolls(box)]);
    for (const [box, wide] of boxes) {
      if (wide) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  }

  // What a button says, and of which figure: many figures of a page have one like it
  function say(button, words) {
    const caption = button.closest("figure").querySelector("figcaption");
    const figure = caption.querySelector(".caption-number, .view-number")?.textContent.trim() ?? caption.textContent.split(/[.;:] /)[0];
    button.textContent = words;
    button.ariaLabel = `${words}: ${figure}`;
  }

  // On a phone a picture fits the screen; its button, or a tap on it, makes it large there, and small again
  function bindEnlarge(button) {
    const view = button.previousElementSibling, image = view.querySelector("img");
    const turn = () => {
      say(button, view.classList.toggle("large") ? "Fit to screen" : "Enlarge");
      letScroll();
    };
    button.addEventListener("click", turn);
    view.addEventListener("click", ({ clientX, clientY }) => {
      if (!button.checkVisibility()) return;
      const small = image.getBoundingClientRect();
      turn();
      const large = image.getBoundingClientRect(), grown = large.width / small.width; // what was tapped stays under the finger
      view.scrollLeft += large.left + (clientX - small.left) * grown - clientX;
      scrollBy({ top: large.top + (clientY - small.top) * grown - clientY, behavior: "instant" });
    });
    say(button, "Enlarge");
  }

  const dataOf = (figure) => JSON.parse(figure.querySelector("script").textContent);

  const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
  const spaced = (value) => (/^\d+$/.test(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, "\u2009") : value);

  // A view's slider: each stop has its value below it, where it stands is told above it, and it plays; what it moves listens to it
  function bindControl(control) {
    const figure = control.closest("figure"), data = dataOf(figure), values = data.steps ?? data.map(({ value }) => value);
    const [input, output] = ["input", "output"].map((name) => control.querySelector(name)), last = values.length - 1;
    const play = made("button", { type: "button" }), ticks = made("div", { className: "ticks", ariaHidden: "true" });
    let playing = 0;
    const tell = () => {
      const place = input.valueAsNumber, says = data.says?.[place] ?? data[place]?.says, told = says ? `: ${says}` : "";
      output.textContent = spaced(values[place]) + told;
      input.setAttribute("aria-valuetext", values[place] + told);
    };
    const go = (place) => {
      input.value = place;
      input.dispatchEvent(new Event("input"));
    };
    const stop = () => {
      clearInterval(playing);
      playing = 0;
      say(play, "Play");
    };
    input.addEventListener("input", (event) => {
      tell();
      if (event.isTrusted) stop(); // the reader moves it
    });
    play.addEventListener("click", () => {
      if (playing) return stop();
      say(play, "Stop");
      if (input.valueAsNumber === last) go(0);
      playing = setInterval(() => {
        if (figure.querySelector(".waiting")) return;
        go(input.valueAsNumber + 1);
        if (input.valueAsNumber === last) stop();
      }, 700);
    });
    output.ariaLive = "off"; // the slider itself is read out
    control.role = "group";
    control.ariaLabel = figure.querySelector("figcaption").textContent;
    ticks.append(...values.map((value) => made("span", { textContent: spaced(value) })));
    control.append(play, ticks);
    say(play, "Play");
    tell();
  }

  // The frames of a slider over drawn pictures
  function bindFrames(figure) {
    const frames = dataOf(figure), [image, input] = ["img", "input"].map((name) => figure.querySelector(name));
    figure.querySelector(".control").hidden = false; // where no script runs, no control is shown
    const fetchAll = () => frames.forEach(({ src }) => Object.assign(new Image(), { src }));
    figure.addEventListener("focusin", fetchAll, { once: true }); // the reader has come to the slider
    input.addEventListener("input", () => {
      const place = input.value, { value, says, ...picture } = frames[place], next = new Image();
      const swap = () => {
        if (input.value !== place) return;
        Object.assign(image, picture);
        image.classList.remove("waiting");
      };
      image.classList.add("waiting"); // until the picture of this step is there
      next.src = picture.src;
      next.decode().then(swap, swap);
    });
  }

  // What the first sight of a page can do without, as most of the theme's scripts, runs once that is painted
  const runRest = () => Promise.all([...document.querySelectorAll("script[type=later]")].map((held) => {
    const script = made("script", { src: held.src, async: false });
    held.replaceWith(script);
    return new Promise((then) => (script.onload = script.onerror = then));
  }));

  // The sections of a page are laid out one after the other, so that it answers in between
  async function reveal() {
    const painted = () => new Promise((then) => requestAnimationFrame(() => setTimeout(then)));
    await painted();
    delete page.dataset.top;
    const rest = runRest();
    for (const section of document.querySelectorAll(".bd-article > section > section")) {
      section.classList.add("there");
      await painted();
    }
    delete page.dataset.rest;
    await document.fonts.ready;
    letScroll();
    addEventListener("resize", () => letScroll());
    await rest;
    // marks in the list of contents where the reader is
    window.bootstrap?.ScrollSpy.getOrCreateInstance(document.body);
  }

  // What the search found is marked in the section that it leads to, and seen
  const UNREAD = "pre, script, style, button, .cell_input, .dataframe, .guess-first, .headerlink, .quiz";
  function showFound(words) {
    const section = document.getElementById(decodeURIComponent(location.hash.slice(1))) ?? document.querySelector("article");
    const texts = document.createTreeWalker(section, NodeFilter.SHOW_TEXT), ranges = [];
    const word = new RegExp(`(?<![\\p{L}\\p{N}_])(${words.join("|")})(?![\\p{L}\\p{N}_])`, "giu");
    while (texts.nextNode()) {
      const node = texts.currentNode;
      if (node.parentElement.closest(UNREAD)) continue;
      for (const { index, 0: found } of node.data.matchAll(word)) ranges.push(new StaticRange({
        startContainer: node, startOffset: index, endContainer: node, endOffset: index + found.length }));
    }
    if (!ranges.length) return;
    window.CSS.highlights?.set("found", new Highlight(...ranges));
    const first = document.createRange(), { startContainer, startOffset, endOffset } = ranges[0];
    for (let each = startContainer.parentElement; each; each = each.parentElement) if (each.localName === "details") each.open = true;
    first.setStart(startContainer, startOffset);
    first.setEnd(startContainer, endOffset);
    // it stays in view, with the heading above it where both fit, while what moves finds its size, until the reader does something
    const stay = new ResizeObserver(() => {
      const { top, bottom } = first.getBoundingClientRect();
      if (top < 0 || bottom > 0.9 * innerHeight) scrollBy({ top: top - innerHeight / 3, behavior: "instant" });
    });
    stay.observe(document.querySelector("article"));
    for (const kind of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(kind, () => stay.disconnect(), { once: true, passive: true });
  }

  document.addEventListener("DOMContentLoaded", () => {
    reveal();
    const found = new URLSearchParams(location.search).get("found")?.match(/[\p{L}\p{N}_]+/gu);
    if (found) addEventListener("load", () => requestAnimationFrame(() => showFound(found)));
    document.querySelectorAll(".control").forEach(bindControl);
    document.querySelectorAll(".step-slider").forEach(bindFrames);
    document.querySelectorAll(".enlarge").forEach(bindEnlarge);
    addEventListener("toggle", ({ target }) => letScroll(target), true);
    let theme; // paper is light
    addEventListener("beforeprint", () => ([theme, page.dataset.theme] = [page.dataset.theme, "light"]));
    addEventListener("afterprint", () => (page.dataset.theme = theme));
    document.querySelector(".btn-download-pdf-button")?.addEventListener("click", () => print());
  });
})();
