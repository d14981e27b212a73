"""A mixer that keeps every promise of a sequence mixer, and mixers that break one each, for the suite to catch."""

from __future__ import annotations

import torch
from pydantic import field_validator
from torch import Tensor, nn

from tune_zoo.errors import MixerError
from tune_zoo.mixers.base import MixerConfig, SequenceMixer, State, take
from tune_zoo.mixers.ops.convolution import causal_conv


class Decay(SequenceMixer):
    """A mixer that keeps every promise: S_t = γ ⊙ S_{t−1} + x_t, y_t = W S_t + b."""

    Config = MixerConfig

    def __init__(self, config, *, d_model, seq_len, layer_idx, num_layers):
        super().__init__(config, d_model=d_model, seq_len=seq_len, layer_idx=layer_idx, num_layers=num_layers)
        self.gamma = nn.Parameter(0.5 + 0.3 * torch.rand(d_model))
        self.proj = nn.Linear(d_model, d_model, bias=False)
        self.bias = nn.Parameter(torch.zeros(d_model))

    def taps(self, length: int) -> Tensor:
        return torch.stack([self.gamma**lag for lag in range(length)])

    def forward(self, x_BLD):
        return self.proj(causal_conv(x_BLD, self.taps(x_BLD.shape[1]))) + self.bias

    def forward_at(self, x_BLD, at_BQ):
        return self.proj(take(causal_conv(x_BLD, self.taps(x_BLD.shape[1])), at_BQ)) + self.bias

    def initial_state(self, batch_size, *, dtype, device):
        return (torch.zeros(batch_size, self.d_model, dtype=dtype, device=device),)

    def step(self, x_BD, state: State, position):
        s_BD = self.gamma * state[0] + x_BD
        return self.proj(s_BD) + self.bias, (s_BD,)

    def state_size(self, seq_len):
        return self.d_model


class RunningSum(Decay):
    """Nothing to learn: γ is fixed to one, W to the identity, b to zero."""

    def __init__(self, config, **size):
        super().__init__(config, **size)
        for parameter, value in ((self.gamma, torch.ones(())), (self.proj.weight, torch.eye(self.d_model))):
            parameter.requires_grad_(False).copy_(value)
        self.bias.requires_grad_(False)


class Leaky(Decay):
    def forward(self, x_BLD):
        return super().forward(x_BLD) + 1e-6 * x_BLD.roll(-1, dims=1)


class LeakyThroughAMean(Decay):
    def forward(self, x_BLD):
        return super().forward(x_BLD - 1e-6 * x_BLD.mean(1, keepdim=True))


class LeakyInItsGradient(Decay):
    def forward(self, x_BLD):
        future_BLD = x_BLD.flip(1).cumsum(1).flip(1)
        return super().forward(x_BLD) + 1e-6 * (future_BLD - future_BLD.detach())


class WrongDecay(Decay):
    def taps(self, length):
        return super().taps(length) * (1 + 1e-8 * torch.arange(length)).unsqueeze(1)


class WrongGradient(Decay):
    def taps(self, length):
        taps_KD = super().taps(length)
        return torch.cat([taps_KD[:3], taps_KD[3:].detach()])


class WrongInOneLengthOnly(Decay):
    def taps(self, length):
        return super().taps(length) * (1.001 if length == 63 else 1)


class DropsATermAtPositions(Decay):
    def forward_at(self, x_BLD, at_BQ):
        return super().forward_at(x_BLD, at_BQ) - self.bias


class IgnoresTheOrderOfPositions(Decay):
    def forward_at(self, x_BLD, at_BQ):
        return super().forward_at(x_BLD, at_BQ.sort(1).values)


class CutsGradientsAtPositions(Decay):
    def forward_at(self, x_BLD, at_BQ):
        return super().forward_at(x_BLD.detach(), at_BQ)


class MixesRows(Decay):
    def forward(self, x_BLD):
        return super().forward(x_BLD - 1e-6 * x_BLD.mean(0))


class ReturnsFloat32(Decay):
    def forward(self, x_BLD):
        return super().forward(x_BLD).float()


class ReturnsFloat32AtPositions(Decay):
    def forward_at(self, x_BLD, at_BQ):
        return super().forward_at(x_BLD, at_BQ).float()


class ChangesItsInput(Decay):
    def forward(self, x_BLD):
        y_BLD = super().forward(x_BLD)
        x_BLD.detach().mul_(2)
        return y_BLD


class WrongInTheThirdChunk(Decay):
    """The state that enters the second chunk of 64 comes from the first alone; later ones have to be decayed."""

    def forward(self, x_BLD):
        early_BLD = x_BLD.clone()
        early_BLD[:, 64:] = 0
        lost_BLD = causal_conv(early_BLD, self.taps(x_BLD.shape[1]))
        kept_L1 = (torch.arange(x_BLD.shape[1]) < 128).unsqueeze(1)
        return super().forward(x_BLD) - self.proj(torch.where(kept_L1, 0, lost_BLD + 1e-7))


class DividesByDecays(Decay):
    """y_t = γᵗ Σ_j γ^{−j} x_j: right in float64, lost in float32 once γ^{−j} has grown."""

    def forward(self, x_BLD):
        powers_LD = self.taps(x_BLD.shape[1])
        return self.proj(powers_LD * (x_BLD / powers_LD).cumsum(1)) + self.bias


class OverflowsAtLargeInputs(Decay):
    def forward(self, x_BLD):
        return torch.log(torch.exp(30 * super().forward(x_BLD))) / 30


class InfiniteSlopeAtZero(Decay):
    def forward(self, x_BLD):
        norm_BL1 = x_BLD.square().sum(-1, keepdim=True).sqrt()
        return super().forward(x_BLD * (1 + 1e-9 * norm_BL1 - 1e-9 * norm_BL1.detach()))


class TooCoarse(Decay):
    """Adds up in bfloat16 what it was given in float32."""

    def forward(self, x_BLD):
        return super().forward(x_BLD.bfloat16().to(x_BLD.dtype) if x_BLD.dtype == torch.float32 else x_BLD)


class TakesInputsForContiguous(Decay):
    def forward(self, x_BLD):
        plain_BLD = torch.as_strided(x_BLD, x_BLD.shape, torch.empty(x_BLD.shape).stride())
        return super().forward(plain_BLD)


class OverflowsAtTheStart(Decay):
    def forward(self, x_BLD):
        return super().forward(x_BLD) + torch.sqrt(self.bias.abs())  # infinite slope at zero


class DeadParameter(Decay):
    def __init__(self, config, **size):
        super().__init__(config, **size)
        self.unused = nn.Parameter(torch.ones(3))


class SeedsItself(Decay):
    def __init__(self, config, **size):
        super().__init__(config, **size)
        generator = torch.Generator()
        generator.seed()
        self.bias = nn.Parameter(torch.randn(self.d_model, generator=generator))


class NoisyInEvaluation(Decay):
    def forward(self, x_BLD):
        return super().forward(nn.functional.dropout(x_BLD, 0.1))


class RefusesWidthOne(MixerConfig):
    def check_size(self, *, d_model, seq_len):
        if d_model == 1:
            raise MixerError("too small")


class RefusesWithoutReason(Decay):
    Config = RefusesWidthOne


class RefusesWidthsBelow10(MixerConfig):
    def check_size(self, *, d_model, seq_len):
        if d_model == 1:
            raise MixerError("layer 1 needs d_model 10 or more")


class StatesAnotherNumber(Decay):
    Config = RefusesWidthsBelow10


class RefusesTooLate(Decay):
    def __init__(self, config, **size):
        super().__init__(config, **size)
        if self.d_model == 1:
            raise MixerError("d_model must be 2 or more, got 1")


class WrongAtWidthOne(Decay):
    def forward(self, x_BLD):
        return super().forward(x_BLD).squeeze(-1).view_as(x_BLD) * (2 if self.d_model == 1 else 1)


class ForgetsTheLastPosition(Decay):
    def state_size(self, seq_len):
        return self.d_model * min(seq_len, 1) - (seq_len == 12)


class CountsOfATenthTooFew(Decay):
    """Carries two elements more than it states, over the whole batch: less than one a row."""

    def step(self, x_BD, state, position):
        y_BD, (s_BD,) = super().step(x_BD, state[:1], position)
        return y_BD, (s_BD, torch.zeros(2))


class CarriesBesideItsState(Decay):
    def step(self, x_BD, state, position):
        self.carried = x_BD if position == 0 else self.gamma * self.carried + x_BD
        return self.proj(self.carried) + self.bias, (self.carried,)


class ChangesTheStateItIsGiven(Decay):
    def step(self, x_BD, state, position):
        state[0].detach().mul_(self.gamma.detach()).add_(x_BD.detach())
        return self.proj(state[0]) + self.bias, (state[0].clone(),)


class StateOnTheCpu(Decay):
    def initial_state(self, batch_size, *, dtype, device):
        return super().initial_state(batch_size, dtype=dtype, device=torch.device("cpu"))


class KeepsAWeightOutOfTheStateDict(Decay):
    def __init__(self, config, **size):
        super().__init__(config, **size)
        self.register_buffer("hidden", torch.randn(self.d_model), persistent=False)

    def forward(self, x_BLD):
        return super().forward(x_BLD) * self.hidden


class CannotBePickled(Decay):
    def __init__(self, config, **size):
        super().__init__(config, **size)
        self.activation = lambda y_BLD: y_BLD


class DeclinesWeightDecayOfNothing(Decay):
    no_weight_decay = frozenset({"gamma", "bais"})


class KeepsTapsOfOldParameters(Decay):
    def taps(self, length):
        if not hasattr(self, "kept"):
            self.kept = super().taps(100).detach()
        return self.kept[:length]


class KeepsALengthOfOldCalls(Decay):
    def forward(self, x_BLD):
        self.first = getattr(self, "first", x_BLD.shape[1])
        return torch.cat([super().forward(x_BLD[:, : self.first]), x_BLD[:, self.first :]], dim=1)


class Rounded(MixerConfig):
    """Reads a number and keeps another."""

    memory: float = 1.0

    @field_validator("memory")
    @classmethod
    def _half(cls, value):
        return value / 2


class ReadsAnotherConfig(Decay):
    Config = Rounded


class DependsOnValues(Decay):
    """Chooses its form by looking at its input, which no graph can hold."""

    def forward(self, x_BLD):
        return super().forward(x_BLD) if x_BLD.abs().max() < 100 else x_BLD


class AnotherMapCompiled(Decay):
    def forward(self, x_BLD):
        return super().forward(x_BLD) * (1 + 1e-6 * torch.compiler.is_compiling())
