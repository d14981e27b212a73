"""The check of a GPU, on the CPU: it finds wrong results, keeps to its time and needs little beside torch."""

from __future__ import annotations

import importlib
import os
import platform
import runpy
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tune_zoo.mixers.long_conv import LongConv
from tune_zoo.mixers.registry import MIXERS

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "gpu_check.py"
TITLES = (
    "Agreement",
    "Checkpoints",
    "Speed",
    "Memory",
    "Sharing",
    "Cells of the paper",
    "Precision and torch.compile",
)
PARTS = [f"## {title}" for title in TITLES]
CPU = torch.device("cpu")

BEYOND = {
    "analysis",
    "filelock",
    "optuna",
    "pandas",
    "pyarrow",
    "ray",
    "rich",
    "scipy",
    "seaborn",
    "typer",
    "yaml",
}

# The script with a loss that never comes, as on a stuck device; tells what was imported when it is stopped.
HANGING = """
import os, runpy, sys, time, torch
from pathlib import Path

def leave(code, leave=os._exit):
    print(*sys.modules, file=sys.stderr, flush=True)
    leave(code)

os._exit = leave
torch.nn.functional.cross_entropy = lambda *_: time.sleep(60)
script, *sys.argv[1:] = sys.argv[1:]
sys.path.insert(0, str(Path(script).parent))  # as Python does for a script
runpy.run_path(script, run_name="__main__")
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    yield runpy.run_path(str(SCRIPT))
    torch.set_num_threads(threads)


@pytest.fixture
def few(script: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Have the script check a few mixers only, and train, share and compile nothing; returns their names."""
    names = {"attention", "gla", "long_conv"}
    for part in ("gpu_agreement", "gpu_steps"):
        monkeypatch.setattr(importlib.import_module(part), "MIXERS", {name: MIXERS[name] for name in names})
    nothing = script["TINY"]._replace(remembered=(), shared=(), trained=(), compiled=())
    monkeypatch.setitem(script["main"].__globals__, "TINY", nothing)
    return names


def agreement(script: dict[str, Any], *, seconds: float = 60.0) -> Any:
    """Run the first part; returns its report."""
    report = script["Report"](None)
    script["check_agreement"](report, script["TINY"], CPU, script["Clock"](seconds))
    return report


def verdicts(lines: list[str]) -> dict[str, dict[str, str]]:
    """Return the verdicts on each mixer in the table of agreement, by length."""
    found: dict[str, dict[str, str]] = {}
    for line in lines:
        name, *cells = line.strip("| ").split(" | ")
        if name in MIXERS and len(cells) == 7 and cells[-1].startswith(("ok", "FAIL")):
            assert cells[0] not in found.setdefault(name, {})
            found[name][cells[0]] = cells[-1]
    return found


def everywhere(script: dict[str, Any], verdict: str) -> dict[str, str]:
    """Return that verdict for each length."""
    return {str(length): verdict for length in script["TINY"].lengths}


def test_a_tiny_run_on_the_cpu(script: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "gpu" / "tiny.md"
    assert script["main"](["--tiny", "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert out.read_text() == text
    assert [line for line in text.splitlines() if line.startswith("## ")] == PARTS
    found = verdicts(text.splitlines())
    assert list(found) == sorted(MIXERS)
    assert found == {name: everywhere(script, "ok") for name in MIXERS}
    assert f"torch {torch.__version__}" in text
    assert "Cut short" not in text
    assert sum(line.startswith("Took ") for line in text.splitlines()) == len(PARTS)
    assert str(tmp_path) not in text
    assert str(SCRIPT.parents[1]) not in text
    assert platform.node() not in text.split()
    assert [path.name for path in out.parent.iterdir()] == ["tiny.md"]


def off_by_a_thousandth(y_BLD: Tensor, x_BLD: Tensor) -> Tensor:
    return 1.001 * y_BLD


def wrong_gradient(y_BLD: Tensor, x_BLD: Tensor) -> Tensor:
    return y_BLD + 0.01 * (x_BLD - x_BLD.detach())


def not_finite(y_BLD: Tensor, x_BLD: Tensor) -> Tensor:
    return y_BLD / torch.zeros(())


def raising(y_BLD: Tensor, x_BLD: Tensor) -> Tensor:
    raise RuntimeError("no such kernel on this device")


def break_long_conv(
    monkeypatch: pytest.MonkeyPatch, broken: Callable[[Tensor, Tensor], Tensor], *, method: str = "forward"
) -> None:
    """Make a method wrong in float32, which runs on the device, and leave float64 right."""
    right = getattr(LongConv, method)

    def wrong(self: LongConv, x_BLD: Tensor, *at_BQ: Tensor) -> Tensor:
        y = right(self, x_BLD, *at_BQ)
        return y if x_BLD.dtype == torch.float64 else broken(y, x_BLD)

    monkeypatch.setattr(LongConv, method, wrong)


def test_mixers_that_agree_pass(script: dict[str, Any], few: set[str]) -> None:
    report = agreement(script)
    assert verdicts(report.lines) == {name: everywhere(script, "ok") for name in few}
    assert report.exit_code == 0


@pytest.mark.parametrize("broken", [off_by_a_thousandth, wrong_gradient, not_finite, raising])
def test_a_wrong_result_fails(
    script: dict[str, Any],
    few: set[str],
    monkeypatch: pytest.MonkeyPatch,
    broken: Callable[[Tensor, Tensor], Tensor],
) -> None:
    break_long_conv(monkeypatch, broken)
    report = agreement(script)
    found = verdicts(report.lines)
    assert found.pop("long_conv") == everywhere(script, "FAIL (RuntimeError)" if broken is raising else "FAIL")
    assert found == {name: everywhere(script, "ok") for name in few - {"long_conv"}}
    assert report.exit_code == 1


def test_a_wrong_result_at_query_positions_fails_the_whole_check(
    script: dict[str, Any],
    few: set[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    break_long_conv(monkeypatch, off_by_a_thousandth, method="forward_at")
    assert script["main"](["--tiny"]) == 1
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if line.startswith("## ")] == PARTS
    assert verdicts(text.splitlines())["long_conv"] == everywhere(script, "FAIL")


def test_a_gradient_that_vanishes_is_measured_by_the_others(script: dict[str, Any]) -> None:
    exact = [torch.ones(2), torch.tensor([2.0]), torch.zeros(3)]
    found = [torch.ones(2), torch.tensor([2.0]), torch.full((3,), 1e-9)]
    assert importlib.import_module("checking").relative_errors(found, exact) == (0.0, pytest.approx(1e-9 / 2e-3))


def rows_of(text: str, part: str) -> list[list[str]]:
    """Return the rows of the table of a part."""
    table = text.partition(f"## {part}\n")[2].partition("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")][2:]


def test_a_training_that_does_not_resume_to_the_same_is_told(
    script: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    resumption = importlib.import_module("gpu_resumption")
    settings = importlib.import_module("gpu_settings")
    spec = settings.trial(settings.Cell("attention", 8, 2, 4), settings.TINY, max_steps=4, eval_every=1)
    assert resumption.compared(spec, "cpu") == ("same", "same")
    keeper = importlib.import_module("tune_zoo.checkpoint")
    from_bytes = keeper.from_bytes

    def shifted(data: bytes, origin: Any) -> Any:
        state = from_bytes(data, origin)
        next(iter(state["model"].values()))[1:].mul_(1.5)
        return state

    monkeypatch.setattr(keeper, "from_bytes", shifted)
    again, resumed = resumption.compared(spec, "cpu")
    assert again == "same"
    assert float(resumed) > 0


def test_on_a_cpu_memory_is_estimated_and_not_measured(script: dict[str, Any]) -> None:
    report = script["Report"](None)
    script["check_memory"](report, script["TINY"], CPU, script["Clock"](60.0))
    text = "\n".join(report.lines)
    assert "Not measured here" in text
    rows = rows_of(text, "Memory")
    assert [row[0] for row in rows] == [cell.mixer for cell in script["TINY"].remembered]
    assert all(float(row[5]) > 0 and row[6:] == ["-", "-", "-", "not measured"] for row in rows)
    assert not report.failed


def test_an_estimate_under_what_was_reserved_is_flagged(script: dict[str, Any]) -> None:
    part = importlib.import_module("gpu_footprint")
    measured = part.Peak(allocated=3 * 2**20, reserved=5 * 2**20, process=400 * 2**20)
    assert part.beside(5 * 2**20, measured) == ("3", "5", "400", "ok")
    assert part.beside(4 * 2**20, measured) == ("3", "5", "400", "under")


def test_processes_that_share_are_compared_with_one_alone(script: dict[str, Any]) -> None:
    report = script["Report"](None)
    script["check_sharing"](report, script["TINY"], CPU, script["Clock"](60.0))
    alone, two = rows_of("\n".join(report.lines), "Sharing")
    assert (alone[4], two[4]) == ("1", "2")
    assert alone[7:] == ["1.00", "1.00"]
    slowest, together = map(float, two[5:7])
    assert 0 < slowest < together
    assert float(two[8]) == pytest.approx(together / float(alone[6]), abs=0.01)
    assert not report.failed


def test_a_process_that_cannot_share_fails_the_check(
    script: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    broken = script["TINY"]._replace(shared=(script["TINY"].shared[0]._replace(mixer="no_such_mixer"),))
    broken = broken._replace(processes=(2,))
    report = script["Report"](None)
    script["check_sharing"](report, broken, CPU, script["Clock"](60.0))
    assert [row[5] for row in rows_of("\n".join(report.lines), "Sharing")] == ["RuntimeError"]
    assert report.exit_code == 1
    assert "no_such_mixer" in capfd.readouterr().err


def test_a_process_that_shares_ends_with_the_one_that_started_it(script: dict[str, Any]) -> None:
    part = importlib.import_module("gpu_footprint")
    settings = importlib.import_module("gpu_settings")
    spec = settings.trial(script["TINY"].shared[0], script["TINY"])
    done = subprocess.run(
        [sys.executable, part.__file__, "cpu", "60", spec.model_dump_json()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=45,  # less than its steps would take
        check=True,
    )
    assert done.stdout == "ready\n"


def test_without_time_every_part_says_that_it_was_cut_short(script: dict[str, Any], tmp_path: Path) -> None:
    report = script["Report"](tmp_path / "cut.md")
    began = time.monotonic()
    script["check"](report, script["TINY"], CPU, script["Clock"](0.0))
    assert time.monotonic() - began < 2.0
    cut = [line for line in (tmp_path / "cut.md").read_text().splitlines() if "time limit: 0 of" in line]
    assert len(cut) == len(PARTS)
    assert report.exit_code == 1


def test_what_hangs_is_stopped_in_time_and_a_checkout_with_torch_is_enough(tmp_path: Path) -> None:
    done = subprocess.run(
        # without `site`, only plain folders of site-packages can be imported, and so no tune_zoo
        [sys.executable, "-S", "-c", HANGING, str(SCRIPT), "--tiny", "--minutes", "0.04", "--out", "out.md"],
        env={**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=45,  # less than the loss takes
        check=False,
    )
    assert done.stdout.endswith("Stopped here by the time limit.\n"), done.stderr
    assert (tmp_path / "out.md").read_text() == done.stdout
    assert "## Agreement" in done.stdout
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "tune_zoo.trainer" in loaded
    assert not loaded & BEYOND


@pytest.mark.parametrize(
    ("argv", "why"), [(["--tiny", "--minutes", "0"], "must be over 0, got 0.0"), ([], "--tiny runs on the CPU")]
)
def test_what_cannot_run_is_refused(
    script: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    argv: list[str],
    why: str,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit):
        script["main"](argv)
    assert why in capsys.readouterr().err
