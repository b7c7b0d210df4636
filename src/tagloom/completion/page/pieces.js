// Makes elements; text is only ever set as text.
function make(kind, properties = {}, ...children) {
  const element = document.createElement(kind);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name === "text") element.textContent = value;
    else if (name === "click") element.addEventListener("click", value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

const find = (id) => document.getElementById(id);
const baseName = (name) => name.slice(name.lastIndexOf("/") + 1);

function nothingToShow() {
  return make("span", { class: "nothing", role: "img", "aria-label": "no picture" });
}

function thumbnail(number, description) {
  const digest = data.thumbnails[number];
  if (!digest) return nothingToShow();
  const image = make("img", {
    loading: "lazy", decoding: "async", alt: description ?? data.items[number],
    src: `thumbnails/${digest.slice(0, 2)}/${digest}.jpg`,
  });
  image.addEventListener("error", () => image.replaceWith(nothingToShow()), { once: true });
  return image;
}

// A thumbnail that links to the picture itself, if there is one.
function shot(number) {
  if (!data.thumbnails[number]) return make("span", { class: "shot" }, thumbnail(number));
  const way = data.items[number].split("/").map(encodeURIComponent).join("/");
  return make("a", {
    class: "shot", href: `${data.photos}/${way}`, target: "_blank", rel: "noopener",
    title: "Open " + data.items[number],
  }, thumbnail(number));
}

function fileName(name) {
  return make("h3", { class: "name", dir: "auto", title: name, text: baseName(name) });
}

function bar(thousandths) {
  const filled = make("span", { class: "bar", "aria-hidden": "true" });
  filled.style.setProperty("--p", thousandths / 10 + "%");
  return filled;
}

// Thumbnails side by side, each with a line below; `choose` is called with the place of a click.
function wall(numbers, lineOf, choose) {
  return make("ul", { class: "wall" }, ...numbers.map((number, place) => {
    const inner = [thumbnail(number), make("span", { dir: "auto", text: lineOf(number, place) })];
    return make("li", {}, choose
      ? make("button", { type: "button", click: () => choose(place) }, ...inner)
      : make("span", { class: "still", title: data.items[number] }, ...inner));
  }));
}

// Fills a container as it is scrolled; returns a function that starts again with a new list.
function feed(container, build, size) {
  const end = make("div", { class: "end", "aria-hidden": "true" });
  container.after(end);
  let list = [], next = 0;
  function more() {
    const batch = list.slice(next, next + size);
    next += batch.length;
    container.append(...batch.map(build));
    // The observer reports changes only: observe again as long as the end is visible.
    watcher.unobserve(end);
    if (next < list.length) watcher.observe(end);
  }
  const watcher = new IntersectionObserver((seen) => {
    if (seen.some((entry) => entry.isIntersecting)) more();
  }, { rootMargin: "1200px" });
  return (newList) => {
    list = newList;
    next = 0;
    container.replaceChildren();
    more();
  };
}
