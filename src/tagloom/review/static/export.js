// Export: what to write and where, a preview of it, the export itself, and undo.

import { announce } from "./actions.js";
import { get, post } from "./api.js";
import { addDialog, button, fill, h, show } from "./dom.js";
import { many, number, percent, sentence } from "./format.js";

const POLL_MS = 400;
const FORMS = {
  xmp: "XMP sidecars beside the pictures",
  pictures: "Keywords inside the pictures",
  csv: "CSV table",
  jsonl: "JSON lines",
  coco: "COCO",
  fiftyone: "FiftyOne",
  "label-studio": "Label Studio",
};
const OWNERS = { xmp: "sidecar", pictures: "picture" };
let dialog = null;
let parts = null;
let status = null;
let running = false;

export function startExport() {
  document.getElementById("export").addEventListener("click", openExport);
}

export async function openExport() {
  if (!dialog) build();
  if (!running) fill(parts.result);
  dialog.showModal();
  try {
    status = await get("/api/export");
    draw();
    if (status.progress.state === "running") await watch();
  } catch (error) {
    say(`The export cannot be prepared: ${sentence(error.message)}`, "alert");
  }
}

function build() {
  const changed = { on: { input: () => changedChoice() } };
  const options = Object.entries(FORMS).map(([value, text]) => h("option", { value }, text));
  parts = {
    to: h("select", { id: "export-to", ...changed }, ...options),
    where: h("p", { class: "quiet-text" }),
    include: h("input", { type: "checkbox", id: "export-suggested", ...changed }),
    least: h("input", {
      type: "range",
      min: 50,
      max: 99,
      step: 1,
      "aria-label": "Least probability of suggestions",
      ...changed,
    }),
    chosen: h("output", {}),
    counts: h("p", { class: "export-counts", role: "status" }),
    preview: button({ text: "Preview", click: () => run("/api/export/preview") }),
    go: button({ text: "Export", style: "main", click: () => run("/api/export") }),
    undo: button({ text: "Undo export", style: "plain", click: () => run("/api/export/undo") }),
    result: h("div", { class: "export-result", "aria-live": "polite" }),
  };
  parts.least.value = 90;
  dialog = addDialog(
    "export",
    "Export",
    h("label", { for: "export-to" }, "Write to"),
    parts.to,
    parts.where,
    h(
      "div",
      { class: "export-suggested" },
      h("label", { class: "check" }, parts.include, h("span", {}, "Suggestions, too")),
      h("div", { class: "export-least" }, parts.least, parts.chosen),
    ),
    parts.counts,
    h("div", { class: "export-actions" }, parts.preview, parts.go, parts.undo),
    parts.result,
  );
}

function changedChoice() {
  // What was said before is about another choice.
  fill(parts.result);
  draw();
}

const isInPlace = (to) => to in OWNERS;

/** Where a form is written, in words. */
export function whereText(to, { files, exiftool }) {
  if (to === "xmp") return "Tags are added, rejected ones removed; everything else in a file stays.";
  if (to !== "pictures") return `Writes ${files[to]}.`;
  return exiftool
    ? "By ExifTool, into JPEG, TIFF, PNG and HEIC files. What is replaced is kept, to be undone."
    : "Needs ExifTool, which is not installed. Install it (exiftool.org), or write sidecars.";
}

/** "1 262 known tags, 3 accepted, 1 rejected, no suggestions": what an export holds. */
export function countsText({ known, accepted, rejected, suggested }, least) {
  const told = [many(known, "known tag"), `${number(accepted)} accepted`, `${number(rejected)} rejected`];
  if (least === null) return `${told.join(", ")}, no suggestions.`;
  const n = suggested[least];
  return `${told.join(", ")}, ${many(n, "suggestion")} of at least ${percent(least / 100)}, marked as such.`;
}

function leastChosen() {
  return parts.include.checked ? Number(parts.least.value) : null;
}

function draw() {
  if (!status) return;
  const to = parts.to.value;
  const isMissing = to === "pictures" && !status.exiftool;
  show(parts.least.parentElement, parts.include.checked);
  parts.chosen.textContent = `at least ${percent(parts.least.value / 100)}`;
  parts.least.setAttribute("aria-valuetext", parts.chosen.textContent);
  parts.where.textContent = whereText(to, status);
  parts.counts.textContent = countsText(status.counts, leastChosen());
  parts.preview.disabled = parts.go.disabled = running || isMissing;
  parts.undo.disabled = running;
  show(parts.preview, isInPlace(to));
  const hadFocus = document.activeElement === parts.undo;
  show(parts.undo, status.undo.includes(to));
  if (hadFocus && parts.undo.hidden) parts.go.focus();
}

function say(text, role = null) {
  fill(parts.result, h("p", { role }, text));
}

async function run(path) {
  const least = leastChosen();
  try {
    await post(path, { to: parts.to.value, suggested: least === null ? null : least / 100 });
  } catch (error) {
    say(sentence(error.message), "alert");
    return;
  }
  await watch();
}

async function watch() {
  if (running) return;
  running = true;
  try {
    do {
      status = await get("/api/export");
      draw();
      if (status.progress.state === "running") {
        drawProgress(status.progress);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    } while (status.progress.state === "running");
    drawEnd(status.progress);
  } catch (error) {
    say(sentence(error.message), "alert");
  }
  running = false;
  draw();
}

function drawProgress({ job, done, of }) {
  const words = { preview: "Looking at the files", undo: "Restoring", export: "Writing" }[job];
  const bar = h("progress", { max: of || 1, "aria-label": words, ...(of ? { value: done } : {}) });
  const text = of ? `${words}: ${number(done)} of ${number(of)}` : words;
  fill(parts.result, h("p", {}, text), bar);
}

/** What a preview, an export or undoing has found, in one sentence. */
export function endText({ job, to, result }) {
  if (job === "undo") {
    const made = result.n_deleted ? `, ${number(result.n_deleted)} that it had made removed` : "";
    return `${many(result.n_restored, OWNERS[to])} restored${made}.`;
  }
  if (!isInPlace(to)) return `Wrote ${result.files.join(", ")}.`;
  const files = many(result.n_files, OWNERS[to]);
  return job === "preview" ? `${files} would change.` : `${files} written.`;
}

/** "+sea, +sky (suggested), −dog" */
export function changeText({ added, suggested, removed }) {
  const told = [
    ...added.map((tag) => `+${tag}`),
    ...suggested.map((tag) => `+${tag} (suggested)`),
    ...removed.map((tag) => `−${tag}`),
  ];
  return told.join(", ") || "fields brought into agreement";
}

function drawEnd(progress) {
  if (progress.state !== "done") {
    say(sentence(progress.error ?? "It ended without a result"), "alert");
    return;
  }
  const { result } = progress;
  const text = endText(progress);
  const changes = progress.job === "preview" ? (result.changes ?? []) : [];
  const more = result.n_files - changes.length;
  const told = [...(result.warnings ?? []), ...result.refused];
  fill(
    parts.result,
    h("p", {}, text),
    list("Changes", changes.map((one) => [one.path, changeText(one)])),
    changes.length && more > 0 ? h("p", { class: "quiet-text" }, `and ${number(more)} more`) : null,
    result.n_refused ? h("p", {}, `${number(result.n_refused)} not written:`) : null,
    list("Warnings", told.map(({ where, what }) => [where, what])),
  );
  announce(text);
}

/** A list that scrolls, and so can be reached by keyboard. */
function list(label, rows) {
  if (!rows.length) return null;
  return h(
    "ul",
    { class: "export-list", tabindex: 0, "aria-label": label },
    ...rows.map(([name, text]) => h("li", {}, h("b", {}, name), " ", h("span", {}, text))),
  );
}
