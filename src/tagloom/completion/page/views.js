// Shows one part of the report at a time, as the address says; each is filled when first shown.
const fillers = {
  pictures: refresh, tags: refreshLabels, errors: fillErrors, annotate: fillToAnnotate,
  reliability: () => {}, words: () => {}, excluded: () => {},
};
const filled = new Set();

function showView() {
  const wantedView = location.hash.slice(1);
  const view = Object.hasOwn(fillers, wantedView) ? wantedView : "pictures";
  if (dialog.open) dialog.close();
  for (const name of Object.keys(fillers)) find(name).hidden = name !== view;
  for (const link of document.querySelectorAll(".views a")) {
    if (link.hash === "#" + view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (!filled.has(view)) {
    filled.add(view);
    fillers[view]();
  }
}

find("errors-number").textContent = inWords.format(data.suspected_errors.picture.length);
find("annotate-number").textContent = inWords.format(data.to_annotate.picture.length);
window.addEventListener("hashchange", showView);
showView();
