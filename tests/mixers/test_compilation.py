"""Every mixer compiles, both directions, without a break, and is the same map then."""

from __future__ import annotations

from typing import Any

import pytest

from tune_zoo.mixers.registry import MIXERS
from tune_zoo.testing import SequenceMixerConformance

OPTIONS: dict[str, Any] = {
    "hybrid": {"layers": [{"name": "base_conv"}, {"name": "sliding_window"}], "combine": "sum"},
    "mamba": {"d_state": 4},
}  # of mixers that are not taken as they come


@pytest.mark.parametrize("mixer", sorted(MIXERS))
def test_a_mixer_compiles(mixer: str) -> None:
    class Suite(SequenceMixerConformance):
        name = mixer
        options = OPTIONS.get(mixer, {})

    Suite().check_compiled()
