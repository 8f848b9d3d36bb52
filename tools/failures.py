"""Fails allocations and reads one by one: the deep form of cinfer/tests/test_failures.c.

python tools/failures.py [--stride N] [--only NAME ...]      (make failures)

Every allocation of every signature, on one thread and on two, of models with kernels of every
family, of the demo's training and of the golden files; then every call on files that are read. And
of all parts of the library only memory.c may ask for memory by itself.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sanitizers import cmake

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "failures"
#: functions of the C library that allocate; pthread_create and opendir are not in it, because a
#: program's allocator does not replace their memory
ASKS = {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "memalign", "strdup"}


def asking(archive: Path) -> Iterator[tuple[str, str]]:
    """Parts of a library and what they call to get memory."""
    part = ""
    listed = subprocess.run(["nm", str(archive)], check=True, capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        if line.endswith(":"):
            part = line.removesuffix(":").removesuffix(".o")
        elif line.split()[-2:-1] == ["U"] and line.split()[-1] in ASKS:
            yield part, line.split()[-1]


def models(folder: Path) -> list[Path]:
    """Models with kernels of every family, the demo's, and the golden ones."""
    sys.path.insert(0, str(ROOT / "tools"))
    import bits_matrix

    made = [bits_matrix.families(folder).model, bits_matrix.digits(folder).model]
    return [*sorted((ROOT / "tests" / "golden").rglob("*.gio")), *made]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--stride", type=int, default=1, help="every STRIDE-th allocation")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="models whose file has NAME")
    arguments = parser.parse_args()
    cmake(BUILD)
    begin, wrong = time.monotonic(), []
    found = set(asking(BUILD / "libcinfer.a"))
    if found != {("memory.c", "malloc")}:
        wrong.append(f"memory is requested by {sorted(found)}")
    with tempfile.TemporaryDirectory() as name:
        for model in models(Path(name)):
            if arguments.only and not any(word in model.name for word in arguments.only):
                continue
            command = [BUILD / "test_failures", "--every", str(arguments.stride), model]
            if subprocess.run(command).returncode:
                wrong.append(model.name)
    for test in ("test_failures", "test_failures_of_pieces", "test_failing_reads"):
        if subprocess.run([BUILD / test, ROOT / "tests" / "golden"]).returncode:
            wrong.append(test)
    print(f"failures: {', '.join(wrong) or 'none'}; {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
