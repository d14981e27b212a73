"""Errors of the analysis: every one is a mistake a user can mend, and its message says how.

AnalysisError (ValueError)
├── TableFileError      the file is missing, unreadable or of an unknown kind
├── ColumnError         a needed column is missing, or a column map is wrong
├── CellValueError      a value in the table breaks a rule
├── EmptyTableError     the table has no rows
├── ThresholdError      the threshold is outside (0, 1]
├── LengthsError        a minimal width is asked for at a length that cannot be
├── ComparisonError     there is nothing to compare
├── CountsError         arrays of counts handed to a fit do not fit together
└── OutputError         the results cannot be written to the folder
"""


class AnalysisError(ValueError):
    """Base of every error a user of the analysis can cause and mend."""


class TableFileError(AnalysisError):
    """The file is missing, unreadable or of an unknown kind."""


class ColumnError(AnalysisError):
    """A needed column is missing, or a column map is wrong."""


class CellValueError(AnalysisError):
    """A value in the table breaks a rule."""


class EmptyTableError(AnalysisError):
    """The table has no rows."""


class ThresholdError(AnalysisError):
    """The threshold is outside (0, 1]."""


class LengthsError(AnalysisError):
    """A minimal width is asked for at a length that cannot be."""


class ComparisonError(AnalysisError):
    """There is nothing to compare."""


class CountsError(AnalysisError):
    """Arrays of counts handed to a fit do not fit together."""


class OutputError(AnalysisError):
    """The results cannot be written to the folder."""
