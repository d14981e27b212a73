"""The recurrence over a matrix by the kernels of flash-linear-attention (the extra `fla`), on a GPU.

The package is imported on use. Three of its kernels serve all terms there are: simple GLA, which decays by one
number a head or not at all; GLA, which decays each key channel; and the delta rule with a diagonal and a rank-one
part (DPLR), which also removes.

B batch, L positions, H heads, K channels of a key, V channels of a value, X any of the last two.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from tune_zoo.errors import MixerError, in_one_line
from tune_zoo.mixers.ops.recurrence import Terms

Backend = Literal["auto", "torch", "fla"]

HOW_TO_INSTALL = "in a checkout, pip install -c constraints.txt -e '.[fla]' beside a torch for GPUs, with Triton"
CHANNELS_AT_ONCE = 16  # the least that a GPU's matrix units multiply
MOST_KEY_CHANNELS = 256  # of the DPLR kernel, which keeps all of them at hand
FAST_DTYPES = (torch.bfloat16, torch.float16)
KERNEL_DTYPES = (*FAST_DTYPES, torch.float32)


def import_fla(module: str, *, wanted_by: str) -> ModuleType:
    """Import a module of flash-linear-attention.

    Args:
        module: Its name, such as `fla.ops`.
        wanted_by: What asks for it; the error begins with it.

    Raises:
        MixerError: If the package is not installed, or raises while it is imported, as without Triton.
    """
    loaded = sys.modules.get(module)
    if loaded is not None:  # every step of a training comes by here
        return loaded
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where there is no GPU it says so, which is no news to a driver
            return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] == "fla":
            what = "flash-linear-attention, which is not installed here"
        else:
            what = f"flash-linear-attention, whose import fails here: {in_one_line(error)}"
        raise MixerError(f"{wanted_by} needs {what}; {HOW_TO_INSTALL}") from error


def refuse_cpu(device: torch.device, *, wanted_by: str, instead: str = "name another mixer") -> None:
    """Raise MixerError on a CPU, for which Triton has no driver; `instead` is the fix where there is no GPU."""
    if device.type == "cpu":
        raise MixerError(f"{wanted_by} needs a GPU, got a tensor on the CPU; train on a GPU, or {instead}")


def chosen_backend(backend: Backend, device: torch.device, terms: Terms | None = None) -> Literal["torch", "fla"]:
    """Say what runs a recurrence on a device; never at planning, since a driver need not have a GPU.

    Args:
        backend: `auto` takes the kernels on a GPU of Nvidia or AMD that has them, where they are as exact as what
            they replace: in bfloat16 and float16. (In float32 they multiply in TF32, which `fla` accepts.)
        device: Where the tensors are.
        terms: What is to be run, if it is known: `auto` leaves what the kernels cannot do to torch.

    Raises:
        MixerError: If `fla` is asked for where it cannot run.
    """
    if backend == "torch" or (backend == "auto" and device.type != "cuda"):
        return "torch"
    refuse_cpu(device, wanted_by="backend 'fla'", instead="set backend: auto")
    fault = fault_of_kernels()
    if backend == "fla":
        if fault is not None:
            raise MixerError(f"{fault}; or set backend: auto")
        return "fla"
    can = fault is None and (terms is None or (_work_dtype(terms) in FAST_DTYPES and refusal(terms) is None))
    return "fla" if can else "torch"


_found: list[str | None] = []  # a list, since torch.compile follows one and would not follow a cached function


def fault_of_kernels() -> str | None:
    """Return why the kernels cannot run in this process, or None if they can; it is found out once."""
    if not _found:
        _found.append(_look_for_fault())
    return _found[0]


def _look_for_fault() -> str | None:
    try:
        import_fla("fla.ops", wanted_by="backend 'fla'")
    except MixerError as error:
        return str(error)
    try:
        _ask_driver()
    except Exception as error:
        return f"backend 'fla' needs a working Triton, which says here: {in_one_line(error)}"
    return None


def _ask_driver() -> None:
    """Raise what Triton raises where it is there and yet cannot run, as without a C compiler."""
    importlib.import_module("triton").runtime.driver.active.get_current_target()


def refusal(terms: Terms) -> str | None:
    """Return why the kernels cannot run these terms, or None if they can."""
    dtype, channels = _work_dtype(terms), terms.q.shape[-1]
    if dtype not in KERNEL_DTYPES:
        return f"backend 'fla' computes in bfloat16, float16 or float32, got {dtype}; set backend: torch"
    if terms.removal is not None and channels > MOST_KEY_CHANNELS:
        return (
            f"backend 'fla' removes from states of at most {MOST_KEY_CHANNELS} key channels a head, "
            f"got {channels}; take more heads, or set backend: torch"
        )
    return None


def fla_recurrence(terms: Terms) -> Tensor:
    """Run the recurrence over all positions from a zero state, as `chunked_recurrence` does.

    Channels are filled up with zeros to a multiple of 16, which leaves the map as it is: in 16 bits the kernels
    refuse an odd number of them, and fewer than 16 are not what they are written for.

    Args:
        terms: Tensors B L H …, on a GPU; where autocast is on they are cast to its type, decays to float32.

    Returns:
        y_BLHV in the dtype of `terms.v`.

    Raises:
        MixerError: If the kernels cannot run these terms, or are not there.

    Reference:
        The conventions are those of the naive forms beside the kernels in `fla.ops`, version 0.6.
    """
    refused = refusal(terms)
    if refused is not None:
        raise MixerError(refused)
    dtype = _work_dtype(terms)
    ready = terms._replace(log_decay=None).mapped(lambda term: _filled_up(term.to(dtype)))
    decay = None if terms.log_decay is None else terms.log_decay.to(torch.promote_types(dtype, torch.float32))
    y_BLHV = _without_removal(ready, decay) if ready.removal is None else _with_removal(ready, decay)
    return y_BLHV[..., : terms.v.shape[-1]].to(terms.v.dtype)


def _without_removal(terms: Terms, log_decay: Tensor | None) -> Tensor:
    """Return y_BLHV by simple GLA (`g` B L H) or GLA (`g` B L H K); both decay the state, then write."""
    ops = import_fla("fla.ops", wanted_by="backend 'fla'")
    y_BLHV: Tensor
    if log_decay is not None and log_decay.shape[-1] > 1:
        y_BLHV, _ = ops.chunk_gla(terms.q, terms.k, terms.v, g=_filled_up(log_decay), scale=1.0)
    else:
        g_BLH = None if log_decay is None else log_decay.squeeze(-1)
        y_BLHV, _ = ops.chunk_simple_gla(terms.q, terms.k, terms.v, g=g_BLH, scale=1.0)
    return y_BLHV


def _with_removal(terms: Terms, log_decay: Tensor | None) -> Tensor:
    """Return y_BLHV by S ← diag(e^gk) S + b (aᵀ S) + k vᵀ, whose a reads S before it decays, as in `Terms`."""
    ops = import_fla("fla.ops", wanted_by="backend 'fla'")
    q, k, v, _, a, b = terms
    if log_decay is None:
        gk_BLHK = torch.zeros(q.shape, dtype=torch.promote_types(q.dtype, torch.float32), device=q.device)
    else:
        gk_BLHK = log_decay.expand(q.shape) if log_decay.shape[-1] == 1 else _filled_up(log_decay)
    y_BLHV: Tensor
    y_BLHV, _ = ops.chunk_dplr_delta_rule(q, k, v, a=a, b=k if b is None else b, gk=gk_BLHK, scale=1.0)
    return y_BLHV


def _work_dtype(terms: Terms) -> torch.dtype:
    """Return the type the kernels multiply in: autocast's where it is on, else that of the values."""
    kind = terms.v.device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else terms.v.dtype


def _filled_up(term_BLHX: Tensor) -> Tensor:
    missing = -term_BLHX.shape[-1] % CHANNELS_AT_ONCE
    return F.pad(term_BLHX, (0, missing)) if missing else term_BLHX
