// The scripts of the report of `tagloom complete`: one scope, run in a page like the report's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { JSDOM } from "jsdom";

const COMPLETION = new URL("../../src/tagloom/completion/", import.meta.url);
const HOSTILE = "<img src=x onerror=alert(1)>";
const read = (name) => readFileSync(new URL(name, COMPLETION), "utf8");
const reasons = (n) => ({
  count: Array(n).fill(0), most: 4, pictures: [], because: Array(n).fill(null),
  looks: Array(n).fill(null), texts: [],
});

// Three pictures; tags 0 (sea) and 1 (hostile name) are learned, 2 (rare) is not.
const DATA = {
  photos: "../photos",
  items: ["b/10.jpg", `a/${HOSTILE}.jpg`, "b/9.jpg"],
  thumbnails: ["", "", ""],
  near: [3, 0, 3],
  labels: ["sea", HOSTILE, "rare"],
  quality: {
    present: [1, 1, 1],
    absent: [0, 0, 0],
    threshold: [500, 600, null],
    roc_auc: [900, 700, null],
    label_frequency: [400, 900, null],
  },
  tags: { count: [2, 1, 2], label: [0, 1, 2, 0, 1], p: [800, 700, null, 950, 30], state: "11012" },
  reasons: { count: [0, 2, 1, 0], most: 4, pictures: [0, 2, 1], because: [null, 1, null, null],
    looks: [0, null, null, null], texts: ["looks like a tabby; a tabby is a cat"] },
  suspected_errors: {
    picture: [2],
    label: [1],
    present: [true],
    p: [30],
    error_p: [310],
    reasons: reasons(1),
  },
  to_annotate: { picture: [0], label: [2], p: [500], reasons: reasons(1) },
};

/** Run the scripts on the data, and return a function that evaluates code in their scope. */
function openReport(data = DATA) {
  const html = read("page/report.html")
    .replace(/<script[\s\S]*?<\/script>/g, "")
    .replace(/<style[\s\S]*?<\/style>/g, "")
    .replace(/<meta http-equiv[^>]*>/g, "")
    .replace(/\{%[\s\S]*?%\}|\{#[\s\S]*?#\}|\{\{[\s\S]*?\}\}/g, "");
  const { window } = new JSDOM(html, { runScripts: "outside-only", url: "file:///report.html" });
  window.IntersectionObserver = class {
    observe() {}
    unobserve() {}
  };
  window.Element.prototype.scrollIntoView = () => {};
  window.HTMLDialogElement.prototype.showModal = function showModal() {
    this.open = true;
  };
  window.HTMLDialogElement.prototype.close = function close() {
    this.open = false;
  };
  const json = window.document.createElement("script");
  json.type = "application/json";
  json.id = "data";
  json.textContent = JSON.stringify(data);
  window.document.body.append(json);
  const names = /_SCRIPTS = \(([^)]*)\)/.exec(read("report.py"))[1].match(/[\w.]+(?=")/g);
  // Strict scripts keep their names to themselves: what is evaluated has to share their scope.
  const script = names.map((name) => read(`page/${name}`)).join("");
  window.eval(`${script}\n;window.inScope = (code) => eval(code);`);
  return { document: window.document, run: window.inScope };
}

test("percentages are never shown as certain", () => {
  const { run } = openReport();
  const shown = run("[0, 9, 10, 425, 990, 991, 1000, null].map(percent)");
  assert.deepEqual([...shown], ["1%", "1%", "1%", "43%", "99%", "99%", "99%", "–"]);
});

test("columns become pictures with their tags and reasons", () => {
  const { run } = openReport();
  assert.deepEqual([...run("pictures.map((one) => one.tags.length)")], [2, 1, 2]);
  // Known tags have no reason; the others are numbered in order.
  assert.deepEqual(
    [...run("pictures.flatMap((one) => one.tags.map((tag) => tag.reason))")],
    [0, 1, -1, 2, 3],
  );
  assert.deepEqual([...run("reasonOfTag(1).pictures")], [0, 2]);
  assert.deepEqual([...run("reasonOfTag(2).pictures")], [1]);
  assert.deepEqual([...run("[0, 1].map((one) => reasonOfTag(one).because)")], [null, 1]);
});

test("a suggestion that follows from a listed tag says so", () => {
  const { run, document } = openReport();
  run("explain(0, pictures[0].tags[1], reasonOfTag(1))");
  assert.match(document.getElementById("dialog-body").textContent, /It follows from “<img/);
  run("explain(0, pictures[0].tags[0], reasonOfTag(0))");
  assert.doesNotMatch(document.getElementById("dialog-body").textContent, /It follows/);
});

test("a suggestion that a picture looks like says so", () => {
  const { run, document } = openReport();
  const said = /It looks like a tabby; a tabby is a cat\./;
  run("explain(0, pictures[0].tags[0], reasonOfTag(0))");
  assert.match(document.getElementById("dialog-body").textContent, said);
  run("explain(0, pictures[0].tags[1], reasonOfTag(1))");
  assert.doesNotMatch(document.getElementById("dialog-body").textContent, /It looks like/);
});

test("pictures are sorted by their best suggestion, or by name with numbers in order", () => {
  const { run } = openReport();
  assert.deepEqual([...run("inOrder().map((one) => one.number)")], [2, 0, 1]);
  run("wanted.sort = 'name'");
  assert.deepEqual([...run("inOrder().map((one) => one.number)")], [1, 2, 0]);
});

test("pictures are found by words of their names and tags, and by their state", () => {
  const { run } = openReport();
  const found = (wanted) => [
    ...run(`Object.assign(wanted, ${JSON.stringify({ text: "", show: "all", only: null, ...wanted })});
      pictures.filter(matcher()).map((one) => one.number)`),
  ];
  assert.deepEqual(found({ text: "SEA" }), [0, 2]);
  assert.deepEqual(found({ text: "b/ sea 9" }), [2]);
  assert.deepEqual(found({ only: 2 }), [1]);
  assert.deepEqual(found({ show: "suggested" }), [0, 2]);
  assert.deepEqual(found({ show: "suspected" }), [2]);
  assert.deepEqual(found({ show: "untagged" }), [0]);
});

test("in the table of tags, missing values come last in either direction", () => {
  const { run } = openReport();
  run("sorted.column = columns.findIndex((column) => column.title === 'Listed where it belongs')");
  const order = () => [...run("data.labels.map((_, label) => label).sort(compareLabels)")];
  run("sorted.falling = true");
  assert.deepEqual(order(), [1, 0, 2]);
  run("sorted.falling = false");
  assert.deepEqual(order(), [0, 1, 2]);
});

test("names of files and tags never become markup, in any view", () => {
  const { document, run } = openReport();
  for (const view of run("Object.keys(fillers)")) run(`location.hash = "#${view}"; showView()`);
  run("explain(1, pictures[0].tags[1], reasonOfTag(1)); showLabel(1)");
  assert.equal(document.querySelector("[onerror], img[src=x]"), null);
  assert.ok(document.body.textContent.includes(HOSTILE));
});

test("the ROC AUC is written as in the review, and as a dash where it was not measured", () => {
  const { run } = openReport();
  const column = "columns.find((one) => one.title === 'ROC AUC')";
  assert.deepEqual(
    [...run(`[900, 1000, 0, null].map(${column}.text)`)],
    ["0.90", "1.00", "0.00", "–"],
  );
});

test("an unknown address shows the pictures, and each view is filled once", () => {
  const { document, run } = openReport();
  run('location.hash = "#nonsense"; showView()');
  assert.equal(document.getElementById("pictures").hidden, false);
  assert.equal(document.getElementById("tags").hidden, true);
  run('location.hash = "#tags"; showView(); showView()');
  assert.equal(document.querySelectorAll("#labels-body tr").length, 3);
});
