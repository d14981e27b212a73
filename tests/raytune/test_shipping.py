"""What is shipped to nodes: this tune_zoo and the mixers of one's own, and nothing that is installed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tune_zoo.errors import ClusterError

PACKAGES = {"tune_zoo", "analysis", "search_spaces"}


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder beside the space, whose modules the driver finds."""
    folder = tmp_path / "beside"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def staged(mixers: Iterable[str]) -> set[str]:
    """Return the names of the files that are shipped outside our packages; our packages must be among them."""
    from tune_zoo.raytune.shipping import shipped

    with shipped(mixers, ship=True) as runtime_env:
        assert runtime_env is not None
        folder = Path(runtime_env["working_dir"])
        names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        assert {path.name for path in folder.iterdir()} >= PACKAGES
    assert not folder.exists()
    assert not [name for name in names if "__pycache__" in name]
    return {name for name in names if name.partition("/")[0] not in PACKAGES}


def test_without_ship_nothing_is_shipped() -> None:
    from tune_zoo.raytune.shipping import shipped

    with shipped(["failing_mixer:Failing"], ship=False) as runtime_env:
        assert runtime_env is None


def test_a_mixer_beside_the_space_goes_along_with_the_files_beside_it(beside: Path) -> None:
    for name in ("shipped_mixer.py", "shipped_help.py", "notes.txt"):
        (beside / name).touch()
    assert staged(["shipped_mixer:Mixer", "shipped_mixer:Other"]) == {"shipped_mixer.py", "shipped_help.py"}


@pytest.mark.parametrize("marked", [True, False])
def test_a_package_of_ones_own_goes_along_whole(beside: Path, marked: bool) -> None:
    package = beside / f"lab_package_{marked}"
    (package / "parts").mkdir(parents=True)
    files = ["convs.py", "parts/filters.py", "weights.json", *(["__init__.py"] if marked else [])]
    for name in files:
        (package / name).touch()
    assert staged([f"{package.name}.convs:Conv"]) == {f"{package.name}/{name}" for name in files}


def test_what_is_installed_or_pythons_own_or_built_in_stays(beside: Path) -> None:
    assert staged(["torch.nn:Linear", "json.decoder:JSONDecoder", "sys:Mixer", "attention"]) == set()


def test_an_unknown_module_is_not_shippings_to_refuse() -> None:
    assert staged(["nowhere_to_be_found:Mixer"]) == set()


def test_what_is_shipped_runs_elsewhere_as_the_same_tune_zoo(tmp_path: Path) -> None:
    from tune_zoo.identity import identity
    from tune_zoo.raytune.shipping import shipped

    ask = (
        "import tune_zoo; from tune_zoo.identity import identity; print(tune_zoo.__file__, identity(), sep='\\n')"
    )
    with shipped([], ship=True) as runtime_env:
        assert runtime_env is not None
        folder = runtime_env["working_dir"]
        done = subprocess.run([sys.executable, "-c", ask], cwd=folder, capture_output=True, text=True, check=True)
    where, who = done.stdout.splitlines()
    assert where.startswith(folder)
    assert who == identity()


def test_a_package_without_files_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from tune_zoo.raytune import shipping

    monkeypatch.setattr(shipping, "_PACKAGES", ("no_such_package",))
    refused = pytest.raises(ClusterError, match="--ship needs the files of 'no_such_package', and it has none")
    with refused, shipping.shipped([], ship=True):
        pass


def test_inside_a_job_the_jobs_own_folder_is_shipped_and_ship_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tune_zoo.raytune.shipping import shipped

    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    with pytest.raises(ClusterError, match=r"--ship is not for `ray job submit`"), shipped([], ship=True):
        pass
    with shipped([], ship=False) as runtime_env:
        assert runtime_env is None
