// What looks wrong, and what to ask next.
function caseCard(number, title, line, level, tag, reasons) {
  return make("article", { class: "card" }, shot(number),
    make("h3", { class: "question", dir: "auto", text: title }),
    make("p", { text: line }), level,
    make("button", {
      type: "button", class: "quiet", "aria-haspopup": "dialog",
      "aria-label": "Why? " + title, click: () => explain(number, tag, reasons),
    }, "Why?"),
    make("p", { class: "file", dir: "auto", text: baseName(data.items[number]),
      title: data.items[number] }));
}

function fillDoubts() {
  const { picture, label, present, p, chance, reasons } = data.doubts;
  const reasonsOf = reasonsIn(reasons);
  const build = (place) => {
    const name = data.labels[label[place]];
    const state = present[place] ? WRONG : DENIED;
    const title = present[place] ? `Given: ${name}` : `Denied: ${name}`;
    const line = `Wrong with a chance of ${percent(chance[place])}. Had nobody said ` +
      `anything, the tag would have ${percent(p[place])}.`;
    const level = bar(chance[place]);
    level.classList.add("doubt");
    return caseCard(picture[place], title, line, level,
      { label: label[place], p: p[place], state }, reasonsOf(place));
  };
  fillList("wrong", picture, build, "Nothing that was said looks wrong.");
}

function fillQuestions() {
  const { picture, label, p, reasons } = data.questions;
  const reasonsOf = reasonsIn(reasons);
  const build = (place) => caseCard(picture[place], `${data.labels[label[place]]}?`,
    `So far ${percent(p[place])} likely.`, bar(p[place]),
    { label: label[place], p: p[place], state: SUGGESTED }, reasonsOf(place));
  fillList("ask", picture, build, "There is nothing to ask.");
}

function fillList(name, entries, build, nothing) {
  find(name + "-number").textContent = inWords.format(entries.length);
  const list = find(name + "-list");
  feed(list, build, 48)(entries.map((_, place) => place));
  if (!entries.length) list.append(make("p", { class: "lead", text: nothing }));
}
