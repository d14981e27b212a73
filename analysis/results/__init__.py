"""From a table of trials to results: a fit a mixer, with its verdict, notes and advice."""
