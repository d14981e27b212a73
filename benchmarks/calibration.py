"""Is the exponent's posterior calibrated, and what of the lines that are usually fitted? Simulated sweeps.

    python benchmarks/calibration.py
    python benchmarks/calibration.py --runs 100 --jobs 4 --out page.md --figure page.png

Writes `docs/results/calibration.md` and `docs/images/calibration.png`. Progress goes to the terminal.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from calibration_checks import CHECKS
from calibration_crossed import CROSSED
from calibration_figure import save_figure
from calibration_laws import LAWS
from calibration_page import RUNS, page
from calibration_runs import scores_of
from calibration_scores import Score
from calibration_settings import SETTINGS
from calibration_studies import section, tables_of

STUDIES = (CHECKS, LAWS, CROSSED)
DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "results/calibration.md"
FIGURE = DOCS / "images/calibration.png"


def main(runs: int = RUNS, jobs: int | None = None, out: Path = PAGE, figure: Path = FIGURE) -> list[Score]:
    """Run the study, write its page and draw its figure."""
    jobs, began = jobs or os.cpu_count() or 1, time.monotonic()
    scores = scores_of(SETTINGS, runs, jobs)
    tables = tables_of(STUDIES, runs, jobs)
    text = page(
        scores,
        further=[section(study, tables[study.title], runs) for study in STUDIES],
        jobs=jobs,
        seconds=time.monotonic() - began,
        picture=os.path.relpath(figure, out.parent),
    )
    out.write_text(text, encoding="utf-8")
    save_figure(scores, figure)
    print(f"{out} and {figure} written")
    return scores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help="sweeps of each setting")
    parser.add_argument("--jobs", type=int, help="processes; without it, one a core")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page to write")
    parser.add_argument("--figure", type=Path, default=FIGURE, help="the figure to write")
    given = parser.parse_args()
    main(given.runs, given.jobs, given.out, given.figure)
