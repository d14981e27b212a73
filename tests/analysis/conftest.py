from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

# With tests/ on the path, this folder would pass for the package of the same name; the root settles it.
sys.path.append(str(Path(__file__).parents[2]))

from analysis import Analysis, analyse

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def zoology() -> pd.DataFrame:
    return pd.read_csv(DATA / "zoology_figure2.csv")


@pytest.fixture(scope="session")
def published(zoology) -> Analysis:
    """The published table at the threshold of the paper's text."""
    return analyse(zoology, 0.9)


@pytest.fixture(scope="session")
def cpu_scale() -> pd.DataFrame:
    return pd.read_csv(DATA / "base_conv_cpu_scale.csv")
