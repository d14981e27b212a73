"""A stand-in for flash-linear-attention 0.6: its kernels as plain loops, layers of each make, and its cache.

The loops are its own naive forms, in its conventions: B T H K, q scaled by K^-1/2 unless told otherwise.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn


class Kernels(ModuleType):
    """`fla.ops`; notes every call by its kernel's name and keyword arguments."""

    def __init__(self) -> None:
        super().__init__("fla.ops")
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def chunk_simple_gla(
        self, q, k, v, *, g=None, scale=None, initial_state=None, output_final_state=False
    ) -> tuple[Tensor, None]:
        """S ← e^g S + k vᵀ, o = Sᵀ q; g is B T H."""
        self._note("chunk_simple_gla", q, k, v, g=g, scale=scale)
        assert initial_state is None
        if g is None:
            g = q.new_zeros(q.shape[:3])
        assert g.shape == q.shape[:3]
        return self._run(q, k, v, scale, lambda S, t: g[:, t].exp()[..., None, None] * S)

    def chunk_gla(
        self, q, k, v, *, g, scale=None, initial_state=None, output_final_state=False
    ) -> tuple[Tensor, None]:
        """S ← diag(e^g) S + k vᵀ, o = Sᵀ q; g is B T H K."""
        self._note("chunk_gla", q, k, v, g=g, scale=scale)
        assert initial_state is None
        assert q.shape == k.shape == g.shape
        return self._run(q, k, v, scale, lambda S, t: g[:, t].exp()[..., None] * S)

    def chunk_dplr_delta_rule(
        self, q, k, v, *, a, b, gk, scale=None, initial_state=None, output_final_state=False
    ) -> tuple[Tensor, None]:
        """S ← diag(e^gk) S + b (aᵀ S) + k vᵀ with S before its decay in aᵀ S, o = Sᵀ q."""
        self._note("chunk_dplr_delta_rule", q, k, v, a=a, b=b, g=gk, scale=scale)
        assert initial_state is None
        assert q.shape == a.shape == b.shape == gk.shape
        assert q.shape[-1] <= 256, "current kernel does not support head dimension larger than 256."

        def decayed(S: Tensor, t: int) -> Tensor:
            removed = (S * a[:, t][..., None]).sum(-2, keepdim=True) * b[:, t][..., None]
            return S * gk[:, t].exp()[..., None] + removed

        return self._run(q, k, v, scale, decayed)

    def _note(self, name: str, q: Tensor, k: Tensor, v: Tensor, **rest: Any) -> None:
        assert q.dtype == k.dtype == v.dtype
        if q.element_size() == 2:
            assert q.shape[-1] % 2 == v.shape[-1] % 2 == 0, "requires even K and V"
        self.calls.append((name, {"q": q, "k": k, "v": v, **rest}))

    def _run(self, q: Tensor, k: Tensor, v: Tensor, scale: float | None, decayed: Any) -> tuple[Tensor, None]:
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        S, outputs = q.new_zeros(*q.shape[:1], *q.shape[2:], v.shape[-1], dtype=torch.float64), []
        for t in range(q.shape[1]):
            S = decayed(S, t) + (k[:, t][..., None] * v[:, t][..., None, :]).double()
            outputs.append(((q[:, t].double() * scale)[..., None] * S).sum(-2))
        return torch.stack(outputs, dim=1).to(v.dtype), None


class Cache:
    """`fla.models.utils.Cache`: a state a layer, kept by the layer's index."""

    def __init__(self) -> None:
        self.states: list[dict[str, Any] | None] = []

    def __iter__(self) -> Iterator[dict[str, Any] | None]:
        return iter(self.states)

    def update(self, layer_idx: int, **state: Any) -> None:
        self.states += [None] * (layer_idx + 1 - len(self.states))
        self.states[layer_idx] = state


class Averaging(nn.Module):
    """Like most layers: a mode, heads, **kwargs, a tuple of three; a state of one size, and bookkeeping."""

    def __init__(
        self,
        mode: str = "chunk",
        hidden_size: int = 1024,
        num_heads: int = 4,
        layer_idx: int | None = None,
        **kwargs,
    ) -> None:
        super().__init__()
        assert hidden_size % num_heads == 0, f"{hidden_size} heads of {num_heads}"
        self.head_dim, self.layer_idx = hidden_size // num_heads, layer_idx
        self.o_proj = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, hidden_states, attention_mask=None, past_key_values=None, use_cache=False, **kwargs):
        length = torch.arange(1, hidden_states.shape[1] + 1, device=hidden_states.device).unsqueeze(-1)
        means = hidden_states.cumsum(1) / length
        if past_key_values is not None:
            states = means[:, -1], (hidden_states[:, -1:], None)
            past_key_values.update(
                self.layer_idx, recurrent_state=states[0], conv_state=states[1], seen=length[-1], offset=3
            )
        return self.o_proj(means), None, past_key_values


class Keeping(nn.Module):
    """Takes `d_model`, has no layer_idx, asks for a mask, returns a bare tensor; keeps all that it has seen."""

    def __init__(self, d_model: int, window: int = 2, range_: tuple[float, float] = (0.0, math.inf)) -> None:
        super().__init__()
        assert range_ == (0.0, math.inf)
        self.window = window
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, hidden_states, attention_mask, past_key_values=None, use_cache=False):
        assert attention_mask is None
        if past_key_values is not None:
            past_key_values.update(0, attn_state=(hidden_states, hidden_states))
        return self.o_proj(hidden_states)


class ValueFirst(nn.Module):
    """Takes the first layer's values, as RWKV-7 does; its state is an object of its own."""

    def __init__(
        self, hidden_size: int = 1024, layer_idx: int | None = None, num_hidden_layers: int | None = None, **kwargs
    ) -> None:
        super().__init__()
        self.depth = layer_idx / (num_hidden_layers - 1)
        self.layer_idx = layer_idx
        self.v_proj = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states, past_key_values=None, use_cache=False, v_first=None, **kwargs):
        v = self.v_proj(hidden_states)
        v_first = v if self.layer_idx == 0 else v_first
        if past_key_values is not None:
            state = SimpleNamespace(sums=v[:, -1], levels=torch.arange(3), length=7)
            past_key_values.update(self.layer_idx, recurrent_state=state)
        return torch.lerp(v, v_first, 0.5), None, past_key_values, v_first


class Sparse(nn.Module):
    """Needs an argument, and a package that is on GPU machines only."""

    def __init__(self, num_heads: int, hidden_size: int = 8) -> None:
        super().__init__()
        raise ImportError("Please install Flash Attention")

    def forward(self, hidden_states, past_key_values=None):
        raise AssertionError


class Parallel(nn.Module):
    """Has no cache."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()

    def forward(self, hidden_states, **kwargs):
        raise AssertionError


class Halving(Averaging):
    """Returns half of the width, and leaves nothing in the cache."""

    def forward(self, hidden_states, past_key_values=None, **kwargs):
        return self.o_proj(hidden_states)[..., ::2], None, past_key_values


class Nameless(nn.Module):
    """Takes its width by a name that is not known."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()

    def forward(self, hidden_states, past_key_values=None):
        raise AssertionError


class YOCOCrossAttention(Averaging):
    """Reads what another layer made."""


LAYERS = (Averaging, Keeping, ValueFirst, Sparse, Parallel, Halving, Nameless, YOCOCrossAttention)


def install(monkeypatch: pytest.MonkeyPatch) -> Kernels:
    """Put the stand-in where imports find it; returns its kernels."""
    kernels, layers, utils = Kernels(), ModuleType("fla.layers"), ModuleType("fla.models.utils")
    layers.__all__ = [layer.__name__ for layer in LAYERS]
    for layer in LAYERS:
        setattr(layers, layer.__name__, layer)
    utils.Cache = Cache
    packages = {"fla": ModuleType("fla"), "fla.models": ModuleType("fla.models")}
    modules = {**packages, "fla.ops": kernels, "fla.layers": layers, "fla.models.utils": utils}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return kernels


def uninstall(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make imports find no flash-linear-attention, also where it is installed."""
    for name in [name for name in sys.modules if name == "fla" or name.startswith("fla.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fla", None)
