"""The figures, one file each: collect what is shown, then draw it."""
