"""Bijectors of contrib.distributions: a table of cases, of which each is a scene and is checked in
test_contrib_bijectors.py by differences, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Make = Callable[[Any, Any], Any]


class Case(NamedTuple):
    """A bijector and where it is evaluated.

    Args:
        make: from (tf, the package bijectors) to a bijector of float64.
        x: where.
        axes: numbers of axes of an event, before and after.
        free: which numbers of an x and of a y are coordinates, as masks; None: all.
    """

    make: Make
    x: Any
    axes: tuple[int, int] = (0, 0)
    free: tuple[Any, Any] | None = None


def _tensor(tf: Any, *values: Any) -> list[Any]:
    return [tf.constant(value, tf.float64) for value in values]


def _grid(low: float, high: float, *shape: int) -> Any:
    """Different numbers from low to high."""
    count = int(np.prod(shape))
    order = np.argsort(np.sin(np.arange(count) * 7.0 + 1.0))
    return np.linspace(low, high, count)[order].reshape(shape)


def _operator(kind: str) -> Make:
    def make(tf: Any, b: Any) -> Any:
        diag, tril, factor, shift = _tensor(tf, DIAG, TRIL, FACTOR, SHIFT)
        linalg = tf.linalg
        positive = linalg.LinearOperatorDiag(tf.abs(diag), is_positive_definite=True)
        operators = {
            "diag": lambda: linalg.LinearOperatorDiag(diag, is_non_singular=True),
            "tril": lambda: linalg.LinearOperatorLowerTriangular(tril, is_non_singular=True),
            "low_rank": lambda: linalg.LinearOperatorLowRankUpdate(
                positive, factor, is_diag_update_positive=True
            ),
            "full": lambda: linalg.LinearOperatorFullMatrix(tril + tf.transpose(tril)),
        }
        return b.AffineLinearOperator(shift, operators[kind]())

    return make


def _affine(**names: Any) -> Make:
    return lambda tf, b: b.Affine(**{k: tf.constant(v, tf.float64) for k, v in names.items()})


def _network(tf: Any, b: Any) -> Any:
    """A function that is autoregressive: triangles without diagonals."""
    weights = tf.constant(np.triu(_grid(-0.8, 0.8, 4, 4), 1))

    def shift_and_log_scale(x: Any) -> Any:
        h = tf.tensordot(x, weights, [[-1], [0]])
        return tf.tanh(h), 0.5 * tf.sin(h)

    return shift_and_log_scale


def _coupling(tf: Any, b: Any) -> Any:
    weights = tf.constant(_grid(-0.8, 0.8, 2, 2))

    def shift_and_log_scale(x: Any, units: int) -> Any:
        assert units == 2
        h = tf.matmul(x, weights)
        return tf.tanh(h), 0.5 * tf.sin(h)

    return shift_and_log_scale


def _inline(tf: Any, b: Any) -> Any:
    return b.Inline(
        forward_fn=tf.sinh,
        inverse_fn=tf.asinh,
        forward_log_det_jacobian_fn=lambda x: tf.log(tf.cosh(x)),
        forward_min_event_ndims=0,
    )


DIAG, SHIFT = np.array([1.5, -0.5, 2.0]), np.array([0.3, -1.0, 0.5])
TRIL = np.array([[1.2, 0.0, 0.0], [0.4, -0.7, 0.0], [-0.3, 0.9, 2.0]])
FACTOR = np.array([[0.5, 0.1], [-0.2, 0.7], [0.3, 0.3]])
DIAGONALS = np.stack([np.abs(DIAG), DIAG**2 + 0.2])
LOWER = np.tril(np.ones([3, 3], bool))
REAL, UNIT = _grid(-2.0, 2.0, 2, 3), _grid(0.05, 0.9, 2, 3)
POSITIVE = _grid(0.2, 3.0, 2, 3)
SQUARES = np.stack([np.tril(_grid(0.3, 2.0, 3, 3)), np.tril(_grid(0.5, 1.5, 3, 3)[::-1])])

CASES: dict[str, Case] = {
    "identity": Case(lambda tf, b: b.Identity(), REAL),
    "exp": Case(lambda tf, b: b.Exp(), REAL),
    "power": Case(lambda tf, b: b.PowerTransform(0.5), UNIT),
    "sigmoid": Case(lambda tf, b: b.Sigmoid(), REAL),
    "softplus": Case(lambda tf, b: b.Softplus(), REAL),
    "soft_hinge": Case(lambda tf, b: b.Softplus(tf.constant([0.5, -1.5, 2.0], tf.float64)), REAL),
    "softsign": Case(lambda tf, b: b.Softsign(), REAL),
    "square": Case(lambda tf, b: b.Square(), POSITIVE),
    "affine_scalar": Case(lambda tf, b: b.AffineScalar(*_tensor(tf, 0.5, DIAG)), REAL),
    "gumbel": Case(lambda tf, b: b.Gumbel(*_tensor(tf, 0.3, 1.5)), REAL),
    "weibull": Case(lambda tf, b: b.Weibull(*_tensor(tf, 1.5, 2.5)), POSITIVE),
    "kumaraswamy": Case(lambda tf, b: b.Kumaraswamy(*_tensor(tf, 1.5, 2.5)), UNIT),
    "sinh_arcsinh": Case(lambda tf, b: b.SinhArcsinh(*_tensor(tf, 0.4, 1.3)), REAL),
    "inline": Case(_inline, REAL),
    "invert": Case(lambda tf, b: b.Invert(b.Exp()), POSITIVE),
    "chain": Case(
        lambda tf, b: b.Chain([b.Softplus(), b.AffineScalar(*_tensor(tf, 0.5, 2.0)), b.Exp()]),
        UNIT,
    ),
    "chain_of_ranks": Case(
        lambda tf, b: b.Chain([b.Exp(), b.Affine(*_tensor(tf, SHIFT, 2.0)), b.Sigmoid()]),
        REAL,
        (1, 1),
    ),
    "affine_identity": Case(_affine(shift=SHIFT), REAL, (1, 1)),
    "affine_multiple": Case(_affine(shift=SHIFT, scale_identity_multiplier=-1.5), REAL, (1, 1)),
    "affine_diag": Case(_affine(shift=SHIFT, scale_diag=DIAG), REAL, (1, 1)),
    "affine_tril": Case(
        _affine(scale_tril=TRIL, scale_diag=DIAG, scale_identity_multiplier=0.3), REAL, (1, 1)
    ),
    "affine_perturbed": Case(
        _affine(
            shift=SHIFT,
            scale_diag=np.abs(DIAG),
            scale_perturb_factor=FACTOR,
            scale_perturb_diag=np.array([0.5, 2.0]),
        ),
        REAL,
        (1, 1),
    ),
    "affine_multiple_perturbed": Case(
        _affine(scale_identity_multiplier=2.0, scale_perturb_factor=FACTOR), REAL, (1, 1)
    ),
    "affine_batch": Case(_affine(shift=SHIFT, scale_diag=DIAGONALS), REAL, (1, 1)),
    "operator_diag": Case(_operator("diag"), REAL, (1, 1)),
    "operator_tril": Case(_operator("tril"), REAL, (1, 1)),
    "operator_low_rank": Case(_operator("low_rank"), REAL, (1, 1)),
    "operator_full": Case(_operator("full"), REAL, (1, 1)),
    "ordered": Case(lambda tf, b: b.Ordered(), np.sort(REAL, -1), (1, 1)),
    "permute": Case(lambda tf, b: b.Permute([2, 0, 1]), REAL, (1, 1)),
    "softmax_centered": Case(
        lambda tf, b: b.SoftmaxCentered(),
        REAL,
        (1, 1),
        (np.ones(3, bool), np.array([True, True, True, False])),
    ),
    "reshape": Case(lambda tf, b: b.Reshape([3, -1], [6]), _grid(-1, 1, 2, 6), (1, 2)),
    "fill_triangular": Case(
        lambda tf, b: b.FillTriangular(), _grid(-1, 1, 2, 6), (1, 2), (np.ones(6, bool), LOWER)
    ),
    "fill_upper": Case(
        lambda tf, b: b.FillTriangular(upper=True),
        _grid(-1, 1, 2, 6),
        (1, 2),
        (np.ones(6, bool), LOWER.T),
    ),
    "scale_tril": Case(
        lambda tf, b: b.ScaleTriL(b.Exp(), diag_shift=None),
        _grid(-1, 1, 2, 6),
        (1, 2),
        (np.ones(6, bool), LOWER),
    ),
    "transform_diagonal": Case(lambda tf, b: b.TransformDiagonal(b.Softplus()), SQUARES, (2, 2)),
    "cholesky_outer_product": Case(
        lambda tf, b: b.CholeskyOuterProduct(), SQUARES, (2, 2), (LOWER, LOWER)
    ),
    "masked_autoregressive": Case(
        lambda tf, b: b.MaskedAutoregressiveFlow(_network(tf, b)), _grid(-1, 1, 2, 4), (1, 1)
    ),
    "unrolled_autoregressive": Case(
        lambda tf, b: b.MaskedAutoregressiveFlow(_network(tf, b), unroll_loop=True),
        _grid(-1, 1, 2, 4),
        (1, 1),
    ),
    "real_nvp": Case(lambda tf, b: b.RealNVP(2, _coupling(tf, b)), _grid(-1, 1, 2, 4), (1, 1)),
}


def evaluated(case: Case, tf: Any, bijectors: Any, x: Any) -> dict[str, Any]:
    """The tensors of a case: y, the x of y, and both log-determinants, also summed over a batch
    axis."""
    bijector = case.make(tf, bijectors)
    y = bijector.forward(x)
    # of another tensor, so that nothing is taken from what the bijector keeps
    separate = tf.identity(y)
    before, after = case.axes
    return {
        "y": y,
        "x": bijector.inverse(separate),
        "fldj": case.make(tf, bijectors).forward_log_det_jacobian(x, event_ndims=before),
        "ildj": bijector.inverse_log_det_jacobian(separate, event_ndims=after),
        "summed": case.make(tf, bijectors).forward_log_det_jacobian(x, event_ndims=before + 1),
    }


def _scene(case: Case) -> Callable[[Any, Any], Any]:
    def scene(tf: Any, contrib: Any) -> Any:
        bijectors = contrib("distributions").bijectors
        return list(evaluated(case, tf, bijectors, tf.constant(case.x, tf.float64)).values())

    return scene


def _absolute_value(tf: Any, contrib: Any) -> Any:
    bijector = contrib("distributions").bijectors.AbsoluteValue()
    y = tf.constant(POSITIVE)
    return [
        bijector.forward(tf.constant(REAL)),
        *bijector.inverse(y),
        *bijector.inverse_log_det_jacobian(y, event_ndims=1),
    ]


def _matrix_inverse_tril(tf: Any, contrib: Any) -> Any:
    bijector = contrib("distributions").bijectors.MatrixInverseTriL()
    x = tf.constant(SQUARES, tf.float32)
    y = bijector.forward(x)
    return [
        y,
        bijector.inverse(tf.identity(y)),
        bijector.forward_log_det_jacobian(x, event_ndims=2),
        bijector.inverse_log_det_jacobian(y, event_ndims=2),
    ]


def _templates(tf: Any, contrib: Any) -> Any:
    b = contrib("distributions").bijectors
    x = tf.constant(_grid(-1, 1, 3, 4), tf.float32)
    flow = b.MaskedAutoregressiveFlow(b.masked_autoregressive_default_template([8, 8]))
    shift = b.MaskedAutoregressiveFlow(
        b.masked_autoregressive_default_template([4], shift_only=True, name="shift"),
        is_constant_jacobian=True,
    )
    coupling = b.RealNVP(1, b.real_nvp_default_template([5], activation=tf.tanh))
    dense = b.masked_dense(x, 8, num_blocks=4, exclusive=True, name="dense")
    return [
        [c.inverse(x), c.inverse_log_det_jacobian(x, event_ndims=1)]
        for c in (flow, shift, coupling)
    ] + [dense]


#: a rewrite of TensorFlow 2.21's drops the sign of a log-determinant after the loop of this one;
#: the unrolled one has the same values
NOT_RECORDED = "masked_autoregressive"
SCENES: dict[str, Callable[[Any, Any], Any]] = {
    **{name: _scene(case) for name, case in CASES.items() if name != NOT_RECORDED},
    "absolute_value": _absolute_value,
    "matrix_inverse_tril": _matrix_inverse_tril,
    "templates": _templates,
}
