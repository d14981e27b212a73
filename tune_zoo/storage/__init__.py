"""Where the results of a run lie: a folder, or an address in an object store; by one interface."""
