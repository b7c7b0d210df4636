// One part of the report at a time, named by the address; each is filled when first looked at.
const fillers = {
  pictures: refresh, tags: refreshLabels, wrong: fillDoubts, ask: fillQuestions,
  sure: () => {}, left: () => {},
};
const filled = new Set();

function showView() {
  const asked = location.hash.slice(1);
  const view = Object.hasOwn(fillers, asked) ? asked : "pictures";
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

find("wrong-number").textContent = inWords.format(data.doubts.picture.length);
find("ask-number").textContent = inWords.format(data.questions.picture.length);
window.addEventListener("hashchange", showView);
showView();
