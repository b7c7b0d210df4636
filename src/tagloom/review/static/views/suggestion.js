// A suggestion beside a picture: its digit, its name, how likely it is, yes and no.

import { button, fill, h } from "../dom.js";
import { likelihood, mark } from "../marks.js";
import { address } from "../router.js";
import { store } from "../store.js";
import { isNo, isYes, percent, spoken } from "../words.js";

export function suggestionRow(tag, k, { decide, focus }) {
  const name = store.tagName(tag.t);
  const yes = button({
    label: `Accept ${name}`,
    picture: "yes",
    style: "yes round",
    tabindex: "-1",
    click: () => decide("accept"),
  });
  const no = button({
    label: `Reject ${name}`,
    picture: "no",
    style: "no round",
    tabindex: "-1",
    click: () => decide("reject"),
  });
  return h(
    "li",
    { class: "suggestion", tabindex: "-1", on: { focus } },
    h("kbd", { "aria-hidden": "true" }, k < 9 ? String(k + 1) : ""),
    h("a", { class: "suggestion-name", href: address(`tag/${tag.t}`), tabindex: "-1" }, name),
    h("span", { class: "state-word" }),
    likelihood(tag.p),
    no,
    yes,
  );
}

export function paintRow(element, i, tag) {
  const look = store.entries.look(i, tag.t, tag.state);
  mark(element, look);
  const [no, yes] = element.querySelectorAll("button");
  yes.setAttribute("aria-pressed", String(isYes(look.state) && look.state !== "doubtful"));
  no.setAttribute("aria-pressed", String(isNo(look.state) && look.state !== "doubtful-absent"));
  const word = look.pending
    ? "storing"
    : ["open", "suggested"].includes(look.state)
      ? ""
      : spoken(look.state);
  fill(element.querySelector(".state-word"), word);
  const said = look.pending ? "not stored yet" : spoken(look.state);
  element.setAttribute("aria-label", `${store.tagName(tag.t)}, ${percent(tag.p)}, ${said}`);
}
