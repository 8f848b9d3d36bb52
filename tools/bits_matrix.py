"""One SHA-256 a model for every compiler, instruction set, thread count, batch size and machine.

    python tools/bits_matrix.py [--only NAME ...] [--page] [--again]

Builds cinfer/tests/bits.c with each row of bits_builds.py and runs, in all ways, the small models
of bits_models.py, those also with the host's floating-point environment changed; the signatures of
bits_families.py, which have the kernels of every family; the digits network of the demo; and the
golden files, which have to give what they gave when they were written. Each row also saves a
checkpoint, which must have the same bytes, and restores the golden one.

The exit code is 0 only if every build was made, every instruction set, environment and thread count
of its row was run, and all hashes of a signature agree. A row whose sources, models and compiler
have not changed since it last ran is not run again (build/bits). --page writes the tables of
docs/portability.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import struct
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests"), str(ROOT)]

import bits_builds  # noqa: E402
from bits_builds import Build, Data  # noqa: E402

MAGIC = b"GIOBITS2"
ONCE, ROWS, LINE = 0, 1, 2
STEPS = 2
GOLDEN = ROOT / "tests" / "golden"
RESULTS = ROOT / "build" / "bits"
PAGE = ROOT / "docs" / "portability.md"


class Run(NamedTuple):
    """One line of the program: what was computed how, and its hash."""

    build: str
    isa: str
    threads: str
    mode: str
    signature: str
    way: str
    digest: str


Sets = Sequence[tuple[str, int, Sequence[np.ndarray[Any, Any]]]]


def write_inputs(path: Path, sets: Sets) -> None:
    """Writes what bits_inputs.h reads.

    Args:
        sets: signature, kind and the arrays in the signature's order.
    """
    from graphio.schema import dtypes

    data = bytearray(MAGIC + struct.pack("<I", len(sets)))

    def pad(align: int) -> None:
        data.extend(bytes(-len(data) % align))

    for name, kind, arrays in sets:
        text = name.encode()
        data += struct.pack("<I", len(text)) + text
        pad(4)
        data += struct.pack("<II", kind, len(arrays))
        for array in arrays:
            number = dtypes.of_numpy(array.dtype).number
            data += struct.pack("<ii", number, array.ndim)
            data += struct.pack(f"<{array.ndim}q", *array.shape)
            pad(8)
            data += np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
            pad(8)
    path.write_bytes(data)


def built(
    folder: Path, name: str, sets: Mapping[str, tuple[int, Any]], modes: bool = False
) -> Data:
    """A model of the folder, with its inputs written."""
    inputs = folder / f"{name}.bin"
    write_inputs(inputs, [(key, int(kind), arrays) for key, (kind, arrays) in sets.items()])
    return Data(name, folder / f"{name}.gio", inputs, modes)


def models(folder: Path) -> Data:
    """A small model of each kind."""
    from bits_models import build

    return built(folder, "models", build(folder / "models.gio"), modes=True)


def families(folder: Path) -> Data:
    """Kernels of every family."""
    from bits_families import build

    return built(folder, "families", build(folder / "families.gio"))


def digits(folder: Path) -> Data:
    """The demo's network with its initial weights, and a batch: large enough for threads."""
    sys.path.insert(0, str(ROOT / "examples" / "digits"))
    from model import build, data
    from train import signatures

    import graphio as tf

    network, images = build(), data()
    with tf.Session(graph=network.graph) as session:
        with network.graph.as_default():
            session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(folder / "digits.gio"), session, signatures(network))
    x, y = images.batch(0)
    sets = {"predict": (ROWS, [images.test_x[:64]]), "train": (ONCE, [x, y])}
    return built(folder, "digits", sets)


def golden(folder: Path) -> tuple[list[Data], list[Run]]:
    """The self-tests of the golden models as scripts, and the hashes that they had at first."""
    from graphio.schema import container

    data, first = [], []
    for facts in sorted(GOLDEN.glob("*/golden.json")):
        for name, fact in json.loads(facts.read_text()).items():
            source = facts.parent / name
            if not name.endswith(".gio"):
                continue
            model, arrays = container.read(source)
            if not any(test.output for test in model.selftest):
                continue
            key = f"golden/{facts.parent.name}/{source.stem}"
            stem = key.replace("/", "_")
            path = folder / f"{stem}.gio"
            path.write_bytes(source.read_bytes())
            lines = [(t.signature, LINE, [arrays[i] for i in t.input]) for t in model.selftest]
            write_inputs(folder / f"{stem}.bin", lines)
            data.append(Data(key, path, folder / f"{stem}.bin"))
            first.append(Run("as written", "-", "-", "-", key, "script", fact["outputs"]))
    return data, first


def checkpoint_digest(prefix: Path) -> str:
    """Of all bytes of a checkpoint, with the time, the random number and its checksum as zeros."""
    from graphio.schema.checkpoint_index import read_index

    index = read_index(prefix)
    number = b"%016x" % index.save_id
    whole = hashlib.sha256()
    for shard in index.shard:
        whole.update((prefix.parent / shard.file).read_bytes().replace(number, b"0" * 16))
        shard.file = shard.file.replace(number.decode(), "0" * 16)
    if index.meta_file:
        meta = prefix.parent / index.meta_file
        whole.update((meta if meta.exists() else Path(f"{prefix}.meta")).read_bytes())
        index.meta_file = index.meta_file.replace(number.decode(), "0" * 16)
    index.save_id = index.time = 0
    index.shard_header[:] = [0] * len(index.shard_header)
    whole.update(index.SerializeToString(deterministic=True))
    return whole.hexdigest()


def copy_checkpoints(folder: Path) -> None:
    """The golden checkpoints, to where programs run."""
    for number, source in enumerate(sorted(GOLDEN.glob("*/checkpoint"))):
        copy = folder / f"checkpoint{number}"
        copy.mkdir()
        for path in source.iterdir():
            (copy / path.name).write_bytes(path.read_bytes())


def parsed(build: Build, text: str) -> tuple[list[Run], list[str]]:
    """Runs, and the lines that are for people."""
    runs, notes = [], []
    for line in text.splitlines():
        if line.startswith("#"):
            notes.append(line[2:])
            continue
        isa, threads, mode, signature, way, digest = line.split()
        count = threads.removeprefix("threads=")
        runs.append(Run(build.name, isa, count, mode, signature, way, digest))
    return runs, notes


def run_build(build: Build, folder: Path, data: Sequence[Data]) -> tuple[list[Run], list[str]]:
    """All that a build computes, saves and restores."""
    program = bits_builds.compile_program(build, folder, data, STEPS)
    arguments = [str(STEPS)]
    for one in data:
        command = "modes" if one.modes else "run"
        arguments += [command, one.model.name, one.inputs.name, one.name]
    if build.board:
        return parsed(build, bits_builds.run_program(build, program, folder, arguments))
    saved = folder / f"{program.stem}_saved"
    saved.mkdir()
    arguments += ["save", data[0].model.name, data[0].inputs.name, f"{saved.name}/m-{STEPS}"]
    for path in sorted(folder.glob("checkpoint*")):
        arguments += ["restore", f"{path.name}/m-7"]
    runs, notes = parsed(build, bits_builds.run_program(build, program, folder, arguments))
    digest = checkpoint_digest(saved / f"m-{STEPS}")
    return [*runs, Run(build.name, "any", "1", "usual", "checkpoint", "saved", digest)], notes


def key(run: Run) -> str:
    """The name of a hash: a signature; of checkpoints, a signature and "saved" or "restored"."""
    return f"{run.signature} {run.way}" if run.signature == "checkpoint" else run.signature


def digests(runs: Sequence[Run]) -> dict[str, dict[str, int]]:
    """By signature: its hashes, and how often each came."""
    found: dict[str, dict[str, int]] = {}
    for run in runs:
        counts = found.setdefault(key(run), {})
        counts[run.digest] = counts.get(run.digest, 0) + 1
    return found


def gaps(builds: Sequence[Build], runs: Sequence[Run]) -> list[str]:
    """Problems of rows: models that were not run, or run with another number of runs."""
    problems = []
    for build in builds:
        own = [r for r in runs if r.build == build.name]
        requirements = {
            "instruction set": (set(build.isas), {r.isa for r in own}),
            "environment": (set(build.modes), {r.mode for r in own}),
            "number of threads": (
                set(map(str, range(1, build.threads + 1))), {r.threads for r in own}),
        }  # fmt: skip
        for what, (expected, found) in requirements.items():
            problems += [f"{build.name}: no {what} {one} here" for one in sorted(expected - found)]
    return problems


def split_defects(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """The runs that must agree, and sentences about those of DEFECTS."""
    sound = [r for r in runs if (r.build, r.signature) not in bits_builds.DEFECTS]
    hit = dict.fromkeys((r.build, r.signature) for r in runs if r not in sound)
    return sound, [f"{b}: {s} is left out: {bits_builds.DEFECTS[b, s]}" for b, s in hit]


def disagreements(runs: Sequence[Run]) -> list[str]:
    """Signatures with more than one hash, and who has which."""
    problems = []
    for name, counts in digests(runs).items():
        if len(counts) == 1:
            continue
        problems.append(f"{name}: {len(counts)} hashes")
        for digest in counts:
            ways = {f"{r.build} {r.isa} threads={r.threads} {r.mode} {r.way}"
                    for r in runs if key(r) == name and r.digest == digest}  # fmt: skip
            problems.append(f"  {digest[:16]} of {len(ways)} ways, such as {min(ways)}")
    return problems


def hash_table(runs: Sequence[Run]) -> list[str]:
    lines = ["| model | SHA-256 | runs |", "|---|---|---|"]
    for name, counts in digests(runs).items():
        for digest, count in counts.items():
            lines.append(f"| {name} | `{digest}` | {count} |")
    return lines


def build_table(builds: Sequence[Build], runs: Sequence[Run]) -> list[str]:
    lines = ["| row | flags | instruction sets | threads | environments | runs |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for build in builds:
        own = [r for r in runs if r.build == build.name]
        isas = ", ".join(dict.fromkeys(r.isa for r in own if r.isa != "any"))
        threads = ", ".join(sorted({r.threads for r in own}))
        modes = ", ".join(dict.fromkeys(r.mode for r in own))
        flags = " ".join(f for f in build.flags if not f.startswith(("-D", "-ff", "-fd"))) or "none"
        lines.append(f"| {build.name} | `{flags}` | {isas} | {threads} | {modes} | {len(own)} |")
    return lines


def page(
    builds: Sequence[Build], runs: Sequence[Run], notes: Sequence[str], defects: Sequence[str]
) -> None:
    """Writes the tables between the markers of the page."""
    day = datetime.now(timezone.utc).date().isoformat()
    lines = [f"`make bits` on {day}: {len(runs)} runs.", "", *build_table(builds, runs), ""]
    lines += [f"- {defect}" for defect in defects] + [""] * bool(defects)
    lines += hash_table(runs)
    lines += ["", "Compilers and emulators:", ""]
    lines += sorted({f"- {v}" for b in builds for v in bits_builds.versions(b).split("; ")})
    if notes:
        lines += ["", "Memory of the Cortex-M4, without the program's own variables:", ""]
        lines += [f"- {note}" for note in notes]
    begin, end = "<!-- bits: begin -->\n", "<!-- bits: end -->"
    before, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{before}{begin}{chr(10).join(lines)}\n{end}{rest.split(end)[1]}")


def fingerprint(build: Build, data: Sequence[Data]) -> str:
    """Of all that a row depends on: sources, models, flags, compiler and emulator."""
    whole = hashlib.sha256(f"{build} {bits_builds.versions(build)} {STEPS}".encode())
    parts = [p for p in bits_builds.CINFER.rglob("*") if p.suffix in (".c", ".h", ".def", ".ld")]
    for path in [*sorted(parts), *(p for one in data for p in (one.model, one.inputs))]:
        whole.update(path.read_bytes())
    return whole.hexdigest()


def remembered(
    build: Build, folder: Path, data: Sequence[Data], again: bool
) -> tuple[list[Run], list[str]]:
    """A row's results: those of its last run, if nothing has changed since."""
    kept = RESULTS / f"{build.name.replace(' ', '_')}.json"
    of = fingerprint(build, data)
    if kept.exists() and not again:
        found = json.loads(kept.read_text())
        if found["of"] == of:
            return [Run(*run) for run in found["runs"]], found["notes"]
    print(f"{build.name} ...", file=sys.stderr, flush=True)
    runs, notes = run_build(build, folder, data)
    RESULTS.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"of": of, "runs": runs, "notes": notes}))
    return runs, notes


def run_all(builds: Sequence[Build], folder: Path, again: bool) -> tuple[list[Run], list[str]]:
    """Every build on every model."""
    scripts, runs = golden(folder)
    copy_checkpoints(folder)
    data = [models(folder), families(folder), digits(folder), *scripts]
    notes: list[str] = []
    for build in builds:
        more, remarks = remembered(build, folder, data, again)
        runs += more
        notes += remarks
    return runs, notes


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="builds whose name contains NAME")
    parser.add_argument("--page", action="store_true", help="writes docs/portability.md's tables")
    parser.add_argument("--again", action="store_true", help="also what has not changed since")
    arguments = parser.parse_args()
    builds = bits_builds.chosen(arguments.only)
    with tempfile.TemporaryDirectory() as name:
        runs, notes = run_all(builds, Path(name), arguments.again)
    runs, defects = split_defects(runs)
    print("\n".join([*build_table(builds, runs), "", *hash_table(runs), *notes, *defects]))
    wrong = [*gaps(builds, runs), *disagreements(runs)]
    print("\n".join(wrong) if wrong else f"all {len(runs)} hashes agree, one a signature")
    if arguments.page and not wrong:
        page(builds, runs, notes, defects)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
