// Learning again: start it, follow its progress, and show what it has changed.

import { announce, toast } from "./actions.js";
import { get, post, thumb } from "./api.js";
import { addDialog, button, fill, h } from "./dom.js";
import { duration, many, number, percent, sentence } from "./format.js";
import { address } from "./router.js";
import { store } from "./store.js";

const POLL_MS = 700;
let dialog = null;
let body = null;
let following = false;

const learnButton = () => document.getElementById("learn");

function nameButton(text) {
  learnButton().querySelector("span").textContent = text;
  // A narrow screen shows the icon alone.
  learnButton().setAttribute("aria-label", text);
}

export function startLearn() {
  learnButton().addEventListener("click", openLearn);
  // Another tab, or this one before a reload, may have started it.
  get("/api/learn").then(
    (progress) => progress.state === "running" && watch(),
    () => {},
  );
}

function build() {
  body = h("div", { class: "learn-body" });
  dialog = addDialog("learn", "Learn again", body);
}

export async function openLearn() {
  if (!dialog) build();
  if (!following) drawOffer();
  dialog.showModal();
}

/** Open the dialog and start at once. */
export function learnNow() {
  openLearn();
  if (!following) start();
}

function drawOffer() {
  const { accepted = 0, rejected = 0 } = store.collection.counts ?? {};
  const begin = button({ text: "Start", style: "main", click: start });
  fill(
    body,
    h(
      "p",
      {},
      "The suggestions are computed again from all known, accepted and rejected tags. " +
        "Your decisions stay as they are, and you can continue while it runs.",
    ),
    accepted + rejected
      ? h("p", {}, `${number(accepted)} accepted and ${number(rejected)} rejected so far.`)
      : null,
    begin,
  );
}

async function start() {
  try {
    await post("/api/learn", {});
  } catch (error) {
    drawFailure(error.message);
    return;
  }
  watch();
}

async function watch() {
  if (following) return;
  following = true;
  learnButton().classList.add("running");
  try {
    let progress = await get("/api/learn");
    while (progress.state === "running") {
      drawProgress(progress);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      progress = await get("/api/learn");
    }
    await end(progress);
  } catch (error) {
    drawFailure(error.message);
  }
  following = false;
  learnButton().classList.remove("running");
}

function drawProgress({ step, done, of, seconds_left: left }) {
  const share = of ? done / of : null;
  nameButton(share === null ? "Learning" : `Learning ${Math.round(100 * share)}%`);
  if (!body) return;
  const bar = h("progress", {
    max: 1,
    "aria-label": "Progress of learning",
    ...(share === null ? {} : { value: share }),
  });
  const isKnown = left !== null && left !== undefined;
  fill(
    body,
    h("p", {}, step || "starting"),
    bar,
    h("p", { role: "status" }, isKnown ? `${duration(left)} left` : "estimating the time left"),
    h("p", { class: "quiet-text" }, "You can close this and continue."),
  );
}

async function end(progress) {
  nameButton("Learn again");
  if (progress.state !== "done") {
    drawFailure(progress.error ?? "it ended without a result");
    return;
  }
  // The poll may have noticed first; then everything is reloaded already.
  await store.recheck();
  if (!dialog) build();
  drawChanged(progress.changed);
  announce("Learned again.");
  if (!dialog.open)
    toast("Learned again.", { label: "What changed", run: () => dialog.showModal() });
}

function drawChanged(changed) {
  if (!changed) {
    fill(body, h("p", {}, "Learned again."));
    return;
  }
  const shown = (changed.examples ?? []).map(({ i, t, p }) =>
    h(
      "a",
      { class: "example", href: address(`picture/${i}`), on: { click: () => dialog.close() } },
      h("img", { src: thumb(i, 140), alt: store.imageName(i), loading: "lazy" }),
      h("span", {}, `${store.tagName(t)} ${percent(p)}`),
    ),
  );
  fill(
    body,
    h(
      "p",
      {},
      `${many(changed.new, "new suggestion")}, ${number(changed.gone)} gone: ` +
        `${number(changed.suggested_before)} before, ${number(changed.suggested_after)} now.`,
    ),
    shown.length ? h("h3", {}, "Examples of new suggestions") : null,
    h("div", { class: "examples" }, ...shown),
    button({ text: "Learn again", style: "plain", click: start }),
  );
}

function drawFailure(text) {
  nameButton("Learn again");
  if (!dialog) build();
  fill(
    body,
    h(
      "p",
      { role: "alert" },
      `Learning failed: ${sentence(text)} Your decisions are not affected.`,
    ),
    button({ text: "Try again", click: start }),
  );
  if (!dialog.open) toast("Learning failed.", { label: "Why", run: () => dialog.showModal() });
}
