// The order of what a search finds: pages named by the words come first, then their sections, then pages that hold the words.
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    const words = new URLSearchParams(location.search).get("q").toLowerCase().split(/\s+/);
    const named = words.filter((word) => title.toLowerCase().includes(word)).length / words.length;
    return score + (named === 1 ? 100 : 0) + (anchor ? 0 : 10);
  },
  objNameMatch: 0,
  objPartialMatch: 0,
  objPrio: {},
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
