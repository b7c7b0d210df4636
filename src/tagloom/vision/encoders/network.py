"""ONNX graphs as people have them: read safely, searched, and cut down to what is wanted.

Nothing outside of a network's folder is read, whatever the file says.
"""

import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tagloom.errors import ModelFileError, first_line, import_extra

NUMBERS = {"FLOAT": np.float32, "FLOAT16": np.float16, "DOUBLE": np.float64, "UINT8": np.uint8}
"""The number formats that a network may take pictures in."""
# What protobuf can hold in one message.
_MOST_BYTES = 2**31 - 2**20
_TO_PROBABILITIES = frozenset({"Softmax", "Sigmoid"})
_DENSE = frozenset({"Gemm", "MatMul"})
# Operators between the last dense layer and the output that are not layers of their own.
_TRANSPARENT = frozenset({"Identity", "Flatten", "Reshape", "Squeeze", "Cast", "Dropout", "Add"})
# Operators between the input and the first layer that leave the axes where they are.
_AXES_KEPT = frozenset({"Identity", "Cast", "Sub", "Mul", "Div", "Add"})
# At most so many of them, as a graph may lead in a circle.
_NORMALISING = 8
# An encoder needs none of these, and each can run forever.
_LOOPS = frozenset({"Loop", "Scan"})
_EXTERNAL = 1


class Input(NamedTuple):
    """Name, number format and shape of a network's input; None where an axis is free."""

    name: str
    number: str
    shape: tuple[int | None, ...]


class Network:
    """An ONNX graph that can be searched.

    Parameters
    ----------
    path
        The ``.onnx`` file; weights in files of their own are read as well.
    within
        The folder that all of these must lie in, links followed; None takes that of the file.

    Attributes
    ----------
    sha256
        The fingerprint of the network with all its weights.
    outputs
        The names of its outputs.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, within: str | os.PathLike[str] | None = None
    ) -> None:
        self.path = Path(path)
        if not is_file(self.path):
            raise ModelFileError(f"There is no network {self.path}. Expected an ONNX file.")
        self._within = self.path.resolve().parent if within is None else Path(within).resolve()
        self._onnx = import_extra("onnx", purpose="Reading a network of your own")
        self._model = self._load()
        self.sha256 = hashlib.sha256(self._model.SerializeToString(deterministic=True)).hexdigest()
        graph = self._model.graph
        self.outputs: list[str] = [output.name for output in graph.output]
        self._nodes = list(graph.node)
        self._producers = {name: n for n, one in enumerate(self._nodes) for name in one.output}
        self._constants = {tensor.name for tensor in graph.initializer} | {
            name for node in graph.node if node.op_type == "Constant" for name in node.output
        }

    def inputs_of(self, tensors: Collection[str]) -> list[Input]:
        """Return the inputs, without weights, that some tensors depend on."""
        needed = self._needed(tensors)[1]
        return [
            self._input(one)
            for one in self._model.graph.input
            if one.name in needed and one.name not in self._constants
        ]

    def picture_input(self, tensors: Collection[str]) -> Input:
        """Return the one input that some tensors depend on, if it takes pictures."""
        found = self.inputs_of(tensors)
        if len(found) != 1:
            names = ", ".join(one.name for one in found) or "none"
            raise self.unfit(f"it has {len(found)} inputs ({names}), expected one, for pictures")
        (taken,) = found
        if len(taken.shape) != 4 or taken.number not in NUMBERS:
            raise self.unfit(
                f"it takes {taken.number} of shape {taken.shape}; expected one of "
                f"{', '.join(NUMBERS)} with 4 axes: pictures, channels, height, width"
            )
        return taken

    def first_picture_input(self) -> Input | None:
        """Return the first input that may take pictures, by its axes."""
        found = (self._input(one) for one in self._model.graph.input)
        return next((one for one in found if len(one.shape) == 4 and self._is_free(one)), None)

    def _is_free(self, one: Input) -> bool:
        return one.name not in self._constants

    def channels_first(self, taken: Input) -> bool | None:
        """Return whether channels come before height and width; None if that cannot be told."""
        first, last = taken.shape[1] == 3, taken.shape[3] == 3
        if first != last:
            return first
        name = taken.name
        for _ in range(_NORMALISING):
            users = [node for node in self._nodes if name in node.input]
            if any(node.op_type == "Conv" for node in users):
                return True
            if len(users) != 1 or not users[0].output:
                return None
            (node,) = users
            if node.op_type == "Transpose":
                turned = [list(one.ints) for one in node.attribute if one.name == "perm"]
                return False if turned == [[0, 3, 1, 2]] else None
            if node.op_type not in _AXES_KEPT:
                return None
            name = node.output[0]
        return None

    def gives_probabilities(self, scores: str) -> bool:
        """Return whether the scores come from a softmax or sigmoid."""
        node = None
        for node in self._upwards(scores):
            if node.op_type not in _TRANSPARENT:
                break
        return node is not None and node.op_type in _TO_PROBABILITIES

    def before_last_layer(self, scores: str) -> str:
        """Return the name of the input of the last dense layer before the scores."""
        node = None
        for node in self._upwards(scores):
            tensor = self._picture_input(node)
            if node.op_type in _DENSE and tensor is not None:
                return tensor
            if node.op_type not in _TRANSPARENT | _TO_PROBABILITIES | {"LogSoftmax"}:
                break
        else:
            node = None
        stopped = f"a {node.op_type}" if node is not None else "the input"
        raise self.unfit(
            f"its scores {scores!r} do not come from a dense layer (Gemm or MatMul) but from "
            f"{stopped}: set 'visual' in its configuration to the tensor to take as descriptor"
        )

    def check_tensor(self, tensor: str) -> None:
        """Refuse the name of a tensor that no operator computes."""
        if tensor not in self._producers:
            some = ", ".join(list(self._producers)[-5:])
            raise self.unfit(f"it has no tensor {tensor!r}. Its last ones are: {some}")

    def reduced_to(self, tensors: Collection[str]) -> bytes:
        """Serialise the part of the network that computes these tensors, with them as outputs."""
        places, names = self._needed(tensors)
        model = self._onnx.ModelProto()
        model.CopyFrom(self._model)
        graph = model.graph
        outputs = {output.name: output for output in self._model.graph.output}
        for field, kept in (
            (graph.node, [self._nodes[place] for place in places]),
            (graph.input, [one for one in self._model.graph.input if one.name in names]),
            (graph.initializer, [w for w in self._model.graph.initializer if w.name in names]),
            # Only the name: onnxruntime infers the number format and the shape.
            (
                graph.output,
                [outputs.get(one, self._onnx.ValueInfoProto(name=one)) for one in tensors],
            ),
        ):
            del field[:]
            field.extend(kept)
        return bytes(model.SerializeToString())

    def unfit(self, what: str) -> ModelFileError:
        """Return the error that this network cannot serve, and why."""
        return ModelFileError(f"{self.path} cannot serve as an encoder: {what}.")

    def _input(self, one: Any) -> Input:
        tensor = one.type.tensor_type
        shape = tuple(
            axis.dim_value if axis.HasField("dim_value") and axis.dim_value > 0 else None
            for axis in tensor.shape.dim
        )
        try:
            number = self._onnx.TensorProto.DataType.Name(tensor.elem_type)
        except ValueError:
            raise self.unfit(f"its input is of the unknown type {tensor.elem_type}") from None
        return Input(one.name, number, shape)

    def _needed(self, tensors: Collection[str]) -> tuple[list[int], set[str]]:
        """Return the places of the nodes that tensors depend on, and the names of all inputs."""
        places: set[int] = set()
        names, waiting = set(tensors), list(tensors)
        while waiting:
            place = self._producers.get(waiting.pop())
            if place is not None and place not in places:
                places.add(place)
                read = _names_read(self._nodes[place])
                waiting += [name for name in read if name not in names]
                names.update(read)
        return sorted(places), names

    def _upwards(self, tensor: str) -> Iterator[Any]:
        """Yield the nodes that lead to a tensor, the last first, while there is a single way."""
        seen = set()
        while (place := self._producers.get(tensor)) is not None:
            if tensor in seen:
                raise self.unfit(f"its graph leads in a circle through {tensor!r}")
            seen.add(tensor)
            node = self._nodes[place]
            yield node
            tensor = self._picture_input(node) or ""

    def _picture_input(self, node: Any) -> str | None:
        """Return the name of the only input of a node that depends on the picture."""
        moving = [name for name in node.input if name and name not in self._constants]
        return moving[0] if len(moving) == 1 else None

    def _load(self) -> Any:
        model = self._onnx.ModelProto()
        content = self._read(self.path)
        try:
            model.ParseFromString(content)
        except Exception as problem:  # protobuf's errors share no base but this one
            detail = first_line(problem)
            raise self.unfit(f"it is not a valid ONNX network ({detail})") from problem
        if not model.graph.node:
            raise self.unfit("it holds no network; expected an ONNX file")
        del model.training_info[:]
        kinds = {one.op_type for one in _within(model, self._onnx.NodeProto)}
        if kinds & _LOOPS:
            found = min(kinds & _LOOPS)
            raise self.unfit(f"it contains a {found}, which may run forever. Export it without")
        room = _MOST_BYTES - len(content)
        for tensor in _within(model, self._onnx.TensorProto):
            if tensor.data_location == _EXTERNAL:
                room -= self._fill(tensor, room)
        return model

    def _fill(self, tensor: Any, room: int) -> int:
        """Put weights that lie in a file of their own in their place; return how many bytes."""
        told = {one.key: one.value for one in tensor.external_data}
        path = self.path.parent / told.get("location", "")
        try:
            start, length = int(told.get("offset", 0)), int(told.get("length", -1))
        except ValueError:
            start = length = -2
        content = self._read(path, start, length, room, f"of the weights {tensor.name!r} ")
        tensor.raw_data = content
        tensor.data_location = 0
        del tensor.external_data[:]
        return len(content)

    def _read(
        self, path: Path, start: int = 0, length: int = -1, room: int = _MOST_BYTES, whose: str = ""
    ) -> bytes:
        """Read a file, or a part of it, if it lies in the folder and is not too large."""
        if not is_file(path):
            raise self.unfit(f"the file {whose}is missing: expected {str(path)!r}")
        if not lies_within(path, self._within):
            raise self.unfit(
                f"the file {whose}is {path.resolve()}, outside of {self._within}; nothing outside "
                "is read. Put it there"
            )
        size = path.stat().st_size
        wanted = size - start if length == -1 else length
        if min(start, wanted) < 0 or start + wanted > size:
            raise self.unfit(
                f"{path.name} has {size:,} bytes, too few for what the network says {whose}"
                f"(from byte {start:,}, {wanted:,} bytes). Download or export it again"
            )
        if wanted > room:
            raise self.unfit(
                f"it has more than {_MOST_BYTES / 2**30:.1f} GB of weights. Export it in half "
                "precision, or take a smaller one"
            )
        with path.open("rb") as stream:
            stream.seek(start)
            return stream.read(wanted)


def is_file(path: Path) -> bool:
    """Return whether there is a regular file, also where the name cannot be one."""
    try:
        return path.is_file()
    except OSError:  # a name that is too long
        return False


def lies_within(path: Path, folder: Path) -> bool:
    """Return whether a path leads into a folder, links followed."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):  # links in a circle, names that cannot be
        return False


def _names_read(node: Any) -> list[str]:
    """Return the tensors that a node reads, also those that a graph inside of it does."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
            names += [name for one in inner.node for name in _names_read(one)]
            names += [output.name for output in inner.output]
    return names


def _within(message: Any, kind: Any) -> Iterator[Any]:
    """Yield all messages of a kind inside of another; weights are not searched."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for one in [value] if hasattr(value, "ListFields") else value:
            if isinstance(one, kind):
                yield one
            if one.DESCRIPTOR.name != "TensorProto":
                yield from _within(one, kind)
