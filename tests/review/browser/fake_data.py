"""A made-up collection in memory, with the answers of the review server."""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from tagloom.datasets.scenes.drawing import draw_scene

HOSTILE_IMAGE = "<img src=x onerror=alert(1)>\"'&amp;.jpg"
HOSTILE_TAG = "<script>alert('tag')</script>"
YES, NO = {"known", "suspected", "accepted", "added"}, {"rejected", "removed"}


@lru_cache(maxsize=256)
def drawn(number: int, width: int) -> bytes:
    out = io.BytesIO()
    draw_scene(number, 0, (width, width * 3 // 4)).image.save(out, "JPEG", quality=82)
    return out.getvalue()


class FakeCollection:
    """A few drawn scenes, repeated; the known tags are a part of the true ones."""

    def __init__(self, n_images: int = 300, n_scenes: int = 12, *, plain: bool = False) -> None:
        rng = np.random.default_rng(0)
        truth = [draw_scene(k, 0, (64, 48)).labels for k in range(n_scenes)]
        self.n_scenes = n_scenes
        self.tags = [*sorted(set().union(*truth)), "harbour" if plain else HOSTILE_TAG]
        self.images = [f"holidays/2019/scene-{i:05}.jpg" for i in range(n_images)]
        if not plain:
            self.images[0] = HOSTILE_IMAGE
        shown = np.array([[tag in labels for tag in self.tags] for labels in truth])
        shown = shown[np.arange(n_images) % n_scenes]
        shown[:, -1] = rng.uniform(size=n_images) < (0.0 if plain else 0.2)
        self.shown = shown
        score = np.where(shown, 1.6, -2.2) + rng.normal(scale=1.3, size=shown.shape)
        self.p = np.round(1 / (1 + np.exp(-score)), 4)
        self.known = shown & (rng.uniform(size=shown.shape) < 0.5)
        self.known |= rng.uniform(size=shown.shape) < 0.004
        self.suspected = self.known & (self.p < 0.06)
        self.thresholds = [0.5] * len(self.tags)
        self.threshold: float | None = None
        self.check: list[tuple[int, int]] = []
        self.unsure: set[tuple[int, int]] = set()
        self.decided: dict[tuple[int, int], str] = {}
        self.log: list[tuple[int, int, int, str]] = []
        self.done: list[tuple[int, str, dict]] = []
        self.undone: list[tuple[int, str, dict]] = []
        self.version = self.run = self.batches = 0
        self.boot = secrets.token_hex(4)

    def state(self, i: int, t: int) -> str:
        if (i, t) in self.decided:
            return self.decided[i, t]
        if self.known[i, t]:
            return "suspected" if self.suspected[i, t] else "known"
        return "suggested" if self.p[i, t] >= self.thresholds[t] else "open"

    def picture(self, i: int) -> dict:
        rows = [{"t": t, "p": self.p[i, t], "state": self.state(i, t)} for t in self._order(i)]
        return {"i": i, "tags": [row for row in rows if row["state"] != "open"]}

    def one_picture(self, i: int) -> dict:
        open_ones = [t for t in self._order(i) if self.state(i, t) == "open"][:12]
        candidates = [{"t": t, "p": self.p[i, t]} for t in open_ones]
        more = {"name": self.images[i], "candidates": candidates, "width": 1200, "height": 900}
        # Every scene is there several times: two of the others are shown.
        near = [j for j in (i + self.n_scenes, i + 2 * self.n_scenes) if j < len(self.images)]
        more |= {"alike": [self.picture(j) for j in near], "version": self.version}
        return {**self.picture(i), **more}

    def _order(self, i: int) -> list[int]:
        return [int(t) for t in np.argsort(-self.p[i], kind="stable")]

    def pictures(self, q: str, state: str, sort: str, tag: str) -> list[int]:
        chosen = [i for i, name in enumerate(self.images) if q.casefold() in name.casefold()]
        if tag:
            chosen = [i for i in chosen if self.state(i, int(tag)) in YES]
        if state != "all":
            chosen = [i for i in chosen if self._is(i, state)]
        if sort == "name":
            return sorted(chosen, key=lambda i: self.images[i])
        sign = -1 if sort == "certain" else 1
        return sorted(chosen, key=lambda i: sign * float(np.abs(self.p[i] - 0.5).min()))

    def _is(self, i: int, state: str) -> bool:
        states = {self.state(i, t) for t in range(len(self.tags))}
        if state == "open":
            return bool(states & {"suggested", "suspected"})
        if state == "untagged":
            return not states & YES
        if state == "decided":
            return any(image == i for image, _ in self.decided)
        return state in states

    def tag_rows(self) -> list[dict]:
        rows = []
        for t in range(len(self.tags)):
            states = [self.state(i, t) for i in range(len(self.images))]
            count = {word: states.count(word) for word in set(states)}
            rows.append(
                {
                    "t": t,
                    "known": count.get("known", 0) + count.get("suspected", 0),
                    "suggested": count.get("suggested", 0),
                    "accepted": count.get("accepted", 0) + count.get("added", 0),
                    "rejected": count.get("rejected", 0) + count.get("removed", 0),
                    "threshold": self.thresholds[t],
                    "roc_auc": 0.8,
                }
            )
        return rows

    def wall(self, t: int, least: float, state: str) -> tuple[list[int], list[dict]]:
        rows = []
        for i in np.argsort(-self.p[:, t], kind="stable"):
            word = self.state(int(i), t)
            if state == "all" or word in {"open", "suggested"}:
                rows.append({"i": int(i), "p": self.p[i, t], "state": word})
        undecided = [row["p"] for row in rows if row["state"] in {"open", "suggested"}]
        histogram, _ = np.histogram(undecided, bins=50, range=(0, 1))
        return histogram.tolist(), [row for row in rows if row["p"] >= least]

    def suspected_errors(self) -> list[dict]:
        rows = [
            {
                "i": i,
                "t": t,
                "p": self.p[i, t],
                "error_probability": 1 - self.p[i, t],
                "annotation": "present",
                "state": self.state(i, t),
            }
            for i, t in np.argwhere(self.suspected).tolist()
        ]
        return sorted(rows, key=lambda row: row["p"])

    def to_annotate(self) -> list[dict]:
        score = 1 - 2 * np.abs(self.p - 0.5)
        best = np.argsort(-score, axis=None)[:500]
        rows = []
        for i, t in zip(*np.unravel_index(best, score.shape), strict=True):
            if not self.known[i, t]:
                row = {"i": int(i), "t": int(t), "p": self.p[i, t]}
                more = {"acquisition_score": score[i, t], "state": self.state(int(i), int(t))}
                rows.append({**row, **more})
        return rows

    def why(self, i: int, t: int) -> dict:
        # The scenes with most tags in common, each of them once.
        alike = np.argsort(
            -(self.shown[: self.n_scenes] @ self.shown[i].astype(int)), kind="stable"
        )
        others = [int(j) for j in alike if j != i % self.n_scenes][:12]
        rows = [{"i": j, "affinity": 0.9 - 0.03 * k, "j": j} for k, j in enumerate(others)]
        for row in rows:
            row["state"] = "present" if self.state(row.pop("j"), t) in YES else "unknown"
        rows.sort(key=lambda row: row["state"] != "present")
        looks = "looks like a tabby; a tabby is a cat" if t == 0 else None
        return {
            "p": self.p[i, t], "looks_like": looks, "neighbors": rows, "n_neighbors": len(rows),
        }  # fmt: skip

    def tag_of(self, decision: dict) -> int:
        if "t" in decision:
            return int(decision["t"])
        if decision["tag"] not in self.tags:
            self.tags.append(decision["tag"])
            self.thresholds.append(0.5)
            column = np.zeros((len(self.images), 1))
            self.p = np.hstack([self.p, column])
            self.known = np.hstack([self.known, column.astype(bool)])
            self.suspected = np.hstack([self.suspected, column.astype(bool)])
        return self.tags.index(decision["tag"])

    @property
    def history(self) -> dict:
        return {"undo": _summary(self.done), "redo": _summary(self.undone)}

    def decide(self, decisions: Iterable[dict]) -> dict:
        n_tags = len(self.tags)
        before, entries = {}, []
        for decision in decisions:
            entry = (int(decision["i"]), self.tag_of(decision))
            before[entry] = self.decided.get(entry)
            word = self._after(entry, decision["verdict"])
            is_typed = word == "accepted" and "tag" in decision
            self._put(entry, "added" if is_typed else word)
            entries.append(entry)
        self.batches += 1
        self.done.append((self.batches, decision["verdict"], before))
        self.undone.clear()
        answer = {"batch": self.batches, "applied": self._applied(entries)}
        if len(self.tags) > n_tags:
            answer["tags"] = self.tags
        return {"version": self.version, "history": self.history, **answer}

    def _after(self, entry: tuple[int, int], verdict: str) -> str | None:
        if verdict == "clear":
            return None
        if self.known[entry]:
            return "known" if verdict == "accept" else "removed"
        return "accepted" if verdict == "accept" else "rejected"

    def _put(self, entry: tuple[int, int], word: str | None) -> None:
        if word is None:
            self.decided.pop(entry, None)
        else:
            self.decided[entry] = word

    def _applied(self, entries: Iterable[tuple[int, int]]) -> list[dict]:
        self.version += 1
        rows = [{"i": i, "t": t, "state": self.state(i, t)} for i, t in entries]
        self.log += [(self.version, row["i"], row["t"], row["state"]) for row in rows]
        return rows

    def step(self, source: list, target: list, word: str) -> dict:
        if not source:
            return {"version": self.version, "history": self.history, word: None}
        batch, verdict, former = source.pop()
        target.append((batch, verdict, {entry: self.decided.get(entry) for entry in former}))
        for entry, state in former.items():
            self._put(entry, state)
        applied = self._applied(former)
        taken = {"batch": batch, "applied": applied}
        return {"version": self.version, "history": self.history, word: taken}

    def changes(self, since: int) -> dict:
        rows = [{"i": i, "t": t, "state": s} for v, i, t, s in self.log if v > since]
        return {**self.metadata(), "applied": rows, "tags": self.tags}

    def suggest_from(self, threshold: float | None) -> dict:
        self.threshold = threshold
        self.thresholds = [threshold or 0.5] * len(self.tags)
        more = {"thresholds": self.thresholds, "version": self.version, "counts": {}}
        return {"threshold": threshold, **more}

    def threshold_curve(self) -> dict:
        p = self.p[~self.known]
        rows = [{"threshold": k / 100, **_expected(p, k / 100)} for k in range(1, 100)]
        current = _expected(p, self.thresholds[0])
        return {"threshold": self.threshold, "current": current, "rows": rows}

    def draw(self, n: int) -> None:
        entries = np.argwhere(~self.known).tolist()
        step = max(1, len(entries) // n)
        self.check = [(i, t) for i, t in entries[::step][:n]]

    def answer(self, place: int, answer: str | None) -> dict:
        i, t = self.check[place]
        (self.unsure.add if answer == "unsure" else self.unsure.discard)((i, t))
        verdict = {"yes": "accept", "no": "reject"}.get(answer or "", "clear")
        stored = self.decide([{"i": i, "t": t, "verdict": verdict}])
        return {**stored, "check": self.check_json()}

    def check_json(self) -> dict:
        words = {"accepted": "yes", "rejected": "no"}
        questions = [
            {
                "i": i,
                "t": t,
                "answer": words.get(
                    self.decided.get((i, t), ""), "unsure" if (i, t) in self.unsure else None
                ),
            }
            for i, t in self.check
        ]
        estimate = {"precision": [0.8, 0.56, 0.94], "recall": [0.4, 0.2, 0.9]}
        sentences = ["16 of 20 checked suggestions are right."]
        more = {"estimate": estimate, "sentences": sentences, "threshold": self.threshold}
        return {"questions": questions, **more}

    def metadata(self) -> dict:
        where = {"version": self.version, "run": self.run, "boot": self.boot}
        where["threshold"] = self.threshold
        return {**where, "history": self.history}


def _expected(p: np.ndarray, threshold: float) -> dict:
    above = p[p >= threshold]
    precision = float(above.mean()) if len(above) else None
    return {"n": len(above), "precision": precision, "recall": float(above.sum() / p.sum())}


def _summary(steps: list[tuple[int, str, dict]]) -> dict | None:
    if not steps:
        return None
    batch, verdict, entries = steps[-1]
    tags = {t for _, t in entries}
    one = tags.pop() if len(tags) == 1 else None
    images = {i for i, _ in entries}
    image = images.pop() if len(images) == 1 else None
    return {"batch": batch, "n": len(entries), "verdict": verdict, "t": one, "i": image}
