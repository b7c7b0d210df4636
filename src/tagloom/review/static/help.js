// The overlay with all keys.

import { button, h } from "./dom.js";

const KEYS = [
  [
    "Everywhere",
    [
      ["a", "accept"],
      ["r", "reject"],
      ["u or Ctrl+Z", "undo, as often as you like"],
      ["Shift+u or Ctrl+Y", "redo"],
      ["/", "search"],
      ["?", "this help"],
      ["g then p t d n", "go to pictures, tags, doubts, next"],
    ],
  ],
  [
    "Pictures",
    [
      ["arrows", "move"],
      ["Shift+arrows", "choose a range"],
      ["Enter", "open"],
      ["a / r", "accept or reject all suggestions of the chosen"],
    ],
  ],
  [
    "One picture",
    [
      ["← →", "previous and next picture"],
      ["↑ ↓", "move in the suggestions"],
      ["1 – 9", "accept a suggestion; again: take it back"],
      ["Shift+1 – 9", "reject it"],
      ["t", "type a tag"],
      ["Esc", "back to the list"],
    ],
  ],
  [
    "Wall of a tag",
    [
      ["arrows", "move"],
      ["Space or click", "choose"],
      ["Shift+arrows, Shift+click, drag", "choose a range"],
      ["Ctrl+A", "choose all down to the threshold"],
      ["a / r", "accept or reject the chosen"],
      ["Enter", "open the picture"],
      ["Esc", "choose nothing"],
    ],
  ],
  [
    "Next",
    [
      ["a / r", "yes or no"],
      ["→ / ←", "skip, go back"],
    ],
  ],
];

let dialog = null;

function build() {
  const groups = KEYS.map(([title, keys]) =>
    h(
      "section",
      {},
      h("h3", {}, title),
      h(
        "dl",
        {},
        ...keys.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)]),
      ),
    ),
  );
  const close = button({
    label: "Close",
    picture: "no",
    style: "quiet",
    click: () => dialog.close(),
  });
  const head = h("div", { class: "dialog-head" }, h("h2", { id: "help-title" }, "Keys"), close);
  dialog = h(
    "dialog",
    { class: "dialog help", "aria-labelledby": "help-title" },
    head,
    h("div", { class: "help-groups" }, ...groups),
  );
  dialog.addEventListener("keydown", (event) => event.key === "?" && dialog.close());
  document.body.append(dialog);
}

export function openHelp() {
  if (!dialog) build();
  dialog.showModal();
  return true;
}
