// a page that has moved leads on to where it is, with what was asked of it
const there = new URL(document.currentScript.dataset.to, location);
there.search = location.search;
there.hash = location.hash;
location.replace(there);
