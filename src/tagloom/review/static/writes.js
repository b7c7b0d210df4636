// The queue of writes. They are sent one after the other, so that an undo never overtakes the
// decision it undoes. What was not acknowledged is kept, and only sent again on request.

import { post, Refused, Unreachable } from "./api.js";

/** What a failure means: the server has stopped, or was restarted with another key. */
export function troubleOf(error) {
  if (error instanceof Unreachable) return "stopped";
  return error instanceof Refused && error.status === 403 ? "shut" : null;
}

export class Writes extends EventTarget {
  /** `beforeEach` is awaited ahead of every write: it may have to find that the server is new. */
  constructor(beforeEach) {
    super();
    this.beforeEach = beforeEach;
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
      this.notify();
      this.flush();
    });
  }

  async flush() {
    if (this.busy) return;
    this.busy = true;
    while (this.queue.length) {
      const job = this.queue[0];
      try {
        await this.beforeEach();
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
    this.notify();
  }

  fail(error) {
    this.trouble = troubleOf(error);
    // What waited behind a lost write was meant to follow it, and is lost with it.
    const failed = this.trouble ? this.queue.splice(0) : [this.queue.shift()];
    for (const job of failed) {
      job.failed();
      job.resolve(null);
    }
    if (this.trouble) this.lost.push(...failed.filter((job) => job.again));
    else this.refusal = error.message;
    this.notify();
  }

  /** Send the lost writes again. */
  retry() {
    const jobs = this.lost.splice(0);
    this.notify();
    return Promise.all(jobs.map((job) => job.again()));
  }

  discard() {
    this.lost = [];
    this.refusal = null;
    this.notify();
  }

  /** Whether anything is not known to be stored. */
  get unsaved() {
    return this.queue.length > 0 || this.lost.length > 0;
  }

  setTrouble(trouble) {
    if (this.trouble === trouble) return;
    this.trouble = trouble;
    this.notify();
  }

  notify() {
    this.dispatchEvent(new Event("change"));
  }
}
