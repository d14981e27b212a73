import pytest

from tune_zoo.errors import MixerError
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.testing import SequenceMixerConformance


class TestAttention(SequenceMixerConformance):
    name = "attention"


class TestFourHeads(SequenceMixerConformance):
    name = "attention"
    options = {"num_heads": 4}


class TestDropoutInEvaluation(SequenceMixerConformance):
    name = "attention"
    options = {"num_heads": 2, "dropout": 0.5}
