// The selection on the wall of a tag: by click, Shift and click, Shift and arrows, or by dragging
// over cards with the mouse. It holds indexes of the list, which do not change while it is shown.

export class Selection {
  constructor(changed) {
    this.selected = new Set();
    this.anchor = null;
    this.changed = changed;
  }

  get size() {
    return this.selected.size;
  }

  has(index) {
    return this.selected.has(index);
  }

  toggle(index) {
    if (!this.selected.delete(index)) this.selected.add(index);
    this.anchor = index;
    this.changed();
  }

  /** Select from the anchor to an index, dropping what an earlier end of the range had selected. */
  extend(index, kept = new Set()) {
    this.anchor ??= index;
    const [first, last] = [Math.min(this.anchor, index), Math.max(this.anchor, index)];
    this.selected = new Set(kept);
    for (let k = first; k <= last; k += 1) this.selected.add(k);
    this.changed();
  }

  all(count) {
    this.selected = new Set(Array.from({ length: count }, (_, k) => k));
    this.changed();
  }

  clear() {
    if (!this.selected.size) return;
    this.selected.clear();
    this.changed();
  }
}

/** Select cards of a grid by pointer. Touch only taps, because dragging a finger scrolls. */
export function selectByPointer(grid, selection) {
  const { host } = grid;
  const { signal } = grid.watch;
  let drag = null;
  host.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button || event.pointerType === "touch") return;
      const index = grid.indexAt(event.target);
      if (index !== null && !event.shiftKey)
        drag = { from: index, kept: new Set(selection.selected), moved: false };
    },
    { signal },
  );
  host.addEventListener(
    "pointermove",
    (event) => {
      const index = drag && event.buttons ? grid.indexAt(event.target) : null;
      if (index === null || (index === drag.from && !drag.moved)) return;
      drag.moved = true;
      selection.anchor = drag.from;
      selection.extend(index, drag.kept);
    },
    { signal },
  );
  addEventListener(
    "pointerup",
    () => {
      // The click that ends a drag follows this event, and has to know of the drag.
      const ended = drag;
      setTimeout(() => {
        if (drag === ended) drag = null;
      });
    },
    { signal },
  );
  host.addEventListener(
    "click",
    (event) => {
      if (drag?.moved || event.target.closest("[data-own-click]")) return;
      const index = grid.indexAt(event.target);
      if (index === null) return;
      if (event.shiftKey) selection.extend(index, selection.selected);
      else selection.toggle(index);
    },
    { signal },
  );
}
