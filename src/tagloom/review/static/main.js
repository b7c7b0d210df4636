// Where it begins: load the collection, then show the view the address asks for.

import { redo, undo } from "./actions.js";
import { Refused } from "./api.js";
import { fill, h } from "./dom.js";
import { startHeader } from "./header.js";
import { openHelp } from "./help.js";
import { listen } from "./keyboard.js";
import { startLearn } from "./learn.js";
import { go, here, start } from "./router.js";
import { store } from "./store.js";
import { showDoubts } from "./views/doubts.js";
import { showNext } from "./views/next.js";
import { showPicture } from "./views/picture.js";
import { showPictures } from "./views/pictures.js";
import { showTags } from "./views/tags.js";
import { showWall } from "./views/wall.js";
import { sentence } from "./words.js";

// A view builds itself into the root and returns {key, destroy, ready}.
const VIEWS = {
  pictures: { show: showPictures, tab: "pictures", title: "Pictures" },
  picture: { show: showPicture, tab: "pictures", title: "Picture" },
  tags: { show: showTags, tab: "tags", title: "Tags" },
  tag: { show: showWall, tab: "tags", title: "Tag" },
  doubts: { show: showDoubts, tab: "doubts", title: "Doubts" },
  next: { show: showNext, tab: "next", title: "Next" },
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

// "g" waits a moment for the letter that says where to.
let going = 0;
const LETTERS = { p: "#/pictures", t: "#/tags", d: "#/doubts", n: "#/next" };
const keys = {
  u: (event) => (event.shiftKey ? redo() : undo()),
  undo: () => undo(),
  redo: () => redo(),
  "?": () => openHelp(),
  "/": () => document.querySelector("input[type=search]")?.focus() ?? true,
  g: () => {
    going = Date.now();
    return true;
  },
};

function wrapped() {
  return {
    key(name, event) {
      if (Date.now() - going < 1500 && LETTERS[name]) {
        going = 0;
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
  listen(wrapped, keys);
  store.addEventListener("relearned", () => show(here()));
  store.follow();
  await start(show, () => view?.arrived?.());
}

document.querySelector(".skip").addEventListener("click", (event) => {
  // The hash is the page's address: a plain jump would be taken for a view.
  event.preventDefault();
  root.focus();
});

await begin();
