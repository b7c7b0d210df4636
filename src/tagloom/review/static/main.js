// The entry point: load the collection, then show the view of the current address.

import { redo, undo } from "./actions.js";
import { Refused } from "./api.js";
import { fill, h } from "./dom.js";
import { sentence } from "./format.js";
import { openExport, startExport } from "./export.js";
import { startHeader } from "./header.js";
import { listen, openHelp } from "./keyboard.js";
import { startLearn } from "./learn.js";
import { currentPlace, go, start } from "./router.js";
import { store } from "./store.js";
import { showCheck } from "./views/check.js";
import { showAnnotateNext } from "./views/annotate_next.js";
import { showPicture } from "./views/picture.js";
import { showPictures } from "./views/pictures.js";
import { showSuspectedErrors } from "./views/suspected_errors.js";
import { showTags } from "./views/tags.js";
import { showVocabulary } from "./views/vocabulary.js";
import { showWall } from "./views/wall.js";

// A view builds itself into the root and returns {key, destroy, ready}.
const VIEWS = {
  pictures: { show: showPictures, tab: "pictures", title: "Pictures" },
  picture: { show: showPicture, tab: "pictures", title: "Picture" },
  tags: { show: showTags, tab: "tags", title: "Tags" },
  tag: { show: showWall, tab: "tags", title: "Tag" },
  "suspected-errors": {
    show: showSuspectedErrors,
    tab: "suspected-errors",
    title: "Suspected label errors",
  },
  "annotate-next": {
    show: showAnnotateNext,
    tab: "annotate-next",
    title: "What to annotate next",
  },
  vocabulary: { show: showVocabulary, tab: "tags", title: "Manage tags" },
  check: { show: showCheck, tab: "check", title: "Check" },
};

const root = document.getElementById("view");
let view = null;

async function show(place) {
  const chosen = VIEWS[place.name] ?? VIEWS.pictures;
  view?.destroy?.();
  root.className = `view-${place.name in VIEWS ? place.name : "pictures"}`;
  root.replaceChildren();
  for (const link of document.querySelectorAll("[data-view]")) {
    if (link.dataset.view === chosen.tab) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${chosen.title} – ${store.collection.title ?? "tagloom"}`;
  root.setAttribute("aria-busy", "true");
  view = chosen.show(root, place);
  await view.ready;
  root.setAttribute("aria-busy", "false");
}

// After "g", a letter within 1.5 seconds goes to a view.
let pressedG = 0;
const LETTERS = { p: "#/pictures", t: "#/tags", s: "#/suspected-errors", n: "#/annotate-next", c: "#/check" };
const keys = {
  u: (event) => (event.shiftKey ? redo() : undo()),
  undo: () => undo(),
  redo: () => redo(),
  e: () => {
    openExport();
    return true;
  },
  "?": () => openHelp(),
  "/": () => document.querySelector("input[type=search]")?.focus() ?? true,
  g: () => {
    pressedG = Date.now();
    return true;
  },
};

function keyTarget() {
  return {
    key(name, event) {
      if (Date.now() - pressedG < 1500 && LETTERS[name]) {
        pressedG = 0;
        go(LETTERS[name]);
        return true;
      }
      return view?.key?.(name, event) ?? false;
    },
  };
}

async function begin() {
  try {
    await store.load();
  } catch (error) {
    fill(
      root,
      h(
        "div",
        { class: "empty", role: "alert" },
        h("h1", {}, "The collection could not be loaded"),
        h(
          "p",
          {},
          error instanceof Refused
            ? error.message
            : `${sentence(error.message)} Start \`tagloom review\` again, and open its link.`,
        ),
      ),
    );
    return;
  }
  document.getElementById("title").textContent = store.collection.title || "tagloom";
  startHeader();
  startLearn();
  startExport();
  listen(keyTarget, keys);
  store.addEventListener("reloaded", () => show(currentPlace()));
  store.follow();
  if (!location.hash && store.collection.start) go(`#/${store.collection.start}`);
  await start(show, () => view?.returned?.());
}

document.querySelector(".skip").addEventListener("click", (event) => {
  // The hash holds the address of the view: a plain jump would change it.
  event.preventDefault();
  root.focus();
});

await begin();
