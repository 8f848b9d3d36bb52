"""tf.random: draws under their short names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.ops.nn.candidates import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from graphio.ops.random.core import multinomial, set_random_seed, truncated_normal
from graphio.ops.random.core import random_normal as normal
from graphio.ops.random.core import random_shuffle as shuffle
from graphio.ops.random.core import random_uniform as uniform
from graphio.ops.random.more import categorical, get_seed
from graphio.ops.random.more import random_gamma as gamma
from graphio.ops.random.more import random_poisson as poisson
from graphio.ops.random.stateless import (
    fold_in,
    split,
    stateless_categorical,
    stateless_multinomial,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
)

__all__ = [
    "all_candidate_sampler",
    "categorical",
    "fixed_unigram_candidate_sampler",
    "fold_in",
    "gamma",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "split",
    "stateless_categorical",
    "stateless_multinomial",
    "stateless_normal",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
