"""What a trial costs: floating-point operations, and roughly the seconds they take."""

from __future__ import annotations

from tune_zoo.spec import TrialSpec

_STEP_S = 0.0015  # a step of a tiny model on one CPU core: calls, not arithmetic
_COST = {
    "based": 2.5,
    "delta_net": 3.0,
    "gated_delta_net": 3.5,
    "gla": 1.5,
    "h3": 3.0,
    "hyena": 2.5,
    "linear_attention": 1.5,
    "mamba": 10.0,
    "mamba2": 5.0,
    "retnet": 2.0,
    "rwkv4": 2.5,
    "rwkv7": 5.0,
}  # of a mixer over attention's, about, in short rows on one CPU core (docs/results/mixers.md); 1 for the others
_FLOPS_A_SECOND = 5e10  # of larger ones, on one CPU core
_TRAINING_TO_FORWARD = 3  # a backward pass costs two forward passes


def flops(spec: TrialSpec) -> float:
    """Estimate a trial's floating-point operations at its whole budget.

    Counts four d×d products a position and layer and the N² products of attention, times what a mixer's layer
    costs over one of attention; the state mixer; and the head at the query positions. Good enough to order trials
    and to share out a budget.
    """
    task, model, training = spec.task, spec.model, spec.training
    n, d = task.seq_len, model.d_model
    mixer = 2 * n * d * (4 * d + 2 * n) * _COST.get(model.mixer.name, 1.0)
    layer = mixer + (16 * n * d * d if model.state_mixer == "mlp" else 0)
    head = 2 * task.num_queries * d * task.vocab_size
    rows = training.total_steps * training.batch_size
    return float(_TRAINING_TO_FORWARD * rows * (model.num_layers * layer + head))


def flops_spent(spec: TrialSpec, steps: int) -> float:
    """Estimate the floating-point operations of a trial that took so many of its steps."""
    return flops(spec) * steps / spec.training.total_steps


def rough_seconds(spec: TrialSpec) -> float:
    """Guess the seconds of a trial at its whole budget on one CPU core, within a factor of two or three.

    Two figures measured on shared machines: the cost of a step that does next to nothing, and the arithmetic of
    small matrices.
    """
    step_s = _STEP_S * _COST.get(spec.model.mixer.name, 1.0)
    return spec.training.total_steps * step_s + flops(spec) / _FLOPS_A_SECOND
