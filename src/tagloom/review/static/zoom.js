// The picture as large as the window, to zoom into and to move: by wheel, drag, pinch, double click
// or keys.

import { large, zoomed } from "./api.js";
import { button, h } from "./dom.js";
import { store } from "./store.js";

const MOST = 8;
const STEP = 1.5;
const MOVE = 80;

/** Keep a picture of a size, drawn at a scale, over the window: `at` is where its centre is. */
export function kept(at, size, scale, window) {
  const slack = Math.max(0, (size * scale - window) / 2);
  return Math.min(slack, Math.max(-slack, at));
}

export class Zoom {
  constructor() {
    this.image = h("img", { class: "zoom-image", alt: "", draggable: "false" });
    this.level = h("output", { class: "count", "aria-live": "polite" });
    const act = (label, picture, key, click) => button({ label, picture, key, style: "quiet", click });
    this.element = h(
      "dialog",
      { class: "zoom", "aria-label": "Zoomed picture" },
      h("div", { class: "zoom-place" }, this.image),
      h(
        "div",
        { class: "zoom-bar" },
        act("Zoom out", "zoom-out", "-", () => this.by(1 / STEP)),
        this.level,
        act("Zoom in", "zoom", "+", () => this.by(STEP)),
        act("Close", "no", "Esc", () => this.element.close()),
      ),
    );
    this.place = this.element.firstChild;
    this.pointers = new Map();
    this.listen();
  }

  open(i) {
    if (!this.element.isConnected) document.body.append(this.element);
    this.image.alt = store.imageName(i);
    this.image.src = large(i);
    const full = new Image();
    full.src = zoomed(i);
    this.shown = i;
    full.decode().then(
      () => {
        // Another picture may be shown by then.
        if (this.shown === i) this.image.src = full.src;
      },
      () => {},
    );
    this.element.showModal();
    this.fit();
  }

  fit() {
    Object.assign(this, { scale: 1, x: 0, y: 0 });
    this.draw();
  }

  /** Zoom by a factor, with the point at (x, y) from the centre of the window kept in its place. */
  by(factor, x = 0, y = 0) {
    const scale = Math.min(MOST, Math.max(1, this.scale * factor));
    const grown = scale / this.scale;
    this.x = x - (x - this.x) * grown;
    this.y = y - (y - this.y) * grown;
    this.scale = scale;
    this.draw();
  }

  move(dx, dy) {
    this.x += dx;
    this.y += dy;
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.place;
    this.x = kept(this.x, this.image.offsetWidth, this.scale, width);
    this.y = kept(this.y, this.image.offsetHeight, this.scale, height);
    this.image.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
    this.level.textContent = this.scale === 1 ? "fit" : `${Math.round(100 * this.scale)}%`;
    this.place.classList.toggle("movable", this.scale > 1);
  }

  listen() {
    const { place } = this;
    place.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.by(1.0015 ** -event.deltaY, ...this.fromCentre(event));
    });
    place.addEventListener("dblclick", (event) =>
      this.scale > 1 ? this.fit() : this.by(3, ...this.fromCentre(event)),
    );
    place.addEventListener("pointerdown", (event) => {
      place.setPointerCapture(event.pointerId);
      this.pointers.set(event.pointerId, event);
    });
    place.addEventListener("pointermove", (event) => this.dragged(event));
    for (const name of ["pointerup", "pointercancel"])
      place.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.image.addEventListener("load", () => this.draw());
  }

  fromCentre({ clientX, clientY }) {
    const box = this.place.getBoundingClientRect();
    return [clientX - box.left - box.width / 2, clientY - box.top - box.height / 2];
  }

  /** One pointer moves the picture, two of them zoom. */
  dragged(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const others = [...this.pointers.values()].filter((one) => one.pointerId !== event.pointerId);
    if (others.length === 1) {
      const apart = (one) => Math.hypot(one.clientX - others[0].clientX, one.clientY - others[0].clientY);
      this.by(apart(event) / Math.max(1, apart(before)), ...this.fromCentre(others[0]));
    } else if (!others.length) {
      this.move(event.clientX - before.clientX, event.clientY - before.clientY);
    }
    this.pointers.set(event.pointerId, event);
  }

  key(event) {
    const moves = {
      ArrowLeft: [MOVE, 0],
      ArrowRight: [-MOVE, 0],
      ArrowUp: [0, MOVE],
      ArrowDown: [0, -MOVE],
    };
    if (event.key in moves) this.move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.by(STEP);
    else if (event.key === "-") this.by(1 / STEP);
    else if (event.key === "0") this.fit();
    else if (event.key === "z") this.element.close();
    else return;
    event.preventDefault();
  }

  destroy() {
    this.element.remove();
  }
}
