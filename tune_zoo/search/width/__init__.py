"""The search for minimal widths: which seed of which cell to try next, and when the law is known."""
