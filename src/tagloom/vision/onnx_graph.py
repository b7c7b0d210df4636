"""Finding one's way in somebody else's ONNX network."""

import hashlib
import os
from pathlib import Path
from typing import Any, NamedTuple

from tagloom.errors import ModelFileError
from tagloom.vision.extras import import_extra

_TO_PROBABILITIES = frozenset({"Softmax", "Sigmoid"})
_DENSE = frozenset({"Gemm", "MatMul"})
# What may stand between the last dense layer and the output without being a layer of its own.
_TRANSPARENT = frozenset({"Identity", "Flatten", "Reshape", "Squeeze", "Cast", "Dropout", "Add"})


class Input(NamedTuple):
    """Name, number format and shape of what a network takes; None where the shape is free."""

    name: str
    number: str
    shape: tuple[int | None, ...]


class Network:
    """An ONNX classifier, opened to look inside.

    Parameters
    ----------
    path
        The ``.onnx`` file; weights in files of their own are read as well.

    Attributes
    ----------
    sha256
        The fingerprint of the network with all its weights.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._onnx = import_extra("onnx", purpose="Reading a network of your own")
        self._model = self._load()
        self.sha256 = hashlib.sha256(self._model.SerializeToString(deterministic=True)).hexdigest()
        graph = self._model.graph
        self._producers = {name: node for node in graph.node for name in node.output}
        self._constants = {tensor.name for tensor in graph.initializer} | {
            name for node in graph.node if node.op_type == "Constant" for name in node.output
        }

    def input(self) -> Input:
        """Describe the one input that is no weight."""
        free = [one for one in self._model.graph.input if one.name not in self._constants]
        if len(free) != 1:
            raise self._unfit(f"it has {len(free)} inputs, expected one that takes pictures")
        tensor = free[0].type.tensor_type
        shape = tuple(
            axis.dim_value if axis.HasField("dim_value") else None for axis in tensor.shape.dim
        )
        number = self._onnx.TensorProto.DataType.Name(tensor.elem_type)
        return Input(free[0].name, number, shape)

    def scores(self, wanted: str | None) -> str:
        """Name the output with the class scores."""
        outputs = [output.name for output in self._model.graph.output]
        if wanted is not None and wanted not in outputs:
            raise self._unfit(f"it has no output {wanted!r}. Available: {', '.join(outputs)}")
        if wanted is None and len(outputs) != 1:
            raise self._unfit(
                f"it has {len(outputs)} outputs ({', '.join(outputs)}): set 'output' in its "
                "configuration to the one with the class scores"
            )
        return wanted or outputs[0]

    def gives_probabilities(self, scores: str) -> bool:
        """Tell whether the scores come out of a softmax or sigmoid."""
        node = self._producers.get(scores)
        while node is not None and node.op_type in _TRANSPARENT:
            node = self._producers.get(self._flow_into(node) or "")
        return node is not None and node.op_type in _TO_PROBABILITIES

    def before_last_layer(self, scores: str) -> str:
        """Name the tensor that goes into the last dense layer before the scores."""
        node = self._producers.get(scores)
        while node is not None:
            flow = self._flow_into(node)
            if node.op_type in _DENSE and flow is not None:
                return flow
            if node.op_type not in _TRANSPARENT | _TO_PROBABILITIES | {"LogSoftmax"}:
                break
            node = self._producers.get(flow or "")
        stopped = f"a {node.op_type}" if node is not None else "the input"
        raise self._unfit(
            f"its scores {scores!r} do not come from a dense layer (Gemm or MatMul) but from "
            f"{stopped}: set 'visual' in its configuration to the tensor to take as descriptor"
        )

    def with_output(self, tensor: str) -> bytes:
        """Serialise the network with one more output."""
        names = {output.name for output in self._model.graph.output}
        if tensor not in self._producers:
            some = ", ".join(list(self._producers)[-5:])
            raise self._unfit(f"it has no tensor {tensor!r}. Its last ones are: {some}")
        if tensor not in names:
            # Only the name: onnxruntime works the number format and the shape out by itself.
            self._model.graph.output.append(self._onnx.ValueInfoProto(name=tensor))
        return bytes(self._model.SerializeToString())

    def _flow_into(self, node: Any) -> str | None:
        """Name the one input of a node that depends on the picture."""
        moving = [name for name in node.input if name and name not in self._constants]
        return moving[0] if len(moving) == 1 else None

    def _load(self) -> Any:
        if not self.path.is_file():
            raise ModelFileError(f"There is no network {self.path}. Expected an ONNX file.")
        try:
            model = self._onnx.load(self.path)
        except Exception as problem:  # protobuf's and onnx's errors share no base but this one
            detail = str(problem).strip().split("\n")[0]
            raise self._unfit(f"it is not a valid ONNX network ({detail})") from problem
        if not model.graph.node:
            raise self._unfit("it holds no network; expected an ONNX file")
        return model

    def _unfit(self, what: str) -> ModelFileError:
        return ModelFileError(f"{self.path} cannot serve as a backbone: {what}.")
