// Sets the reader's theme before anything is drawn, and brings sliders over drawn frames, search and scroll boxes to life.
(() => {
  const page = document.documentElement;
  if (location.search) page.dataset.asked = "";
  for (const choice of ["mode", "theme"]) page.dataset[choice] = localStorage.getItem(choice) || "auto";

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
  }

  // What scrolls can be scrolled by keys, and a figure says that it does; all is read before anything is changed, or each change would cost a layout
  function letScroll() {
    const scrolls = (box) => box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX === "auto";
    const boxes = [...document.querySelectorAll(".bd-article :is(figure, p, div.math)")].map((box) => [box, scrolls(box)]);
    for (const [box, wide] of boxes) {
      if (wide) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
      box.classList.toggle("wide", wide);
    }
  }

  const dataOf = (figure) => JSON.parse(figure.querySelector("script").textContent);

  // A view's slider: where it stands is written beside it, and it plays; what it moves listens to it
  function bindControl(control) {
    const figure = control.closest("figure"), data = dataOf(figure), values = data.steps ?? data.map(({ value }) => value);
    const [input, output] = ["input", "output"].map((name) => control.querySelector(name)), last = values.length - 1;
    const play = Object.assign(document.createElement("button"), { type: "button", textContent: "Play" });
    let playing = 0;
    const say = () => {
      const value = String(values[input.valueAsNumber]);
      output.textContent = /^\d+$/.test(value) ? value.replace(/\B(?=(\d{3})+$)/g, "\u2009") : value;
      input.setAttribute("aria-valuetext", value);
    };
    const go = (place) => {
      input.value = place;
      input.dispatchEvent(new Event("input"));
    };
    const stop = () => {
      clearInterval(playing);
      playing = 0;
      play.textContent = "Play";
    };
    input.addEventListener("input", (event) => {
      say();
      if (event.isTrusted) stop(); // the reader moves it
    });
    play.addEventListener("click", () => {
      if (playing) return stop();
      play.textContent = "Stop";
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
    control.append(play);
    say();
  }

  // The frames of a slider over drawn pictures
  function bindFrames(figure) {
    const frames = dataOf(figure), [image, input] = ["img", "input"].map((name) => figure.querySelector(name));
    figure.querySelector(".control").hidden = false; // where no script runs, no control is shown
    const fetchAll = () => frames.forEach(({ src }) => Object.assign(new Image(), { src }));
    figure.addEventListener("focusin", fetchAll, { once: true }); // the reader has come to the slider
    input.addEventListener("input", () => {
      const place = input.value, { value, ...picture } = frames[place], next = new Image();
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

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".control").forEach(bindControl);
    document.querySelectorAll(".step-slider").forEach(bindFrames);
    addEventListener("load", () => requestAnimationFrame(() => setTimeout(letScroll))); // once all is laid out
    addEventListener("resize", letScroll);
    document.querySelector(".btn-download-pdf-button")?.addEventListener("click", () => print());
    if (typeof Search !== "undefined") searchProse();
  });
})();
