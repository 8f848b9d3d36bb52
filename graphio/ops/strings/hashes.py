"""Hash functions of bytes whose values TensorFlow's operators show.

Sources: FarmHash's Fingerprint64 (github.com/google/farmhash), SipHash-2-4 (Aumasson and Bernstein,
2012), MurmurHash64A (Appleby). All arithmetic is modulo 2^64, bytes are little-endian.
"""

from __future__ import annotations

__all__ = ["combined64", "fingerprint64", "murmur64", "siphash64"]

_ALL = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
_MURMUR, _MURMUR_SEED = 0xC6A4A7935BD1E995, 0xDECAFCAFFE


def _word(text: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(text[at : at + size], "little")


def _rotated(x: int, bits: int) -> int:
    """x turned to the right by some bits."""
    x &= _ALL
    return (x >> bits | x << (64 - bits)) & _ALL


def _shifted(x: int) -> int:
    x &= _ALL
    return x ^ x >> 47


# ---- FarmHash ----


def fingerprint64(text: bytes) -> int:
    """FarmHash's Fingerprint64, which never changes."""
    if len(text) <= 16:
        return _up_to_16(text)
    if len(text) <= 32:
        return _up_to_32(text)
    return _up_to_64(text) if len(text) <= 64 else _beyond_64(text)


def _mixed(u: int, v: int, factor: int) -> int:
    a = _shifted((u ^ v) * factor)
    return _shifted(((v & _ALL) ^ a) * factor) * factor & _ALL


def _up_to_16(text: bytes) -> int:
    size = len(text)
    factor = _K2 + size * 2
    if size >= 8:
        a, b = _word(text, 0) + _K2, _word(text, size - 8)
        c, d = _rotated(b, 37) * factor + a, (_rotated(a, 25) + b) * factor
        return _mixed(c & _ALL, d & _ALL, factor)
    if size >= 4:
        return _mixed(size + (_word(text, 0, 4) << 3), _word(text, size - 4, 4), factor)
    if size:
        y, z = text[0] + (text[size >> 1] << 8), size + (text[-1] << 2)
        return _shifted(y * _K2 & _ALL ^ z * _K0 & _ALL) * _K2 & _ALL
    return _K2


def _ends(text: bytes, first: int) -> tuple[int, int, int, int, int]:
    """The first values for strings of 17 to 64 bytes: a factor, the first number and three sums."""
    size = len(text)
    factor = _K2 + size * 2
    a, b = _word(text, 0) * first & _ALL, _word(text, 8)
    c, d = _word(text, size - 8) * factor & _ALL, _word(text, size - 16) * _K2
    y = _rotated(a + b, 43) + _rotated(c, 30) + d & _ALL
    return factor, a, b, y, a + _rotated(b + _K2, 18) + c & _ALL


def _up_to_32(text: bytes) -> int:
    factor, _, _, y, z = _ends(text, _K1)
    return _mixed(y, z, factor)


def _up_to_64(text: bytes) -> int:
    size = len(text)
    factor, a, _, y, z = _ends(text, _K2)
    z = _mixed(y, z, factor)
    e, f = _word(text, 16) * factor & _ALL, _word(text, 24)
    g = (y + _word(text, size - 32)) * factor & _ALL
    h = (z + _word(text, size - 24)) * factor
    last = _rotated(e + f, 43) + _rotated(g, 30) + h & _ALL
    return _mixed(last, e + _rotated(f + a, 18) + g & _ALL, factor)


def _weak(text: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = (_word(text, at + i) for i in (0, 8, 16, 24))
    a = a + w & _ALL
    b = _rotated(b + a + z, 21)
    c = a
    a = a + x + y & _ALL
    b += _rotated(a, 44)
    return a + z & _ALL, b + c & _ALL


def _block(
    text: bytes, at: int, x: int, y: int, z: int, v: tuple[int, int], w: tuple[int, int],
    factor: int, more: int,
) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:  # fmt: skip
    """Takes in 64 bytes; more: what two of the sums are multiplied by."""
    x = _rotated(x + y + v[0] + _word(text, at + 8), 37) * factor & _ALL
    y = _rotated(y + v[1] + _word(text, at + 48), 42) * factor & _ALL
    x ^= w[1] * more & _ALL
    y = y + v[0] * more + _word(text, at + 40) & _ALL
    z = _rotated(z + w[0], 33) * factor & _ALL
    v = _weak(text, at, v[1] * factor, x + w[0])
    w = _weak(text, at + 32, z + w[1], y + _word(text, at + 16))
    return z, y, x, v, w


def _beyond_64(text: bytes) -> int:
    x, y = 81, 81 * _K1 + 113
    z = _shifted(y * _K2 + 113) * _K2 & _ALL
    x = x * _K2 + _word(text, 0)
    v = w = (0, 0)
    end = (len(text) - 1) // 64 * 64
    for at in range(0, end, 64):
        x, y, z, v, w = _block(text, at, x, y, z, v, w, _K1, 1)
    factor = _K1 + ((z & 0xFF) << 1)
    first = w[0] + (len(text) - 1 & 63) & _ALL
    v = v[0] + first & _ALL, v[1]
    w = first + v[0] & _ALL, w[1]
    x, y, z, v, w = _block(text, len(text) - 64, x, y, z, v, w, factor, 9)
    one = _mixed(v[0], w[0], factor) + _shifted(y) * _K0 + z & _ALL
    return _mixed(one, _mixed(v[1], w[1], factor) + x & _ALL, factor)


def combined64(first: int, second: int) -> int:
    """TensorFlow's fingerprint of two fingerprints, whose order counts."""
    found = (first ^ _MURMUR) ^ _shifted(second * _MURMUR) * _MURMUR
    return _shifted(_shifted(found * _MURMUR) * _MURMUR)


# ---- SipHash ----


def siphash64(text: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4 with a key of two integers of 64 bits."""
    k0, k1 = (k & _ALL for k in key)
    state = [
        k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573,
    ]  # fmt: skip
    whole = len(text) // 8 * 8
    words = [_word(text, at) for at in range(0, whole, 8)]
    words.append(_word(text, whole) | (len(text) & 0xFF) << 56)
    for word in words:
        state[3] ^= word
        _sip_rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _sip_rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_rounds(v: list[int], count: int) -> None:
    for _ in range(count):
        _half_round(v, 0, 1, 2, 3, 13, 16)
        _half_round(v, 2, 1, 0, 3, 17, 21)


def _half_round(v: list[int], a: int, b: int, c: int, d: int, s: int, t: int) -> None:
    v[a] = v[a] + v[b] & _ALL
    v[c] = v[c] + v[d] & _ALL
    v[b] = _rotated(v[b], 64 - s) ^ v[a]
    v[d] = _rotated(v[d], 64 - t) ^ v[c]
    v[a] = _rotated(v[a], 32)


# ---- MurmurHash ----


def murmur64(text: bytes) -> int:
    """MurmurHash64A with the seed of TensorFlow's Hash64."""
    found = _MURMUR_SEED ^ len(text) * _MURMUR & _ALL
    whole = len(text) // 8 * 8
    for at in range(0, whole, 8):
        word = _shifted(_word(text, at) * _MURMUR) * _MURMUR & _ALL
        found = (found ^ word) * _MURMUR & _ALL
    if whole < len(text):
        found = (found ^ _word(text, whole)) * _MURMUR & _ALL
    return _shifted(_shifted(found) * _MURMUR & _ALL)
