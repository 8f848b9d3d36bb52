"""Both engines run random models of nested control flow and state, and agree."""

from __future__ import annotations

import engines
import numpy as np
import pytest
from random_graphs import RandomModel

from graphio.support import errors

RUNS = 4


@pytest.mark.parametrize("seed", range(120))
def test_the_engines_agree_on_a_random_model(seed: int) -> None:
    made = RandomModel(seed, most_nodes=4 + seed % 24)
    loaded = [engines.module(name).load(made.data) for name in engines.NAMES]
    for run in range(RUNS):
        results = []
        for model in loaded:
            try:
                results.append(model.signature("run").run(made.feeds(RUNS * seed + run)))
            except errors.OpError as error:
                results.append([np.array(error.error_code)])
        results = [[*r, *map(m.state.get, "vw")] for r, m in zip(results, loaded, strict=True)]
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
