// A virtual grid: cards of equal size, of which only those near the window exist in the document.

export class VirtualGrid {
  /**
   * `make(index)` builds a card, `paint(card, index)` updates it (called after `make` and whenever
   * something changed). `height(width)` is the height of a card of that width.
   */
  constructor(host, { least, gap = 12, height, make, paint, near }) {
    Object.assign(this, { host, least, gap, height, make, paint, near });
    this.cards = new Map();
    this.count = 0;
    this.current = 0;
    this.columns = 1;
    host.classList.add("grid");
    this.watch = new AbortController();
    const { signal } = this.watch;
    addEventListener("scroll", () => this.drawSoon(), { passive: true, signal });
    host.addEventListener("focusin", (event) => this.focused(event), { signal });
    this.sizes = new ResizeObserver(() => this.measure());
    this.sizes.observe(host);
    this.measure();
  }

  destroy() {
    this.watch.abort();
    this.sizes.disconnect();
    cancelAnimationFrame(this.frame);
  }

  measure() {
    const width = this.host.clientWidth;
    if (!width) return;
    this.columns = Math.max(1, Math.floor((width + this.gap) / (this.least + this.gap)));
    this.width = Math.floor((width - this.gap * (this.columns - 1)) / this.columns);
    this.cardHeight = Math.round(this.height(this.width));
    this.layout();
    for (const [index, card] of this.cards) this.place(card, index);
    this.draw();
  }

  setCount(count) {
    this.count = count;
    this.current = Math.max(0, Math.min(this.current, count - 1));
    this.layout();
    for (const [index, card] of this.cards) if (index >= count) this.drop(index, card);
    this.draw();
  }

  layout() {
    const rows = Math.ceil(this.count / this.columns);
    this.host.style.height = `${Math.max(0, rows * this.rowHeight - this.gap)}px`;
  }

  get hasFocus() {
    return this.host.contains(document.activeElement);
  }

  get rowHeight() {
    return (this.cardHeight ?? 0) + this.gap;
  }

  drawSoon() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  /** The indexes near the window: half a screen above, one below. */
  range() {
    const top = this.host.getBoundingClientRect().top;
    const first = Math.floor((-top - innerHeight / 2) / this.rowHeight) * this.columns;
    const last = Math.ceil((2 * innerHeight - top) / this.rowHeight) * this.columns;
    return [Math.max(0, first), Math.min(this.count, last)];
  }

  draw() {
    if (!this.width || !this.host.isConnected) return;
    const [first, last] = this.range();
    for (const [index, card] of this.cards) {
      // The focused card stays, or the keyboard would lose its place while scrolling.
      const isOutside = index < first || index >= last;
      if (isOutside && !card.contains(document.activeElement)) this.drop(index, card);
    }
    for (let index = first; index < last; index += 1) if (!this.cards.has(index)) this.add(index);
    if (last > first) this.near?.(first, last);
  }

  add(index) {
    const card = this.make(index);
    card.classList.add("card");
    card.dataset.index = index;
    this.cards.set(index, card);
    this.place(card, index);
    this.paintCard(card, index);
    // In reading order, because screen readers follow the document.
    const next = [...this.host.children].find((other) => Number(other.dataset.index) > index);
    this.host.insertBefore(card, next ?? null);
  }

  drop(index, card) {
    card.remove();
    this.cards.delete(index);
  }

  place(card, index) {
    const x = (index % this.columns) * (this.width + this.gap);
    const y = Math.floor(index / this.columns) * this.rowHeight;
    card.style.transform = `translate(${x}px, ${y}px)`;
    card.style.width = `${this.width}px`;
    card.style.height = `${this.cardHeight}px`;
  }

  paintCard(card, index) {
    card.setAttribute("aria-posinset", index + 1);
    card.setAttribute("aria-setsize", this.count);
    const target = card.querySelector("[data-focus]") ?? card;
    target.tabIndex = index === this.current ? 0 : -1;
    this.paint(card, index);
  }

  /** Update the given cards, or all that exist. */
  repaint(indexes = this.cards.keys()) {
    for (const index of indexes) {
      const card = this.cards.get(index);
      if (card) this.paintCard(card, index);
    }
  }

  /** Rebuild cards whose rows have changed. */
  rebuild(indexes = [...this.cards.keys()]) {
    const hadFocus = this.hasFocus;
    for (const index of indexes) {
      const card = this.cards.get(index);
      if (card) this.drop(index, card);
    }
    this.draw();
    if (hadFocus && this.count) this.focus(this.current);
  }

  focused(event) {
    const card = event.target.closest(".card");
    if (!card) return;
    this.setCurrent(Number(card.dataset.index));
  }

  setCurrent(index) {
    const former = this.current;
    this.current = index;
    this.repaint([former, index]);
  }

  /** Move the focus; the card is scrolled into view first, as it may not exist yet. */
  focus(index) {
    if (!this.count) return;
    this.setCurrent(index);
    const box = this.host.getBoundingClientRect();
    const top = box.top + Math.floor(index / this.columns) * this.rowHeight;
    // Leaves room for the sticky bars at the top and bottom of the window.
    const above = 190;
    const below = innerHeight - 120;
    if (top < above) scrollBy(0, top - above);
    else if (top + this.cardHeight > below) scrollBy(0, top + this.cardHeight - below);
    this.draw();
    const card = this.cards.get(index);
    (card?.querySelector("[data-focus]") ?? card)?.focus({ preventScroll: true });
  }

  indexAt(target) {
    const card = target instanceof Element ? target.closest(".card") : null;
    return card && this.host.contains(card) ? Number(card.dataset.index) : null;
  }
}
