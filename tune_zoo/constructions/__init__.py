"""Models with weights set by hand: the paper's upper bounds, running, and oracles of tasks and mixers."""
