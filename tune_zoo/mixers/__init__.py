"""Sequence mixers: one file each, named in `registry.py`."""
