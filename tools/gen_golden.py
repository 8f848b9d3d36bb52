"""Writes the golden files of a format version, once and for ever.

    python tools/gen_golden.py VERSION
    python tools/gen_golden.py VERSION-packed
    python tools/gen_golden.py VERSION-metrics

A golden file is a model with self-tests: inputs, and the outputs that cinfer gave. golden.json has
the SHA-256 of each file and of its outputs. What is there is never written again: a later version
of the format gets a separate folder, as do the same models with packed tiles in all arrays that
may have them, and the same checkpoint, alone, with metrics.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/support"))

import schema_samples  # noqa: E402
from probes import PROBES, Probe, build, run_script  # noqa: E402

import graphio as tf  # noqa: E402
import graphio.cinfer  # noqa: E402
from graphio.schema import checkpoint, container  # noqa: E402
from graphio.schema.model_pb2 import IteratorState, Model  # noqa: E402

NUMERICS = 1  # of the kernels whose bits these are (CI_NUMERICS)
SAVED = {"save_id": 0x0123456789ABCDEF, "time": 1_700_000_000}


def probe_file(name: str) -> bytes:
    """The model of a probe with its script as self-tests."""
    graph, probe = build(name)
    with tf.Session("cinfer", graph=graph) as session:
        if tf.global_variables():
            session.run(tf.global_variables_initializer())
        path = ROOT / "tests/golden" / f"{name}.new"
        tf.saved_model.save(path, session, probe.signatures, metadata=probe.metadata)
    try:
        model, arrays = container.read(path)
        return container.pack(model, add_self_tests(model, list(arrays), path, probe))
    finally:
        path.unlink()


def add_self_tests(
    model: Model, arrays: list[np.ndarray], path: Path, probe: Probe
) -> list[np.ndarray]:
    """A self-test a line of the script; returns the arrays with inputs and outputs added."""
    loaded = graphio.cinfer.load(path)
    results = run_script(loaded, probe)
    for (name, inputs), outputs in zip(probe.script, results, strict=True):
        signature = loaded.signature(name)
        test = model.selftest.add(signature=name, numerics=NUMERICS)
        for indices, keys, values in (
            (test.input, signature.inputs, inputs),
            (test.output, signature.outputs, outputs),
        ):
            for key in keys:
                indices.append(len(arrays))
                arrays.append(np.asarray(values[key]))
    return arrays


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def outputs_digest(data: bytes) -> str:
    """Of the bytes of all outputs of all self-tests, in order."""
    model, arrays = container.unpack(data)
    indices = [i for test in model.selftest for i in test.output]
    return schema_samples.digest([arrays[i] for i in indices])


def with_packed_tiles(data: bytes) -> bytes:
    """A model with packed tiles in all arrays that may have them, of the first and the last axis in
    turn."""
    model, arrays = container.unpack(data)
    packable = [i for i, a in enumerate(arrays) if a.dtype == np.float32 and a.ndim > 1]
    return container.pack(model, arrays, {i: -(n % 2) for n, i in enumerate(packable)})


def write_checkpoint(folder: Path, metrics: dict[str, float]) -> None:
    folder.mkdir()
    checkpoint.write_checkpoint(
        folder / "m-7",
        schema_samples.state(),
        {"rng": (1, 1 << 63), "it": IteratorState(epoch=2, offset=5), "note": b"hello"},
        step=7,
        meta=container.pack(*schema_samples.model()),
        slots={"v": ("w", "momentum")},
        shard_bytes=600,
        metrics=metrics,
        **SAVED,
    )
    tf.train.update_checkpoint_state(str(folder), str(folder / "m-7"))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    folder = ROOT / "tests/golden" / sys.argv[1]
    folder.mkdir()  # fails if it is there: golden files are never written again
    packed, metrics = (folder.name.endswith(end) for end in ("-packed", "-metrics"))
    files = {} if metrics else {name: probe_file(name) for name in sorted(PROBES)}
    if not metrics:
        files["everything"] = container.pack(*schema_samples.everything())
    if packed:
        moved = {name: with_packed_tiles(data) for name, data in files.items()}
        files = {name: data for name, data in moved.items() if data != files[name]}
    facts: dict[str, dict[str, str]] = {}
    for name, data in files.items():
        (folder / f"{name}.gio").write_bytes(data)
        facts[f"{name}.gio"] = {"file": digest(data), "outputs": outputs_digest(data)}
    if not packed:
        add_checkpoint(folder, facts, schema_samples.METRICS if metrics else {})
    (folder / "golden.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(f"wrote {len(facts)} files to {folder}")
    return 0


def add_checkpoint(
    folder: Path, facts: dict[str, dict[str, str]], metrics: dict[str, float]
) -> None:
    """Writes a checkpoint, too."""
    write_checkpoint(folder / "checkpoint", metrics)
    for path in sorted((folder / "checkpoint").iterdir()):
        facts[f"checkpoint/{path.name}"] = {"file": digest(path.read_bytes())}
    facts["checkpoint/m-7.index"]["variables"] = schema_samples.digest(
        [value for _, value in sorted(schema_samples.state().items())]
    )


if __name__ == "__main__":
    sys.exit(main())
