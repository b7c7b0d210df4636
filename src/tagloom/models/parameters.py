"""How learners name and check the parameters that they share."""

from collections.abc import Mapping, Sequence
from typing import Any

from tagloom.checks import check_choice, check_number, is_whole
from tagloom.errors import InvalidInputError

ON_UNLEARNABLE = ("raise", "warn", "ignore")


def parameter(model: Any, name: str) -> tuple[str, Any]:
    """Return what to call a parameter in a message, and its value: the start of every check."""
    return f"The '{name}' parameter of {type(model).__name__}", getattr(model, name)


def check_n_jobs(model: Any) -> None:
    """Refuse a number of workers that is not a whole number other than 0, or None."""
    name, given = parameter(model, "n_jobs")
    if given is not None and (not is_whole(given) or given == 0):
        raise InvalidInputError(
            f"{name} must be None or a whole number other than 0; got {given!r}."
        )


def check_share_below_one(model: Any, name: str) -> None:
    """Refuse what is not a number in [0, 1)."""
    what, given = parameter(model, name)
    check_number(what, given, low=0, high=1)
    if given == 1:
        raise InvalidInputError(f"{what} must be a number in [0, 1); got {given!r}.")


def check_on_unlearnable(model: Any) -> None:
    """Refuse an unheard-of way to treat labels that cannot be learned."""
    check_choice(*parameter(model, "on_unlearnable"), ON_UNLEARNABLE)


def differ_in(name: str, candidates: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether candidates have all parameters in common but perhaps this one."""
    rest = [{key: one[key] for key in one if key != name} for one in candidates]
    return all(one == rest[0] for one in rest)
