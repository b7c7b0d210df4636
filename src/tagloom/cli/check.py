"""`tagloom check`: how many suggestions are right, by a small sample that a person answers."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.complete import AsJson, Photos, RunFolder
from tagloom.cli.console import echo, shown
from tagloom.cli.review import serve_page

if TYPE_CHECKING:
    from tagloom.review.checking import SampleCheck
    from tagloom.review.session import Review


def check(
    out: RunFolder,
    n: Annotated[int, typer.Option("--n", min=1, max=2000, help="How many entries to ask.")] = 30,
    photos: Photos = None,
    new: Annotated[
        bool, typer.Option("--new", help="Draw a new sample, even if one was drawn from this run.")
    ] = False,
    in_page: Annotated[
        bool, typer.Option("--open", help="Answer in the browser instead of in a table.")
    ] = False,
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn again from the answers, as the page does.")
    ] = False,
    to_json: AsJson = False,
) -> None:
    """Check a small random sample: how many suggestions are right, how many tags still missing.

    The first call writes OUT/check.csv, with a column for your answers. Once they are filled in,
    the same call reports precision and recall with their intervals.
    """
    if in_page:
        serve_page(out, photos, start="check", to_json=to_json)
        return
    from tagloom.review.session import Review

    review = Review(out, photos)
    try:
        _run(review, out, n, new=new, learn=learn, to_json=to_json)
    finally:
        review.close()


def _run(review: "Review", out: Path, n: int, *, new: bool, learn: bool, to_json: bool) -> None:
    from tagloom.review.checking import FILE, SampleCheck

    current = SampleCheck.current(review)
    path = out / FILE
    if current is None or new:
        kept = _keep_answers(path)
        current = SampleCheck.draw(review, n)
        current.write(out)
        echo(
            {"file": str(path), "questions": len(current.questions), "kept": kept},
            [*_kept_lines(kept), *_instructions(out, path, len(current.questions))],
            to_json=to_json,
        )
        return
    changed = _take_answers(review, current, out)
    current = SampleCheck.current(review) or current
    current.write(out)
    metadata, lines = _result(current, out, path)
    if changed:
        lines.insert(
            0, f"answers that differ from earlier ones: {changed:,}; those of {FILE} count"
        )
    if learn:
        _learn(review)
        metadata["learned"] = True
        lines[-1:] = ["learned from the answers; the new suggestions need a new check"]
    echo(metadata, lines, to_json=to_json)


def _keep_answers(path: Path) -> str | None:
    """Rename a table with answers, which are never overwritten; return its new name."""
    from tagloom.review.checking import answers_in

    if not path.exists() or not answers_in(path):
        return None
    number = 1
    while (target := path.with_stem(f"{path.stem}-{number}")).exists():
        number += 1
    path.rename(target)
    return str(target)


def _kept_lines(kept: str | None) -> list[str]:
    return [f"the answers to an earlier sample are kept in {shown(kept)}"] if kept else []


def _instructions(out: Path, path: Path, n: int) -> list[str]:
    return [
        f"{n} questions are in {shown(str(path))}",
        "  look at each picture and write yes or no under answer: does it have the tag?",
        "  write ? if you cannot tell; then run the same command again",
        f"  or answer in the browser: tagloom check {shown(str(out))} --open",
    ]


def _take_answers(review: "Review", check: "SampleCheck", out: Path) -> int:
    """Store the answers of the table; return how many replace others."""
    from tagloom.review.checking import FILE

    if not (out / FILE).exists():
        return 0
    given = check.read(out)
    fresh = {k: one for k, one in given.items() if check.questions[k].answer != one}
    if fresh:
        check.answer(list(fresh), list(fresh.values()), "tagloom check")
    return sum(check.questions[k].answer is not None for k in fresh)


def _result(check: "SampleCheck", out: Path, path: Path) -> tuple[dict[str, Any], list[str]]:
    from tagloom.completion.check import describe

    found = check.estimate()
    answers = Counter(one.answer for one in check.questions)
    metadata = {"file": str(path), "estimate": found.metadata()}
    n_answered = len(check.questions) - answers[None]
    if not n_answered:
        how = _instructions(out, path, len(check.questions))
        return metadata, ["no question is answered yet", *how]
    lines = [f"{n_answered} of {len(check.questions)} questions are answered", *describe(found)]
    if answers[None]:
        lines.append(f"answer the other {answers[None]} in {shown(str(path))}, and run this again")
    return metadata, [*lines, f"to learn from the answers: tagloom check {shown(str(out))} --learn"]


def _learn(review: "Review") -> None:
    from tagloom.errors import InvalidInputError
    from tagloom.review.learning import Learning

    learning = Learning(review)
    learning.start()
    try:
        learning.wait()
    finally:
        learning.close()
    if learning.progress.error:
        raise InvalidInputError(learning.progress.error)
