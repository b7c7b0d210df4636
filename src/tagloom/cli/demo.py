"""`tagloom demo`."""


def demo() -> None:
    """Learn on a small embedded set with hidden labels and print what was recovered."""
