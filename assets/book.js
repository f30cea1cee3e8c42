// Brings a page's views to life; what the live views need is fetched only where a page shows one.
(() => {
  const here = document.currentScript.src;

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
    const views = document.querySelectorAll(".attention-view");
    if (views.length || document.querySelector("assign-add")) {
      const sheet = Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("explorer.css", here).href });
      document.head.append(sheet);
      const [{ drawAttentionView }] = await Promise.all(["attention.js", "explorer.js"].map((name) => import(new URL(name, here).href)));
      views.forEach(drawAttentionView);
    }
  });
})();
