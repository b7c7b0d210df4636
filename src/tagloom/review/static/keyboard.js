// One listener for the whole page. The view that is shown is asked first; what it does not want
// may be a key of the page. Whoever is typing keeps every key.

const TYPING = new Set(["text", "search", ""]);

function isTyping(target) {
  if (target instanceof HTMLTextAreaElement) return true;
  return target instanceof HTMLInputElement && TYPING.has(target.getAttribute("type") ?? "");
}

// Sliders and lists of choices need the arrows for themselves.
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
  // With shift a digit key types a sign, another one on every keyboard: its place tells the digit.
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
  if (digit) return digit[1];
  return event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

/**
 * `view()` gives what is shown now: an object whose `key(name, event)` returns true if it used the
 * key. `page` maps names of keys to actions that hold everywhere.
 */
export function listen(view, page) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
    const name = nameOf(event);
    if (name === null || isTyping(event.target)) return;
    if (name.startsWith("Arrow") && ownsArrows(event.target)) return;
    if (view()?.key?.(name, event) || page[name]?.(event)) event.preventDefault();
  });
}

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** Where a key leads in a grid; null if it does not move. The first arrow only shows the focus. */
export function aim(name, grid, isRange = false) {
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
