"""Softmax attention to the last positions only.

B batch, L positions, H heads, C channels a head, W positions of the window, n blocks of W positions.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import PositiveInt
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.attention import AttentionConfig, SoftmaxMixer


class SlidingWindowConfig(AttentionConfig):
    """Options of attention to a window.

    Attributes:
        window: W, how many positions are seen, the own included.
    """

    mixer: ClassVar[str] = "sliding_window"
    window: PositiveInt = 64


class SlidingWindow(SoftmaxMixer):
    """Attention to the last W positions, the own included; the state is 2·d·min(W, N).

    Reference:
        Beltagy et al., "Longformer", arXiv 2004.05150, section 3.1; windows of 64 beside a linear attention:
        Arora et al., "Based", arXiv 2402.18668, section 4.2.
    """

    Config = SlidingWindowConfig
    config: SlidingWindowConfig

    @property
    def reach(self) -> int:
        """The window."""
        return self.config.window

    def attend(self, q_BHLC: Tensor, k_BHLC: Tensor, v_BHLC: Tensor) -> Tensor:
        """Attend block by block: the queries of W positions see their own block and the one before."""
        length = q_BHLC.shape[2]
        window = min(self.config.window, length)
        padding = -length % window
        q_BHnWC = F.pad(q_BHLC, (0, 0, 0, padding)).unflatten(2, (-1, window))
        k_BHnUC, v_BHnUC = (_with_block_before(x_BHLC, window, padding) for x_BHLC in (k_BHLC, v_BHLC))
        mixed_BHnWC = F.scaled_dot_product_attention(
            q_BHnWC,
            k_BHnUC,
            v_BHnUC,
            attn_mask=_seen(q_BHnWC.shape[2], window, q_BHLC.device),
            dropout_p=self._dropout,
        )
        return mixed_BHnWC.flatten(2, 3)[:, :, :length]


def _with_block_before(x_BHLC: Tensor, window: int, padding: int) -> Tensor:
    """Return for each block the one before it, zeros for the first, and itself: B H n 2·W C."""
    padded_BHPC = F.pad(x_BHLC, (0, 0, window, padding))
    return padded_BHPC.unfold(2, 2 * window, window).transpose(-1, -2)


def _seen(num_blocks: int, window: int, device: torch.device) -> Tensor:
    """Return which of the 2·W keys each query of each block sees, n W U."""
    query_W1 = torch.arange(window, 2 * window, device=device).unsqueeze(1)
    key_U = torch.arange(2 * window, device=device)
    seen_WU = (key_U <= query_W1) & (key_U > query_W1 - window)
    exists_n1U = (key_U >= window) | (torch.arange(num_blocks, device=device).view(-1, 1, 1) > 0)
    return seen_WU & exists_n1U
