// Building elements. Names of pictures and tags are not to be trusted: they only ever become text
// nodes or attribute values, never markup.

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

/** One of the icons at the end of index.html. */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** A button with an icon, a text, or both; `key` names its keyboard shortcut. */
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

/** A modal dialog with a title and a button that closes it, added to the page. */
export function addDialog(name, title, ...content) {
  const id = `${name}-title`;
  const dialog = h("dialog", { class: `dialog ${name}`, "aria-labelledby": id });
  const close = button({
    label: "Close",
    picture: "no",
    style: "quiet",
    click: () => dialog.close(),
  });
  dialog.append(h("div", { class: "dialog-head" }, h("h2", { id }, title), close), ...content);
  document.body.append(dialog);
  return dialog;
}

/** Show or hide by the `hidden` attribute, which also takes an element out of the focus order. */
export function show(element, visible) {
  element.hidden = !visible;
}

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(
    ...children.flat().filter((child) => child !== null && child !== undefined),
  );
  return element;
}

/** Run once the calls have paused; `cancel` drops a waiting call. */
export function debounce(action, milliseconds) {
  let timer = 0;
  const call = (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
  call.cancel = () => clearTimeout(timer);
  return call;
}
