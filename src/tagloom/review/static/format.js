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
  return `${Math.min(99, Math.max(1, Math.round(100 * p)))} %`;
}

export const number = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
export const many = (n, one, more = `${one}s`) => `${number(n)} ${n === 1 ? one : more}`;

/** Sentences of the server with numbers and percentages as the page writes them. */
export const spaced = (text) =>
  text.replaceAll(/(\d),(?=\d{3})/g, "$1\u202f").replaceAll(/(\d)%/g, "$1\u00a0%");

/** A message with exactly one full stop at its end. */
export const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** The file name of a picture without its folders. */
export const shortName = (name) => name.slice(name.lastIndexOf("/") + 1) || name;

const DONE = { accept: "accepted", reject: "rejected", clear: "cleared", mixed: "changed" };

/** "accepted 42 × beach": a step of the history in words. */
export function stepText(step, tagName) {
  const verb = DONE[step.verdict] ?? "changed";
  const what = step.t !== null && step.t !== undefined ? tagName(step.t) : "tags";
  if (step.n === 1) return `${verb} ${what === "tags" ? "one tag" : what}`;
  return `${verb} ${number(step.n)} × ${what}`;
}
