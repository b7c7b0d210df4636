import io
import os
import pickle
import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tagloom.errors import ModelFileError
from tagloom.vision.encoders.efficientnet import read_torch_weights

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


class FakeTorch:
    """Writes files as torch's older format has them, from modules that only look like torch."""

    def __init__(self, patch):
        torch, utils = ModuleType("torch"), ModuleType("torch._utils")
        for name in ("FloatStorage", "LongStorage"):
            setattr(torch, name, type(name, (), {"__module__": "torch"}))

        def _rebuild_tensor_v2(*_):
            raise AssertionError("never called while writing")

        _rebuild_tensor_v2.__module__ = "torch._utils"
        _rebuild_tensor_v2.__qualname__ = "_rebuild_tensor_v2"
        utils._rebuild_tensor_v2 = _rebuild_tensor_v2
        patch.setitem(sys.modules, "torch", torch)
        patch.setitem(sys.modules, "torch._utils", utils)
        self.torch, self.utils = torch, utils

    def write(self, state, storages, *, magic=0x1950A86A20F9469CFC6C):
        stream = io.BytesIO()
        for head in (magic, 1001, {"little_endian": True}):
            pickle.dump(head, stream, protocol=2)
        self._pickler(stream, storages).dump(state)
        pickle.dump(list(storages), stream, protocol=2)
        for values in storages.values():
            stream.write(len(values).to_bytes(8, "little") + values.tobytes())
        return stream.getvalue()

    def tensor(self, key, offset, shape, strides):
        return _Tensor(self, key, offset, shape, strides)

    def _pickler(self, stream, storages):
        fake = self

        class Pickler(pickle.Pickler):
            def persistent_id(self, value):
                if not isinstance(value, _Storage):
                    return None
                values = storages[value.key]
                kind = "LongStorage" if values.dtype == np.int64 else "FloatStorage"
                return ("storage", getattr(fake.torch, kind), value.key, "cpu", len(values), None)

        return Pickler(stream, protocol=2)


class _Storage:
    def __init__(self, key):
        self.key = key


class _Tensor:
    def __init__(self, fake, *args):
        self.fake, (self.key, self.offset, self.shape, self.strides) = fake, args

    def __reduce__(self):
        rest = (self.offset, self.shape, self.strides, False, None)
        return (self.fake.utils._rebuild_tensor_v2, (_Storage(self.key), *rest))


@pytest.fixture
def fake(monkeypatch):
    return FakeTorch(monkeypatch)


def read(tmp_path, content):
    path = tmp_path / "weights.pth"
    path.write_bytes(content)
    return read_torch_weights(path)


@quick
@given(shape=st.lists(st.integers(1, 4), max_size=4), data=st.data())
def test_tensors_come_back_in_any_order_of_axes(fake, tmp_path, shape, data):
    values = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    axes = data.draw(st.permutations(range(len(shape))))
    stored = np.ascontiguousarray(values.transpose(axes))
    steps = np.zeros(len(shape), dtype=int)
    steps[list(axes)] = [step // 4 for step in stored.strides]
    tensor = fake.tensor("0", 0, tuple(shape), tuple(int(step) for step in steps))
    weights = read(tmp_path, fake.write({"w": tensor}, {"0": stored.ravel()}))
    np.testing.assert_array_equal(weights["w"], values)


def test_two_tensors_may_share_a_storage(fake, tmp_path):
    shared = np.arange(6, dtype=np.float32)
    state = {"a": fake.tensor("0", 0, (2,), (1,)), "b": fake.tensor("0", 2, (2, 2), (2, 1))}
    state["steps"] = fake.tensor("1", 0, (), ())
    weights = read(tmp_path, fake.write(state, {"0": shared, "1": np.array([7])}))
    np.testing.assert_array_equal(weights["a"], [0, 1])
    np.testing.assert_array_equal(weights["b"], [[2, 3], [4, 5]])
    assert weights["steps"] == 7


class Malice:
    def __init__(self, call):
        self.call = call

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize(
    "call",
    [
        (os.system, ("touch {}",)),
        (eval, ("open({!r}, 'w')",)),
        (getattr, ("x", "y")),
        (np.frombuffer, (b"1234",)),
    ],
)
def test_a_file_that_asks_for_code_is_refused_and_nothing_runs(fake, tmp_path, call):
    trap = tmp_path / "trap"
    function, (first, *rest) = call
    argument = first.format(str(trap)) if isinstance(first, str) else first
    content = fake.write({"w": Malice((function, (argument, *rest)))}, {})
    with pytest.raises(ModelFileError, match="asks for"):
        read(tmp_path, content)
    assert not trap.exists()


@pytest.mark.parametrize(
    ("offset", "shape", "strides"),
    [(0, (7,), (1,)), (5, (2,), (1,)), (0, (2, 2), (5, 1)), (-1, (1,), (1,)), (0, (2,), (-1,))],
)
def test_a_tensor_beyond_its_storage_is_refused(fake, tmp_path, offset, shape, strides):
    tensor = fake.tensor("0", offset, shape, strides)
    with pytest.raises(ModelFileError, match=r"beyond|strides"):
        read(tmp_path, fake.write({"w": tensor}, {"0": np.zeros(6, dtype=np.float32)}))


@quick
@given(data=st.data())
def test_a_file_cut_short_anywhere_is_an_error(fake, tmp_path, data):
    tensor = fake.tensor("0", 0, (6,), (1,))
    content = fake.write({"w": tensor}, {"0": np.zeros(6, dtype=np.float32)})
    kept = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(ModelFileError, match=r"weights\.pth"):
        read(tmp_path, content[:kept])


@quick
@given(noise=st.binary(max_size=200))
def test_noise_is_an_error_that_names_the_file(tmp_path, noise):
    with pytest.raises(ModelFileError, match=r"weights\.pth"):
        read(tmp_path, noise)


def test_another_magic_number_is_refused(fake, tmp_path):
    with pytest.raises(ModelFileError, match="magic"):
        read(tmp_path, fake.write({}, {}, magic=1))
