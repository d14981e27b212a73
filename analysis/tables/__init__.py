"""Tables of trials: reading them, checking them, and the best of every cell."""
