// Saying what happened: a toast for the eyes, a live region for screen readers.

import { button, fill, h } from "./dom.js";

let timer = 0;

/** Speak without showing; the same words twice in a row are spoken twice. */
export function announce(text) {
  const region = document.getElementById("spoken");
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
}

/** Show for a while; `action` is a label and what its button does. */
export function toast(text, action = null) {
  const place = document.getElementById("toast");
  clearTimeout(timer);
  const act =
    action &&
    button({
      text: action.label,
      key: action.key,
      style: "plain",
      click: () => {
        hideToast();
        action.run();
      },
    });
  fill(place, h("span", {}, text), act);
  place.hidden = false;
  timer = setTimeout(hideToast, 8000);
  announce(text);
}

export function hideToast() {
  clearTimeout(timer);
  document.getElementById("toast").hidden = true;
}
