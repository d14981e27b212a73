"""What a sequence mixer is. B batch, L positions, Q query positions, D width (d_model)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.frozen import Frozen

State = tuple[Tensor, ...]
"""What a mixer carries from one position to the next while it decodes."""


class MixerConfig(Frozen):
    """The options of a sequence mixer; each mixer's own config stands beside its class."""

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where no layer of this size exists (for instance, heads that do not divide d_model)."""


class SequenceMixer(nn.Module, ABC):
    """A layer that maps x_BLD to y_BLD and is causal: y at position t depends on x at positions up to t only.

    It sees what a layer needs and nothing of vocabulary or task. The training form (`forward`) holds no Python
    loop over positions; `step` is the same map as a recurrence, the oracle of the training form's test and the
    definition of the state whose size is reported.

    Attributes:
        Config: The class of its config.
        wants_positions: Whether the model is to add learned position embeddings to its input.
        no_weight_decay: Names of parameters that weight decay leaves alone, such as the logarithms of decay rates,
            which it would drive to a rate that nobody chose.
        keeps_initial_weights: Whether its linear layers keep what its constructor gave them, rather than be drawn
            anew by the model's scheme.
    """

    Config: ClassVar[type[MixerConfig]]
    wants_positions: bool = False
    no_weight_decay: ClassVar[frozenset[str]] = frozenset()
    keeps_initial_weights: ClassVar[bool] = False

    def __init__(self, config: Any, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int) -> None:
        super().__init__()
        config.check_size(d_model=d_model, seq_len=seq_len)
        self.config = config
        self.d_model = d_model
        self.seq_len = seq_len
        self.layer_idx = layer_idx
        self.num_layers = num_layers

    @abstractmethod
    def forward(self, x_BLD: Tensor) -> Tensor:
        """Mix over positions, L ≤ seq_len; returns y_BLD."""

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Return y_BQD, the output at the positions `at_BQ` only; override where that saves work."""
        return take(self(x_BLD), at_BQ)

    @abstractmethod
    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return the state before the first position."""

    @abstractmethod
    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Take one position (counted from 0); return y_BD and the next state."""

    @abstractmethod
    def state_size(self, seq_len: int) -> int:
        """Return the elements of the state (of one row of the batch) after `seq_len` positions."""


def take(x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
    """Return x_BQD, the vectors of `x_BLD` at the positions `at_BQ` of each row.

    As a look-up of whole vectors: forward and backward it takes a third of the time of an element-wise gather.
    """
    batch, length, d_model = x_BLD.shape
    row_B1 = torch.arange(batch, device=at_BQ.device).unsqueeze(1)
    return F.embedding(at_BQ + row_B1 * length, x_BLD.reshape(batch * length, d_model))


def recur(mixer: SequenceMixer, x_BLD: Tensor) -> tuple[Tensor, State]:
    """Run a mixer position by position; returns y_BLD and the last state. Slow: an oracle, not a training form."""
    state = mixer.initial_state(x_BLD.shape[0], dtype=x_BLD.dtype, device=x_BLD.device)
    outputs = []
    for position in range(x_BLD.shape[1]):
        y_BD, state = mixer.step(x_BLD[:, position], state, position)
        outputs.append(y_BD)
    return torch.stack(outputs, dim=1), state
