// Learning again: started here, done by the server in the background, and what it changed.

import { get, post, thumb } from "./api.js";
import { button, fill, h } from "./dom.js";
import { address } from "./router.js";
import { store } from "./store.js";
import { announce, toast } from "./telling.js";
import { many, number, percent, sentence } from "./words.js";

const ASK_MS = 700;
let dialog = null;
let body = null;
let asking = false;

const knob = () => document.getElementById("learn");

export function startLearn() {
  knob().addEventListener("click", openLearn);
  // Another tab, or this one before a reload, may have begun.
  get("/api/learn").then(
    (told) => told.state === "running" && watch(),
    () => {},
  );
}

function build() {
  body = h("div", { class: "learn-body" });
  const close = button({
    label: "Close",
    picture: "no",
    style: "quiet",
    click: () => dialog.close(),
  });
  const head = h(
    "div",
    { class: "dialog-head" },
    h("h2", { id: "learn-title" }, "Learn again"),
    close,
  );
  dialog = h("dialog", { class: "dialog learn", "aria-labelledby": "learn-title" }, head, body);
  document.body.append(dialog);
}

export async function openLearn() {
  if (!dialog) build();
  if (!asking) drawOffer();
  dialog.showModal();
}

function drawOffer() {
  const { accepted = 0, rejected = 0 } = store.collection.counts ?? {};
  const begin = button({ text: "Begin", style: "main", click: start });
  fill(
    body,
    h(
      "p",
      {},
      "The suggestions are worked out anew from every tag that is known, accepted or rejected. " +
        "Your decisions stay as they are, and you can go on while it runs.",
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
    drawTrouble(error.message);
    return;
  }
  watch();
}

async function watch() {
  if (asking) return;
  asking = true;
  knob().classList.add("running");
  try {
    let told = await get("/api/learn");
    while (told.state === "running") {
      drawProgress(told);
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
      told = await get("/api/learn");
    }
    await end(told);
  } catch (error) {
    drawTrouble(error.message);
  }
  asking = false;
  knob().classList.remove("running");
}

function drawProgress({ step, done, of }) {
  const share = of ? done / of : null;
  document.querySelector("#learn span").textContent =
    share === null ? "Learning" : `Learning ${Math.round(100 * share)} %`;
  if (!body) return;
  const bar = h("progress", {
    max: 1,
    "aria-label": "Progress of learning",
    ...(share === null ? {} : { value: share }),
  });
  const words = of ? `${step} (${number(done)} of ${number(of)})` : step;
  fill(
    body,
    h("p", {}, words || "beginning"),
    bar,
    h("p", { class: "quiet-text" }, "You may close this and go on."),
  );
}

async function end(told) {
  document.querySelector("#learn span").textContent = "Learn again";
  if (told.state !== "done") {
    drawTrouble(told.error ?? "it ended without a result");
    return;
  }
  // The poll may have noticed first; then all is fresh already.
  await store.recheck();
  if (!dialog) build();
  drawChanged(told.changed);
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
    shown.length ? h("h3", {}, "New, for example") : null,
    h("div", { class: "examples" }, ...shown),
    button({ text: "Learn once more", style: "plain", click: start }),
  );
}

function drawTrouble(text) {
  document.querySelector("#learn span").textContent = "Learn again";
  if (!dialog) build();
  fill(
    body,
    h("p", { role: "alert" }, `Learning did not succeed: ${sentence(text)} Your decisions are not touched.`),
    button({ text: "Try again", click: start }),
  );
  if (!dialog.open)
    toast("Learning did not succeed.", { label: "Why", run: () => dialog.showModal() });
}
