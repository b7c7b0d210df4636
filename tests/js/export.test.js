import assert from "node:assert/strict";
import { test } from "node:test";

import "./browser.js";

const { changeText, countsText, endText, whereText } = await import(
  "../../src/tagloom/review/static/export.js"
);

const COUNTS = { known: 2, accepted: 1, rejected: 0, suggested: [9, ...new Array(100).fill(3)] };

test("suggestions are counted only where they are asked for", () => {
  assert.equal(countsText(COUNTS, null), "2 known tags, 1 accepted, 0 rejected, no suggestions.");
  assert.match(countsText(COUNTS, 90), /, 3 suggestions of at least 90\s?%, marked as such\.$/);
});

test("a change says what is added, suggested and removed", () => {
  const change = { added: ["sea"], suggested: ["sky"], removed: ["dog"] };
  assert.equal(changeText(change), "+sea, +sky (suggested), −dog");
  assert.match(changeText({ added: [], suggested: [], removed: [] }), /agreement/);
});

test("an end says what happened", () => {
  const to = "xmp";
  assert.equal(endText({ job: "preview", to, result: { n_files: 1 } }), "1 sidecar would change.");
  assert.equal(endText({ job: "export", to, result: { n_files: 2 } }), "2 sidecars written.");
  const undone = { n_restored: 3, n_deleted: 2 };
  assert.match(endText({ job: "undo", to, result: undone }), /^3 sidecars restored, 2 .* removed/);
  assert.match(endText({ job: "export", to: "csv", result: { files: ["a"] } }), /Wrote a\./);
});

test("without ExifTool it says so", () => {
  assert.match(whereText("pictures", { files: {}, exiftool: false }), /not installed/);
  assert.match(whereText("csv", { files: { csv: "out/tags.csv" } }), /out\/tags\.csv/);
});
