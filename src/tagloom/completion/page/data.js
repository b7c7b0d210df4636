"use strict";
// Turns the columns of the data into pictures with tags.
const data = JSON.parse(document.getElementById("data").textContent);
const KNOWN = 0, SUGGESTED = 1, WRONG = 2, DENIED = 3;

function runningSums(counts) {
  const sums = [0];
  for (const count of counts) sums.push(sums[sums.length - 1] + count);
  return sums;
}

// Returns a function from the number of an entry to its reasons.
function reasonsIn(columns) {
  const starts = runningSums(columns.count.map((count) => Math.min(count, columns.most)));
  return (number) => ({
    count: columns.count[number],
    pictures: columns.pictures.slice(starts[number], starts[number + 1]),
    because: columns.because[number],
    looks: columns.texts[columns.looks[number]] ?? null,
  });
}

function readPictures() {
  const { count, label, p, state } = data.tags;
  let entry = 0, reason = 0;
  return data.items.map((name, number) => {
    const picture = { number, name, tags: [], best: -1, suspected: false, known: 0,
      key: folded(name) };
    for (const end = entry + count[number]; entry < end; entry++) {
      const tag = { label: label[entry], p: p[entry], state: +state[entry], reason: -1 };
      if (tag.state !== KNOWN) tag.reason = reason++;
      if (tag.state === SUGGESTED) picture.best = Math.max(picture.best, tag.p);
      if (tag.state === KNOWN || tag.state === WRONG) picture.known++;
      if (tag.state === WRONG || tag.state === DENIED) picture.suspected = true;
      picture.tags.push(tag);
    }
    return picture;
  });
}

const folded = (text) => text.normalize("NFC").toLowerCase();
const pictures = readPictures();
const reasonOfTag = reasonsIn(data.reasons);

// For each label the pictures it is suggested for, most probable first.
const suggestedFor = data.labels.map(() => []);
for (const picture of pictures) {
  for (const tag of picture.tags) {
    if (tag.state === SUGGESTED) suggestedFor[tag.label].push({ picture, tag });
  }
}
for (const list of suggestedFor) list.sort((a, b) => b.tag.p - a.tag.p);

const inWords = new Intl.NumberFormat("en");

// Never 0% or 100%, as on the review page: a probability is not a certainty.
function percent(thousandths) {
  if (thousandths === null) return "–";
  return Math.min(99, Math.max(1, Math.round(thousandths / 10))) + "%";
}
