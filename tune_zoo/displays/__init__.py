"""What a run shows while it works, for each kind of search."""
