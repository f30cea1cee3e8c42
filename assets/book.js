// Brings a page's sliders over drawn frames to life.
(() => {
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

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".step-slider").forEach(bindSlider);
  });
})();
