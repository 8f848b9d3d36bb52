"""Fuzzes one target with atheris: python -m fuzzing.run TARGET [arguments of libFuzzer].

Writes the target's seeds into its first folder if that is empty.
"""

from __future__ import annotations

import importlib
import os
import random
import resource
import sys
import traceback
from pathlib import Path

import atheris

MODULES = {
    "model_reader": ("graphio.schema", "graphio.runtime"),
    "checkpoint_reader": ("graphio.schema", "graphio.train"),
    "interop": ("graphio.train.interop",),
    "onnx_importer": ("graphio.onnx",),
    "tensorflow_importer": ("graphio.tensorflow_files",),
}
MEMORY = 3 << 30  # of addresses, beyond what a process has after its imports: more is a finding


def main() -> None:
    """Runs libFuzzer until it ends."""
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=list(MODULES[name])):
        target = importlib.import_module(f"fuzzing.{name}").TARGET
    for folder in map(Path, sys.argv[1:]):
        if folder.is_dir() and not any(folder.iterdir()):
            for number, data in enumerate(target.seeds()):
                (folder / f"seed-{number:03}").write_bytes(data)
        break

    def custom_mutator(data: bytes, most: int, seed: int) -> bytes:
        changed = target.change(data, random.Random(seed), atheris.Mutate)
        return changed if len(changed) <= most else data[:most]

    findings = os.environ.get("FINDINGS")

    def one(data: bytes) -> None:
        try:
            target.run(data)
        except Exception as error:
            if findings is None:
                raise
            _keep(Path(findings), data, error)

    atheris.Setup(sys.argv, one, custom_mutator=custom_mutator)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
    atheris.Fuzz()


def _keep(folder: Path, data: bytes, error: Exception) -> None:
    """Keeps an input of each place that fails, so that one run finds many."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "graphio" in f.filename or "runtime" in f.filename] or frames
    path = folder / f"{type(error).__name__}-{Path(own[-1].filename).stem}-{own[-1].lineno}"
    if not path.exists():
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))


if __name__ == "__main__":
    main()
