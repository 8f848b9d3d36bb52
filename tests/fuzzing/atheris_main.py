"""Fuzzes one target with atheris: python atheris_main.py --target=NAME [flags and folders].

tools/fuzz.py calls it. FINDINGS=FOLDER in the environment keeps an input of each line that fails
and goes on, so that one run finds many.
"""

from __future__ import annotations

import importlib
import os
import random
import resource
import shlex
import sys
import tempfile
import traceback
from pathlib import Path

import atheris

TESTS = Path(__file__).resolve().parent.parent
# atheris instruments what Python's own finders find, before those of editable installations.
sys.path[:1] = [str(TESTS), str(TESTS.parent)]
sys.meta_path.sort(key=lambda finder: not isinstance(finder, type))
from fuzzing.names import GUIDED_BY  # noqa: E402

MEMORY = 3 << 30  # of addresses, beyond what a process has after its imports: more is a finding


def main() -> None:
    """Runs libFuzzer until it ends."""
    # libFuzzer starts itself again, by a shell, to merge corpora.
    sys.argv[0] = shlex.join([sys.executable, str(Path(__file__).resolve())])
    name = next(a.removeprefix("--target=") for a in sys.argv if a.startswith("--target="))
    with atheris.instrument_imports(include=list(GUIDED_BY[name])):
        target = importlib.import_module(f"fuzzing.{name}").TARGET
    findings = os.environ.get("FINDINGS")

    def custom_mutator(data: bytes, most: int, seed: int) -> bytes:
        changed: bytes = target.change(data, random.Random(seed), atheris.Mutate)
        return changed if len(changed) <= most else data[:most]

    def one(data: bytes) -> None:
        try:
            target.run(data)
        except Exception as error:
            if findings is None:
                raise
            _keep(Path(findings), data, error)

    with tempfile.TemporaryDirectory() as folder:
        if any(map(os.path.isdir, sys.argv[1:])):
            for number, data in enumerate(target.seeds()):
                (Path(folder) / f"{number:03}").write_bytes(data)
            sys.argv.append(folder)
        atheris.Setup(sys.argv, one, custom_mutator=custom_mutator)
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))
        atheris.Fuzz()


def _keep(folder: Path, data: bytes, error: Exception) -> None:
    """Keeps one input of each error class and line that fails."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "/graphio/" in f.filename] or frames
    path = folder / f"{type(error).__name__}-{Path(own[-1].filename).stem}-{own[-1].lineno}"
    if not path.exists():
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))


if __name__ == "__main__":
    main()
