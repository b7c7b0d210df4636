// Elements are built here and nowhere else. Names of pictures and tags come from strangers' disks:
// they only ever become text nodes or attribute values, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** Build an element: `on` holds listeners, every other property is an attribute. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") listen(element, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

function listen(element, listeners) {
  for (const [event, listener] of Object.entries(listeners))
    element.addEventListener(event, listener);
}

/** One of the drawings at the foot of index.html. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** A button with an icon, a text, or both; `key` names its keyboard short cut. */
export function button({ label, text, picture, key, style = "", click, ...rest }) {
  const parts = [];
  if (picture) parts.push(icon(picture));
  if (text) parts.push(h("span", {}, text));
  if (key) parts.push(h("kbd", { "aria-hidden": "true" }, key));
  const title = text && !key ? null : key ? `${label ?? text} (${key})` : label;
  return h(
    "button",
    {
      type: "button",
      class: `button ${style}`,
      "aria-label": label ?? text,
      title,
      on: click ? { click } : {},
      ...rest,
    },
    ...parts,
  );
}

/** Show or hide by the attribute, so that hidden things leave the order of focus too. */
export function show(element, visible) {
  element.hidden = !visible;
}

/** Put new children in the place of the old ones. */
export function fill(element, ...children) {
  element.replaceChildren(
    ...children.flat().filter((child) => child !== null && child !== undefined),
  );
  return element;
}

/** Run once the calls have paused; `cancel` forgets a call that waits. */
export function later(action, milliseconds) {
  let timer = 0;
  const call = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}
