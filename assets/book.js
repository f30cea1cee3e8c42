// Brings a page's views to life; CircuitsVis and the live network are fetched only where a page shows them.
(() => {
  const here = document.currentScript.src;

  const load = (path) =>
    new Promise((resolve, reject) => {
      const script = document.createElement("script");
      script.src = new URL(path, here).href;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${script.src} did not load`));
      document.head.append(script);
    });

  function bindSlider(figure) {
    const frames = JSON.parse(figure.querySelector("script").textContent);
    const [image, input, output] = ["img", "input", "output"].map((name) => figure.querySelector(name));
    figure.querySelector(".control").hidden = false; // where no script runs, no control is shown
    input.addEventListener("input", () => {
      const { value, ...picture } = frames[input.valueAsNumber];
      Object.assign(image, picture);
      output.textContent = value;
      input.setAttribute("aria-valuetext", value);
    });
  }

  document.addEventListener("DOMContentLoaded", async () => {
    document.querySelectorAll(".step-slider").forEach(bindSlider);
    if (document.querySelector("assign-add")) {
      const sheet = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("explorer.css", here).href });
      document.head.append(sheet);
      await import(new URL("explorer.js", here).href);
    }
    if (document.querySelector(".attention-view")) {
      await load("vendor/circuitsvis/iife.js");
      await load("attention.js");
    }
  });
})();
