"""What mixers with a matrix as their state share. B batch, L positions, D width, H heads, K and V channels a head.

X channels of the streams that a front, such as a short convolution, makes of the input.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from pydantic import Field, PositiveInt
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State, take
from tune_zoo.mixers.ops.chunks import chunked_recurrence
from tune_zoo.mixers.ops.fla_kernels import Backend, chosen_backend, fla_recurrence
from tune_zoo.mixers.ops.recurrence import Terms, recurrence_step
from tune_zoo.mixers.parts.short_conv import ShortConv


class MatrixStateConfig(MixerConfig):
    """Options of a mixer whose state is a matrix a head.

    Attributes:
        num_heads: Heads; each has its own matrix, so more heads of fewer channels make a smaller state.
        chunk_len: Positions that the training form handles at once; changes its cost and not its result.
        backend: What runs the training form: this package's own (`torch`), the kernels of flash-linear-attention
            (`fla`), or these where there is a GPU and they are installed (`auto`).
    """

    num_heads: PositiveInt = 1
    chunk_len: PositiveInt = 64
    backend: Backend = "auto"


class ShortConvConfig(MatrixStateConfig):
    """Options of a mixer that may convolve its queries, keys and values first.

    Attributes:
        short_conv: Taps of the convolution; 0 means none.
    """

    short_conv: int = Field(default=0, ge=0)


class Front(nn.Module, ABC):
    """What turns the input into the streams of channels that the recurrence's terms are made of; causal."""

    @abstractmethod
    def forward(self, x_BLD: Tensor) -> Tensor:
        """Return streams_BLX."""

    @abstractmethod
    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return the state before the first position."""

    @abstractmethod
    def step(self, x_BD: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one position; return streams_BX and the next state."""

    @abstractmethod
    def state_size(self) -> int:
        """Return the elements of the state of one row."""


class Projections(Front):
    """One linear map to all streams, then a short convolution and a SiLU where they are asked for."""

    def __init__(self, d_model: int, channels: int, *, short_conv: int = 0, silu: bool = False) -> None:
        super().__init__()
        self.proj = nn.Linear(d_model, channels, bias=False)
        self.conv = ShortConv(channels, short_conv, silu=silu) if short_conv else None
        self.silu = silu and self.conv is None

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Return streams_BLX."""
        streams_BLX: Tensor = self.proj(x_BLD)
        if self.conv is not None:
            return self.conv(streams_BLX)  # type: ignore[no-any-return]
        return F.silu(streams_BLX) if self.silu else streams_BLX

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return the state of the convolution, if there is one."""
        return () if self.conv is None else self.conv.initial_state(batch_size, dtype=dtype, device=device)

    def step(self, x_BD: Tensor, state: State) -> tuple[Tensor, State]:
        """Take one position."""
        streams_BX: Tensor = self.proj(x_BD)
        if self.conv is not None:
            return self.conv.step(streams_BX, state)
        return F.silu(streams_BX) if self.silu else streams_BX, state

    def state_size(self) -> int:
        """Return the elements of the convolution's state."""
        return 0 if self.conv is None else self.conv.state_size()


class MatrixStateMixer(SequenceMixer, ABC):
    """A front, the recurrence over a matrix a head, and an output; front and recurrence alone look back.

    Subclasses set `front`, `key_channels` (K) and `value_channels` (V) and say how a position's streams become the
    terms of the recurrence, and how what it reads becomes the output. Both work on any leading dimensions, written
    … below: B L in training, B in a step.
    """

    config: MatrixStateConfig
    front: Front
    key_channels: int
    value_channels: int

    @abstractmethod
    def terms(self, streams: Tensor, x: Tensor, positions: Tensor) -> Terms:
        """Return the terms (… H K, … H V) of streams … X and input … D, at positions of shape … or L."""

    @abstractmethod
    def output(self, read: Tensor, streams: Tensor, x: Tensor) -> Tensor:
        """Return y … D of what the recurrence read, … H V, and the streams and input it was read with."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Mix over positions."""
        streams_BLX = self.front(x_BLD)
        return self.output(self._read(streams_BLX, x_BLD), streams_BLX, x_BLD)

    def forward_at(self, x_BLD: Tensor, at_BQ: Tensor) -> Tensor:
        """Mix over positions; make the output at the positions `at_BQ` only."""
        streams_BLX = self.front(x_BLD)
        read_BLHV = self._read(streams_BLX, x_BLD)
        read_BQHV = take(read_BLHV.flatten(2), at_BQ).unflatten(-1, read_BLHV.shape[2:])
        return self.output(read_BQHV, take(streams_BLX, at_BQ), take(x_BLD, at_BQ))

    def _read(self, streams_BLX: Tensor, x_BLD: Tensor) -> Tensor:
        positions_L = torch.arange(x_BLD.shape[1], device=x_BLD.device)
        terms = self.terms(streams_BLX, x_BLD, positions_L)
        if chosen_backend(self.config.backend, x_BLD.device, terms) == "fla":
            return fla_recurrence(terms)
        return chunked_recurrence(terms, chunk_len=self.config.chunk_len)

    def initial_state(self, batch_size: int, *, dtype: torch.dtype, device: torch.device) -> State:
        """Return a zero matrix a head, B H K V, and the front's state."""
        shape = (batch_size, self.config.num_heads, self.key_channels, self.value_channels)
        front = self.front.initial_state(batch_size, dtype=dtype, device=device)
        return torch.zeros(shape, dtype=dtype, device=device), *front

    def step(self, x_BD: Tensor, state: State, position: int) -> tuple[Tensor, State]:
        """Take one position of the recurrence."""
        matrix_BHKV, *front_state = state
        streams_BX, next_front = self.front.step(x_BD, tuple(front_state))
        terms = self.terms(streams_BX, x_BD, torch.tensor(position, device=x_BD.device))
        read_BHV, matrix_BHKV = recurrence_step(terms, matrix_BHKV)
        return self.output(read_BHV, streams_BX, x_BD), (matrix_BHKV, *next_front)

    def state_size(self, seq_len: int) -> int:
        """Return H·K·V and the front's part, whatever the length."""
        return self.config.num_heads * self.key_channels * self.value_channels + self.front.state_size()

    def heads(self, x: Tensor) -> Tensor:
        """Return … X as … H X/H."""
        return torch.unflatten(x, -1, (self.config.num_heads, -1))


class GatedMixer(MatrixStateMixer, ABC):
    """One whose output is W_O (norm(read) ⊙ SiLU(W_G x)), the norm being that of each head."""

    def add_output(self, values: int) -> None:
        """Add the gate, the norm and the output projection, for that many channels of all heads' values."""
        self.gate_proj = nn.Linear(self.d_model, values, bias=False)
        self.norm = HeadNorm(self.value_channels)
        self.out_proj = nn.Linear(values, self.d_model, bias=False)

    def output(self, read: Tensor, streams: Tensor, x: Tensor) -> Tensor:
        """Norm, gate and project."""
        y: Tensor = self.out_proj(self.norm(read, self.gate_proj(x)))
        return y


class RMSNorm(nn.RMSNorm):
    """The root-mean-square norm in the precision of its weights, also where autocast made the input coarser."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, eps=1e-5)

    def forward(self, x: Tensor) -> Tensor:
        """Norm the last dimension."""
        return super().forward(x.to(self.weight.dtype))


class HeadNorm(nn.Module):
    """A root-mean-square norm of each head's channels, with one weight a channel for all heads, and a SiLU gate.

    The norm makes what is read independent of how much the state has gathered.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = RMSNorm(channels)

    def forward(self, read: Tensor, gate: Tensor | None = None) -> Tensor:
        """Return … H·V of … H V, times the SiLU of the gate, … H·V, where there is one."""
        normed: Tensor = self.norm(read).flatten(-2)
        return normed if gate is None else normed * F.silu(gate)
