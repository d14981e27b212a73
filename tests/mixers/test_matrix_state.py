"""The mixers whose state is a matrix a head: the conformance suite over their options."""

from __future__ import annotations

from typing import ClassVar

from tune_zoo.testing import SequenceMixerConformance


class TestLinearAttention(SequenceMixerConformance):
    name = "linear_attention"
    options: ClassVar = {"num_heads": 2, "chunk_len": 8}


class TestLinearAttentionBehindAConvolution(SequenceMixerConformance):
    name = "linear_attention"
    options: ClassVar = {"short_conv": 3}


class TestBased(SequenceMixerConformance):
    name = "based"
    options: ClassVar = {"feature_dim": 4, "num_heads": 2}


class TestRetNet(SequenceMixerConformance):
    name = "retnet"


class TestGLA(SequenceMixerConformance):
    name = "gla"
    options: ClassVar = {"num_heads": 2}


class TestDeltaNet(SequenceMixerConformance):
    name = "delta_net"
    options: ClassVar = {"num_heads": 2, "negative_eigenvalues": True}


class TestDeltaNetWithoutConvolution(SequenceMixerConformance):
    name = "delta_net"
    options: ClassVar = {"short_conv": 0}


class TestGatedDeltaNet(SequenceMixerConformance):
    name = "gated_delta_net"
    options: ClassVar = {"num_heads": 2, "expand_v": 2}


class TestMamba2(SequenceMixerConformance):
    name = "mamba2"
    options: ClassVar = {"d_state": 6}


class TestRWKV7(SequenceMixerConformance):
    name = "rwkv7"
    options: ClassVar = {"num_heads": 2}
