"""Arrays of other libraries as feeds, inputs of signatures and constants."""

from __future__ import annotations

import decimal
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

import graphio as tf

VALUES = np.float32([[1.0, 2.0], [3.0, 4.5]])


class Device:
    def __init__(self, kind: str) -> None:
        self.type = kind

    def __str__(self) -> str:
        return f"{self.type}:0"


class Tensor:
    """Behaves as a torch tensor does where numpy asks."""

    def __init__(
        self, array: Any, dtype: str = "", *, grad: bool = False, device: str = "cpu",
        layout: str = "torch.strided",
    ) -> None:  # fmt: skip
        self._array = np.asarray(array)
        self.dtype = f"torch.{dtype or self._array.dtype.name}"
        self._grad, self.device, self.layout = grad, Device(device), layout

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if self._grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.device.type != "cpu" or self.layout != "torch.strided":
            raise TypeError("can't convert this tensor to numpy")
        if self.dtype in ("torch.bfloat16", "torch.float8_e4m3fn"):
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._array if dtype is None else self._array.astype(dtype)

    def detach(self) -> Tensor:
        return Tensor(self._array, self.dtype[6:], device=self.device.type, layout=self.layout)

    def contiguous(self) -> Tensor:
        return self

    def view(self, dtype: str) -> Tensor:
        return Tensor(self._array.view(dtype))


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of the name that the class says."""
    fake = types.SimpleNamespace(int16="int16", uint8="uint8")
    monkeypatch.setattr(Tensor, "__module__", "fake_torch.tensor")
    monkeypatch.setitem(sys.modules, "fake_torch", fake)  # type: ignore[arg-type]
    with tf.Graph().as_default():
        yield


@pytest.fixture
def takers(tmp_path: Path) -> dict[str, Callable[[Any], Any]]:
    """Consumers of float32 values: a feed, signatures of both engines, a constant, a variable."""
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.identity(x)
    v = tf.get_variable("v", [2, 2])
    session = tf.Session()
    tf.saved_model.save(tmp_path / "m.gio", session, {"p": ({"x": x}, {"y": y})})
    models = [tf.saved_model.load(tmp_path / "m.gio", target) for target in ("runtime", "cinfer")]
    session.run(v.initializer)

    def assigned(value: Any) -> Any:
        session.state.set("v", value)
        return session.state.get("v")

    return {
        "feed": lambda value: session.run(y, {x: value}),
        "runtime": lambda value: models[0].signature()(value)["y"],
        "cinfer": lambda value: models[1].signature()(value)["y"],
        "constant": lambda value: session.run(tf.constant(value, tf.float32)),
        "variable": assigned,
    }


TAKEN: dict[str, Any] = {
    "a tensor": lambda: Tensor(VALUES),
    "one with a gradient": lambda: Tensor(VALUES, grad=True),
    "one of bfloat16": lambda: Tensor(VALUES.astype(ml_dtypes.bfloat16), "bfloat16", grad=True),
    "one of float8": lambda: Tensor(VALUES.astype(ml_dtypes.float8_e4m3fn), "float8_e4m3fn"),
    "bfloat16 of ml_dtypes": lambda: VALUES.astype(ml_dtypes.bfloat16),
    "a masked array without a mask": lambda: np.ma.masked_array(VALUES),
    "a tensor of Arrow's": lambda: pa.Tensor.from_numpy(VALUES).to_numpy(),
    "doubles": lambda: Tensor(VALUES.astype(np.float64)),
}


@pytest.mark.parametrize("name", TAKEN)
def test_arrays_of_other_libraries_are_taken(
    name: str, takers: dict[str, Callable[[Any], Any]]
) -> None:
    for take in takers.values():
        assert take(TAKEN[name]()).tolist() == VALUES.tolist()


def test_lists_of_tensors_are_taken_as_feeds(takers: dict[str, Callable[[Any], Any]]) -> None:
    rows = [Tensor(row, grad=True) for row in VALUES]
    for name in ("feed", "runtime", "cinfer"):
        assert takers[name](rows).tolist() == VALUES.tolist()


MASKED = np.ma.masked_array(VALUES, mask=[[False, True], [False, False]])
CUDA = types.SimpleNamespace(__cuda_array_interface__={"shape": (2, 2)})
REFUSED: dict[str, tuple[Any, str]] = {
    "on a GPU": (Tensor(VALUES, device="cuda"), r"on the device cuda:0: give tensor\.cpu\(\)"),
    "on meta": (Tensor(VALUES, device="meta"), "on the device meta, where tensors have no values"),
    "sparse": (Tensor(VALUES, layout="torch.sparse_coo"), r"is sparse .*give tensor\.to_dense"),
    "masked": (MASKED, "1 of the 4 values of a masked array are masked"),
}
OBJECTS: dict[str, tuple[Any, str]] = {
    "decimals": ([[decimal.Decimal(1)] * 2] * 2, "such as Decimal"),
    "objects": (np.array([[1, None], [2, 3]], object), "such as NoneType"),
    "scipy": (sparse.csr_matrix(VALUES), r"csr_matrix is sparse: give matrix\.toarray\(\)"),
}


@pytest.mark.parametrize("name", REFUSED | OBJECTS)
def test_what_has_no_plain_values_is_refused_by_its_name(
    name: str, takers: dict[str, Callable[[Any], Any]]
) -> None:
    value, words = (REFUSED | OBJECTS)[name]
    for taker in takers if name in REFUSED else ("feed", "runtime", "cinfer", "variable"):
        with pytest.raises((TypeError, ValueError), match=words):
            takers[taker](value)


def test_an_array_on_a_gpu_says_so(takers: dict[str, Callable[[Any], Any]]) -> None:
    class Array:
        """As CuPy's: numpy may not copy it."""

        __cuda_array_interface__ = {"shape": (2, 2)}

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    for take in takers.values():
        with pytest.raises((TypeError, ValueError), match=r"is on a GPU: give its copy"):
            take(Array())


def test_tensors_of_torch_itself_are_taken(takers: dict[str, Callable[[Any], Any]]) -> None:
    torch: Any = pytest.importorskip("torch")
    plain = torch.tensor(VALUES)
    grown = plain.clone().requires_grad_()
    for tensor in (plain, grown, plain.bfloat16(), grown.bfloat16(), plain.T.contiguous().T):
        for take in takers.values():
            assert take(tensor).tolist() == VALUES.tolist()
    for tensor, words in ((plain.to_sparse(), "sparse"), (plain.to("meta"), "meta")):
        for take in takers.values():
            with pytest.raises((TypeError, ValueError), match=words):
                take(tensor)
