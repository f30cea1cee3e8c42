// The sections of the book that hold the words asked for, those named by them and those of chapters first; see tools/site/site_search.py
(() => {
  const asked = new URLSearchParams(location.search).get("q") ?? "", box = document.getElementById("search-results");
  const split = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  // *grokking*, *grokked* and *groks* are asked for as what begins with *grok*
  const stem = (word) => word
    .replace(/(?<=...)(ing|ed|ies|es|s|ly|y)$/, "")
    .replace(/(?<=..)([bdgkmnprt])\1$/, "$1");

  // Of a word asked for: each section that holds it, with the words found there and how good they are
  function holding(word) {
    const found = new Map(), start = stem(word);
    for (const [each, steps] of Object.entries(BOOK.words)) {
      if (!each.startsWith(start)) continue;
      let place = -1;
      for (const step of steps) {
        place += step >> 1;
        const { words, score } = found.get(place) ?? { words: [], score: 0 };
        found.set(place, { words: [...words, each], score: Math.max(score, (each === word ? 3 : 1) + (step & 1)) });
      }
    }
    return found;
  }

  function search() {
    const all = split(asked).map((word) => [stem(word), holding(word)]).filter(([, places]) => places.size);
    const results = BOOK.sections.map(([page, anchor, heading, lead], place) => {
      const there = all.filter(([, places]) => places.has(place)), [name, title] = BOOK.pages[page];
      const named = there.filter(([start]) => split(heading).some((word) => word.startsWith(start))).length;
      const score = there.reduce((sum, [, places]) => sum + places.get(place).score, 0) + (named === all.length ? 10 : 2) * named;
      const words = there.flatMap(([, places]) => places.get(place).words);
      return { name, title, anchor, heading, lead, words, count: there.length, score: score + (heading === title ? 2 : 0) + (name.startsWith("chapters/") ? 2 : 0) };
    });
    const most = all.length && Math.max(...results.map(({ count }) => count));
    return most ? results.filter(({ count }) => count === most).sort((a, b) => b.score - a.score) : [];
  }

  const made = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  for (const field of document.querySelectorAll("input[name=q]")) field.value = asked;
  document.querySelector("main input[name=q]").focus();
  if (!split(asked).length) return;
  const found = search(), shown = found.slice(0, 40);
  const count = found.length === 1 ? "One section" : `${found.length || "No"} sections`;
  const first = found.length > shown.length ? `, of which these are the first ${shown.length}` : "";
  box.append(made("p", { textContent: `${count} found${first}.` }), made("ol", { className: "found" },
    ...shown.map(({ name, title, anchor, heading, lead, words }) => made("li", {},
      made("a", { href: `${name}.html?found=${[...new Set(words)].map(encodeURIComponent).join("+")}#${anchor}`, textContent: heading }),
      ...(heading === title ? [] : [made("span", { textContent: ` ${title}` })]),
      made("p", { textContent: lead })))));
})();
