"""Losses over a sample of very many classes, and the samplers."""

from __future__ import annotations

import math as _math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import filling, index, reshaping
from graphio.ops.base import primitive, shapes
from graphio.ops.base.emit import FLOATING, INTEGER, describe, operation, require, scalar, scope
from graphio.ops.base.host import host_call
from graphio.ops.base.primitive import binary, cast, compare, select, unary
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks import run_checks
from graphio.ops.linalg import matmul
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn import crossentropy
from graphio.ops.nn.statistics import embedding_lookup
from graphio.ops.random import core as random
from graphio.support import api_guard, errors

__all__ = [
    "all_candidate_sampler",
    "compute_accidental_hits",
    "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "nce_loss",
    "sampled_softmax_loss",
    "uniform_candidate_sampler",
]

Sample = tuple[Tensor, Tensor, Tensor]

# ---- samplers ----


def _chances(classes: Tensor, range_max: int, uniform: bool) -> Tensor:
    """The probability of each class in one draw: equal, or falling as in Zipf's law."""
    c = cast(classes, dtypes.float32)
    if uniform:
        return primitive.fill_like(c, 1.0 / range_max)
    one, total = scalar(1, c.dtype), scalar(_math.log(range_max + 1), c.dtype)
    # log((c + 2) / (c + 1)) without loss at large classes
    return binary("Div", elementwise.log1p(unary("Reciprocal", binary("Add", c, one))), total)


def _sampled(
    op: str, true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int,
    seed: int | None, name: str | None, chances: Callable[[Tensor], Tensor],
) -> Sample:  # fmt: skip
    """A sample of classes, whose probabilities in one draw a function gives."""
    _check_counts(op, num_sampled, unique, range_max)
    with scope(name, op) as at:
        true = _true(op, true_classes, num_true, at)
        every = chances(filling.range(range_max))
        # Each class arrives at a random time, exponential with its probability as the rate: the
        # order of arrivals is that of draws whose repeats are rejected.
        draw = random.random_uniform(
            [range_max] if unique else [num_sampled, range_max], 1e-30, 1.0, seed=seed
        )
        time = binary("Div", unary("Neg", unary("Log", draw)), every)
        count = primitive.int_vector([num_sampled if unique else 1])
        dims = (num_sampled,) if unique else (num_sampled, 1)
        made = operation(
            "TopK",
            [time, count],
            [(time.dtype, dims), (dtypes.int64, dims)],
            attrs={"axis": len(dims) - 1, "largest": 0, "sorted": 1},
        ).outputs
        true = run_checks.within(true, range_max, f"{op}: a class is out of range:")
        with scopes.control_dependencies([true]):
            classes = primitive.reshape(made[1], [num_sampled])
        last = reduction.reduce_max(made[0])

        def expected(values: Tensor) -> Tensor:
            p = chances(values)
            if not unique:
                return binary("Mul", p, scalar(num_sampled, p.dtype))
            missed = unary("Exp", unary("Neg", binary("Mul", p, last)))
            return binary("Sub", scalar(1, p.dtype), missed)

        return classes, expected(true), expected(classes)


def _check_counts(op: str, num_sampled: int, unique: bool, range_max: int) -> None:
    if num_sampled < 1 or range_max < 1 or (unique and num_sampled > range_max):
        raise ValueError(
            f"{op}: num_sampled is {num_sampled} and range_max {range_max}, expected positive "
            "numbers, and no more samples than classes if they are unique"
        )


def _true(op: str, true_classes: Any, num_true: int, at: str) -> Tensor:
    """The true classes, integers (n, num_true)."""
    true = convert_to_tensor(true_classes, name="true_classes")
    require(true, INTEGER, op, "true_classes")
    shapes.merge(dims_of(true), (None, num_true), describe(at, op))
    return true


@api_guard.operator
def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sample:
    """A sample of classes in which class c has the chance log((c + 2) / (c + 1)) / log(range + 1).

    Args:
        true_classes: integer tensor (n, num_true).
        num_true: how many true classes a row has.
        num_sampled: how many classes to draw.
        unique: True draws no class twice.
        range_max: how many classes there are.
        seed: of the random numbers.
        name: name scope of the operations.

    Returns:
        The classes drawn, an int64 vector, and how often the true classes and the drawn ones are
        to be expected in such a sample, float32 of their shapes.

    Raises:
        ValueError: the numbers do not fit.
    """
    return _sampled("LogUniformCandidateSampler", true_classes, num_true, num_sampled, unique,
                    range_max, seed, name, lambda c: _chances(c, range_max, False))  # fmt: skip


@api_guard.operator
def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sample:
    """A sample of classes of equal chances; see log_uniform_candidate_sampler."""
    return _sampled("UniformCandidateSampler", true_classes, num_true, num_sampled, unique,
                    range_max, seed, name, lambda c: _chances(c, range_max, True))  # fmt: skip


@api_guard.operator
def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Sequence[float] = (),
    seed: int | None = None,
    name: str | None = None,
) -> Sample:
    """A sample of classes whose chances are proportional to given weights; see
    log_uniform_candidate_sampler.

    Args:
        true_classes, num_true, num_sampled, unique, range_max, seed, name: as there.
        vocab_file: a file with the weights: the number after the last comma of each line; read
            while the graph is built.
        distortion: the power to which weights are raised: 0 makes them equal.
        num_reserved_ids: how many classes before those of the weights are never drawn.
        num_shards, shard: only their defaults are supported: one process draws all classes.
        unigrams: the weights, in the place of vocab_file.

    Raises:
        NotImplementedError: several shards.
        ValueError: the numbers do not fit; both vocab_file and unigrams are given, or none; they
            are not range_max - num_reserved_ids weights.
    """
    if bool(vocab_file) == bool(len(unigrams)):
        raise ValueError("Must provide exactly one of `unigrams` or `vocab_file`.")
    if (num_shards, shard) != (1, 0):
        raise NotImplementedError(
            f"num_shards is {num_shards} and shard {shard}, expected 1 and 0: one process draws "
            "all classes"
        )
    weights = _weights_of(vocab_file) if vocab_file else np.array(unigrams, np.float64)
    if len(weights) != range_max - num_reserved_ids:
        raise ValueError(
            f"there are {len(weights)} weights, expected range_max - num_reserved_ids "
            f"({range_max - num_reserved_ids})"
        )
    powers = np.concatenate([np.zeros(num_reserved_ids), weights**distortion])
    table = (powers / powers.sum()).astype(np.float32)
    return _sampled("FixedUnigramCandidateSampler", true_classes, num_true, num_sampled, unique,
                    range_max, seed, name, lambda c: index.gather(table, c))  # fmt: skip


@api_guard.operator
def learned_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sample:
    """A sample of classes whose chances are how often each was a true class before in the session,
    and once more; see log_uniform_candidate_sampler.

    The counts are kept by Python: a model saved with it needs its function again to run it.
    """
    op = "LearnedUnigramCandidateSampler"
    _check_counts(op, num_sampled, unique, range_max)
    with scope(name, op) as at:
        true = _true(op, true_classes, num_true, at)
        counted = host_call(
            lambda session: _Counts(range_max),
            [cast(true, dtypes.int64)],
            [(dtypes.float32, TensorShape([range_max]))],
            function=f"counts/{op}",
        )
        chances = counted.outputs[0]
    return _sampled(op, true, num_true, num_sampled, unique, range_max, seed, at,
                    lambda c: index.gather(chances, c))  # fmt: skip


class _Counts:
    """How often classes were true in the runs of a session, counted from 1."""

    def __init__(self, range_max: int) -> None:
        self._counts = np.ones(range_max, np.float64)

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        """The chances before these classes are counted."""
        (classes,) = arrays
        if classes.size and not 0 <= classes.min() <= classes.max() < len(self._counts):
            raise errors.InvalidArgumentError(
                message=f"LearnedUnigramCandidateSampler: a class is out of range: "
                f"{classes.min()} to {classes.max()}, expected 0 to {len(self._counts) - 1}"
            )
        chances = (self._counts / self._counts.sum()).astype(np.float32)
        np.add.at(self._counts, classes.reshape(-1), 1.0)
        return [chances]


def _weights_of(path: str) -> Any:
    """The numbers after the last comma of each line of a file."""
    with open(path, encoding="utf-8") as lines:
        return np.array([float(line.rpartition(",")[2]) for line in lines if line.strip()])


@api_guard.operator
def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Sample:
    """All classes from 0 to num_sampled - 1, each expected once; see log_uniform_candidate_sampler.

    Args:
        true_classes, num_true, name: as there.
        num_sampled: how many classes there are.
        unique: True.
        seed: has no effect: nothing is drawn.

    Raises:
        ValueError: num_sampled is not positive, or the shape of true_classes does not fit.
    """
    op = "AllCandidateSampler"
    if num_sampled < 1:
        raise ValueError(f"{op}: num_sampled is {num_sampled}, expected a positive number")
    with scope(name, op) as at:
        true = _true(op, true_classes, num_true, at)
        classes = convert_to_tensor(np.arange(num_sampled, dtype=np.int64))
        once = cast(primitive.fill_like(true, 1), dtypes.float32)
        return classes, once, convert_to_tensor(np.ones(num_sampled, np.float32))


@api_guard.operator
def compute_accidental_hits(
    true_classes: Any,
    sampled_candidates: Any,
    num_true: int,
    seed: int | None = None,
    name: str | None = None,
) -> Sample:
    """The positions at which a sample drew true classes.

    Args:
        true_classes: integer tensor (n, num_true).
        sampled_candidates: vector of the classes drawn.
        num_true: how many true classes a row has.
        seed: accepted; nothing is random.
        name: name scope of the operations.

    Returns:
        Three vectors, one element a hit: the row, int32; the index in the sample, int64; and the
        lowest float32, to be added to its logit.

    Raises:
        ValueError: the shapes do not fit.
    """
    op = "ComputeAccidentalHits"
    with scope(name, op) as at:
        true = cast(convert_to_tensor(true_classes, name="true_classes"), dtypes.int64)
        drawn = cast(convert_to_tensor(sampled_candidates, name="sampled"), dtypes.int64)
        shapes.merge(dims_of(true), (None, num_true), describe(at, op))
        positions = reshaping.where(compare("Equal", primitive.unsqueeze(true, [2]), drawn))
        row, position = (primitive.gather(positions, scalar(i, dtypes.int64), 1) for i in (0, 2))
        return (
            cast(row, dtypes.int32),
            position,
            primitive.fill_like(cast(row, dtypes.float32), dtypes.float32.min),
        )


# ---- losses ----


def _logits(
    op: str, weights: Any, biases: Any, labels: Any, inputs: Any, num_sampled: int,
    num_classes: int, num_true: int, sampled_values: Any, remove_hits: bool, strategy: str,
    seed: int | None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Logits of the true and the sampled classes, and their labels."""
    x = convert_to_tensor(inputs, name="inputs")
    require(x, FLOATING, op, "inputs")
    true = cast(convert_to_tensor(labels, name="labels"), dtypes.int64)
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            true, num_true, num_sampled, True, num_classes, seed
        )
    given = [convert_to_tensor(v, name="sampled") for v in sampled_values]
    fixed = [reshaping.stop_gradient(v) for v in given]
    sampled, of_true, of_sampled = cast(fixed[0], dtypes.int64), *fixed[1:]

    def rows(table: Any, ids: Tensor) -> Tensor:
        return embedding_lookup(table, ids, strategy)

    own = reduction.reduce_sum(binary("Mul", primitive.unsqueeze(x, [1]), rows(weights, true)), 2)
    near = binary("Add", own, rows(biases, true))
    others = matmul.matmul(x, rows(weights, sampled), transpose_b=True)
    far = binary("Add", others, rows(biases, sampled))
    if remove_hits:
        equal = compare("Equal", primitive.unsqueeze(true, [2]), sampled)
        hit = reduction.reduce_any(equal, [1])
        far = select(hit, scalar(x.dtype.min, x.dtype), far)
    near, far = (
        binary("Sub", part, unary("Log", cast(chance, x.dtype)))
        for part, chance in ((near, of_true), (far, of_sampled))
    )
    answers = [primitive.fill_like(near, 1.0 / num_true), primitive.fill_like(far, 0)]
    return primitive.concat([near, far], 1), primitive.concat(answers, 1)


@api_guard.operator
def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation: true classes distinguished from sampled ones.

    Args:
        weights: (num_classes, d), or a list of its parts.
        biases: (num_classes), or a list of its parts.
        labels: integer tensor (n, num_true).
        inputs: floating (n, d).
        num_sampled: how many classes to draw for all rows.
        num_classes: how many there are.
        num_true: how many true classes a row has.
        sampled_values: what a sampler gave; None: log_uniform_candidate_sampler, unique.
        remove_accidental_hits: True leaves out sampled classes that are true ones of a row.
        partition_strategy: see embedding_lookup.
        name: name scope of the operations.

    Returns:
        A tensor (n).
    """
    with scope(name, "nce_loss") as at:
        logits, answers = _logits(
            "nce_loss", weights, biases, labels, inputs, num_sampled, num_classes, num_true,
            sampled_values, remove_accidental_hits, partition_strategy, None,
        )  # fmt: skip
        losses = crossentropy.sigmoid_cross_entropy_with_logits(labels=answers, logits=logits)
        return reduction.reduce_sum(losses, [1], name=at)


@api_guard.operator
def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Softmax cross entropy over the true and sampled classes alone; arguments as nce_loss's."""
    with scope(name, "sampled_softmax_loss") as at:
        logits, answers = _logits(
            "sampled_softmax_loss", weights, biases, labels, inputs, num_sampled, num_classes,
            num_true, sampled_values, remove_accidental_hits, partition_strategy, seed,
        )  # fmt: skip
        losses = crossentropy.softmax_cross_entropy_with_logits_v2(
            labels=reshaping.stop_gradient(answers), logits=logits
        )
        return primitive.unary("Identity", losses, at)
