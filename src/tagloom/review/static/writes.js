// Writes leave one after the other, so that an undo never overtakes the click it undoes. What was
// not acknowledged is kept and named; nothing is sent twice without being asked for.

import { post, Refused, Unreachable } from "./api.js";

/** How a failure leaves us: nobody there, or there but started anew with another key. */
export function troubleOf(error) {
  if (error instanceof Unreachable) return "stopped";
  return error instanceof Refused && error.status === 403 ? "shut" : null;
}

export class Writes extends EventTarget {
  /** `before` is awaited ahead of every write: it may have to find out whom we are talking to. */
  constructor(before) {
    super();
    this.before = before;
    this.queue = [];
    this.lost = [];
    this.busy = false;
    this.trouble = null;
    this.refusal = null;
  }

  /** Send in turn; resolves with the answer, or with null if it was not stored. */
  send(job) {
    return new Promise((resolve) => {
      this.queue.push({ ...job, resolve });
      this.tell();
      this.work();
    });
  }

  async work() {
    if (this.busy) return;
    this.busy = true;
    while (this.queue.length) {
      const job = this.queue[0];
      try {
        await this.before();
        const answer = await post(job.path, job.body());
        this.queue.shift();
        this.trouble = null;
        this.refusal = null;
        job.done(answer);
        job.resolve(answer);
      } catch (error) {
        this.fail(error);
      }
    }
    this.busy = false;
    this.tell();
  }

  fail(error) {
    this.trouble = troubleOf(error);
    // What waited behind a click that nobody took was meant to follow it: it is lost with it.
    const failed = this.trouble ? this.queue.splice(0) : [this.queue.shift()];
    for (const job of failed) {
      job.failed();
      job.resolve(null);
    }
    if (this.trouble) this.lost.push(...failed.filter((job) => job.again));
    else this.refusal = error.message;
    this.tell();
  }

  /** Send what was lost once more, at the person's wish. */
  retry() {
    const jobs = this.lost.splice(0);
    this.tell();
    return Promise.all(jobs.map((job) => job.again()));
  }

  forget() {
    this.lost = [];
    this.refusal = null;
    this.tell();
  }

  /** Whether anything clicked here is not known to be stored. */
  get unsaved() {
    return this.queue.length > 0 || this.lost.length > 0;
  }

  heard(trouble) {
    if (this.trouble === trouble) return;
    this.trouble = trouble;
    this.tell();
  }

  tell() {
    this.dispatchEvent(new Event("change"));
  }
}
