"""One SHA-256 for every compiler, instruction set, thread count, batch size and machine.

    python tools/bits_matrix.py [--model MODEL.gio --inputs INPUTS.bin] [--only NAME ...]

Builds cinfer/tests/bits.c with each row of BUILDS, runs the model in all ways and prints a table.
The exit code is 0 only if every build was made, every instruction set was run, and all hashes of a
signature agree. Without --model it takes the digits network of the demo, `predict` on 64 images,
whole and row by row, and two steps of `train` from the initial weights; and the signatures of
bits_families.py, which have the kernels of every family.
"""

from __future__ import annotations

import argparse
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CINFER = ROOT / "cinfer"
MAGIC = b"GIOBITS1"
C11 = ("-std=c11", "-ffp-contract=off")
STEPS = 2


X86 = ("portable", "avx2", "avx512")


class Build(NamedTuple):
    """How the program is built, what runs it, and the instruction sets that must be there."""

    name: str
    compiler: str
    flags: tuple[str, ...]
    one_file: bool
    emulator: str = ""
    isas: tuple[str, ...] = X86


ARM = ("portable", "neon")
PLAIN = ("portable",)
STATIC = ("-O2", "-static")
AARCH64, S390X = "aarch64-linux-gnu-gcc", "s390x-linux-gnu-gcc"
BUILDS = (
    Build("gcc -O2", "gcc", ("-O2", *C11), False),
    Build("gcc -O3, contraction on", "gcc", ("-O3", "-ffp-contract=fast"), False),
    Build("clang -O2", "clang", ("-O2", *C11), False),
    Build("clang -O2, one file", "clang", ("-O2",), True),
    Build("cc -O2, one file", "cc", ("-O2",), True),
    Build("aarch64 gcc", AARCH64, STATIC, True, "qemu-aarch64", ARM),
    Build("s390x gcc", S390X, STATIC, True, "qemu-s390x", PLAIN),
    Build("s390x gcc -std=c11", S390X, (*STATIC, *C11), False, "qemu-s390x", PLAIN),
)


class Run(NamedTuple):
    """One line of the program: what was computed how, and its hash."""

    build: str
    isa: str
    threads: str
    signature: str
    way: str
    digest: str


def write_inputs(
    path: Path, sets: Mapping[str, tuple[bool, Sequence[np.ndarray[Any, Any]]]]
) -> None:
    """Writes what bits.c reads.

    Args:
        sets: by signature: whether the arrays are rows of a batch, and the arrays in the
            signature's order.
    """
    from graphio.schema import dtypes

    with path.open("wb") as file:
        file.write(MAGIC + struct.pack("<I", len(sets)))
        for name, (rows, arrays) in sets.items():
            text = name.encode()
            file.write(struct.pack("<I", len(text)) + text + struct.pack("<II", rows, len(arrays)))
            for array in arrays:
                number = dtypes.of_numpy(array.dtype).number
                file.write(struct.pack("<ii", number, array.ndim))
                file.write(struct.pack(f"<{array.ndim}q", *array.shape))
                file.write(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes())


def digits(folder: Path) -> tuple[Path, Path]:
    """The demo's network with its initial weights, and a batch."""
    sys.path.insert(0, str(ROOT / "examples" / "digits"))
    from model import build, data
    from train import signatures

    import graphio as tf

    network = build()
    images = data()
    model, inputs = folder / "digits.gio", folder / "digits.bin"
    with tf.Session(graph=network.graph) as session:
        with network.graph.as_default():
            session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(model), session, signatures(network))
    x, y = images.batch(0)
    write_inputs(inputs, {"predict": (True, [images.test_x[:64]]), "train": (False, [x, y])})
    return model, inputs


def families(folder: Path) -> tuple[Path, Path]:
    """Kernels of every family."""
    sys.path.insert(0, str(ROOT / "tools"))
    from bits_families import build

    model, inputs = folder / "families.gio", folder / "families.bin"
    write_inputs(inputs, build(model))
    return model, inputs


def sources(one_file: bool) -> list[str]:
    """What is compiled: the parts, or the file that includes them."""
    if one_file:
        return [str(CINFER / "cinfer.c")]
    return sorted(map(str, (*CINFER.glob("src/*.c"), *CINFER.glob("src/kernels/*.c"))))


def compile_program(build: Build, folder: Path) -> Path:
    """The program of a build; a failing compiler ends everything."""
    program = folder / build.name.replace(" ", "_").replace(",", "")
    command = [build.compiler, *build.flags, f"-I{CINFER / 'include'}"]
    command += [str(CINFER / "tests" / "bits.c"), *sources(build.one_file)]
    subprocess.run([*command, "-lm", "-pthread", "-o", str(program)], check=True)
    return program


def run_program(build: Build, program: Path, model: Path, inputs: Path) -> list[Run]:
    """All that the program printed."""
    command = [build.emulator] if build.emulator else []
    command += [str(program), str(model), str(inputs), str(STEPS)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{build.name}: {done.stderr.strip() or done.returncode}")
    runs = []
    for line in done.stdout.splitlines():
        isa, threads, signature, way, digest = line.split()
        runs.append(Run(build.name, isa, threads.removeprefix("threads="), signature, way, digest))
    return runs


def table(runs: Sequence[Run]) -> str:
    """A row a build, instruction set and thread count; a column a signature and way."""
    columns = list(dict.fromkeys((r.signature, r.way) for r in runs))
    rows = list(dict.fromkeys((r.build, r.isa, r.threads) for r in runs))
    found = {(r.build, r.isa, r.threads, r.signature, r.way): r.digest for r in runs}
    lines = [("build", "isa", "threads", *(f"{s}, {w}" for s, w in columns))]
    lines += [(*row, *(found.get((*row, *c), "missing")[:16] for c in columns)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def gaps(builds: Sequence[Build], runs: Sequence[Run]) -> list[str]:
    """Instruction sets that this machine cannot run."""
    ran = {(r.build, r.isa) for r in runs}
    return [
        f"{b.name}: no {isa} here" for b in builds for isa in b.isas if (b.name, isa) not in ran
    ]


def disagreements(runs: Sequence[Run]) -> list[str]:
    """Signatures with more than one hash."""
    digests: dict[str, set[str]] = {}
    for run in runs:
        digests.setdefault(run.signature, set()).add(run.digest)
    return [f"{name}: {len(found)} hashes" for name, found in digests.items() if len(found) > 1]


def chosen(only: Sequence[str] | None) -> list[Build]:
    """The builds to make; one whose compiler or emulator is not there is an error."""
    builds = [b for b in BUILDS if not only or any(word in b.name for word in only)]
    tools = {tool for b in builds for tool in (b.compiler, b.emulator) if tool}
    missing = sorted(tool for tool in tools if not shutil.which(tool))
    if missing:
        raise SystemExit(
            f"bits_matrix: {', '.join(missing)} not found; .ci/run shows the packages. --only "
            "leaves builds out"
        )
    return builds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", type=Path)
    parser.add_argument("--inputs", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="builds whose name contains NAME")
    arguments = parser.parse_args()
    builds = chosen(arguments.only)
    runs: list[Run] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.model:
            models = [(arguments.model, arguments.inputs)]
        else:
            models = [digits(folder), families(folder)]
        for build in builds:
            print(f"{build.name} ...", file=sys.stderr, flush=True)
            program = compile_program(build, folder)
            for model, inputs in models:
                runs += run_program(build, program, model, inputs)
    print(table(runs))
    wrong = [*gaps(builds, runs), *disagreements(runs)]
    print("\n".join(wrong) if wrong else f"all {len(runs)} hashes agree, one a signature")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
