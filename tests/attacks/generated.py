r"""Runs every generated attack in both engines (docs/security.md: S3, S6, S7, S8, S10, S11).

    cd tests && python -m attacks.generated                     all
    cd tests && python -m attacks.generated --op Conv --table   of these operators, counted
    cd tests && python -m attacks.generated --share 400         one in 400, chosen by hash
    cd tests && python -m attacks.generated --op Conv --only "pads empty"

An attack ends in an answer or in an error, in both engines in the same of the two; where both
answer, the answers agree, and a model of which only the feeds were changed gives its first results
for its first feeds again. Any other outcome is reported:

    crash      the process died: a signal, or a sanitizer's finding
    hang       no end after five seconds
    internal   an exception that no kernel meant to raise
    refused    one engine answers, the other refuses
    differs    both answer, but not the same
    broken     after the attack the model gives other results for its first feeds

The exit status is 1 if there was one. With sanitizers, see tools/fuzz_operators.py:

    python -m attacks.generated --alone --native ../build/asan/_native.abi3.so \
        --preload libasan.so
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import engines
import numpy as np
import untrusted_runs

from attacks.changes import Attack, attacks
from attacks.subjects import Subject, subjects

Array = np.ndarray[Any, Any]
CINFER = Path(__file__).resolve().parent.parent.parent / "cinfer"


class Numbered(NamedTuple):
    """An attack with what it is done to."""

    op: str
    subject: Subject
    attack: Attack

    @property
    def kind(self) -> str:
        """The class of attack that it is counted in."""
        return self.attack.kind

    def __str__(self) -> str:
        return f"{self.op} with {self.subject.label}: {self.attack.name}"


class Counted(Protocol):
    """The fields of an attack that a report counts and filters by."""

    @property
    def op(self) -> str:
        """Its operator."""

    @property
    def kind(self) -> str:
        """Its class."""


def chosen(options: argparse.Namespace) -> list[Numbered]:
    """The attacks that the command line asks for, always in the same order."""
    found = []
    salt = sources() if options.share > 1 else b""
    for (_, op), of in subjects().items():
        if options.op and op not in options.op:
            continue
        for subject in of:
            found += [Numbered(op, subject, each) for each in attacks(subject)]
    return [
        each
        for each in found
        if (options.only is None or options.only == each.attack.name)
        and (options.kind is None or options.kind == each.attack.kind)
        and (options.share == 1 or numbered_by(salt, str(each)) % options.share == 0)
    ]


def sources() -> bytes:
    """A digest of what is attacked: a share is another one after every change of it."""
    digest = hashlib.sha256()
    for path in sorted(CINFER.rglob("src/**/*.[chd]*")):
        digest.update(path.read_bytes())
    return digest.digest()


def numbered_by(salt: bytes, name: str) -> int:
    return int.from_bytes(hashlib.sha256(salt + name.encode()).digest()[:8], "big")


# ---- the worker ----


def work(options: argparse.Namespace) -> None:
    """Attacks, and tells what comes of it, a line of JSON each; before each the engine."""
    untrusted_runs.prepare(options.native)
    for index, each in enumerate(chosen(options)[options.first :], options.first):
        changed = each.subject.copy()
        each.attack.change(changed)
        data = changed.builder.bytes()
        results = {}
        for engine in ("cinfer",) if options.alone else ("runtime", "cinfer"):
            print(json.dumps([index, engine]), flush=True)
            with untrusted_runs.limited():
                results[engine] = untrusted_runs.outcome(
                    lambda: _run(engine, data, changed, each)  # noqa: B023
                )
        print(json.dumps([index, *_judged(changed, each.attack, results)]), flush=True)


def _judged(changed: Subject, attack: Attack, results: dict[str, Any]) -> tuple[str, str]:
    """The finding to report, or "" and the outcome's class."""
    if len(results) == 1:
        (result,) = results.values()
        return "", result[0] if isinstance(result, tuple) else "answered"
    what, why = untrusted_runs.compare(results)
    wild = untrusted_runs.is_wild([*changed.feeds.values(), *changed.builder.arrays])
    if what == "differs" and (wild or attack.kind in ("float", "floats")):
        return "", "answered"  # where numbers overflow depends on the order of a sum
    for known in KNOWN:
        if known.holds(attack, what, why):
            return "", f"one engine alone: {known.name}"
    return what, why


@dataclass(frozen=True)
class Difference:
    """A case that one engine may refuse and the other answer. It is counted, not reported.

    Attributes:
        kinds: of attacks; none: any.
        who: of which engine the refusal is; "": of either.
        words: a regular expression that the refusal matches.
    """

    name: str
    kinds: tuple[str, ...] = ()
    who: str = ""
    words: str = ""

    def holds(self, attack: Attack, what: str, why: str) -> bool:
        """Whether an attack ended in this difference."""
        return (
            (what.startswith(f"refused by {self.who}") or what == "differs" and not self.who)
            and (not self.kinds or attack.kind in self.kinds)
            and re.search(self.words, why) is not None
        )


KNOWN = (
    # The table's types are the minimum that an engine takes; where a declared type is not that of
    # the value, one engine trusts it and the other checks it.
    Difference("element types beyond the table", ("type",)),
    # numpy has no arrays of such shapes.
    Difference("shapes of 2^31 and more next to 0", ("huge",)),
    # The verifier of the Python reader looks at every attribute, the kernels of cinfer at theirs.
    Difference(
        "attributes that cinfer does not read",
        ("missing", "wrong kind", "alias", "version", "arity"),
        "runtime",
        r"lacks its attribute|is of kind \w+, expected|expected at least 3",
    ),
    Difference(
        "limits of cinfer's windows, lists and programs",
        (),
        "cinfer",
        r"expected a list of at most|to 1073741824|has 0 numbers|at most 64|the window is|"
        r"expected one \w+ like start",
    ),
    Difference("results of a rank above 16", ("shape",), "cinfer", r"rank 1[678]"),
    # The Python runtime knows no shape of what a body of unknown shapes never gave.
    Difference("a Scan of no steps", ("shape",), "", r"^float32\[0\] and float32\[0, 3\]"),
    # The Python runtime keeps bodies apart from the attributes that a kernel sees.
    Difference("a Constant with a body", ("wrong kind",), "cinfer", "no value, expected attribute"),
    Difference("windows that numpy cannot view", (), "runtime", "array is too big"),
)


def _run(engine: str, data: bytes, changed: Subject, each: Numbered) -> list[Array]:
    """The model's results; when only its feeds were changed, it must work again afterwards."""
    from graphio import cinfer, runtime

    module = runtime if engine == "runtime" else cinfer
    signature = module.load(data).signature()
    order = [binding.key for binding in changed.builder.model.signature[0].input]
    if not each.attack.fed:
        return _copied(signature.run([changed.feeds[key] for key in order]))
    before = _good(signature, each.subject, order)
    try:
        return _copied(signature.run([changed.feeds[key] for key in order]))
    finally:
        after = _good(signature, each.subject, order)
        if before != after and not each.subject.row.stateful:
            raise AssertionError(f"fed as before it gives {after}, it gave {before}")


def _good(signature: Any, subject: Subject, order: list[str]) -> Any:
    """The model's results for its unchanged feeds."""

    def run() -> list[bytes]:
        found = _copied(signature.run([subject.feeds[key] for key in order]))
        return [repr(x) if _holds(x) else x.tobytes() for x in found]

    return untrusted_runs.outcome(run)


def _holds(x: Any) -> bool:
    """Whether it is not an array of numbers."""
    return not isinstance(x, np.ndarray) or bool(x.dtype == object)


def _copied(outputs: list[Any]) -> list[Any]:
    """Results that outlive the next run."""
    if not engines.are_values(outputs):
        raise AssertionError("a bool is a byte other than 0 and 1")
    return [x.copy() if isinstance(x, np.ndarray) else x for x in outputs]


# ---- the parent ----


@dataclass
class Report:
    """The outcomes of the attacks.

    Attributes:
        outcomes: of the attacks: "answered", an error's class, or what was found.
        counts: attacks by operator and kind.
        findings: what, which attack, why.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[tuple[str, str, str]] = field(default_factory=list)

    def table(self) -> str:
        """Attacks by operator (a row) and kind (a column)."""
        kinds = sorted({kind for _, kind in self.counts})
        ops = sorted({op for op, _ in self.counts})
        lines = [["operator", *kinds, "all"]]
        for op in ops:
            numbers = [self.counts[op, kind] for kind in kinds]
            lines.append([op, *map(str, numbers), str(sum(numbers))])
        totals = [sum(self.counts[op, kind] for op in ops) for kind in kinds]
        lines.append([f"{len(ops)} operators", *map(str, totals), str(sum(totals))])
        return "\n".join(f"{line[0]:26}" + "".join(f"{n:>11}" for n in line[1:]) for line in lines)


def run(
    options: argparse.Namespace, words: list[str], module: str, numbered: Sequence[Counted]
) -> Report:
    """Attacks in workers, a new one where one died.

    Args:
        options: of the command.
        words: the same, for the workers.
        module: theirs.
        numbered: the attacks, which they find in the same order.
    """
    report, first = Report(), 0
    while first < len(numbered):
        first = _follow(options, [module, *words], first, numbered, report)
    return report


def _follow(
    options: argparse.Namespace,
    words: list[str],
    first: int,
    numbered: Sequence[Counted],
    report: Report,
) -> int:
    """Reads one worker; returns where the next one goes on."""
    command = [sys.executable, "-m", *words, "--worker", "--first", str(first)]
    at: tuple[int, str] = (first, "start")
    for index, what, *why in untrusted_runs.follow(command, options.native, options.preload):
        if index == "died":
            break
        at = (index, what)
        if why:
            _record(report, numbered[index], what, why[0])
            at = (index + 1, "start")
    if at[0] == len(numbered):
        return at[0]
    if at[1] == "start":
        raise RuntimeError(f"the worker did not start ({what}): {why[0]}")
    end = untrusted_runs.death(what)
    if end == "hang" and at[1] == "runtime":  # which has no limit of memory or work
        _record(report, numbered[at[0]], "", "one engine alone: much work")
    else:
        _record(report, numbered[at[0]], f"{end} {at[1]} {what}", why[0])
    return at[0] + 1


def _record(report: Report, each: Counted, what: str, why: str) -> None:
    report.counts[each.op, each.kind] += 1
    report.outcomes[what or why] += 1
    if what:
        report.findings.append((what, str(each), why))
        print(f"{what}: {each}\n    {why}", flush=True)


def arguments(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--op", action="append", help="only this operator; may be repeated")
    parser.add_argument("--only", help="attacks of this name")
    parser.add_argument("--kind", help="attacks of this kind, a column of --table")
    parser.add_argument("--share", type=int, default=1, help="one in so many, chosen by hash")
    parser.add_argument("--alone", action="store_true", help="cinfer alone, without comparing")
    parser.add_argument("--native", default="", help="a module built with sanitizers")
    parser.add_argument("--preload", default="", help="the sanitizers' library, for that module")
    parser.add_argument("--table", action="store_true", help="print how many of each kind")
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(words)


def reported(report: Report, table: bool) -> int:
    """Prints what came of the attacks; the exit status."""
    if table:
        print(report.table())
    outcomes = dict(report.outcomes.most_common())
    print(f"{report.counts.total()} attacks, {len(report.findings)} findings: {outcomes}")
    return 1 if report.findings else 0


def main() -> int:
    """The command."""
    words = sys.argv[1:]
    options = arguments(words)
    if options.worker:
        work(options)
        return 0
    return reported(run(options, words, "attacks.generated", chosen(options)), options.table)


if __name__ == "__main__":
    sys.exit(main())
