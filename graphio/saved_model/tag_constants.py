"""Usual tags of meta graphs."""

SERVING = "serve"
TRAINING = "train"
EVAL = "eval"
GPU = "gpu"
TPU = "tpu"

__all__ = ["EVAL", "GPU", "SERVING", "TPU", "TRAINING"]
