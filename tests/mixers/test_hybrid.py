from tune_zoo.testing import SequenceMixerConformance

SHORT_THEN_ATTENTION = [
    {"name": "base_conv", "config": {"kernels": [3]}},
    {"name": "attention", "config": {"num_heads": 2}},
]


class TestStackFirst(SequenceMixerConformance):
    name = "hybrid"
    options = {"layers": SHORT_THEN_ATTENTION}


class TestStackSecond(SequenceMixerConformance):
    name = "hybrid"
    options = {"layers": SHORT_THEN_ATTENTION}
    layer_idx = 1


class TestSum(SequenceMixerConformance):
    name = "hybrid"
    options = {"layers": SHORT_THEN_ATTENTION, "combine": "sum"}


class TestNested(SequenceMixerConformance):
    name = "hybrid"
    options = {
        "layers": [
            {"name": "hybrid", "config": {"layers": [*SHORT_THEN_ATTENTION, {"name": "long_conv"}], "combine": "sum"}}
        ]
    }
