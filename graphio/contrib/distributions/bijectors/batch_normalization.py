"""The bijector of batch normalization."""

from __future__ import annotations

from typing import Any

from graphio.contrib.distributions.bijectors.base import Bijector
from graphio.layers import normalization
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn.core import moments, relu

__all__ = ["BatchNormalization"]


class BatchNormalization(Bijector):
    """The inverse normalizes a batch, forward undoes that by the moving averages (Dinh et al.,
    2017; Papamakarios et al., 2017).

    Args:
        batchnorm_layer: a tf.layers.BatchNormalization; None: one whose gamma is kept positive.
        training: whether the inverse normalizes by the statistics of the batch.
        validate_args: without an effect.
        name: of the scope of its operations.

    Raises:
        ValueError: the layer is of another kind or has renorm or virtual batches; of calls, a
            shape is not known.
    """

    def __init__(
        self,
        batchnorm_layer: Any = None,
        training: bool = True,
        validate_args: bool = False,
        name: str = "batch_normalization",
    ) -> None:
        self.batchnorm = batchnorm_layer or normalization.BatchNormalization(
            gamma_constraint=lambda x: relu(x) + 1e-6
        )
        if not isinstance(self.batchnorm, normalization.BatchNormalization):
            raise ValueError("batchnorm_layer must be an instance of BatchNormalization layer.")
        if getattr(self.batchnorm, "renorm", False):
            raise ValueError("BatchNorm Bijector does not support renormalization.")
        if getattr(self.batchnorm, "virtual_batch_size", None):
            raise ValueError("BatchNorm Bijector does not support virtual batch sizes.")
        self._training = training
        axis = self.batchnorm.axis
        super().__init__(
            validate_args=validate_args,
            forward_min_event_ndims=1 if isinstance(axis, int) else len(axis),
            name=name,
        )

    def _axes(self, x: Any) -> list[int]:
        """The axes of events, from the layer, which counts from the front once it is built.

        Raises:
            ValueError: the shape is not known.
        """
        if not x.shape.is_fully_defined():
            raise ValueError("Input must have shape known at graph construction.")
        if not self.batchnorm.built:
            self.batchnorm.build(x.shape)
            self.batchnorm.built = True
        axis = self.batchnorm.axis
        return [a % x.shape.ndims for a in ([axis] if isinstance(axis, int) else axis)]

    def _forward(self, x: Any) -> Any:
        axes, layer = self._axes(x), self.batchnorm
        shape = [n if i in axes else 1 for i, n in enumerate(x.shape.as_list())]

        def wide(variable: Any) -> Any:
            return array.reshape(variable, shape)

        rescale = elementwise.sqrt(wide(layer.moving_variance) + layer.epsilon)
        if layer.scale:
            rescale = rescale / wide(layer.gamma)
        mean = wide(layer.moving_mean)
        return x * rescale + (mean - wide(layer.beta) * rescale if layer.center else mean)

    def _inverse(self, y: Any) -> Any:
        return self.batchnorm.apply(y, training=self._training)

    def _log_det(self, y: Any, training: bool) -> Any:
        axes = self._axes(y)
        variance = self.batchnorm.moving_variance
        if training:
            others = [i for i in range(y.shape.ndims) if i not in axes]
            variance = moments(y, others, keep_dims=True)[1]
        logs = elementwise.log(variance + self.batchnorm.epsilon)
        gamma = reduction.reduce_sum(elementwise.log(self.batchnorm.gamma))
        return gamma - 0.5 * reduction.reduce_sum(logs)

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        return -self._log_det(x, False)

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        return self._log_det(y, self._training)
