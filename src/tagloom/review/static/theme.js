// Runs before the first paint (a plain script in the head, no module), so that nobody who works in
// the dark is flashed with a white page.
(() => {
  const KEY = "tagloom-theme";
  const ORDER = ["auto", "light", "dark"];
  let chosen = "auto";
  try {
    chosen = localStorage.getItem(KEY) ?? "auto";
  } catch {
    // Storage may be forbidden; the system's setting still holds.
  }
  const apply = () => {
    document.documentElement.dataset.theme = ORDER.includes(chosen) ? chosen : "auto";
  };
  apply();
  window.tagloomTheme = {
    get chosen() {
      return document.documentElement.dataset.theme;
    },
    next() {
      chosen = ORDER[(ORDER.indexOf(this.chosen) + 1) % ORDER.length];
      apply();
      try {
        localStorage.setItem(KEY, chosen);
      } catch {
        // It then holds for this visit only.
      }
      return chosen;
    },
  };
})();
