"""onnxruntime, set up so that the same picture always gets the same bits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.errors import ModelFileError
from tagloom.vision.extras import import_extra

_LOG_ERRORS_ONLY = 3


class Session:
    """A network in memory that several threads may call at once.

    It works on one picture with one thread; throughput comes from calling it from as many threads
    as there are cores. That is as fast as large batches on many threads, and how the work is cut
    up can no longer move a sum.
    """

    def __init__(self, model: bytes, *, origin: str) -> None:
        runtime = import_extra("onnxruntime", purpose="Turning pictures into numbers")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = _LOG_ERRORS_ONLY
        try:
            self._session = runtime.InferenceSession(
                model, options, providers=["CPUExecutionProvider"]
            )
        except Exception as problem:  # onnxruntime's own exceptions share no base but this one
            raise ModelFileError(
                f"onnxruntime cannot load {origin}: {_first_line(problem)}. Expected a valid ONNX "
                "network made of operators that the installed onnxruntime knows."
            ) from problem
        self._origin = origin

    def run(self, outputs: list[str], feeds: dict[str, NDArray[Any]]) -> list[NDArray[np.float32]]:
        """Evaluate the named outputs."""
        try:
            values = self._session.run(outputs, feeds)
        except Exception as problem:
            raise ModelFileError(
                f"{self._origin} failed on a picture: {_first_line(problem)}. Check the layout and "
                "the size in its configuration."
            ) from problem
        return [np.asarray(value, dtype=np.float32) for value in values]


def _first_line(problem: Exception) -> str:
    return str(problem).strip().split("\n")[0].rstrip(".")
