"""DeltaNet: each key's old value is removed from the state before its new one is written.

B batch, L positions, H heads, K and V channels a head; … is B L in training and B in a step.
"""

from __future__ import annotations

from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from tune_zoo.mixers.ops.recurrence import Terms
from tune_zoo.mixers.parts.heads import check_divides
from tune_zoo.mixers.parts.matrix_state import HeadNorm, MatrixStateMixer, Projections, ShortConvConfig


class DeltaNetConfig(ShortConvConfig):
    """Options of DeltaNet.

    Attributes:
        negative_eigenvalues: Whether β reaches 2 instead of 1, so that I − β k kᵀ can turn a direction round.
    """

    short_conv: int = Field(default=4, ge=0)
    negative_eigenvalues: bool = False

    def check_size(self, *, d_model: int, seq_len: int) -> None:
        """Raise MixerError where the heads do not divide the width."""
        check_divides("delta_net", "num_heads", self.num_heads, d_model, d_model=d_model)


class DeltaNet(MatrixStateMixer):
    """S_t = (I − β_t k_t k_tᵀ) S_{t−1} + β_t k_t v_tᵀ, keys and queries of unit norm; y = W_O norm(Sᵀ q).

    q, k and v are SiLUs of the short convolutions of the projections; β_t = σ(W_β x_t), one a head. The state is
    d·d/H, and the convolutions' inputs.

    Reference:
        Yang et al., "Parallelizing Linear Transformers with the Delta Rule over Sequence Length", arXiv
        2406.06484, sections 2.2 and 3; negative eigenvalues: Grazzi et al., arXiv 2411.12537, section 4.
    """

    Config = DeltaNetConfig
    config: DeltaNetConfig

    def __init__(
        self, config: DeltaNetConfig, *, d_model: int, seq_len: int, layer_idx: int, num_layers: int
    ) -> None:
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.key_channels = self.value_channels = d_model // config.num_heads
        self.front = Projections(d_model, 3 * d_model, short_conv=config.short_conv, silu=True)
        self.beta_proj = nn.Linear(d_model, config.num_heads, bias=False)
        self.norm = HeadNorm(self.value_channels)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def terms(self, streams: Tensor, x: Tensor, positions: Tensor) -> Terms:
        """Write β k vᵀ and remove β k kᵀ S."""
        q, k, v = (self.heads(stream) for stream in streams.chunk(3, dim=-1))
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        beta = self.beta_proj(x).sigmoid().unsqueeze(-1) * (2 if self.config.negative_eigenvalues else 1)
        return Terms(q, beta * k, v, removal=-k)

    def output(self, read: Tensor, streams: Tensor, x: Tensor) -> Tensor:
        """Norm and project."""
        y: Tensor = self.out_proj(self.norm(read))
        return y
