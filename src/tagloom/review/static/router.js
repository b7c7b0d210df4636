// Addresses live in the hash (#/tag/5?least=0.5): reload, back and bookmarks work, and the server
// never sees them.

const scrolls = new Map();

/** The address as parts: the view's name, its number if any, and the query. */
export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name = "", argument = ""] = path.split("/");
  return {
    name: name || "pictures",
    number: Number.parseInt(argument, 10),
    query: new URLSearchParams(query),
  };
}

/** The address of a view; empty parameters are left out. */
export function address(path, parameters = {}) {
  const wanted = Object.entries(parameters).filter(
    ([, value]) => value !== "" && value !== null && value !== undefined,
  );
  const query = new URLSearchParams(wanted).toString();
  return `#/${path}${query ? `?${query}` : ""}`;
}

export function go(hash) {
  location.hash = hash;
}

/** Note in the address what the view now shows, without leaving it or lengthening "back". */
export function note(hash) {
  history.replaceState(null, "", hash);
  current = location.hash;
}

let current = location.hash;

/** Call `show` at every change of address, and `arrived` after coming back to where one was. */
export function start(show, arrived) {
  history.scrollRestoration = "manual";
  if (!location.hash) note("#/pictures");
  addEventListener("hashchange", async () => {
    scrolls.set(current, scrollY);
    current = location.hash;
    const landed = current;
    await show(here());
    // The old place, if the person came back to a list; the top otherwise.
    if (landed !== location.hash) return;
    scrollTo(0, scrolls.get(landed) ?? 0);
    if (scrolls.has(landed)) arrived();
  });
  return show(here());
}
