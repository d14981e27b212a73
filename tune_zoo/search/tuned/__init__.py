"""Which tuned values to try next inside a cell."""
