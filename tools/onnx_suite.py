"""Runs the ONNX standard's own cases in both engines and writes what follows from them.

python tools/onnx_suite.py             add what passes now to tests/conformance/passed.json
python tools/onnx_suite.py --page      write docs/operators.md as well, with times compared
                                        with ONNX Runtime's where that is installed
python tools/onnx_suite.py --check     exit 1 if the page does not list the operators that exist
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/support")]

import gen_operators  # noqa: E402
from conformance import suite  # noqa: E402
from gradient_table import EXPECTED, NO  # noqa: E402

import graphio  # noqa: E402
from graphio.framework import gradient_registry  # noqa: E402
from graphio.onnx import lowering  # noqa: E402
from graphio.onnx.backend import CBackend, PythonBackend  # noqa: E402
from graphio.runtime import kernels, registry  # noqa: E402
from graphio.schema import operators  # noqa: E402

PASSED = ROOT / "tests/conformance/passed.json"
PAGE = ROOT / "docs/operators.md"
BACKENDS = {"runtime": PythonBackend, "cinfer": CBackend}
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
NEWEST = {"": 28, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}
RUNS = 30
#: Why cases cannot be passed, by a pattern of their names.
REASONS = {
    "bernoulli": "its expected numbers are draws of numpy's global generator, which no attribute "
    "of the node says",
    "training_dropout": "its expected mask is drawn by numpy's Mersenne twister; the standard "
    "names no generator, and graphio's is Philox, whose state a session keeps in checkpoints",
    "test_dft_inverse": "its expected numbers have the noise of numpy's transform in float32, up "
    "to 1.9e-7 where the exact result is 0; graphio computes in double, and 1e-7 is allowed",
    "attention_4d_causal_fp16_expanded": "two of 192 numbers differ in the last bit of float16 "
    "more than is allowed; graphio's are nearer to the exact ones (6.9e-4) than the expected "
    "(8.7e-4)",
}


def outcome(backend: Any, case: suite.SuiteCase) -> str:
    """ "" if a case passes, else the reason in one line."""
    try:
        suite.check(backend, case)
    except Exception as error:
        text = " ".join(str(error).split())
        return f"{type(error).__name__}: {text}"[:160]
    return ""


def run_all() -> dict[str, dict[str, str]]:
    """For each engine the outcome of each case."""
    return {
        engine: {name: outcome(backend, case) for name, case in suite.cases().items()}
        for engine, backend in BACKENDS.items()
    }


def write_passed(outcomes: dict[str, dict[str, str]]) -> None:
    """Adds what passes now. Raises SystemExit if something that once passed does not."""
    before = json.loads(PASSED.read_text()) if PASSED.exists() else {}
    lost = [
        f"{engine}: {name}: {found[name]}"
        for engine, found in outcomes.items()
        for name in before.get(engine, ())
        if found.get(name)
    ]
    if lost:
        sys.exit("these passed once:\n" + "\n".join(lost))
    made = {
        engine: sorted(set(before.get(engine, ())) | {n for n, why in found.items() if not why})
        for engine, found in outcomes.items()
    }
    PASSED.write_text(json.dumps(made, indent=0) + "\n")
    for engine, names in made.items():
        print(f"{engine}: {len(names)} of {len(suite.cases())} cases pass")


# ---- the page ----


def c_operators() -> set[str]:
    """Operators of the standard with a row in the C library."""
    import re

    text = (ROOT / "cinfer/src/ops.def").read_text()
    return set(re.findall(r'^CI_OP\("", (\w+),', text, re.MULTILINE))


def gradient_of(domain: str, op: str, computed: str) -> str:
    """How the page names an operator's gradient."""
    if (domain, op) in gradient_registry.functions():
        return "yes"
    if (domain, op) in gradient_registry.without() or (not domain and EXPECTED.get(op) == NO):
        return "none"
    return "of its parts" if computed in ("by its body", "at import") else ""


def standard(domain: str) -> list[tuple[str, int, set[str]]]:
    """A domain's operators that are not deprecated: names, versions, types."""
    import onnx.defs

    if domain:
        schemas: list[Any] = [s for s in onnx.defs.get_all_schemas() if s.domain == domain]
        kinds = {
            s.name: {gen_operators.type_name(t) for c in s.type_constraints
                     for t in c.allowed_type_strs}
            for s in schemas
        }  # fmt: skip
        found = [(s.name, s.since_version, kinds[s.name]) for s in schemas if not s.deprecated]
        return sorted(found, key=lambda row: row[0])
    rows = [operators.find("", op, NEWEST[""]) for op in operators.table().names("")]
    return [
        (row.op, row.version, set().union(*row.types.values()) if row.types else set())
        for row in rows
        if row is not None and not row.deprecated
    ]


def how(domain: str, op: str, kernel: bool) -> str:
    """How an operator is computed: by a kernel, by other operators at import, or not at all."""
    import onnx.defs

    if kernel:
        return "kernel"
    if (domain, op) in lowering.TABLE or op in ("If", "Loop", "Scan", "Scatter", "Upsample"):
        return "at import"
    schema: Any = onnx.defs.get_schema(op, NEWEST[domain], domain)
    if schema.has_function or schema.has_context_dependent_function:
        return "by its body"
    return "no"


def median_time(run: Callable[[], Any]) -> float:
    """Seconds of one call, the median."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)[RUNS // 2]


def speed(case: suite.SuiteCase) -> str:
    """Time of a case in the C library by that in ONNX Runtime, in turns; "" where one cannot."""
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        theirs = onnxruntime.InferenceSession(
            case.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        ours = CBackend.prepare(case.model).signature
        values = case.data[0][0]
        feeds = dict(zip([i.name for i in theirs.get_inputs()], values, strict=True))
        theirs.run(None, feeds)
        ours.run(values)
    except Exception:
        return ""
    rounds = [
        median_time(lambda: ours.run(values)) / median_time(lambda: theirs.run(None, feeds))
        for _ in range(3)
    ]
    return f"{sorted(rounds)[1]:.2f}"


def rows(outcomes: dict[str, dict[str, str]]) -> list[str]:
    """The page's table."""
    kernels.load_all()
    assert graphio.Graph  # loads every module that registers a gradient
    in_python = {op for domain, op in registry.operators() if domain == ""}
    in_c = c_operators()
    cases: dict[tuple[str, str], list[str]] = {}
    for name, case in suite.cases().items():
        if name.startswith("node/") and not name.endswith("_expanded"):
            nodes = case.model.graph.node
            first = next((n for n in nodes if n.op_type != "Constant"), nodes[0])
            domain = "" if first.domain == "ai.onnx" else first.domain
            cases.setdefault((domain, first.op_type), []).append(name)
    made = []
    for domain in DOMAINS:
        for op, version, types in standard(domain):
            names = cases.get((domain, op), [])
            passed = [
                f"{sum(not outcomes[engine][n] for n in names)}/{len(names)}" if names else ""
                for engine in BACKENDS
            ]
            timed = speed(suite.cases()[names[0]]) if names else ""
            in_builder = how(domain, op, op in in_python and not domain)
            cells = (
                f"{domain}::{op}" if domain else op,
                str(version),
                in_builder,
                how(domain, op, op in in_c and not domain),
                *passed,
                gradient_of(domain, op, in_builder),
                timed,
                " ".join(sorted(types)),
            )
            made.append("| " + " | ".join(cells) + " |")
    return made


def reasons(outcomes: dict[str, dict[str, str]]) -> list[str]:
    """Why cases do not pass, and in which engines."""
    made = []
    for name in sorted(suite.cases()):
        failed = {e: found[name] for e, found in outcomes.items() if found[name]}
        if failed:
            known = (text for part, text in REASONS.items() if part in name)
            where = "" if len(failed) == len(outcomes) else f" ({', '.join(failed)})"
            made.append(f"- `{name}`{where}: {next(known, next(iter(failed.values())))}")
    return made


def write_page(outcomes: dict[str, dict[str, str]]) -> None:
    """Writes docs/operators.md."""
    import onnx

    total = len(suite.cases())
    counts = {e: sum(not why for why in found.values()) for e, found in outcomes.items()}
    head = f"""# Operators of the ONNX standard

Generated by `python tools/onnx_suite.py --page` on onnx {onnx.__version__}; do not edit.

Of the standard's {total} cases (without the nine complete architectures, which
tests/onnx/test_onnx_architectures.py runs) the Python runtime passes {counts["runtime"]} and the C
library {counts["cinfer"]}.

- *Python*, *C*: computed by a kernel, by other operators that the importer replaces it with, or
  by the function body of the standard.
- *cases*: direct cases passed in Python and in C.
- *gradient*: yes; none: declared to have none; of its parts: of the operators that replace it;
  empty: no rule.
  [gradients.md](gradients.md) has the details.
- *time*: of the operator's first case from Python in C by that in ONNX Runtime, one thread, in
  turns: small tensors, so mostly the cost of a call.
- *types*: all that the standard's constraints list.

| operator | since | Python | C | cases Python | cases C | gradient | time | types |
|---|--:|---|---|--:|--:|---|--:|---|
"""
    tail = "\n\n## Cases that are not passed\n\n" + "\n".join(reasons(outcomes)) + "\n"
    PAGE.write_text(head + "\n".join(rows(outcomes)) + tail)
    print(f"wrote {PAGE.relative_to(ROOT)}")


def check_page() -> None:
    """Exits with 1 if an operator is missing on the page."""
    text = PAGE.read_text() if PAGE.exists() else ""
    missing = [
        op
        for op in operators.table().names("")
        if (row := operators.find("", op, NEWEST[""])) is not None
        and not row.deprecated
        and f"| {op} | {row.version} |" not in text
    ]
    if missing:
        sys.exit(f"{PAGE.name} lacks {', '.join(missing)}; run tools/onnx_suite.py --page")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="write docs/operators.md")
    parser.add_argument("--check", action="store_true", help="only check the page")
    chosen = parser.parse_args()
    if chosen.check:
        check_page()
        return
    outcomes = run_all()
    write_passed(outcomes)
    if chosen.page:
        write_page(outcomes)


if __name__ == "__main__":
    main()
