"""EfficientNet-Lite as an ONNX graph, built from its weights with numpy and onnx alone."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = Mapping[str, NDArray[Any]]

# Blocks and first stride of each of the seven stages at depth 1; the first and the last stage do
# not grow with depth in the Lite family. Kernel sizes and widths are read off the weights.
_STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))
_EPSILON = 1e-3
_OPSET = 17
_IR_VERSION = 8


def block_strides(depth: float) -> list[int]:
    """Give the stride of each block of a network of that depth.

    >>> block_strides(1.0)
    [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
    """
    strides: list[int] = []
    for place, (blocks, stride) in enumerate(_STAGES):
        fixed = place in (0, len(_STAGES) - 1)
        repeats = blocks if fixed else math.ceil(depth * blocks)
        strides += [stride] + [1] * (repeats - 1)
    return strides


def build_efficientnet(weights: Weights, *, size: int, depth: float, batch: int) -> bytes:
    """Serialise the network as an ONNX model.

    Its input ``pictures`` is uint8 of shape (batch, size, size, 3), RGB. The network begins with
    the preprocessing it was trained with, ``(x - 127) / 128``, so that no caller can get it wrong.
    Its outputs are ``visual`` (batch, 1280), the pooled last features, ``logits`` (batch, 1000)
    and ``posteriors`` (batch, 1000), their softmax.
    """
    graph = _GraphWriter()
    flow = graph.normalise("pictures", shift=127.0, scale=1 / 128)
    flow = graph.relu6(graph.convolve(flow, *_folded(weights, "_conv_stem", "_bn0"), stride=2))
    strides = block_strides(depth)
    present = {name.split(".")[1] for name in weights if name.startswith("_blocks.")}
    if len(present) != len(strides):
        raise ValueError(f"the weights hold {len(present)} blocks, expected {len(strides)}")
    for place, stride in enumerate(strides):
        flow = _block(graph, weights, f"_blocks.{place}.", flow, stride)
    flow = graph.relu6(graph.convolve(flow, *_folded(weights, "_conv_head", "_bn1")))
    graph.classify(flow, weights["_fc.weight"], weights["_fc.bias"])
    return graph.finish(batch, size, weights["_fc.weight"].shape)


def _block(graph: "_GraphWriter", weights: Weights, prefix: str, flow: str, stride: int) -> str:
    """Widen (but for the first block), convolve each channel by itself, narrow, add the input."""
    entry = flow
    if f"{prefix}_expand_conv.weight" in weights:
        flow = graph.relu6(
            graph.convolve(flow, *_folded(weights, f"{prefix}_expand_conv", f"{prefix}_bn0"))
        )
    kernel, bias = _folded(weights, f"{prefix}_depthwise_conv", f"{prefix}_bn1")
    flow = graph.relu6(graph.convolve(flow, kernel, bias, stride=stride, groups=len(bias)))
    kernel, bias = _folded(weights, f"{prefix}_project_conv", f"{prefix}_bn2")
    flow = graph.convolve(flow, kernel, bias)
    if stride == 1 and graph.channels[entry] == len(bias):
        flow = graph.add("Add", [entry, flow], channels=len(bias))
    return flow


def _folded(weights: Weights, conv: str, norm: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Fold a batch normalisation into the convolution before it.

    ``γ (w∗x - μ) / √(σ² + ε) + β`` is the convolution with kernel ``γ w / √(σ² + ε)`` and bias
    ``β - γ μ / √(σ² + ε)``; it is worked out in float64 and rounded once.
    """
    gamma, beta, mean, variance = (
        weights[f"{norm}.{part}"].astype(np.float64)
        for part in ("weight", "bias", "running_mean", "running_var")
    )
    scale = gamma / np.sqrt(variance + _EPSILON)
    kernel = weights[f"{conv}.weight"].astype(np.float64) * scale[:, None, None, None]
    return kernel.astype(np.float32), (beta - scale * mean).astype(np.float32)


class _GraphWriter:
    """Collects nodes and constants; each method adds a step and names what comes out of it."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.channels: dict[str, int] = {}

    def add(self, kind: str, inputs: list[str], *, channels: int = 0, **attributes: Any) -> str:
        from onnx import helper

        output = attributes.pop("output", f"{kind.lower()}_{len(self.nodes)}")
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        self.channels[output] = channels
        return str(output)

    def constant(self, value: Any) -> str:
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(value, dtype=np.float32)
        # numpy turns a number into a row of one; a bound of Clip has to stay a number.
        array = array.reshape(np.shape(value))
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def normalise(self, flow: str, *, shift: float, scale: float) -> str:
        from onnx import TensorProto

        flow = self.add("Cast", [flow], to=TensorProto.FLOAT)
        flow = self.add("Sub", [flow, self.constant(shift)])
        flow = self.add("Mul", [flow, self.constant(scale)])
        return self.add("Transpose", [flow], perm=[0, 3, 1, 2], channels=3)

    def convolve(
        self,
        flow: str,
        kernel: NDArray[Any],
        bias: NDArray[Any],
        *,
        stride: int = 1,
        groups: int = 1,
    ) -> str:
        inputs = [flow, self.constant(kernel), self.constant(bias)]
        # An odd pixel of padding goes below and to the right, as in the training.
        return self.add(
            "Conv",
            inputs,
            channels=len(bias),
            strides=[stride, stride],
            group=groups,
            auto_pad="SAME_UPPER",
        )

    def relu6(self, flow: str) -> str:
        bounds = [self.constant(0.0), self.constant(6.0)]
        return self.add("Clip", [flow, *bounds], channels=self.channels[flow])

    def classify(self, flow: str, kernel: NDArray[Any], bias: NDArray[Any]) -> None:
        flow = self.add("GlobalAveragePool", [flow])
        visual = self.add("Flatten", [flow], axis=1, output="visual")
        inputs = [visual, self.constant(kernel), self.constant(bias)]
        logits = self.add("Gemm", inputs, transB=1, output="logits")
        self.add("Softmax", [logits], axis=1, output="posteriors")

    def finish(self, batch: int, size: int, head: tuple[int, ...]) -> bytes:
        import onnx
        from onnx import TensorProto, helper

        classes, width = head
        pictures = [batch, size, size, 3]
        outputs = {"visual": width, "logits": classes, "posteriors": classes}
        graph = helper.make_graph(
            self.nodes,
            "efficientnet-lite",
            [helper.make_tensor_value_info("pictures", TensorProto.UINT8, pictures)],
            [
                helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, columns])
                for name, columns in outputs.items()
            ],
            self.constants,
        )
        opset = helper.make_opsetid("", _OPSET)
        model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())
