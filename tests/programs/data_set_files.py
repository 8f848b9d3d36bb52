"""Small files of the data sets of tf.keras.datasets, and what TensorFlow reads from them.

    python tests/programs/data_set_files.py    in an environment of TensorFlow 2 with tf_keras

writes tests/programs/data_set_files.json.
"""

from __future__ import annotations

import gzip
import json
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

GOLDEN = Path(__file__).with_suffix(".json")


def write(folder: Path) -> None:
    """The files, in a folder that is keras's."""
    digits = np.random.RandomState(1)
    x, y = digits.randint(0, 256, (7, 28, 28), np.uint8), digits.randint(0, 10, 7).astype(np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "mnist.npz", x_train=x[:5], y_train=y[:5], x_test=x[5:], y_test=y[5:])
    write_digits(folder / "fashion-mnist", x, y)
    write_cifar(folder, digits)
    lists = [digits.randint(1, 40, n).tolist() for n in (3, 9, 4, 6, 2, 5, 8, 7, 3, 4)]
    words = np.empty(10, dtype=object)
    words[:] = lists
    labels = digits.randint(0, 2, 10)
    np.savez(
        folder / "imdb.npz",
        x_train=words[:6], y_train=labels[:6], x_test=words[6:], y_test=labels[6:],
    )  # fmt: skip
    np.savez(folder / "reuters.npz", x=words, y=digits.randint(0, 46, 10))
    np.savez(folder / "boston_housing.npz", x=digits.rand(10, 13), y=digits.rand(10))
    (folder / "imdb_word_index.json").write_text('{"the": 1}')
    (folder / "reuters_word_index.json").write_text('{"a": 2}')


def write_digits(folder: Path, x: Any, y: Any, train: int = 5) -> None:
    """Pictures and labels in the four files of MNIST."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, part in (("train", slice(None, train)), ("t10k", slice(train, None))):
        head = np.array([2051, len(x[part]), 28, 28], ">u4").tobytes()
        with gzip.open(folder / f"{kind}-images-idx3-ubyte.gz", "wb") as file:
            file.write(head + x[part].tobytes())
        with gzip.open(folder / f"{kind}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(np.array([2049, len(y[part])], ">u4").tobytes() + y[part].tobytes())


def write_cifar(folder: Path, random: Any) -> None:
    """Batches with the keys of CIFAR, as bytes."""
    names = {
        "cifar-10-batches-py": [*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"],
        "cifar-100-python": ["train", "test"],
    }
    for at, batches in names.items():
        (folder / at).mkdir()
        for name in batches:
            content = {
                b"data": random.randint(0, 256, (2, 3072), np.uint8),
                b"labels": [1, 4],
                b"fine_labels": [99, 3],
                b"coarse_labels": [19, 2],
            }
            (folder / at / name).write_bytes(pickle.dumps(content, protocol=2))


def calls(datasets: Any) -> dict[str, Any]:
    """Calls with several arguments; CIFAR-10 has a fixed size in TensorFlow and is left out."""
    return {
        "mnist": lambda: datasets.mnist.load_data(),
        "fashion_mnist": lambda: datasets.fashion_mnist.load_data(),
        "cifar100": lambda: datasets.cifar100.load_data(),
        "cifar100 coarse": lambda: datasets.cifar100.load_data("coarse"),
        "imdb": lambda: datasets.imdb.load_data(),
        "imdb words": lambda: datasets.imdb.load_data(num_words=20, skip_top=5),
        "imdb plain": lambda: datasets.imdb.load_data(
            num_words=20, start_char=None, oov_char=None, index_from=1, seed=3
        ),
        "reuters": lambda: datasets.reuters.load_data(),
        "reuters words": lambda: datasets.reuters.load_data(num_words=15, test_split=0.5, maxlen=8),
        "boston_housing": lambda: datasets.boston_housing.load_data(),
    }


def plain(value: Any) -> Any:
    """Arrays as lists; of pictures the shape, the sum and some pixels."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if value.ndim > 2:
        picked = value.reshape(-1)[:: max(1, value.size // 5)]
        return [list(value.shape), str(value.dtype), int(value.sum()), picked.tolist()]
    if value.dtype == object:
        return [list(map(int, words)) for words in value]
    return value.tolist()


if __name__ == "__main__":
    import tf_keras
    import tf_keras.src.utils.data_utils

    with tempfile.TemporaryDirectory() as name:
        write(Path(name) / "datasets")
        at = Path(name) / "datasets"

        def local(fname: str, *arguments: Any, **options: Any) -> str:
            return os.path.join(at, options.get("cache_subdir", "").partition("/")[2], fname)

        for module in ("mnist", "fashion_mnist", "cifar100", "imdb", "reuters", "boston_housing"):
            getattr(tf_keras.src.datasets, module).get_file = local
        made = {name: plain(call()) for name, call in calls(tf_keras.src.datasets).items()}
    rows = (f"{json.dumps(k)}: {json.dumps(v)}" for k, v in made.items())
    GOLDEN.write_text("{\n" + ",\n".join(rows) + "\n}\n")
