// One picture, large, with its known tags and its suggestions.

import { announce, decide, toast, toggled } from "../actions.js";
import { Alike } from "../alike.js";
import { get, large } from "../api.js";
import { Combobox } from "../combobox.js";
import { chip, emptyPage, likelihood, mark, showLarge } from "../components.js";
import { button, fill, h, show } from "../dom.js";
import { isNo, isOpen, isYes } from "../entries.js";
import { number, percent, shortName, stateText } from "../format.js";
import { listAddress, nextToDecide, pictureAfter, positionOf, setLastViewed } from "../lists.js";
import { address, go } from "../router.js";
import { store } from "../store.js";
import { Why } from "../why.js";
import { Zoom } from "../zoom.js";

// So long the last decision is seen before the next picture comes.
const NEXT_AFTER_MS = 350;
const NEXT_KEY = "tagloom-next";

class PictureView {
  constructor(root, { number: i, query }) {
    this.i = i;
    this.query = Object.fromEntries(query);
    setLastViewed(i);
    this.rows = [];
    this.current = 0;
    this.why = new Why();
    this.alike = new Alike();
    this.zoom = new Zoom();
    this.add = new Combobox((tag) => this.added(tag));
    this.build(root);
    this.onEntries = (event) => this.entriesChanged(event.detail);
    store.addEventListener("entries", this.onEntries);
    this.onStep = (event) => this.stepped(event.detail);
    store.addEventListener("stepped", this.onStep);
    this.ready = this.load();
  }

  build(root) {
    const name = store.imageName(this.i);
    this.knownChips = h("div", { class: "chips known" });
    this.suggested = h("ol", { class: "suggestions" });
    this.unlikely = h("ol", { class: "suggestions" });
    this.more = h("details", { class: "more" }, h("summary", {}, "Less likely"), this.unlikely);
    this.position = h("span", { class: "count" });
    this.status = h("p", { class: "quiet-text", role: "status" });
    const image = h("img", { class: "large zoomable", on: { click: () => this.zoom.open(this.i) } });
    showLarge(image, this.i);
    this.goesOn = h("input", {
      type: "checkbox",
      on: { change: () => localStorage.setItem(NEXT_KEY, this.goesOn.checked ? "on" : "off") },
    });
    this.goesOn.checked = localStorage.getItem(NEXT_KEY) !== "off";
    const frame = h(
      "div",
      { class: "frame" },
      image,
      h(
        "div",
        { class: "walk" },
        button({
          label: "Previous picture",
          picture: "left",
          key: "←",
          style: "quiet",
          click: () => this.turn(-1),
        }),
        this.position,
        button({
          label: "Next picture",
          picture: "right",
          key: "→",
          style: "quiet",
          click: () => this.turn(1),
        }),
        button({
          label: "Zoom in",
          picture: "zoom",
          key: "z",
          style: "quiet",
          click: () => this.zoom.open(this.i),
        }),
        h("label", { class: "tick-box" }, this.goesOn, h("span", {}, "Go on after the last decision")),
      ),
    );
    fill(
      root,
      h(
        "div",
        { class: "one" },
        frame,
        h(
          "div",
          { class: "side" },
          h(
            "div",
            { class: "one-title" },
            h(
              "a",
              { class: "back", href: this.back(), "aria-label": "Back to the pictures" },
              "Pictures",
            ),
            h("h1", { title: name }, shortName(name)),
          ),
          h(
            "section",
            { "aria-label": "Known tags" },
            h("h2", {}, "Tags"),
            this.knownChips,
            this.add.element,
            this.status,
          ),
          h(
            "section",
            { "aria-label": "Suggestions" },
            h("h2", {}, "Suggestions"),
            this.suggested,
            this.more,
          ),
          this.alike.element,
          this.why.element,
        ),
      ),
    );
    this.why.clear();
  }

  back() {
    const { wall } = this.query;
    const fallback = wall ? address(`tag/${wall}`) : address("pictures", this.query);
    return listAddress(this.query) ?? fallback;
  }

  async load() {
    try {
      const picture = await get(`/api/pictures/${this.i}`);
      store.updateRows(
        picture.tags.map((tag) => ({ ...tag, i: this.i })),
        picture.version,
      );
      this.tags = picture.tags;
      this.alike.show(picture.alike ?? [], picture.version);
      this.sort(picture.candidates ?? []);
    } catch (error) {
      fill(
        this.suggested,
        h(
          "li",
          {},
          emptyPage("", error, () => this.load()),
        ),
      );
      return;
    }
    this.drawPosition();
    this.prefetch();
  }

  /**
   * Split into known tags and suggestions. A suggestion keeps its digit while the picture is shown;
   * once it is accepted, and that is stored, it is shown among the tags.
   */
  sort(candidates) {
    const isKnown = ({ state, p }) =>
      ["known", "added"].includes(state) || (state === "accepted" && p === null);
    this.known = this.tags.filter(isKnown);
    const listed = this.tags.filter((tag) => !isKnown(tag));
    const below = candidates.map((tag) => ({ ...tag, state: "open" }));
    this.rows = [...listed, ...below].map((tag, k) => ({
      tag,
      element: this.row(tag, k),
      isListed: k < listed.length,
    }));
    this.remark = h("li", { class: "quiet-text" });
    const elements = this.rows.slice(0, listed.length).map(({ element }) => element);
    fill(this.suggested, ...elements, this.remark);
    fill(this.unlikely, ...this.rows.slice(listed.length).map(({ element }) => element));
    this.more.hidden = !below.length;
    this.more.open = !listed.length;
    this.draw();
    const first = this.rows.findIndex((row) => this.isToDecide(row));
    if (this.rows.length) this.select(Math.max(0, first), false);
  }

  look({ tag }) {
    return store.entries.look(this.i, tag.t, tag.state);
  }

  /** Whether a suggestion or a suspected error awaits a decision. */
  isToDecide(row) {
    const { state } = this.look(row);
    return row.isListed && (isOpen(state) || state.startsWith("suspected"));
  }

  /** Whether a row is shown among the tags: it was accepted, and that is stored. */
  isMoved(row) {
    const { state, pending } = this.look(row);
    return !pending && isYes(state) && state !== "suspected";
  }

  row(tag, k) {
    return suggestionRow(tag, k, {
      decide: (verdict) => this.decide(k, verdict),
      focus: () => this.select(k, false),
    });
  }

  draw() {
    const hadFocus = this.suggested.contains(document.activeElement);
    for (const row of this.rows) {
      paintRow(row.element, this.i, row.tag);
      show(row.element, !this.isMoved(row));
    }
    const moved = this.rows.filter((row) => this.isMoved(row)).map(({ tag }) => tag);
    const shown = [...this.known, ...moved];
    fill(this.knownChips, ...shown.map((tag) => this.knownChip(tag)));
    if (!shown.length) this.knownChips.append(h("span", { class: "quiet-text" }, "none yet"));
    const listed = this.rows.filter(({ isListed }) => isListed);
    const isDone = !listed.some((row) => this.isToDecide(row));
    this.remark.textContent = listed.length
      ? "Every suggestion is decided."
      : "No suggestions for this picture.";
    show(this.remark, isDone);
    // A row that has moved is not the current one any more.
    if (this.rows[this.current]?.element.hidden) this.selectNext(hadFocus);
  }

  selectNext(withFocus) {
    const later = [...this.rows.keys()].map((k) => (this.current + 1 + k) % this.rows.length);
    const next = later.find((k) => this.isToDecide(this.rows[k]));
    if (next !== undefined) this.select(next, withFocus);
  }

  knownChip(tag) {
    const { state } = store.entries.look(this.i, tag.t, tag.state);
    const isRemoved = state === "removed" || state === "rejected" || state === "open";
    const click = () => this.send({ t: tag.t, state }, isRemoved ? "accept" : "reject");
    const label = `${isRemoved ? "Put back" : "Remove"} ${store.tagName(tag.t)}`;
    const word = chip(this.i, tag);
    word.append(button({ label, picture: isRemoved ? "undo" : "no", style: "in-chip", click }));
    return word;
  }

  async decide(k, verdict) {
    const { tag, isListed } = this.rows[k];
    const { state } = this.look(this.rows[k]);
    this.select(k, false);
    const stored = await this.send({ t: tag.t, state }, toggled(state, verdict));
    if (stored && isListed) this.goOnSoon();
  }

  /** Decide for this picture, and with it for the near-identical ones if that is chosen. */
  send(entry, verdict) {
    return decide([{ ...entry, i: this.i }, ...this.alike.others(entry, verdict)], verdict);
  }

  /** Go to the next picture with something to decide once nothing is left here. */
  goOnSoon() {
    clearTimeout(this.goingOn);
    this.goingOn = setTimeout(() => this.goOn(), NEXT_AFTER_MS);
  }

  async goOn() {
    const isBusy = () => this.isGone || this.rows.some((row) => this.isToDecide(row));
    if (!this.goesOn.checked || isBusy()) return;
    const next = await nextToDecide(this.query, this.i).catch(() => null);
    if (isBusy()) return;
    if (next === null) toast("Nothing is left to decide in this list.");
    else go(address(`picture/${next}`, this.query));
  }

  /** Undo and redo show the picture that they are about. */
  stepped({ i }) {
    clearTimeout(this.goingOn);
    if (i !== null && i !== undefined && i !== this.i) go(address(`picture/${i}`, this.query));
  }

  select(k, withFocus = true) {
    if (k < 0 || k >= this.rows.length) return;
    this.current = k;
    this.rows.forEach(({ element }, other) => {
      element.classList.toggle("current", other === k);
      element.tabIndex = other === k ? 0 : -1;
    });
    const { tag, element } = this.rows[k];
    if (withFocus) {
      if (element.closest("details")) this.more.open = true;
      element.focus();
    }
    this.why.show(this.i, tag.t);
  }

  async added({ tag, t }) {
    const isNew = t === undefined;
    this.status.textContent = `${tag}: saving`;
    const rows = await this.send({ t, tag, state: "open" }, "accept");
    this.status.textContent = rows ? "" : `${tag} was not saved`;
    if (rows && isNew) announce(`Added the new tag ${tag}`);
  }

  entriesChanged(changed) {
    const here = changed.filter(({ i }) => i === this.i);
    if (!here.length || !this.known) return;
    for (const { t, state } of here) {
      const isListed =
        this.rows.some(({ tag }) => tag.t === t) || this.known.some((tag) => tag.t === t);
      if (!isListed) this.known.push({ t, p: null, state: state ?? "open" });
    }
    this.draw();
  }

  async turn(step) {
    const next = await pictureAfter(this.query, this.i, step, store.collection.images.length);
    if (next === null)
      announce(step > 0 ? "This is the last picture" : "This is the first picture");
    else go(address(`picture/${next}`, this.query));
  }

  drawPosition() {
    const found = positionOf(this.query, this.i);
    const [at, of] = found ?? [this.i + 1, store.collection.images.length];
    this.position.textContent = `${number(at)} of ${number(of)}`;
  }

  async prefetch() {
    const next = await pictureAfter(this.query, this.i, 1, store.collection.images.length).catch(
      () => null,
    );
    if (next !== null) new Image().src = large(next);
    this.drawPosition();
  }

  key(name, event) {
    const digit = Number.parseInt(name, 10);
    if (digit) this.pick(digit - 1, event.shiftKey ? "reject" : "accept");
    else if (name === "ArrowLeft") this.turn(-1);
    else if (name === "ArrowRight") this.turn(1);
    else if (name === "ArrowDown" || name === "ArrowUp") this.step(name === "ArrowDown" ? 1 : -1);
    else if ((name === "a" || name === "r") && this.rows.length) this.decideCurrent(name);
    else if (name === "t" || name === "/") this.add.input.focus();
    else if (name === "z") this.zoom.open(this.i);
    else if (name === "s") return this.alike.toggle();
    else if (name === "Escape") go(this.back());
    else return false;
    return true;
  }

  /** Decide by letter, but never on a row that is not shown. */
  decideCurrent(letter) {
    if (this.rows[this.current].element.hidden) announce("Every suggestion is decided");
    else this.decide(this.current, letter === "a" ? "accept" : "reject");
  }

  /** Decide by digit, but never on a row that is folded away. */
  pick(k, verdict) {
    const row = this.rows[k];
    if (row?.element.checkVisibility() || (row && this.isMoved(row))) this.decide(k, verdict);
    else announce(`There is no suggestion ${k + 1}`);
  }

  step(step) {
    const hasFocus = this.rows[this.current]?.element.contains(document.activeElement);
    let next = hasFocus ? this.current + step : this.current;
    while (this.rows[next]?.element.hidden) next += step;
    this.select(next);
  }

  destroy() {
    this.isGone = true;
    clearTimeout(this.goingOn);
    this.why.soon.cancel();
    this.zoom.destroy();
    store.removeEventListener("stepped", this.onStep);
    store.removeEventListener("entries", this.onEntries);
  }
}

export const showPicture = (root, place) => new PictureView(root, place);

/** A suggestion beside a picture: its digit, name and probability, accept and reject. */
function suggestionRow(tag, k, { decide, focus }) {
  const name = store.tagName(tag.t);
  const verdictButton = (verdict, text, style) =>
    button({
      label: `${text} ${name}`,
      picture: style,
      style: `${style} round`,
      tabindex: "-1",
      click: () => decide(verdict),
    });
  const yes = verdictButton("accept", "Accept", "yes");
  const no = verdictButton("reject", "Reject", "no");
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

function paintRow(element, i, tag) {
  const look = store.entries.look(i, tag.t, tag.state);
  mark(element, look);
  const [no, yes] = element.querySelectorAll("button");
  yes.setAttribute("aria-pressed", String(isYes(look.state) && look.state !== "suspected"));
  no.setAttribute("aria-pressed", String(isNo(look.state) && look.state !== "suspected-absent"));
  const word = look.pending
    ? "storing"
    : ["open", "suggested"].includes(look.state)
      ? ""
      : stateText(look.state);
  fill(element.querySelector(".state-word"), word);
  const text = look.pending ? "not saved yet" : stateText(look.state);
  element.setAttribute("aria-label", `${store.tagName(tag.t)}, ${percent(tag.p)}, ${text}`);
}
