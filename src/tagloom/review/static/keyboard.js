// Keyboard shortcuts: one listener for the whole page, moving in grids, and the overlay that lists
// the keys.

import { addDialog, h } from "./dom.js";

const TEXT_TYPES = new Set(["text", "search", ""]);

function isTyping(target) {
  if (target instanceof HTMLTextAreaElement) return true;
  return target instanceof HTMLInputElement && TEXT_TYPES.has(target.getAttribute("type") ?? "");
}

// Sliders and drop-down lists use these keys themselves.
const OWN_KEYS = /^(?:Arrow(?:Left|Right|Up|Down)|Home|End|PageUp|PageDown)$/;
function ownsArrows(target) {
  return target instanceof HTMLSelectElement || target?.type === "range";
}

function nameOf(event) {
  if (event.ctrlKey || event.metaKey) {
    const letter = event.key.toLowerCase();
    if (letter === "z") return event.shiftKey ? "redo" : "undo";
    if (letter === "y") return "redo";
    return letter === "a" ? "all" : null;
  }
  if (event.altKey) return null;
  // Shift and a digit type a different character on every keyboard layout: `code` has the digit.
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
  if (digit) return digit[1];
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

/**
 * Listen for keys, except while the user is typing. `view()` returns the current view, whose
 * `key(name, event)` returns true if it used the key; else `page` maps keys to global actions.
 */
export function listen(view, page) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const name = nameOf(event);
    if (name === null || isTyping(event.target)) return;
    if (OWN_KEYS.test(name) && ownsArrows(event.target)) return;
    if (view()?.key?.(name, event) || page[name]?.(event)) event.preventDefault();
  });
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** The card that a key moves to; null if it does not move. The first arrow only shows the focus. */
export function moveTarget(name, grid, isRange = false) {
  if (!grid.count) return null;
  const isFirst = !grid.hasFocus && !isRange && name in STEPS;
  return isFirst ? grid.current : moved(name, grid.current, grid.columns, grid.count);
}

function moved(name, index, columns, count) {
  if (name === "Home") return 0;
  if (name === "End") return count - 1;
  if (name === "PageDown") return Math.min(count - 1, index + 4 * columns);
  if (name === "PageUp") return Math.max(0, index - 4 * columns);
  const step = STEPS[name];
  if (!step) return null;
  const next = index + step[0] + step[1] * columns;
  return next < 0 || next >= count ? index : next;
}

const KEYS = [
  [
    "Everywhere",
    [
      ["a", "accept"],
      ["r", "reject"],
      ["u or Ctrl+Z", "undo, any number of times"],
      ["Shift+u or Ctrl+Y", "redo"],
      ["/", "search"],
      ["e", "export"],
      ["?", "this help"],
      ["g then p t s n c", "go to pictures, tags, suspected errors, annotate next, check"],
    ],
  ],
  [
    "Pictures",
    [
      ["arrows", "move"],
      ["Shift+arrows", "select a range"],
      ["Enter", "open"],
      ["a / r", "accept or reject all suggestions in the selection"],
      ["Esc", "clear the selection"],
    ],
  ],
  [
    "One picture",
    [
      ["← →", "previous and next picture"],
      ["↑ ↓", "move through the suggestions"],
      ["1 – 9", "accept a suggestion; press again to clear it"],
      ["Shift+1 – 9", "reject it"],
      ["t", "type a tag"],
      ["s", "decide for near-identical pictures together"],
      ["z", "zoom in; then + and -, arrows, 0 to fit"],
      ["Esc", "back to the list"],
    ],
  ],
  [
    "Pictures of one tag",
    [
      ["arrows", "move"],
      ["Space or click", "select"],
      ["Shift+arrows, Shift+click, drag", "select a range"],
      ["Ctrl+A", "select all"],
      ["a / r", "accept or reject the selection"],
      ["Enter", "open the picture"],
      ["Esc", "clear the selection"],
    ],
  ],
  [
    "Check",
    [
      ["y / n", "yes or no"],
      ["Space", "don't know"],
      ["Backspace", "take the last answer back"],
    ],
  ],
  [
    "Annotate next",
    [
      ["a / r", "yes or no"],
      ["→ / ←", "skip, go back"],
    ],
  ],
];

let dialog = null;

function buildHelp() {
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
  dialog = addDialog("help", "Keyboard shortcuts", h("div", { class: "help-groups" }, ...groups));
  dialog.addEventListener("keydown", (event) => event.key === "?" && dialog.close());
}

export function openHelp() {
  if (!dialog) buildHelp();
  dialog.showModal();
  return true;
}
