"""Data of the shapes that public programs read, and packages that stand in for others."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

__all__ = ["DIGITS", "ENDINGS", "make", "stand_ins"]

#: folder of the handwritten digits, next to the program
DIGITS = "digits_of_noise"
#: of files that are taken out of a repository
ENDINGS = (
    ".py", ".txt", ".csv", ".tsv", ".json", ".npy", ".mat", ".pos", ".neg", ".dat", ".pkl",
    ".graph", ".index", ".x", ".y", ".tx", ".ty", ".allx", ".ally",
)  # fmt: skip

#: modules whose every attribute can be called, indexed and unpacked; they show pictures and windows
_ABSORBING = ("matplotlib", "mpl_toolkits", "seaborn", "cv2", "pylab", "IPython")
_ABSORBING_TEXT = '''"""Stands in for a package that shows things."""
import importlib.abc, importlib.machinery, sys, types

class Anything(types.ModuleType):
    __path__ = []
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name)
    def __call__(self, *arguments, **options):
        return Anything("value")
    def __getitem__(self, key):
        return Anything("value")
    def __setitem__(self, key, value):
        pass
    def __iter__(self):
        return iter((Anything("value"), Anything("value")))
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return None

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == __name__:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
    def create_module(self, spec):
        return Anything(spec.name)
    def exec_module(self, module):
        pass

sys.meta_path.insert(0, Finder())
sys.modules[__name__] = Anything(__name__)
'''
_IMAGEIO_TEXT = '''"""Stands in for scipy.misc: pictures are resized, not read or written."""
import numpy as np

def imresize(picture, size, *arguments, **options):
    picture = np.asarray(picture)
    if np.isscalar(size):
        size = [int(n * size) for n in picture.shape[:2]]
    rows, columns = (np.arange(n) * old // n for n, old in zip(size, picture.shape))
    return picture[rows][:, columns]

def __getattr__(name):
    return lambda *arguments, **options: None
'''
_GYM_TEXT = '''"""Stands in for gym: worlds of the same shapes, with its old interface."""
import types
import numpy as np

WORLDS = {"CartPole": (4, 2), "MountainCar": (2, 3), "Pendulum": (3, None), "Acrobot": (6, 3)}

class Discrete:
    def __init__(self, n):
        self.n, self.shape = n, ()
    def sample(self):
        return int(np.random.randint(self.n))

class Box:
    def __init__(self, low, high, shape):
        self.low, self.high, self.shape = np.full(shape, low), np.full(shape, high), shape
    def sample(self):
        return np.random.uniform(self.low, self.high)

class World:
    def __init__(self, name):
        size, actions = WORLDS[name.partition("-")[0]]
        self.observation_space = Box(-5.0, 5.0, (size,))
        self.action_space = Box(-2.0, 2.0, (1,)) if actions is None else Discrete(actions)
        self.random, self.unwrapped, self.spec = np.random.RandomState(1), self, None
        self.x_threshold, self.theta_threshold_radians = 2.4, 0.2
    def seed(self, seed=None):
        self.random = np.random.RandomState(seed)
    def reset(self):
        self.count, self.state = 0, self.random.uniform(-0.05, 0.05, self.observation_space.shape)
        return self.state.copy()
    def step(self, action):
        self.count += 1
        push = 0.05 * (float(np.sum(action)) - 0.5)
        self.state = 1.02 * np.roll(self.state, 1) + push
        self.state = np.clip(self.state, -5, 5)
        return self.state.copy(), 1.0, bool(self.count >= 30), {}
    def render(self, *arguments, **options):
        pass
    def close(self):
        pass

def make(name):
    return World(name)

wrappers = types.SimpleNamespace(Monitor=lambda world, *arguments, **options: world)
'''


def stand_ins(folder: Path) -> None:
    """Writes packages that programs import and that do nothing here.

    Args:
        folder: for PYTHONPATH.
    """
    for name in _ABSORBING:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(_ABSORBING_TEXT)
    for name, text in (("gym", _GYM_TEXT), ("imageio", _IMAGEIO_TEXT)):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(text)


def make(kinds: tuple[str, ...], folder: Path) -> None:
    """Writes data next to a program.

    Args:
        kinds: names of _MAKERS, each with ":" and a file where the maker needs one.
        folder: of the program.
    """
    for kind in kinds:
        name, _, file = kind.partition(":")
        _MAKERS[name](folder / file)


def _digits(folder: Path) -> None:
    """A few digits, in the folder that read_data_sets is given."""
    _write_digits(folder / DIGITS, 6000, 500)


def _all_digits(folder: Path) -> None:
    """As many digits as MNIST has."""
    _write_digits(folder, 60000, 10000)


def _write_digits(folder: Path, train: int, test: int) -> None:
    """Four files of MNIST's format, of blobs whose position depends on the label."""
    folder.mkdir(exist_ok=True)
    random = np.random.RandomState(0)
    for name, count in (("train", train), ("t10k", test)):
        labels = random.randint(0, 10, count).astype(np.uint8)
        images = random.randint(0, 60, (count, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels, strict=True):
            y, x = 2 + 5 * (label // 3), 2 + 8 * (label % 3)
            image[y : y + 6, x : x + 6] += np.uint8(180)
        for kind, magic, values in (("images-idx3", (2051, count, 28, 28), images),
                                    ("labels-idx1", (2049, count), labels)):  # fmt: skip
            head = struct.pack(f">{len(magic)}i", *magic)
            with gzip.open(folder / f"{name}-{kind}-ubyte.gz", "wb", compresslevel=1) as file:
                file.write(head + values.tobytes())


def _text(path: Path, words: int = 4000) -> None:
    """Invented words in lines."""
    random = np.random.RandomState(1)
    letters = np.array(list("abcdefghijklmnoprstuvwy"))
    known = ["".join(random.choice(letters, random.randint(2, 8))) for _ in range(200)]
    path.parent.mkdir(parents=True, exist_ok=True)
    drawn = [known[int(199 * random.rand() ** 3)] for _ in range(words)]
    path.write_text("\n".join(" ".join(drawn[i : i + 10]) for i in range(0, words, 10)) + "\n")


_MAKERS: dict[str, Callable[[Path], None]] = {
    "digits": _digits,
    "all_digits": _all_digits,
    "text": _text,
    "folder": Path.mkdir,
}
