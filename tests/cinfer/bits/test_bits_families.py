"""The model of tools/bits_families.py: every kernel with arithmetic, and the same bits each way."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import ROOT

from graphio.model.rewrite import rewrite
from graphio.schema import container

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
#: operators that are not in the model: control and state, and those that the compiler cannot change
LEFT_OUT = set(
    "If Loop Scan PlaceholderWithDefault IsInitialized NoOp Not BitwiseNot LessOrEqual "
    "GreaterOrEqual And Or Xor BitShift CastLike BitCast Flatten GatherElements TensorScatter "
    "Assign ReadVariable Variable StopGradient Send Recv SequenceEmpty SequenceConstruct "
    "SequenceInsert SequenceErase SequenceAt SequenceLength SplitToSequence ConcatFromSequence "
    "Optional OptionalGetElement OptionalHasElement HostCall Assert CheckNumerics CheckEqual "
    "CheckSparseIndices EnsureShape IndexRange BelowLimit NonZeroDivisor StringLength "
    "StringTransform Substr StringJoin StringReduceJoin StringSplit StringToNumber AsString "
    "DecodeRaw StringConcat StringNormalizer RegexFullMatch TfIdfVectorizer ImageDecoder".split()
)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    sys.path.insert(0, str(ROOT / "tools"))
    from bits_families import build

    path = tmp_path_factory.mktemp("families") / "families.gio"
    return path, build(path)


def test_every_kernel_with_arithmetic_is_in_the_model(model: Any) -> None:
    table = (ROOT / "cinfer" / "src" / "ops.def").read_text()
    names = set(re.findall(r'^CI_OP\("\w*", (\w+)', table, re.MULTILINE))
    both = [container.read(model[0]), rewrite(*container.read(model[0]))]
    assert names - {node.op for made, _ in both for node in made.graph.node} <= LEFT_OUT


def results(
    model: Any, isa: str | None, threads: int, rewritten: bool = False
) -> dict[str, list[bytes]]:
    options = {} if isa is None else {"isa": isa}
    path, sets = model
    source: Any = container.pack(*rewrite(*container.read(path))) if rewritten else str(path)
    loaded = cinfer.load(source, threads=threads, **options)
    return {
        name: [y.tobytes() for y in loaded.signature(name).run(list(map(np.ascontiguousarray, x)))]
        for name, (_, x) in sets.items()
        if name != "randomness"
    }


def test_instruction_sets_and_threads_do_not_show(model: Any) -> None:
    expected = results(model, "portable", 1)
    for isa, threads in ((None, 1), (None, 3)):
        for name, found in results(model, isa, threads).items():
            assert found == expected[name], f"{name}, {isa or 'best'}, {threads} threads"


@pytest.mark.parametrize("isa", [None, "portable"])
def test_rewriting_does_not_show(model: Any, isa: str | None) -> None:
    expected = results(model, isa, 1)
    for name, found in results(model, isa, 2, rewritten=True).items():
        assert found == expected[name], name
