"""The rule for heads that every mixer with heads checks before it is built."""

from __future__ import annotations

from tune_zoo.errors import MixerError


def check_divides(
    mixer: str, option: str, value: int, channels: int, *, d_model: int, what: str = "d_model"
) -> None:
    """Raise MixerError where a number of heads, or of channels a head, does not divide the channels they share.

    Args:
        mixer: The mixer, as the error names it.
        option: The option of its config that is to divide.
        value: The option's value.
        channels: What it is to divide.
        d_model: The width.
        what: The channels in words, where they are not the width itself.
    """
    if channels % value == 0:
        return
    divisors = [n for n in range(1, channels + 1) if channels % n == 0]
    nearest = [max(n for n in divisors if n < value), *[n for n in divisors if n > value][:1]]
    of_these = "" if what == "d_model" else f", {channels} channels"
    raise MixerError(
        f"{mixer}: {option} must divide {what}, got {option} {value} with d_model {d_model}{of_these}; "
        f"the nearest that do: {' or '.join(map(str, nearest))}"
    )
