"""Search spaces that come with the package: one YAML file, one question each."""
