"""Two sequence mixers from outside tune_zoo: one named by its module, one by an entry point."""
