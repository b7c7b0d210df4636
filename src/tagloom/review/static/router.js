// Addresses of views, kept in the hash (#/tag/5?least=0.5): reload, back and bookmarks work.

const scrolls = new Map();

/** The current address as the name of the view, its number if any, and the query. */
export function currentPlace() {
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

/** Replace the address without leaving the view or adding to the browser history. */
export function replaceAddress(hash) {
  history.replaceState(null, "", hash);
  current = location.hash;
}

let current = location.hash;

/** Call `show` at every change of address, and `returned` after coming back to an earlier one. */
export function start(show, returned) {
  history.scrollRestoration = "manual";
  if (!location.hash) replaceAddress("#/pictures");
  addEventListener("hashchange", async () => {
    scrolls.set(current, scrollY);
    current = location.hash;
    const landed = current;
    await show(currentPlace());
    // The old scroll position after coming back to a list, the top otherwise.
    if (landed !== location.hash) return;
    scrollTo(0, scrolls.get(landed) ?? 0);
    if (scrolls.has(landed)) returned();
  });
  return show(currentPlace());
}
