// The table of labels, sorted by any of its columns.
const quality = data.quality;
const hasAbsent = quality.absent.some((count) => count > 0);
const hasForgotten = quality.label_frequency.some((c) => c !== null && c < 1000);

/** The mean confidence of suggestions: the share of them that should be right. */
function expectedRight(list) {
  if (!list.length) return null;
  return list.reduce((sum, { tag }) => sum + tag.p, 0) / list.length;
}

const columns = [
  { title: "Tag", value: (label) => data.labels[label], words: true },
  { title: "Known", value: (label) => quality.present[label] },
  ...(hasAbsent ? [{ title: "Absent", value: (label) => quality.absent[label] }] : []),
  { title: "Suggested", value: (label) => suggestedFor[label].length },
  { title: "About right", value: (label) => expectedRight(suggestedFor[label]), text: percent },
  ...(hasForgotten ? [{ title: "Listed where it belongs",
    value: (label) => quality.label_frequency[label], text: percent }] : []),
  { title: "ROC AUC", value: (label) => quality.roc_auc[label],
    text: (auc) => (auc === null ? "–" : (auc / 1000).toFixed(2)), drawn: true },
];
const sorted = { column: columns.findIndex((column) => column.title === "Suggested"), falling: true };

function cell(column, label) {
  const value = column.value(label);
  if (column.words) {
    return make("th", { scope: "row" }, make("button", {
      type: "button", class: "link", dir: "auto", "aria-haspopup": "dialog", text: value,
      click: () => showLabel(label),
    }));
  }
  const text = column.text ? column.text(value) : inWords.format(value);
  return make("td", {}, text, column.drawn ? bar(value ?? 0) : null);
}

const fillLabels = feed(find("labels-body"), (label) =>
  make("tr", {}, ...columns.map((column) => cell(column, label))), 300);

function compareLabels(a, b) {
  const { value, words } = columns[sorted.column];
  const [x, y] = [value(a), value(b)];
  // Unknown values come last in either order.
  if (x === null || y === null) return (x === null) - (y === null) || a - b;
  const order = words ? collator.compare(x, y) : x - y;
  return (sorted.falling ? -order : order) || a - b;
}

function refreshLabels() {
  find("labels-head").replaceChildren(...columns.map((column, place) => {
    const current = place === sorted.column;
    const head = make("th", { scope: "col" }, make("button", {
      type: "button", class: "sort", text: column.title,
      click: () => {
        sorted.falling = current ? !sorted.falling : !column.words;
        sorted.column = place;
        refreshLabels();
        find("labels-head").children[place].firstChild.focus();
      },
    }));
    if (current) head.setAttribute("aria-sort", sorted.falling ? "descending" : "ascending");
    return head;
  }));
  fillLabels(data.labels.map((_, label) => label).sort(compareLabels));
}
