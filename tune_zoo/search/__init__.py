"""Where to look next: pure, tested without Ray."""
