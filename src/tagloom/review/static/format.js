// How states, numbers and steps are worded: one place, so that every view says the same.

const STATE_TEXT = {
  known: "known",
  suspected: "known, suspected error",
  suggested: "suggested",
  accepted: "accepted",
  added: "added",
  confirmed: "confirmed",
  rejected: "rejected",
  removed: "removed",
  absent: "known to be absent",
  "suspected-absent": "known to be absent, suspected error",
};
export const stateText = (state) => STATE_TEXT[state] ?? "undecided";

// Never 0 % or 100 %: a probability is not a certainty.
export function percent(p) {
  if (p === null || p === undefined) return "";
  return `${Math.min(99, Math.max(1, Math.round(100 * p)))}%`;
}

export const number = (n) => n.toLocaleString("en");
export const many = (n, one, more = `${one}s`) => `${number(n)} ${n === 1 ? one : more}`;

/** A message with exactly one full stop at its end. */
export const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** The file name of a picture without its folders. */
export const shortName = (name) => name.slice(name.lastIndexOf("/") + 1) || name;

const DONE = { accept: "accepted", reject: "rejected", clear: "cleared", mixed: "changed" };

/** "accepted beach on 42 pictures", "rejected 3 tags on a.jpg": a step in words. `names` is the store. */
export function stepText({ verdict, n, t, i, text }, names) {
  // A decision about tags comes with its own words.
  if (text) return text;
  const isGiven = (value) => value !== null && value !== undefined;
  const what = isGiven(t) ? names.tagName(t) : many(n, "tag");
  const several = isGiven(t) && n > 1 ? ` on ${many(n, "picture")}` : "";
  const where = isGiven(i) ? ` on ${shortName(names.imageName(i))}` : several;
  return `${DONE[verdict] ?? "changed"} ${what}${where}`;
}

/** "about 2 minutes": a duration as one would say it. */
export function duration(seconds) {
  if (seconds < 10) return "a few seconds";
  if (seconds < 55) return `about ${10 * Math.round(seconds / 10)} seconds`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return minutes <= 1 ? "about a minute" : `about ${minutes} minutes`;
  return `about ${(seconds / 3600).toFixed(1)} hours`;
}
