"""Learn again in a process of its own, so that the page stays quick; tells its steps as JSON lines.

Run as `python -m tagloom.review.relearn MODEL DECISIONS OUT PHOTOS`.
"""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from tagloom.errors import TagloomError


def tell(**metadata: Any) -> None:
    """Say something to the process that waits."""
    print(json.dumps(metadata), flush=True)


def main(model: str, decisions: str, out: str, photos: str) -> int:
    """Learn from decisions on top of a model, and write the results into the folder of the run."""
    from tagloom.completion.pipeline import update

    if hasattr(os, "nice"):
        # Somebody is looking at the page meanwhile.
        os.nice(5)
    try:
        update(
            Path(model),
            [Path(decisions)],
            Path(out),
            photos=Path(photos),
            tag_format="jsonl",
            say=lambda step, metadata: tell(step=step),
        )
    except TagloomError as problem:
        tell(error=str(problem))
        return 1
    tell(step="written")
    return 0


def end_with_who_waits() -> None:
    """End as soon as nobody holds the other end of our input.

    A server that was killed and started again must not have its run replaced by the old one's
    learning.
    """
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=end_with_who_waits, daemon=True).start()
    sys.exit(main(*sys.argv[1:]))
