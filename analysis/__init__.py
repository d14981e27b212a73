"""Minimal widths, scaling laws and figures from any table of recall accuracies."""
