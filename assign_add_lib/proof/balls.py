"""Balls: arrays of float64, each with one radius, within which every entry lies of the number that it stands for.

An operation adds to the radius what rounding can add, so an inequality between balls holds for the real numbers.  Of NumPy it
takes for granted that + - * / are rounded to nearest, that a product of matrices is summed in any order with rounding to
nearest, and that `exp` errs by less than 16 units in the last place; a test compares all with the balls of python-flint.
"""

import math

import numpy as np

UNIT = 2.0**-53  # a rounding to nearest errs by at most this share
UP = 1 + 2.0**-30  # covers the rounding of the radii themselves
TINY = 1e-290  # covers what underflows


def largest(values: np.ndarray) -> float:
    """The largest absolute value, 0 of an empty array."""
    return float(max(values.max(), -values.min())) if values.size else 0.0


class Ball:
    """An array `mid` and how far any of its entries may be from the truth, `rad`.

    Numbers and arrays that meet a ball stand for themselves, exactly.

    >>> third = Ball(1.0) / 3.0
    >>> bool(third.lower() < 1 / 3 < third.upper())
    True
    """

    __slots__ = ("mid", "rad")
    __array_ufunc__ = None  # an array of NumPy leaves its operations with a ball to the ball

    def __init__(self, mid, rad: float = 0.0):
        self.mid, self.rad = np.asarray(mid, dtype=np.float64), rad * UP if rad >= 0 else math.inf  # of nan too

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.mid.shape

    def lower(self) -> np.ndarray:
        """Numbers that are at most the true ones."""
        return np.nextafter(self.mid - self.rad, -np.inf)

    def upper(self) -> np.ndarray:
        """Numbers that are at least the true ones."""
        return np.nextafter(self.mid + self.rad, np.inf)

    def __add__(self, other) -> "Ball":
        other = ball(other)
        mid = self.mid + other.mid
        return Ball(mid, self.rad + other.rad + UNIT * largest(mid))

    __radd__ = __add__

    def __neg__(self) -> "Ball":
        return Ball(-self.mid, self.rad)

    def __sub__(self, other) -> "Ball":
        return self + -ball(other)

    def __rsub__(self, other) -> "Ball":
        return -self + other

    def __mul__(self, other) -> "Ball":
        other = ball(other)
        mid = self.mid * other.mid
        spread = (self.rad * (largest(other.mid) + other.rad) if self.rad else 0) + (
            other.rad * largest(self.mid) if other.rad else 0
        )
        return Ball(mid, spread + UNIT * largest(mid) + TINY)

    __rmul__ = __mul__

    def __truediv__(self, other) -> "Ball":
        other = ball(other)
        least = float(other.mid.min()) - other.rad
        if not least > 0:
            raise ZeroDivisionError("a ball divides that may not be above 0")
        mid = self.mid / other.mid
        return Ball(mid, (self.rad + other.rad * largest(mid)) / least + 2 * UNIT * largest(mid) + TINY)

    def __rtruediv__(self, other) -> "Ball":
        return ball(other) / self

    def __matmul__(self, other) -> "Ball":
        other = ball(other)
        n, mid = self.shape[-1], self.mid @ other.mid
        down = -2 if other.mid.ndim > 1 else -1

        def most(values: np.ndarray, axis: int) -> float:
            return float(values.sum(axis).max(initial=0.0))

        longest = math.sqrt((most(self.mid**2, -1) + TINY) * (most(other.mid**2, down) + TINY))
        spread = other.rad * (most(np.abs(self.mid), -1) + n * self.rad) + self.rad * most(np.abs(other.mid), down)
        return Ball(mid, spread * (1 + 2 * n * UNIT) + n * UNIT * UP * (1 + 4 * n * UNIT) * longest + n * TINY)

    def __rmatmul__(self, other) -> "Ball":
        return ball(other) @ self

    def __getitem__(self, key) -> "Ball":
        return Ball(self.mid[key], self.rad)

    def exp(self) -> "Ball":
        """The exponentials."""
        mid = np.exp(self.mid)
        return Ball(mid, largest(mid) * (float(np.expm1(self.rad)) * UP + 32 * UNIT) + TINY)

    def sum(self, axis=None) -> "Ball":
        """Sums over axes, added in any order."""
        mid = self.mid.sum(axis)
        n = self.mid.size // max(mid.size, 1)
        return Ball(mid, n * self.rad + (n * UNIT * UP) * (n * largest(self.mid)))

    def min(self, axis=None) -> "Ball":
        """The least over axes."""
        return Ball(self.mid.min(axis), self.rad)

    def max(self, axis=None) -> "Ball":
        """The largest over axes."""
        return Ball(self.mid.max(axis), self.rad)

    def abs(self) -> "Ball":
        """Absolute values."""
        return Ball(np.abs(self.mid), self.rad)

    def reshape(self, *shape: int) -> "Ball":
        """The same numbers in another shape."""
        return Ball(self.mid.reshape(*shape), self.rad)

    @property
    def mT(self) -> "Ball":  # as torch and NumPy call it
        """The last two axes exchanged."""
        return Ball(self.mid.swapaxes(-1, -2), self.rad)


def ball(value) -> Ball:
    """The same ball, or the ball of radius 0 around numbers."""
    return value if isinstance(value, Ball) else Ball(value)


def least(first, second) -> Ball:
    """The smaller of two, entry by entry."""
    first, second = ball(first), ball(second)
    return Ball(np.minimum(first.mid, second.mid), max(first.rad, second.rad))


def join(parts, axis: int = -1) -> Ball:
    """Balls one after the other."""
    parts = [ball(each) for each in parts]
    return Ball(np.concatenate([each.mid for each in parts], axis), max(each.rad for each in parts))


def stack(parts, axis: int = 0) -> Ball:
    """Balls side by side on a new axis."""
    parts = [ball(each) for each in parts]
    return Ball(np.stack([each.mid for each in parts], axis), max(each.rad for each in parts))
