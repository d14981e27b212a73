"""How wide must a sequence mixer be to recall? Sweeps over Ray Tune, minimal widths, scaling laws."""

__version__ = "0.1.0"
