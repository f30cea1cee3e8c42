// Sets the reader's theme before anything is drawn, and brings sliders over drawn frames, search and scroll boxes to life.
(() => {
  const page = document.documentElement;
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

  function bindSlider(figure) {
    const frames = JSON.parse(figure.querySelector("script").textContent);
    const [image, input, output] = ["img", "input", "output"].map((name) => figure.querySelector(name));
    figure.querySelector(".control").hidden = false; // where no script runs, no control is shown
    // the other frames are fetched once the reader comes to the slider
    input.addEventListener("focus", () => frames.forEach(({ src }) => Object.assign(new Image(), { src })), { once: true });
    input.addEventListener("input", () => {
      const { value, ...picture } = frames[input.valueAsNumber];
      Object.assign(image, picture);
      output.textContent = value;
      input.setAttribute("aria-valuetext", value);
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".step-slider").forEach(bindSlider);
    addEventListener("load", letScroll);
    addEventListener("resize", letScroll);
    document.querySelector(".btn-download-pdf-button")?.addEventListener("click", () => print());
    if (typeof Search !== "undefined") searchProse();
  });
})();
