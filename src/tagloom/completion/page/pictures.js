// The grid of pictures: search, filters and order.
const KINDS = ["known", "suggested", "wrong", "denied"];
const wanted = { text: "", show: "all", sort: "probability", only: null };

function tagButton(picture, tag) {
  const label = data.labels[tag.label];
  const button = make("button", { type: "button", class: "tag " + KINDS[tag.state] },
    make("span", { dir: "auto", text: label }));
  if (tag.state === KNOWN) {
    button.title = "Show all pictures with this tag";
    button.addEventListener("click", () => showOnly(tag.label));
    return button;
  }
  if (tag.state === SUGGESTED) {
    button.style.setProperty("--p", tag.p / 10 + "%");
    button.append(make("span", { class: "percent", text: percent(tag.p) }));
  }
  const meaning = { [SUGGESTED]: "suggested", [WRONG]: "known, suspected error",
    [DENIED]: "known absence, suspected error" }[tag.state];
  button.setAttribute("aria-label", `${label}: ${meaning}, ${percent(tag.p)}. Why?`);
  button.setAttribute("aria-haspopup", "dialog");
  button.addEventListener("click", () =>
    explain(picture.number, tag, reasonOfTag(tag.reason)));
  return button;
}

function card(picture) {
  const known = picture.tags.filter((tag) => tag.state === KNOWN || tag.state === WRONG);
  const others = picture.tags.filter((tag) => !known.includes(tag));
  const list = make("ul", { class: "tags" },
    ...[...known, ...others].map((tag) => make("li", {}, tagButton(picture, tag))));
  if (!picture.tags.length) list.append(make("li", { class: "none", text: "no tags" }));
  return make("article", { class: "card" }, shot(picture.number), fileName(picture.name), list);
}

function matcher() {
  const words = folded(wanted.text).split(/\s+/).filter(Boolean);
  const inLabels = words.map((word) => new Set(
    data.labels.flatMap((label, number) => (folded(label).includes(word) ? [number] : []))));
  return (picture) =>
    (wanted.only === null || picture.tags.some((tag) => tag.label === wanted.only)) &&
    (wanted.show !== "suggested" || picture.best >= 0) &&
    (wanted.show !== "suspected" || picture.suspected) &&
    (wanted.show !== "untagged" || picture.known === 0) &&
    words.every((word, place) => picture.key.includes(word) ||
      picture.tags.some((tag) => inLabels[place].has(tag.label)));
}

const collator = new Intl.Collator("en", { numeric: true });
let byName = null;

function inOrder() {
  if (wanted.sort === "name") {
    byName ??= [...pictures].sort((a, b) => collator.compare(a.name, b.name));
    return byName;
  }
  const best = (picture) => {
    if (wanted.only === null) return picture.best;
    const tag = picture.tags.find((one) => one.label === wanted.only);
    return tag && tag.state === SUGGESTED ? tag.p : -1;
  };
  return [...pictures].sort((a, b) => best(b) - best(a));
}

// The key explains only what occurs.
for (const [state, kind] of KINDS.entries()) {
  document.querySelector(".key ." + kind).hidden = !data.tags.state.includes(state);
}

const fillCards = feed(find("cards"), card, 48);

function refresh() {
  const list = inOrder().filter(matcher());
  find("found").textContent =
    `${inWords.format(list.length)} of ${inWords.format(pictures.length)} pictures`;
  const only = find("only");
  only.hidden = wanted.only === null;
  if (wanted.only !== null) {
    only.textContent = data.labels[wanted.only] + "  ×";
    only.setAttribute("aria-label", `Only pictures tagged ${data.labels[wanted.only]}: show all`);
  }
  fillCards(list);
}

function showOnly(label) {
  Object.assign(wanted, { only: label, text: "", show: "all" });
  find("find").value = "";
  find("show").value = "all";
  refresh();
  if (location.hash !== "#pictures") location.hash = "#pictures";
  find("pictures").scrollIntoView();
}

let waiting = 0;
find("find").addEventListener("input", (event) => {
  wanted.text = event.target.value;
  clearTimeout(waiting);
  waiting = setTimeout(refresh, 120);
});
for (const choice of ["show", "sort"]) {
  find(choice).addEventListener("change", (event) => {
    wanted[choice] = event.target.value;
    refresh();
  });
}
find("only").addEventListener("click", () => {
  wanted.only = null;
  refresh();
});
