// One picture, large, with its known tags and its suggestions.

import { announce, decide, toggled } from "../actions.js";
import { get, large } from "../api.js";
import { Combobox } from "../combobox.js";
import { chip, emptyPage, likelihood, mark, showLarge } from "../components.js";
import { button, fill, h } from "../dom.js";
import { isNo, isYes } from "../entries.js";
import { number, percent, shortName, stateText } from "../format.js";
import { listAddress, pictureAfter, positionOf, setLastViewed } from "../lists.js";
import { address, go } from "../router.js";
import { store } from "../store.js";
import { Why } from "../why.js";

class PictureView {
  constructor(root, { number: i, query }) {
    this.i = i;
    this.query = Object.fromEntries(query);
    setLastViewed(i);
    this.rows = [];
    this.current = 0;
    this.why = new Why();
    this.add = new Combobox((tag) => this.added(tag));
    this.build(root);
    this.onEntries = (event) => this.entriesChanged(event.detail);
    store.addEventListener("entries", this.onEntries);
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
    const image = h("img", { class: "large" });
    showLarge(image, this.i);
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

  /** Split into known tags and suggestions; rows keep their places while the picture is shown. */
  sort(candidates) {
    const isKnown = ({ state, p }) =>
      ["known", "added"].includes(state) || (state === "accepted" && p === null);
    this.known = this.tags.filter(isKnown);
    const listed = this.tags.filter((tag) => !isKnown(tag));
    const below = candidates.map((tag) => ({ ...tag, state: "open" }));
    this.rows = [...listed, ...below].map((tag, k) => ({ tag, element: this.row(tag, k) }));
    fill(this.suggested, ...this.rows.slice(0, listed.length).map(({ element }) => element));
    if (!listed.length)
      fill(
        this.suggested,
        h("li", { class: "quiet-text" }, "No suggestions for this picture."),
      );
    fill(this.unlikely, ...this.rows.slice(listed.length).map(({ element }) => element));
    this.more.hidden = !below.length;
    this.more.open = !listed.length;
    this.draw();
    if (this.rows.length) this.select(0, false);
  }

  row(tag, k) {
    return suggestionRow(tag, k, {
      decide: (verdict) => this.decide(k, verdict),
      focus: () => this.select(k, false),
    });
  }

  draw() {
    for (const { tag, element } of this.rows) paintRow(element, this.i, tag);
    fill(this.knownChips, ...this.known.map((tag) => this.knownChip(tag)));
    if (!this.known.length) this.knownChips.append(h("span", { class: "quiet-text" }, "none yet"));
  }

  knownChip(tag) {
    const { state } = store.entries.look(this.i, tag.t, tag.state);
    const isRemoved = state === "removed" || state === "rejected" || state === "open";
    const click = () => decide([{ i: this.i, t: tag.t, state }], isRemoved ? "accept" : "reject");
    const label = `${isRemoved ? "Put back" : "Remove"} ${store.tagName(tag.t)}`;
    const word = chip(this.i, tag);
    word.append(button({ label, picture: isRemoved ? "undo" : "no", style: "in-chip", click }));
    return word;
  }

  decide(k, verdict) {
    const { tag } = this.rows[k];
    const { state } = store.entries.look(this.i, tag.t, tag.state);
    this.select(k, false);
    decide([{ i: this.i, t: tag.t, state }], toggled(state, verdict));
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
    const rows = await decide([{ i: this.i, t, tag, state: "open" }], "accept");
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
    else if ((name === "a" || name === "r") && this.rows.length)
      this.decide(this.current, name === "a" ? "accept" : "reject");
    else if (name === "t" || name === "/") this.add.input.focus();
    else if (name === "Escape") go(this.back());
    else return false;
    return true;
  }

  /** Decide by digit, but never on a row that is folded away. */
  pick(k, verdict) {
    if (this.rows[k]?.element.checkVisibility()) this.decide(k, verdict);
    else announce(`There is no suggestion ${k + 1}`);
  }

  step(step) {
    const hasFocus = this.rows[this.current]?.element.contains(document.activeElement);
    this.select(hasFocus ? this.current + step : this.current);
  }

  destroy() {
    this.why.soon.cancel();
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
