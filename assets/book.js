// Sets the reader's theme before anything is drawn, and brings sliders over drawn frames, search and scroll boxes to life.
(() => {
  const page = document.documentElement;
  if (location.search) page.dataset.asked = "";
  let mode = "auto";
  try {
    mode = localStorage.getItem("mode") || mode;
  } catch {} // where a browser forbids to keep anything
  page.dataset.mode = mode;
  page.dataset.theme = mode !== "auto" ? mode : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  // a page that opens at its top is drawn without what lies beyond its first sight, until that is painted
  if (!location.hash && performance.getEntriesByType("navigation")[0]?.type === "navigate") page.dataset.top = "";

  // What the search shows of a page found is its prose: no code, no buttons, no list of contents
  function searchProse() {
    document.querySelector(".bd-article input[name=q], .bd-search input").focus();
    const whole = Search.htmlToText;
    Search.htmlToText = (text, anchor) => {
      const found = new DOMParser().parseFromString(text, "text/html");
      found.querySelectorAll(".cell_input, .cell_output pre, details.hide, script, table, h1").forEach((part) => part.remove());
      const article = found.querySelector("article");
      article.setAttribute("role", "main");
      return whole(article.outerHTML, anchor);
    };
    // The excerpt is around the words as they were asked, where the page has them so, and begins and ends with whole words
    const summary = Search.makeSearchSummary, asked = new URLSearchParams(location.search).get("q")?.trim();
    Search.makeSearchSummary = (text, words, anchor) => {
      const excerpt = summary(text, asked ? [...words, asked] : words, anchor);
      if (excerpt) excerpt.textContent = excerpt.textContent.replace(/^\.{3}\S*\s+/, "… ").replace(/\s+\S*\.{3}$/, " …");
      return excerpt;
    };
  }

  // A formula that is somewhat too wide is set smaller, as far as it can be read; one that is wider yet scrolls
  function shrinkFormulas() {
    const formulas = [...document.querySelectorAll(".bd-article div.math")].filter((each) => each.checkVisibility());
    for (const { style } of formulas) if (style.fontSize) style.fontSize = "";
    const fits = (each) => (parseFloat(getComputedStyle(each).fontSize) * each.clientWidth) / each.scrollWidth;
    const wide = formulas.filter((each) => each.scrollWidth > each.clientWidth).map((each) => [each.style, fits(each)]);
    for (const [style, size] of wide) if (size >= 11) style.fontSize = `${Math.floor(10 * size) / 10}px`;
  }

  // What scrolls can be scrolled by keys; all is read before anything is changed, or each change would cost a layout,
  // and a closed box, which costs one to look into, waits until it is opened
  function letScroll() {
    shrinkFormulas();
    const scrolls = (box) => box.checkVisibility() && box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto";
    const boxes = [...document.querySelectorAll(".bd-article :is(.view, p, div.math)")].map((box) => [box, scrolls(box)]);
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
  function runRest() {
    const rest = [...document.querySelectorAll("script[type=later]")].map((held) => {
      const script = made("script", { src: held.src, async: false });
      held.replaceWith(script);
      return script;
    });
    // the theme waits for the page's load, which may be over, to mark in the list of contents where the reader is
    rest.at(-1)?.addEventListener("load", () => window.bootstrap?.ScrollSpy.getOrCreateInstance(document.body));
  }

  document.addEventListener("DOMContentLoaded", () => {
    requestAnimationFrame(() => setTimeout(() => {
      delete page.dataset.top;
      runRest();
    }));
    document.querySelectorAll(".control").forEach(bindControl);
    document.querySelectorAll(".step-slider").forEach(bindFrames);
    document.querySelectorAll(".enlarge").forEach(bindEnlarge);
    addEventListener("load", () => requestAnimationFrame(() => setTimeout(letScroll))); // once all is laid out
    addEventListener("resize", letScroll);
    addEventListener("toggle", letScroll, true);
    let theme; // paper is light
    addEventListener("beforeprint", () => ([theme, page.dataset.theme] = [page.dataset.theme, "light"]));
    addEventListener("afterprint", () => (page.dataset.theme = theme));
    document.querySelector(".btn-download-pdf-button")?.addEventListener("click", () => print());
    if (typeof Search !== "undefined") searchProse();
  });
})();
