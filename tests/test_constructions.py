"""Weights set by hand solve MQAR exactly, and any of them missing, they do not."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from rich.console import Console
from typer.testing import CliRunner

from tune_zoo.batches import rows
from tune_zoo.cli import app
from tune_zoo.commands import constructions as command
from tune_zoo.constructions.attention import convolution_and_attention, two_attention_layers
from tune_zoo.constructions.few_distances import FewDistances
from tune_zoo.constructions.input_dependent import input_dependent_convolution
from tune_zoo.constructions.measure import Measurement, cases, measure
from tune_zoo.constructions.weights import block, mixer_parameters
from tune_zoo.model import RecallModel
from tune_zoo.tasks import AssociativeRecall, Mqar, Task
from tune_zoo.tasks.labels import dense_labels, scan_labels

attentions = pytest.mark.parametrize("build", [two_attention_layers, convolution_and_attention])
sizes = pytest.mark.parametrize(("seq_len", "pairs", "vocab_size"), [(16, 4, 16), (64, 15, 32), (96, 10, 64)])
fillers = pytest.mark.parametrize("filler", ["zero", "random"])


def accuracy(model: RecallModel, task: Task, num_positions: int = 32_000) -> float:
    return measure(model, task, num_rows=num_positions // task.seq_len, seed=1).accuracy


def mqar(seq_len: int, pairs: int, vocab_size: int, **options: Any) -> Mqar:
    options.setdefault("query_distribution", "uniform")
    return Mqar(seq_len=seq_len, num_kv_pairs=pairs, vocab_size=vocab_size, **options)


def few_distances(seq_len: int, pairs: int, vocab_size: int, t: int, **options: Any) -> FewDistances:
    return FewDistances(seq_len=seq_len, num_kv_pairs=pairs, vocab_size=vocab_size, num_distances=t, **options)


@attentions
@sizes
@fillers
def test_attention_solves_mqar(build: Callable[..., RecallModel], seq_len, pairs, vocab_size, filler):
    model = build(vocab_size=vocab_size, seq_len=seq_len)
    assert accuracy(model, mqar(seq_len, pairs, vocab_size, filler=filler)) == 1


@attentions
@pytest.mark.parametrize(
    "task",
    [
        mqar(64, 4, 32, query_distribution="power_law"),
        mqar(64, 10, 32, num_passes=2, filler="random"),
        AssociativeRecall(seq_len=41, num_kv_pairs=9, vocab_size=32, filler="random"),
    ],
    ids=["power law", "two passes", "one query"],
)
def test_attention_solves_the_other_forms(build: Callable[..., RecallModel], task):
    assert accuracy(build(vocab_size=task.vocab_size, seq_len=task.seq_len), task) == 1


@attentions
def test_attention_solves_long_rows(build: Callable[..., RecallModel]):
    assert accuracy(build(vocab_size=32, seq_len=512), mqar(512, 15, 32, filler="random")) == 1


@sizes
@fillers
@pytest.mark.parametrize("t", [1, 2, 4])
def test_the_input_dependent_convolution_solves_few_distances(seq_len, pairs, vocab_size, filler, t):
    pairs = min(pairs, (seq_len + 2 - t) // 4)
    model = input_dependent_convolution(vocab_size=vocab_size, seq_len=seq_len, num_distances=t)
    task = few_distances(seq_len, pairs, vocab_size, t, filler=filler)
    assert accuracy(model, task) == 1


@sizes
def test_with_a_distance_for_each_query_it_solves_mqar(seq_len, pairs, vocab_size):
    model = input_dependent_convolution(vocab_size=vocab_size, seq_len=seq_len, num_distances=pairs)
    assert accuracy(model, mqar(seq_len, pairs, vocab_size)) == 1


def test_one_distance_too_few_is_not_enough():
    model = input_dependent_convolution(vocab_size=32, seq_len=64, num_distances=3)
    assert 0.5 < accuracy(model, few_distances(64, 8, 32, 4)) < 0.95


def test_filler_that_repeats_key_tokens_breaks_the_assumption():
    """Two equal fillers are a query and its key by Definition 3.1, so that a row has further distances."""
    model = input_dependent_convolution(vocab_size=32, seq_len=64, num_distances=4)
    assert accuracy(model, mqar(64, 4, 32, filler="random")) < 0.9


def each_weight(model: RecallModel) -> list[tuple[str, torch.Tensor]]:
    """Return the parts of a model's mixers that are not zero, queries, keys and values apart."""
    parts = []
    for name, parameter in model.named_parameters():
        if ".mixer." in name and "bias" not in name and parameter.any():
            split = parameter.chunk(3) if "qkv" in name else (parameter,)
            parts += [(f"{name} {i}", part) for i, part in enumerate(split) if part.any()]
    return parts


@pytest.mark.parametrize(
    ("build", "num_parts"),
    [
        (two_attention_layers, 8),
        (convolution_and_attention, 6),  # taps and open gate, then four of attention
        (lambda **size: input_dependent_convolution(num_distances=4, **size), 4),
    ],
)
def test_without_any_one_weight_it_fails(build: Callable[..., RecallModel], num_parts):
    model, task = build(vocab_size=32, seq_len=64), few_distances(64, 8, 32, 4)
    parts = each_weight(model)
    assert len(parts) == num_parts
    assert accuracy(model, task, 10_000) == 1
    for name, part in parts:
        kept = part.detach().clone()
        with torch.no_grad():
            part.zero_()
            assert accuracy(model, task, 10_000) < 0.9, f"{name} is not needed"
            part.copy_(kept)
    assert accuracy(model, task, 10_000) == 1


def test_a_key_token_that_no_query_is_projected_onto_is_never_recalled():
    """One weight of thousands, and exactly the rows with that key are wrong."""
    model, task = (
        input_dependent_convolution(vocab_size=32, seq_len=64, num_distances=4),
        few_distances(64, 8, 32, 4),
    )
    with torch.no_grad():
        block(model, 0).mixer.get_parameter("qkv_proj.weight")[7, 7] = 0
    batch = rows(task.sample(500, np.random.default_rng(0)), torch.device("cpu"))
    with torch.no_grad():
        right_BQ = model(batch.tokens_BN, batch.positions_BQ).argmax(-1) == batch.targets_BQ
    asked_BQ = batch.tokens_BN.gather(1, batch.positions_BQ)
    assert torch.equal(right_BQ, asked_BQ != 7)


@pytest.mark.parametrize("build", [two_attention_layers, convolution_and_attention])
def test_every_position_at_once(build: Callable[..., RecallModel]):
    """Where all positions are computed, the queries' are right; `measure` computes the queries' alone."""
    task = mqar(32, 4, 32, filler="random")
    batch = rows(task.sample(50, np.random.default_rng(0)), torch.device("cpu"))
    with torch.no_grad():
        answers_BN = build(vocab_size=32, seq_len=32)(batch.tokens_BN).argmax(-1)
    assert torch.equal(answers_BN.gather(1, batch.positions_BQ), batch.targets_BQ)


@pytest.mark.parametrize("c", [16, 48])
@pytest.mark.parametrize("seq_len", [16, 64])
def test_parameters(c, seq_len):
    size, width = {"vocab_size": c, "seq_len": seq_len}, 2 * c + 6
    assert mixer_parameters(two_attention_layers(**size))[0] == 2 * (4 * width**2 + 4 * width)
    attention, convolution = 4 * (2 * c) ** 2 + 4 * (2 * c), (2 * c) ** 2 + 4 * (2 * c)
    assert mixer_parameters(convolution_and_attention(**size))[0] == attention + convolution
    found = mixer_parameters(input_dependent_convolution(**size, num_distances=3))
    assert found == (4 * c**2 + 4 * c, 2 * c + 2 * (c // 2 - 1))


def test_the_weights_hold_no_chance():
    before = torch.get_rng_state()
    one, two = (two_attention_layers(vocab_size=16, seq_len=8).state_dict() for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(one[name], two[name]) for name in one)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 9), st.sampled_from(["zero", "random"]), st.data())
def test_rows_of_few_distances(pairs, t, slack, filler, data):
    task = few_distances(4 * pairs - 2 + t + slack, pairs, 2 * pairs + 2 + slack, t, filler=filler)
    batch = task.sample(8, np.random.default_rng(data.draw(st.integers(0, 1000))))
    labels_BN = dense_labels(batch)
    for tokens_N, labels_N in zip(batch.tokens_BN, labels_BN, strict=True):
        np.testing.assert_array_equal(labels_N, scan_labels(tokens_N, task.context_length))
        queries = np.flatnonzero(labels_N >= 0)
        distances = {int(i - np.flatnonzero(tokens_N == tokens_N[i])[0]) for i in queries}
        assert len(queries) == pairs
        assert len(distances) <= t
        filler_M = np.delete(tokens_N[task.context_length :], queries - task.context_length)
        assert not np.isin(filler_M, task.key_tokens).any()


def test_distances_are_many_kinds():
    """Over rows every distance occurs, odd ones too, and a row with many pairs has all of its t."""
    task = few_distances(64, 8, 32, 4)
    batch = task.sample(2000, np.random.default_rng(0))
    asked_BQ = np.take_along_axis(batch.tokens_BN, batch.positions_BQ, axis=1)
    keys_BQ = (asked_BQ[:, :, None] == batch.tokens_BN[:, None, :16]).argmax(2)
    distances_BQ = batch.positions_BQ - keys_BQ
    assert set(distances_BQ.ravel()) == set(task.distances)
    assert np.mean([len(set(row)) for row in distances_BQ]) > 3.5


def test_distances_that_do_not_fit():
    with pytest.raises(ValidationError, match=r"num_distances must be at most 2 .*got 3; raise seq_len to 17"):
        few_distances(16, 4, 16, 3)
    with pytest.raises(ValidationError, match=r"num_distances must be at most 0 .*got 3; raise seq_len to 17"):
        few_distances(8, 4, 16, 3)
    few_distances(17, 4, 16, 3)


def printed(width: int = 80) -> tuple[int, str]:
    stream = io.StringIO()
    code = command.constructions(num_rows=4, seed=0, console=Console(file=stream, width=width))
    return code, stream.getvalue()


def test_the_command_prints_a_row_a_case():
    code, out = printed()
    assert code == 0
    assert "…" not in out
    table = [line.split() for line in out.splitlines() if line.startswith((" attention,", " conv,", " input-"))]
    assert len(table) == len(list(cases())) == 24
    assert " ".join(table[0]) == "attention, attention 32 6 32 any 1 39,760 230 1,024 38.8"
    assert " ".join(table[-1]) == "input-dependent conv 128 12 128 12 1 66,048 382 196,608 0.336"
    assert "What is not 0 lies within it." in " ".join(out.split())
    assert all(int(line[-3].replace(",", "")) <= int(line[-2].replace(",", "")) for line in table)


def test_the_command_says_when_a_query_is_missed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "measure", lambda *_, **__: Measurement(0.9999996, 10, 5))
    code, out = printed()
    assert code == 1
    assert "24 of 24 miss queries: a task or a mixer is not what it says it is." in " ".join(out.split())
    assert "0.999999 " in out  # cut off, not rounded to 1


def test_the_command_line():
    result = CliRunner().invoke(app, ["constructions", "--rows", "2", "--seed", "3"])
    assert result.exit_code == 0
    assert "input-dependent conv" in result.output
    assert CliRunner().invoke(app, ["constructions", "--rows", "0"]).exit_code == 2
