from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def zoology() -> pd.DataFrame:
    return pd.read_csv(DATA / "zoology_figure2.csv")


@pytest.fixture(scope="session")
def cpu_scale() -> pd.DataFrame:
    return pd.read_csv(DATA / "base_conv_cpu_scale.csv")
