// Redraws every attention view that still shows its picture, with CircuitsVis, which must be loaded.
(() => {
  for (const figure of document.querySelectorAll(".attention-view:not([data-drawn])")) {
    figure.dataset.drawn = "";
    const { attention, tokens } = JSON.parse(figure.querySelector("script").textContent);
    const view = figure.querySelector(".view");
    view.setAttribute("role", "img");
    view.setAttribute("aria-label", view.querySelector("img").alt);
    view.style = "display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr)); background: white; color: black";
    view.replaceChildren();
    attention.forEach((pattern, index) => {
      const layer = document.createElement("div");
      layer.ariaHidden = "true";
      // the padding takes up the negative margins that CircuitsVis sets
      layer.innerHTML = `<div style="text-align: center">layer ${index + 1}</div><div style="padding: 0 15px"></div>`;
      view.append(layer);
      // CircuitsVis finds its place by an id, which has to be the page's own
      layer.lastChild.id = `attention-${document.querySelectorAll(".attention-view [id]").length}`;
      CircuitsVis.render(layer.lastChild.id, CircuitsVis.AttentionPattern, { attention: pattern, tokens, positiveColor: "#08519c" });
    });
  }
})();
