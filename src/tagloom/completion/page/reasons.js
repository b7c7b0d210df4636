// The dialog: why a tag was suggested, and what a label was suggested for.
const dialog = find("dialog");

function openDialog(title, ...content) {
  find("dialog-title").textContent = title;
  find("dialog-body").replaceChildren(...content);
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

find("dialog-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => {
  if (event.target === dialog) dialog.close();
});

function verdict(state, p, label) {
  if (state === SUGGESTED) return `Confidence that “${label}” belongs to this picture: ${percent(p)}.`;
  const annotated = state === WRONG ? "present" : "absent";
  return `“${label}” is annotated as ${annotated}. Without the annotation its confidence would ` +
    `be ${percent(p)}.`;
}

function impliedInWords(reasons, label) {
  return `It follows from “${data.labels[reasons.because]}”, which is listed: whatever that is, is ` +
    `also “${label}”.`;
}

function neighborsInWords(number, reasons, label) {
  const near = data.near[number];
  if (!near) return "There are no similar pictures; the tag was judged by the picture alone.";
  if (!reasons.count) {
    return `None of the ${near} most similar pictures is known to have “${label}”: the tag was ` +
      "judged by the picture itself and its other tags.";
  }
  const verb = reasons.count === 1 ? "is" : "are";
  const nearest = reasons.count > reasons.pictures.length ? " The most similar of them:" : "";
  return `${reasons.count} of the ${near} most similar pictures ${verb} known to have ` +
    `“${label}”.${nearest}`;
}

function seeAll(label) {
  return make("button", {
    type: "button", class: "quiet", click: () => {
      dialog.close();
      showOnly(label);
    },
  }, "All pictures with this tag");
}

function explain(number, tag, reasons) {
  const label = data.labels[tag.label];
  openDialog(label,
    make("div", { class: "case" }, shot(number), make("div", {},
      fileName(data.items[number]),
      make("p", { dir: "auto", text: verdict(tag.state, tag.p, label) }), bar(tag.p),
      reasons.because === null
        ? null : make("p", { dir: "auto", text: impliedInWords(reasons, label) }),
      reasons.looks === null ? null : make("p", { text: `It ${reasons.looks}.` }),
      make("p", { dir: "auto", text: neighborsInWords(number, reasons, label) }))),
    wall(reasons.pictures, (other) => baseName(data.items[other])),
    make("p", {}, seeAll(tag.label)));
}

const LARGEST_WALL = 120;

function showLabel(label) {
  const list = suggestedFor[label];
  const shown = list.slice(0, LARGEST_WALL);
  const from = data.quality.threshold[label];
  const line = list.length
    ? `Suggested for ${inWords.format(list.length)} of ${inWords.format(pictures.length)} ` +
      `pictures, each with a confidence of at least ${percent(from)}` +
      (list.length > shown.length ? `; the ${shown.length} most probable:` : ".")
    : "Not suggested for any picture.";
  openDialog(data.labels[label], make("p", { text: line }),
    wall(shown.map((one) => one.picture.number), (_, place) => percent(shown[place].tag.p),
      (place) => {
        const { picture, tag } = shown[place];
        explain(picture.number, tag, reasonOfTag(tag.reason));
      }),
    make("p", {}, seeAll(label)));
}
