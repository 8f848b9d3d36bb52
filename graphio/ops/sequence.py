"""What the gradients say of sequences and optional values: their lengths carry none."""

from graphio.gradient_registry import not_differentiable

not_differentiable("SequenceEmpty", "SequenceLength", "OptionalHasElement")
