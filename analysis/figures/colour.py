"""Colours measured as eyes do: contrast on a ground, distance, and another lightness of the same hue."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])
_FLARE = 0.05
_STEPS = 24


def luminance(color: str) -> float:
    """Relative luminance of a colour in [0, 1], as "Web Content Accessibility Guidelines 2.2" defines it."""
    return float(_LUMINANCE @ _linear(to_rgb(color)))


def contrast(color: str, ground: str) -> float:
    """Contrast ratio of a colour on a ground, from 1 to 21, by the same guidelines: text needs 4.5, lines 3."""
    dim, bright = sorted(luminance(one) + _FLARE for one in (color, ground))
    return bright / dim


def distance(one: str, other: str) -> float:
    """Euclidean distance of two colours in Oklab, 1 from black to white."""
    return float(np.linalg.norm(oklab(one) - oklab(other)))


def oklab(color: str) -> Floats:
    """Lightness and the two opponent axes of a colour, shape (3,).

    Reference: Björn Ottosson, "A perceptual color space for image processing" (2020).
    """
    return np.asarray(_TO_LAB @ np.cbrt(_TO_CONES @ _linear(to_rgb(color))), dtype=np.float64)


@cache
def relit(color: str, lightness: float) -> str:
    """The colour at another lightness: the same hue, and as much of the chroma as a screen can show.

    Args:
        color: Any colour that matplotlib knows.
        lightness: Lightness in Oklab, from 0, black, to 1, white.

    Returns:
        A hexadecimal code.
    """
    _, a, b = oklab(color)
    low, high = 0.0, 1.0
    if _shown(np.array([lightness, a, b])):
        low = 1.0
    else:
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if _shown(np.array([lightness, middle * a, middle * b])) else (low, middle)
    red, green, blue = np.clip(_encoded(_from_oklab(np.array([lightness, low * a, low * b]))), 0.0, 1.0).tolist()
    return to_hex((red, green, blue))


@cache
def legible(color: str, ground: str, least: float) -> str:
    """The colour itself if its contrast is enough, else the nearest lightness of its hue that has it.

    Args:
        color: Any colour that matplotlib knows.
        ground: What it is seen on.
        least: Smallest contrast ratio.

    Returns:
        A hexadecimal code.
    """
    if contrast(color, ground) >= least:
        return to_hex(color)
    near, far = float(oklab(color)[0]), float(luminance(ground) < 0.18)
    for _ in range(_STEPS):
        middle = (near + far) / 2
        near, far = (near, middle) if contrast(relit(color, middle), ground) >= least else (middle, far)
    return relit(color, far)


def _linear(rgb: tuple[float, float, float]) -> Floats:
    values = np.asarray(rgb, dtype=np.float64)
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def _encoded(linear: Floats) -> Floats:
    return np.where(linear <= 0.0031308, linear * 12.92, 1.055 * np.cbrt(np.abs(linear)) ** 1.25 - 0.055)


def _from_oklab(lab: Floats) -> Floats:
    return np.asarray(np.linalg.solve(_TO_CONES, np.linalg.solve(_TO_LAB, lab) ** 3), dtype=np.float64)


def _shown(lab: Floats) -> bool:
    linear = _from_oklab(lab)
    return bool((linear > -1e-6).all() and (linear < 1.0 + 1e-6).all())
