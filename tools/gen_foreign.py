"""Writes tests/golden/foreign: small files as torch 2.13 and TensorFlow 2.21 write them.

    python tools/gen_foreign.py torch         # where torch is installed
    python tools/gen_foreign.py tensorflow    # where TensorFlow is

`KIND.expected.npz` has the values that the frameworks themselves show. The files stay
as they are: run this only for new ones.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "golden" / "foreign"


def save_expected(kind: str, values: dict[str, Any]) -> None:
    """Writes the expected values; types that numpy lacks as float32."""
    np.savez(FOLDER / f"{kind}.expected.npz", **values)


def torch_files() -> None:
    """A state dict of many dtypes and views, and a training's dict of dicts."""
    import torch

    torch.manual_seed(0)
    wide = torch.arange(24.0).reshape(4, 6)
    state = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2)).state_dict()
    state.update(
        transposed=wide.t(),
        column=wide[:, 2],
        inner=wide[1:3, 2:5],
        parameter=torch.nn.Parameter(torch.tensor([1.5, -2.5])),
        scalar=torch.tensor(7),
        empty=torch.zeros(0, 3),
        conjugate=torch.tensor([1 + 2j, 3 - 1j]).conj(),
        negative=torch.tensor([1 + 2j, 3 - 1j]).conj().imag,
        e5m2=torch.tensor([0.5, -2.0]).to(torch.float8_e5m2),
        **{
            str(dtype).removeprefix("torch."): torch.tensor([0, 1, 3]).to(dtype)
            for dtype in (
                *(torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.int16),
                *(torch.int32, torch.uint8, torch.uint16, torch.uint32, torch.uint64),
                *(torch.bool, torch.complex64, torch.complex128, torch.float8_e4m3fn),
            )
        },
    )
    torch.save(state, FOLDER / "torch_state.pt")
    save_expected("torch_state", {name: _numpy(value) for name, value in state.items()})
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(4, 3)).sum().backward()
    optimizer.step()
    torch.save(
        {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "epoch": 3,
            "history": [torch.tensor(0.5), torch.tensor(0.25)],
            "size": torch.Size([2, 3]),
        },
        FOLDER / "torch_training.pt",
    )
    values = {f"model.{name}": value for name, value in model.state_dict().items()}
    for i, slots in optimizer.state_dict()["state"].items():
        values.update({f"optimizer.state.{i}.{slot}": value for slot, value in slots.items()})
    values.update({"history.0": torch.tensor(0.5), "history.1": torch.tensor(0.25)})
    tiny = {"w": torch.tensor([1.5, -2.0])}
    torch.save(tiny, FOLDER / "torch_tiny.pt")
    save_expected("torch_tiny", {"w": _numpy(tiny["w"])})
    save_expected("torch_training", {name: _numpy(value) for name, value in values.items()})


def torch_network() -> None:
    """A small convolutional network with what it answers."""
    import torch

    torch.manual_seed(1)
    network = torch.nn.Sequential()
    network.add_module("conv", torch.nn.Conv2d(3, 4, (3, 2), padding="same"))
    network.add_module("norm", torch.nn.BatchNorm2d(4))
    network.add_module("relu", torch.nn.ReLU())
    network.add_module("depth", torch.nn.Conv2d(4, 4, 3, groups=4, padding="same"))
    network.add_module("pool", torch.nn.AdaptiveAvgPool2d(1))
    network.add_module("flat", torch.nn.Flatten())
    network.add_module("fc1", torch.nn.Linear(4, 5))
    network.add_module("tanh", torch.nn.Tanh())
    network.add_module("fc2", torch.nn.Linear(5, 2))
    x = torch.randn(6, 3, 8, 8)
    network(x)  # moves the batch norm's averages
    network.eval()
    torch.save(network.state_dict(), FOLDER / "torch_network.pt")
    values = {name: _numpy(value) for name, value in network.state_dict().items()}
    save_expected("torch_network", {**values, "(input)": x[:2].numpy(),
                                    "(output)": network(x[:2]).detach().numpy()})  # fmt: skip


def _numpy(tensor: Any) -> Any:
    plain = tensor.detach().resolve_conj().resolve_neg()
    small = str(plain.dtype) == "torch.bfloat16" or "float8" in str(plain.dtype)
    return (plain.float() if small else plain).numpy()


def tensorflow_files() -> None:
    """Checkpoints of the Saver, with sharding and partitions, and one of tf.train.Checkpoint."""
    import tensorflow as tf

    rng = np.random.default_rng(0)
    keras_like(tf, rng)
    v1 = tf.compat.v1
    v1.disable_eager_execution()
    with v1.Graph().as_default(), v1.Session() as session:
        for resource in (False, True):
            with v1.variable_scope("resource" if resource else "ref", use_resource=resource):
                v1.get_variable("weights", initializer=rng.normal(size=(3, 4)).astype(np.float32))
                v1.get_variable("step", initializer=np.int64(12))
        v1.get_variable("half", initializer=tf.cast([1.0, 2.5, -3.0], tf.bfloat16))
        v1.get_variable("complex", initializer=tf.constant([1 + 2j, -1j], tf.complex64))
        v1.get_variable(
            "texts", initializer=tf.constant([[b"x", b"hello"], [b"", b"\0\xff" * 100]])
        )
        v1.get_variable("empty", initializer=np.zeros((0, 3), np.float32))
        v1.get_variable(
            "table",
            shape=(150, 2),
            initializer=v1.random_normal_initializer(seed=1),
            partitioner=v1.fixed_size_partitioner(3),
        )
        v1.get_variable(
            "columns",
            shape=(2, 5),
            dtype=tf.int32,
            initializer=v1.random_uniform_initializer(0, 9, dtype=tf.int32, seed=2),
            partitioner=v1.fixed_size_partitioner(2, axis=1),
        )
        session.run(v1.global_variables_initializer())
        save(v1.train.Saver(), session, "tf_saver")
    expected(tf, "tf_saver")
    with v1.Graph().as_default():
        config = v1.ConfigProto(device_count={"CPU": 2})
        with v1.Session(config=config) as session:
            for i in range(2):
                with tf.device(f"/cpu:{i}"):
                    v1.get_variable(f"on{i}", initializer=np.float64([i, 2 * i, 7]))
            session.run(v1.global_variables_initializer())
            save(v1.train.Saver(sharded=True), session, "tf_sharded")
    expected(tf, "tf_sharded")


def save(saver: Any, session: Any, name: str) -> None:
    """A checkpoint's index and data, without a graph."""
    saver.save(session, str(FOLDER / name), write_meta_graph=False, write_state=False)


def keras_like(tf: Any, rng: Any) -> None:
    """An object-based checkpoint: a module of two layers, an optimizer's slot, a counter."""

    class Layer(tf.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inputs: int, outputs: int, name: str) -> None:
            super().__init__(name=name)
            with self.name_scope:
                value = rng.normal(size=(inputs, outputs)).astype(np.float32)
                self.kernel = tf.Variable(value, name="kernel")
                self.bias = tf.Variable(np.zeros(outputs, np.float32), name="bias")

    model = tf.Module()
    model.layers = [Layer(3, 4, "first"), Layer(4, 2, "second")]
    checkpoint = tf.train.Checkpoint(model=model, step=tf.Variable(5, name="step"))
    checkpoint.write(str(FOLDER / "tf_objects"))
    expected(tf, "tf_objects")


def expected(tf: Any, prefix: str) -> None:
    """The values as TensorFlow's own reader shows them."""
    reader = tf.train.load_checkpoint(str(FOLDER / prefix))
    values = {}
    for name in reader.get_variable_to_shape_map():
        if name != "_CHECKPOINTABLE_OBJECT_GRAPH":
            value = np.asarray(reader.get_tensor(name))
            small = value.dtype.name == "bfloat16"
            strings = value.dtype == object
            values[name] = (
                value.astype(np.float32) if small else value.astype("S") if strings else value
            )
    save_expected(prefix, values)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    chosen = {"torch": (torch_files, torch_network), "tensorflow": (tensorflow_files,)}
    for write in chosen[sys.argv[1]]:
        write()
