"""What a device is called in records."""

from __future__ import annotations

import torch


def device_kind(device: torch.device) -> str:
    """Return `cpu`, or the name of the GPU."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
