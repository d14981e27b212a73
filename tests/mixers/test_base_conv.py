from tune_zoo.testing import SequenceMixerConformance


class TestShort(SequenceMixerConformance):
    name = "base_conv"


class TestLong(SequenceMixerConformance):
    name = "base_conv"
    layer_idx = 1


class TestImplicit(SequenceMixerConformance):
    name = "base_conv"
    options = {"kernels": ["implicit"]}


class TestOneTap(SequenceMixerConformance):
    name = "base_conv"
    options = {"kernels": [1], "bias": "channel"}


class TestAsInPublicCode(SequenceMixerConformance):
    name = "base_conv"
    options = {"kernels": [3, "long"], "bias": "channel", "inner_residual": True}
    layer_idx = 1
