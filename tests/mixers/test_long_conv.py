from tune_zoo.testing import SequenceMixerConformance


class TestShort(SequenceMixerConformance):
    name = "long_conv"


class TestLong(SequenceMixerConformance):
    name = "long_conv"
    layer_idx = 1
    options = {"bias": "channel"}
