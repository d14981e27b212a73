"""Embedding → pre-norm blocks → tied head, computed at query positions only where that suffices.

Shape suffixes: B batch, L positions, Q query positions, D width (d_model), V vocabulary.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import SequenceMixer, take
from tune_zoo.mixers.registry import build, parse_config
from tune_zoo.spec import ModelSpec, TaskSpec
from tune_zoo.streams import torch_seed


class MLP(nn.Module):
    """The state mixer `mlp`: two linear layers around a GELU, four times the width inside."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(d_model, 4 * d_model)
        self.fc2 = nn.Linear(4 * d_model, d_model)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Map each position by itself."""
        out: Tensor = self.fc2(F.gelu(self.fc1(x_BLD)))
        return out


class Block(nn.Module):
    """x + mixer(norm(x)), then, with a state mixer, x + mlp(norm(x))."""

    def __init__(self, mixer: SequenceMixer, *, state_mixer: Literal["none", "mlp"]) -> None:
        super().__init__()
        self.mixer_norm = nn.LayerNorm(mixer.d_model)
        self.mixer = mixer
        self.mlp_norm = nn.LayerNorm(mixer.d_model) if state_mixer == "mlp" else None
        self.mlp = MLP(mixer.d_model) if state_mixer == "mlp" else None

    def forward(self, x_BLD: Tensor, at_BQ: Tensor | None = None) -> Tensor:
        """Return the block's output, at the positions `at_BQ` only where they are given."""
        normed_BLD = self.mixer_norm(x_BLD)
        y: Tensor
        if at_BQ is None:
            y = x_BLD + self.mixer(normed_BLD)
        else:
            y = take(x_BLD, at_BQ) + self.mixer.forward_at(normed_BLD, at_BQ)
        if self.mlp is not None and self.mlp_norm is not None:
            y = y + self.mlp(self.mlp_norm(y))
        return y


class RecallModel(nn.Module):
    """A small language model for recall tasks.

    The head and everything behind the last layer's mixing run at the query positions only: at a vocabulary of
    8,192 the full logits are most of the cost of a step.
    """

    def __init__(self, layers: list[SequenceMixer], spec: ModelSpec, *, vocab_size: int, seq_len: int) -> None:
        super().__init__()
        learned = spec.positions == "learned" or (
            spec.positions == "auto" and any(layer.wants_positions for layer in layers)
        )
        self.embedding = nn.Embedding(vocab_size, spec.d_model)
        self.positions = nn.Embedding(seq_len, spec.d_model) if learned else None
        self.dropout = nn.Dropout(spec.embed_dropout)
        self.blocks = nn.ModuleList(Block(layer, state_mixer=spec.state_mixer) for layer in layers)
        self.norm = nn.LayerNorm(spec.d_model)

    def forward(self, tokens_BL: Tensor, at_BQ: Tensor | None = None) -> Tensor:
        """Return logits_BQV at the positions `at_BQ`, or logits_BLV at every position without them."""
        x_BLD = self.embedding(tokens_BL)
        if self.positions is not None:
            x_BLD = x_BLD + self.positions.weight[: tokens_BL.shape[1]]
        x_BLD = self.dropout(x_BLD)
        *front, last = self.blocks
        for block in front:
            x_BLD = block(x_BLD)
        return F.linear(self.norm(last(x_BLD, at_BQ)), self.embedding.weight)

    @property
    def num_params(self) -> int:
        """Trainable parameters; the tied head counts once."""
        return sum(parameter.numel() for parameter in self.parameters() if parameter.requires_grad)

    def state_size(self, seq_len: int) -> int:
        """Return the elements of state that all layers carry while decoding at `seq_len`."""
        return sum(block.mixer.state_size(seq_len) for block in self.blocks)  # type: ignore[operator, union-attr]


def build_model(spec: ModelSpec, task: TaskSpec, *, seed: int) -> RecallModel:
    """Build and initialise a model on the CPU from the initialisation stream of `seed`.

    Mixers draw their own parameters in their constructors, so these run inside a fork of torch's generator.

    Raises:
        MixerError: If the mixer is unknown, its config breaks a rule, or it cannot have that size.
    """
    config = parse_config(spec.mixer.name, spec.mixer.config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(seed, "initialisation"))
        layers = [
            build(
                spec.mixer.name,
                config,
                d_model=spec.d_model,
                seq_len=task.seq_len,
                layer_idx=layer_idx,
                num_layers=spec.num_layers,
            )
            for layer_idx in range(spec.num_layers)
        ]
        model = RecallModel(layers, spec, vocab_size=task.vocab_size, seq_len=task.seq_len)
        initialise(model, spec)
    return model


@torch.no_grad()
def initialise(model: RecallModel, spec: ModelSpec) -> None:
    """Draw every linear and embedding weight anew by the scheme `spec.init`; biases of linear layers become 0.

    Mixers that keep their initial weights are left as they are.

    `fan_in` decides whether attention leaves the 1/k plateau at all on a CPU budget; `zoology` is the public
    code's: 0.02 everywhere, and 0.02/√(2·layers) for the projections that write into the residual stream.
    """
    kept = {
        part
        for mixer in model.modules()
        if isinstance(mixer, SequenceMixer) and mixer.keeps_initial_weights
        for part in mixer.modules()
    }
    for name, module in model.named_modules():
        if module in kept:
            continue
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.02 if spec.init == "zoology" else spec.d_model**-0.5)
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=_linear_std(name, module, spec))
            if module.bias is not None:
                nn.init.zeros_(module.bias)


def _linear_std(name: str, linear: nn.Linear, spec: ModelSpec) -> float:
    if spec.init == "fan_in":
        return 1.0 / math.sqrt(linear.in_features)
    writes_residual = name.endswith(("out_proj", "fc2"))
    return 0.02 / math.sqrt(2 * spec.num_layers) if writes_residual else 0.02
