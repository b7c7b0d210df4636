// The light and dark themes. A plain script in the head, which runs before the first paint, so that
// the dark theme does not start with a white flash.
(() => {
  const KEY = "tagloom-theme";
  const ORDER = ["auto", "light", "dark"];
  let chosen = "auto";
  try {
    chosen = localStorage.getItem(KEY) ?? "auto";
  } catch {
    // Storage may be disabled; the setting of the system still applies.
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
        // The choice then applies to this visit only.
      }
      return chosen;
    },
  };
})();
