"""Distributions of tf.distributions, and calls that fail, for a comparison with TensorFlow."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from distribution_cases.table import BY_NAME, CORE, PROBABILITIES, STATISTICS, Case

CLASSES = [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]
WEIGHTS = [[1.0, 2.0, 3.0], [2.5, 1.5, 4.0]]
COUNTS = np.array([[1.0, 2.0, 1.0], [0.0, 0.0, 4.0]])


def _single(case: Case) -> tuple[Callable[[Any], Any], Any]:
    """A case in float32: TensorFlow's StudentT has no variance in float64. Its betainc takes
    values of the parameters' shape only."""
    parameters = {name: x.astype(np.float32) for name, x in case.parameters.items()}
    points = np.resize(case.points, 3)
    single = points.astype(np.float32) if points.dtype.kind == "f" else points
    return lambda d: case.make(d, parameters), single


#: name -> (distribution of a namespace, numbers to take probabilities at)
SCENES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    **{name: _single(BY_NAME[name]) for name in CORE},
    "Categorical": (lambda d: d.Categorical(probs=CLASSES), np.array([[0, 2], [1, 1]])),
    "Categorical of logits": (
        lambda d: d.Categorical(logits=[0.5, -1.0, 2.0], name="kind"),
        np.array([0, 1, 2]),
    ),
    "Dirichlet": (lambda d: d.Dirichlet(np.array(WEIGHTS[1])), np.array([0.2, 0.3, 0.5])),
    "Multinomial": (lambda d: d.Multinomial(np.array([4.0, 4.0]), probs=np.array(CLASSES)), COUNTS),
    "DirichletMultinomial": (
        lambda d: d.DirichletMultinomial(np.float64(4), np.array(WEIGHTS)),
        COUNTS,
    ),
    "Normal that is validated": (
        lambda d: d.Normal(1.0, [2.0], True, False, "checked"),
        np.float32([0.5, 3.0]),
    ),
    "Bernoulli of logits": (
        lambda d: d.Bernoulli(logits=[-2.0, 0.0, 3.0], dtype=d.Uniform().dtype),
        np.float32([1.0]),
    ),
    "copy": (
        lambda d: d.Gamma([3.0, 4.0], 2.0, name="one").copy(rate=[5.0, 6.0], name="two"),
        np.float32([0.5]),
    ),
}


def described(d: Any, name: str, run: Callable[[Any], Any]) -> dict[str, Any]:
    """The strings of a distribution of a scene, and its values.

    Args:
        d: tf.distributions.
        name: of the scene.
        run: from tensors to their values.
    """
    make, points = SCENES[name]
    made = make(d)
    found: dict[str, Any] = {
        "text": str(made),
        "representation": repr(made),
        "parameters": sorted(made.parameters),
        "kind": repr(made.reparameterization_type),
        "graph parents": sorted({tensor.name for tensor in made._graph_parents}),
    }
    try:
        shapes = type(made).param_static_shapes([2, 3])
        found["parameter shapes"] = {key: shape.as_list() for key, shape in shapes.items()}
    except NotImplementedError:
        found["parameter shapes"] = None
    tensors, missing = {}, []
    for method in (*PROBABILITIES, *STATISTICS, "batch_shape_tensor", "event_shape_tensor"):
        try:
            given = (points,) if method in PROBABILITIES else ()
            tensors[method] = getattr(made, method)(*given)
        except NotImplementedError as error:
            missing.append(str(error))
    found["missing"] = missing
    found["scopes"] = {key: _scope(each.name) for key, each in tensors.items()}
    found["values"] = {key: plain(value) for key, value in run(tensors).items()}
    found["sample shapes"] = [made.sample(n).shape.as_list() for n in ((), 4, [2, 1])]
    return found


def _scope(name: str) -> list[str]:
    """The first two scopes of a name, without the numbers of further calls."""
    return re.sub(r"_\d+(?=/|$)", "", name).split("/")[:2]


def plain(value: Any) -> Any:
    """Numbers as JSON has them: those that it lacks are strings."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    return value if math.isfinite(value) else str(value)


def _twice(d: Any) -> None:
    class Mine(d.Normal):  # type: ignore[misc, name-defined]
        pass

    d.RegisterKL(Mine, Mine)(lambda a, b, name=None: None)
    d.RegisterKL(Mine, Mine)(lambda a, b, name=None: None)


#: calls that fail while the graph is built
FAILURES: dict[str, Callable[[Any], Any]] = {
    "scale of another dtype": lambda d: d.Normal(np.float32(0), np.float64(1)),
    "integers": lambda d: d.Normal(0, 1),
    "logits and probs": lambda d: d.Bernoulli(logits=[0.0], probs=[0.5]),
    "neither logits nor probs": lambda d: d.Categorical(),
    "probs of integers": lambda d: d.Bernoulli(probs=[1]),
    "logits of integers": lambda d: d.Bernoulli(logits=[1]),
    "a scalar of classes": lambda d: d.Categorical(logits=1.0),
    "one class": lambda d: d.Categorical(logits=[1.0], validate_args=True),
    "parameters that do not broadcast": lambda d: d.Normal([0.0, 1.0], [1.0, 2.0, 3.0]).mean(),
    "a value of another dtype": lambda d: d.Gamma(1.0, 2.0).log_prob(np.float64(1.0)),
    "a value of strings": lambda d: d.Normal(0.0, 1.0).log_prob("a"),
    "a value that does not broadcast": lambda d: d.Normal([0.0, 1.0], 1.0).prob([1.0, 2.0, 3.0]),
    "classes of strings": lambda d: d.Categorical([0.0, 1.0]).log_prob("a"),
    "a matrix as sample shape": lambda d: d.Normal(0.0, 1.0).sample([[1]]),
    "no divergence": lambda d: d.kl_divergence(d.Normal(0.0, 1.0), d.Bernoulli(probs=0.5)),
    "no divergence of a method": lambda d: d.Normal(0.0, 1.0).kl_divergence(d.Uniform()),
    "no function": lambda d: d.RegisterKL(d.Uniform, d.Normal)(3),
    "registered twice": _twice,
    "no shapes of parameters": lambda d: d.Categorical.param_shapes([3]),
    "an argument that is not there": lambda d: d.Normal(0.0, 1.0).copy(width=1.0),
    "low above high": lambda d: d.Uniform(2.0, 1.0, validate_args=True),
    "a parent of another class": lambda d: d.Distribution(
        None, d.NOT_REPARAMETERIZED, False, True, graph_parents=[1.0]
    ),
}


def failure(d: Any, name: str) -> str | None:
    """The class of the error of a call that fails."""
    try:
        FAILURES[name](d)
    except Exception as error:
        return next(
            each.__name__
            for each in type(error).__mro__
            if each.__module__ == "builtins" or each.__name__ == "InvalidArgumentError"
        )
    return None
