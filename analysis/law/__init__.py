"""The statistics of minimal width: counts of solved seeds in, intervals and posteriors out; knows no table."""
