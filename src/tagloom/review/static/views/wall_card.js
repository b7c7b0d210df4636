// A picture on the wall of a tag.

import { thumb } from "../api.js";
import { h, icon } from "../dom.js";
import { mark, sign } from "../marks.js";
import { address } from "../router.js";
import { store } from "../store.js";
import { percent, shortName, spoken } from "../words.js";

/** `opening` is called before the picture is opened by its link. */
export function wallCard(row, width, t, opening) {
  if (!row)
    return h("div", {
      class: "wall-card bare",
      role: "option",
      "data-bare": "1",
      "aria-label": "loading",
    });
  // Its own link, since a click on the card chooses; the keyboard opens by Enter.
  const open = h(
    "a",
    {
      class: "open-link",
      href: address(`picture/${row.i}`, { wall: t }),
      on: { click: opening },
      tabindex: "-1",
      "aria-hidden": "true",
      "data-own-click": true,
      title: "Open",
    },
    icon("open"),
  );
  return h(
    "div",
    { class: "wall-card", role: "option", title: store.imageName(row.i) },
    h("img", {
      class: "thumb",
      src: thumb(row.i, width),
      alt: "",
      decoding: "async",
      draggable: "false",
    }),
    h("span", { class: "percent" }, percent(row.p)),
    h("span", { class: "sign" }),
    h("span", { class: "tick", "aria-hidden": "true" }, icon("yes")),
    open,
  );
}

export function paintWallCard(card, row, t, isChosen) {
  card.setAttribute("aria-selected", String(isChosen));
  if (!row || card.dataset.bare) return;
  const look = store.entries.look(row.i, t, row.state);
  mark(card, look);
  card.querySelector(".sign").replaceWith(sign(look));
  const word = look.pending ? "not stored yet" : spoken(look.state);
  card.setAttribute(
    "aria-label",
    `${shortName(store.imageName(row.i))}, ${percent(row.p)}, ${word}`,
  );
}
