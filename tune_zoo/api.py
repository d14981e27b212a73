"""The package in a notebook: describe a trial, train it, draw rows of a task, build a layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from tune_zoo.errors import SpecError
from tune_zoo.frozen import explain
from tune_zoo.spec import TrialSpec
from tune_zoo.streams import stream
from tune_zoo.tasks import Batch, Task

if TYPE_CHECKING:
    from tune_zoo.mixers.base import SequenceMixer


_NAMED = {
    "task": {"seq_len", "num_kv_pairs"},
    "model": {"d_model", "mixer"},
    "optimizer": {"learning_rate"},
}  # what `trial` takes by name


def trial(
    *,
    mixer: str,
    d_model: int,
    seq_len: int,
    num_kv_pairs: int,
    learning_rate: float,
    seed: int = 0,
    config: Mapping[str, Any] | None = None,
    task: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    optimizer: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
) -> TrialSpec:
    """Describe one trial; what is not given has the defaults of `tune_zoo.spec`.

    Args:
        mixer: A registered sequence mixer, or `package.module:Class`.
        d_model: The width.
        seq_len: The sequence length N.
        num_kv_pairs: Key-value pairs a row.
        learning_rate: Of AdamW.
        seed: Of data, initialisation and order, each a stream of its own.
        config: The mixer's own options.
        task: Options of the task: MQAR over a vocabulary of 64 unless they say otherwise.
        model: Options of the model, such as `num_layers`.
        optimizer: Options of the optimiser, such as `weight_decay`.
        training: Options of the training: 2,000 steps unless they say otherwise.

    Raises:
        SpecError: If a value breaks a rule.
    """
    task_data = {"name": "mqar", "vocab_size": 64, **_own("task", task)}
    data = {
        "task": {**task_data, "seq_len": seq_len, "num_kv_pairs": num_kv_pairs},
        "model": {**_own("model", model), "d_model": d_model, "mixer": _mixer(mixer, config or {})},
        "optimizer": {**_own("optimizer", optimizer), "learning_rate": learning_rate},
        "training": _training(training or {}),
        "seed": seed,
    }
    try:
        return TrialSpec.model_validate(data)
    except ValidationError as error:
        raise SpecError(explain(error, model=TrialSpec)) from None


def _own(section: str, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the options of a section, once none of them is an argument of `trial`."""
    named = sorted(_NAMED[section] & set(options or {}))
    if named:
        raise SpecError(f"{section}.{named[0]} has an argument of its own, `{named[0]}`; give it there")
    return dict(options or {})


def _mixer(name: str, config: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "label": name, "config": dict(config)}


def _training(options: Mapping[str, Any]) -> dict[str, Any]:
    budget = {"max_steps", "num_train_examples", "max_epochs"} & set(options)
    return dict(options) if budget else {**options, "max_steps": 2000}


def generate(task: Task, num_rows: int, *, seed: int = 0, split: str = "train") -> Batch:
    """Draw rows of a task from the stream of a split: tokens, query positions and answers.

    Args:
        task: The task, such as `trial(…).task` or `Mqar(seq_len=64, num_kv_pairs=4, vocab_size=8192)`.
        num_rows: B.
        seed: The seed of the trial.
        split: "train", "validation" or "test": no two share a stream.
    """
    return task.sample(num_rows, stream(seed, split))


def build(
    mixer: str,
    options: Mapping[str, Any] | None = None,
    *,
    d_model: int,
    seq_len: int,
    layer_idx: int = 0,
    num_layers: int = 1,
) -> SequenceMixer:
    """Build one layer of a sequence mixer, a module that maps x_BLD to y_BLD.

    Raises:
        MixerError: If the mixer is unknown, an option breaks a rule, or it cannot have that size.
    """
    from tune_zoo.mixers import registry  # noqa: PLC0415  (imports torch)

    config = registry.parse_config(mixer, options or {})
    return registry.build(
        mixer, config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers
    )
