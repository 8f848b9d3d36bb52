"""How many of the standard's cases come out of graphio as they went in.

python tools/onnx_round_trip.py [--match TEXT] [--verbose]

Each case is imported, exported again, checked by onnx.checker (full) and run by ONNX Runtime; it
counts if the results are the expected ones. ONNX Runtime itself lacks operators and types of the
newest opset, so it cannot judge all.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import onnx

os.environ.setdefault("ALLOW_RELEASED_ONNX_OPSET_ONLY", "0")  # opsets that it has in part
import onnxruntime
from onnx.backend.test.runner import Runner

import graphio.onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from conformance import suite  # noqa: E402


def in_onnxruntime(model: onnx.ModelProto, case: suite.SuiteCase) -> None:
    """Runs the model on the case's data. Raises what goes wrong."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    stored = {tensor.name for tensor in case.model.graph.initializer}
    names = [v.name for v in case.model.graph.input if v.name not in stored]
    for inputs, expected in case.data:
        arrays = [v if isinstance(v, list) or v is None else np.asarray(v) for v in inputs]
        feeds = dict(zip(names, arrays, strict=True))
        found = session.run([value.name for value in case.model.graph.output], feeds)
        Runner.assert_similar_outputs(expected, found, case.rtol, case.atol)


def outcome(case: suite.SuiteCase) -> tuple[str, str]:
    """The outcome of a case, and why."""
    step = "not imported"
    try:
        data = graphio.onnx.convert(case.model)
        assert data is not None
        step = "not exported"
        model = graphio.onnx.from_model(data)
        step = "refused by the checker"
        onnx.checker.check_model(model, full_check=True)
        step = "not run or other values in ONNX Runtime"
        in_onnxruntime(model, case)
    except Exception as error:
        return step, f"{type(error).__name__}: {' '.join(str(error).split())[:140]}"
    return "equal", ""


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--match", default="", help="only cases whose name has this text")
    parser.add_argument("--verbose", action="store_true", help="say why a case does not count")
    chosen = parser.parse_args()
    count: Counter[str] = Counter()
    for name, case in suite.cases().items():
        if chosen.match in name:
            step, why = outcome(case)
            count[step] += 1
            if chosen.verbose and why:
                print(f"{name}: {step}: {why}")
    for step, number in count.most_common():
        print(f"{number:5} {step}")


if __name__ == "__main__":
    main()
