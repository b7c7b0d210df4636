// The bar at the foot of a wall: how many are chosen, and what can be done with them.

import { button, fill, h } from "../dom.js";
import { number } from "../words.js";

export class WallBar {
  /** `acts` holds what the buttons do: decide(verdict), all(), none(). */
  constructor(acts) {
    this.acts = acts;
    this.look = null;
    this.element = h("div", {
      class: "action-bar",
      role: "toolbar",
      "aria-label": "Decide on the chosen",
    });
  }

  /** `open` is how many could be chosen at once. */
  show(chosen, open) {
    const look = chosen ? `chosen ${chosen}` : `open ${open}`;
    // Not built anew while nothing differs: a button under the pointer must stay the same one.
    if (this.look === look) return;
    this.look = look;
    fill(this.element, chosen ? this.verdicts(chosen) : this.invitation(open));
  }

  invitation(open) {
    const every = { text: `Choose all ${number(open)}`, key: "Ctrl A", click: this.acts.all };
    const hint = h("span", { class: "hint" }, "Click, drag or Shift to choose");
    return [hint, open ? button(every) : null];
  }

  verdicts(chosen) {
    const n = number(chosen);
    const verdict = (word, text, picture, key) =>
      button({
        text: `${text} ${n}`,
        picture,
        key,
        style: picture,
        click: () => this.acts.decide(word),
      });
    return [
      h("strong", { role: "status" }, `${n} chosen`),
      verdict("accept", "Accept", "yes", "a"),
      verdict("reject", "Reject", "no", "r"),
      button({ text: "None", label: "Choose none", style: "plain", click: this.acts.none }),
    ];
  }
}
