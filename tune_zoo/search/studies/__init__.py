"""Search by Optuna: one study for each mixer, length and number of pairs."""
