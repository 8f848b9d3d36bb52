"""Philox 4x32-10 (Salmon et al. 2011), many blocks at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.schema.crc32c import crc32c
from graphio.schema.seeds import mix_seeds

Array = np.ndarray[Any, Any]

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
_ROUNDS = 10
_WIDE = (1 << 64) - 1
_SEED_KEY = 0x02461E293EC8F720


def blocks(key: int, low: Array, high: Array) -> Array:
    """The words of blocks.

    Args:
        key: 64 bits.
        low, high: uint64 (n), the two halves of each block's counter.

    Returns:
        uint32 (n, 4).
    """
    c0, c1 = low & _LOW, low >> _SHIFT
    c2, c3 = high & _LOW, high >> _SHIFT
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(_ROUNDS):
        p0, p1 = c0 * _M0, c2 * _M1
        c0, c2 = (p1 >> _SHIFT) ^ c1 ^ np.uint64(k0), (p0 >> _SHIFT) ^ c3 ^ np.uint64(k1)
        c1, c3 = p1 & _LOW, p0 & _LOW
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    words = np.empty((len(low), 4), np.uint32)
    for i, word in enumerate((c0, c1, c2, c3)):
        words[:, i] = word
    return words


def stream(key: int, counter: int, count: int) -> Array:
    """uint32 (count): the words of the blocks counter, counter + 1, ... in order."""
    n = -(-count // 4)
    low = np.arange(n, dtype=np.uint64) + np.uint64(counter)
    return blocks(key, low, np.zeros(n, np.uint64)).reshape(-1)[:count]


def key_of_seed(first: int, second: int) -> int:
    """The key of stateless draws by a seed of two 64-bit numbers.

    It is that of a generator whose graph seed and operation seed are the block of the seed, which
    is how TensorFlow's stateless and stateful draws are related.
    """
    low, high = (np.array([x & _WIDE], np.uint64) for x in (first, second))
    words = [int(w) for w in blocks(_SEED_KEY, low, high)[0]]
    return mix_seeds(words[0] | words[1] << 32, words[2] | words[3] << 32)


def key_of(seed: int, name: str) -> int:
    """The key of a generator without a seed: the first words of the block of its name."""
    counter = np.array([crc32c(name.encode())], np.uint64)
    words = blocks(seed, counter, np.zeros(1, np.uint64))[0]
    return int(words[0]) | int(words[1]) << 32
