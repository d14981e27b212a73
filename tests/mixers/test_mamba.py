"""Mamba: the conformance suite."""

from __future__ import annotations

from typing import ClassVar

from tune_zoo.testing import SequenceMixerConformance


class TestMamba(SequenceMixerConformance):
    name = "mamba"
    options: ClassVar = {"d_state": 5}


class TestMambaWithoutConvolution(SequenceMixerConformance):
    name = "mamba"
    options: ClassVar = {"short_conv": 0, "delta_rank": 2}
