// What is chosen on a wall: by click, by shift and click, by shift and arrows, or by drawing over
// the cards with the mouse. Chosen are places in the list, which never move while it is shown.

export class Selection {
  constructor(changed) {
    this.chosen = new Set();
    this.anchor = null;
    this.changed = changed;
  }

  get size() {
    return this.chosen.size;
  }

  has(index) {
    return this.chosen.has(index);
  }

  toggle(index) {
    if (!this.chosen.delete(index)) this.chosen.add(index);
    this.anchor = index;
    this.changed();
  }

  /** Choose all from the anchor to an index, and nothing that a former end of it had chosen. */
  extend(index, kept = new Set()) {
    this.anchor ??= index;
    const [first, last] = [Math.min(this.anchor, index), Math.max(this.anchor, index)];
    this.chosen = new Set(kept);
    for (let k = first; k <= last; k += 1) this.chosen.add(k);
    this.changed();
  }

  all(count) {
    this.chosen = new Set(Array.from({ length: count }, (_, k) => k));
    this.changed();
  }

  clear() {
    if (!this.chosen.size) return;
    this.chosen.clear();
    this.changed();
  }
}

/** Let the mouse choose on a grid. Touch only taps: drawing a finger must scroll. */
export function choosing(grid, selection) {
  const { host } = grid;
  const { signal } = grid.watch;
  let drag = null;
  host.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button || event.pointerType === "touch") return;
      const index = grid.indexAt(event.target);
      if (index !== null && !event.shiftKey)
        drag = { from: index, kept: new Set(selection.chosen), moved: false };
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
      // The click that ends a drag follows this event and must find out that there was one.
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
      if (event.shiftKey) selection.extend(index, selection.chosen);
      else selection.toggle(index);
    },
    { signal },
  );
}
