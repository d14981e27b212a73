"""Results as files: figures, tables and a report."""
