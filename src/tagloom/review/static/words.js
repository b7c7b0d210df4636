// What states are called and how numbers are written: one place, so that every view says the same.

const YES = new Set(["known", "doubtful", "accepted", "added"]);
const NO = new Set(["rejected", "removed", "absent", "doubtful-absent"]);
const DECIDED = new Set(["accepted", "added", "rejected", "removed", "confirmed"]);

export const isYes = (state) => YES.has(state) || state === "confirmed";
export const isNo = (state) => NO.has(state);
export const isDecided = (state) => DECIDED.has(state);
export const isOpen = (state) => !isYes(state) && !isNo(state);

/** The look of a state; a word this page has not heard of is an open one. */
export function lookOf(state) {
  if (state === "suggested") return "suggested";
  if (state === "doubtful" || state === "doubtful-absent") return "doubtful";
  if (isNo(state)) return "no";
  return isYes(state) ? (isDecided(state) ? "yes" : "known") : "open";
}

const SPOKEN = {
  known: "known",
  doubtful: "known, in doubt",
  suggested: "suggested",
  accepted: "accepted",
  added: "added",
  confirmed: "confirmed",
  rejected: "rejected",
  removed: "removed",
  absent: "known to be absent",
  "doubtful-absent": "known to be absent, in doubt",
};
export const spoken = (state) => SPOKEN[state] ?? "undecided";

/** What a verdict will make of an entry, shown as not yet stored until the server has answered. */
export function expected(state, verdict) {
  const belonged = state === "known" || state === "doubtful" || state === "removed";
  if (verdict === "accept") return belonged ? "known" : "accepted";
  if (verdict === "reject") return belonged ? "removed" : "rejected";
  return "open";
}

// Never 0 % or 100 %: a probability is not a promise.
export function percent(p) {
  if (p === null || p === undefined) return "";
  return `${Math.min(99, Math.max(1, Math.round(100 * p)))} %`;
}

export const number = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
export const many = (n, one, more = `${one}s`) => `${number(n)} ${n === 1 ? one : more}`;

/** A message as a sentence: some come with their full stop, some without. */
export const sentence = (text) => (/[.!?]$/.test(text) ? text : `${text}.`);

/** The name of a picture without its folders: the last part is what people know it by. */
export const shortName = (name) => name.slice(name.lastIndexOf("/") + 1) || name;

const DONE = { accept: "accepted", reject: "rejected", clear: "took back", mixed: "changed" };

/** "accepted 42 × beach": a step of the history in words. */
export function stepText(step, tagName) {
  const verb = DONE[step.verdict] ?? "changed";
  const what = step.t !== null && step.t !== undefined ? tagName(step.t) : "tags";
  if (step.n === 1) return `${verb} ${what === "tags" ? "one tag" : what}`;
  return `${verb} ${number(step.n)} × ${what}`;
}
