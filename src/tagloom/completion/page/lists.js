// Suspected label errors, and what to annotate next.
function entryCard(number, title, line, level, tag, reasons) {
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

function fillErrors() {
  const { picture, label, present, p, error_p: errorP, reasons } = data.suspected_errors;
  const reasonsOf = reasonsIn(reasons);
  const build = (place) => {
    const name = data.labels[label[place]];
    const state = present[place] ? WRONG : DENIED;
    const title = present[place] ? `Known tag: ${name}` : `Known absence: ${name}`;
    const line = `Wrong with a probability of ${percent(errorP[place])}. Without this annotation, ` +
      `the confidence in the tag would be ${percent(p[place])}.`;
    const level = bar(errorP[place]);
    level.classList.add("error");
    return entryCard(picture[place], title, line, level,
      { label: label[place], p: p[place], state }, reasonsOf(place));
  };
  fillList("errors", picture, build, "No label errors are suspected.");
}

function fillToAnnotate() {
  const { picture, label, p, reasons } = data.to_annotate;
  const reasonsOf = reasonsIn(reasons);
  const build = (place) => entryCard(picture[place], `Add tag ${data.labels[label[place]]}?`,
    `Confidence so far: ${percent(p[place])}.`, bar(p[place]),
    { label: label[place], p: p[place], state: SUGGESTED }, reasonsOf(place));
  fillList("annotate", picture, build, "There is nothing left to annotate.");
}

function fillList(name, entries, build, nothing) {
  find(name + "-number").textContent = inWords.format(entries.length);
  const list = find(name + "-list");
  feed(list, build, 48)(entries.map((_, place) => place));
  if (!entries.length) list.append(make("p", { class: "lead", text: nothing }));
}
