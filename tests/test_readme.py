"""What the README shows works."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import leave_record, trial
from shown_commands import parse, shell_lines

from tune_zoo.mixers.registry import MIXERS, build, parse_config
from tune_zoo.record import make_record
from tune_zoo.resolve import resolved_plan
from tune_zoo.result import Status, TrialResult
from tune_zoo.space_file import known_spaces, load_space

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_space_is_complete(tmp_path: Path) -> None:
    (block,) = blocks("yaml")
    path = tmp_path / "heads.yaml"
    path.write_text(block)
    plan = resolved_plan(load_space(path))
    assert len(plan.cells) == 2 * 3 * 4 * 2


def commands() -> list[str]:
    return [line for line in shell_lines(TEXT) if line.startswith("tune_zoo ")]


@pytest.mark.parametrize("line", commands())
def test_every_command_exists_with_its_options(line: str) -> None:
    parse(line)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (8, 16, 32):
        for seq_len in (8, 16):
            spec = trial(model={"d_model": width}, task={"seq_len": seq_len})
            accuracy = 1.0 if width >= seq_len else 0.4
            result = TrialResult(status=Status.SOLVED, message="", accuracy=accuracy, state_size=2 * width)
            leave_record(tmp_path / "results" / "quickstart", make_record(spec, result, num_threads=1))
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("python")
    names: dict[str, object] = {}
    exec(compile(block, "README.md", "exec"), names)
    assert names["result"].steps > 0  # type: ignore[attr-defined]


def test_links_and_pictures_lead_somewhere() -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)\)", TEXT) if "://" not in target]
    assert targets
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_every_mixer_and_space_has_its_row() -> None:
    assert [name for name in (*MIXERS, *known_spaces()) if f"| `{name}` |" not in TEXT] == []


d, N, H, F, K = 64, 256, 2, 16, 16  # of the layers below; K counts taps, or states of a channel
STATES = {
    "attention": ({"num_heads": H}, "2·d·N", 2 * d * N),
    "base_conv": ({"kernels": [K]}, "(K − 1)·d for K taps", (K - 1) * d),
    "long_conv": ({"kernels": [K]}, "(K − 1)·d", (K - 1) * d),
    "hyena": ({}, "(N − 1)·d + 6·d", (N - 1) * d + 6 * d),
    "h3": ({"d_state": K}, "(K − 1)·d + K·d for K states and taps", (K - 1) * d + K * d),
    "rwkv4": ({}, "4·d", 4 * d),
    "input_dependent_conv": ({}, "2·d·N + N − 1", 2 * d * N + N - 1),
    "sliding_window": ({"window": K}, "2·d·min(W, N)", 2 * d * min(K, N)),
    "linear_attention": ({"num_heads": H}, "d²/H + d", d**2 // H + d),
    "based": ({"num_heads": H, "feature_dim": F}, "(1 + F + F²)·(d + H)", (1 + F + F**2) * (d + H)),
    "retnet": ({"num_heads": H}, "2·d²/H", 2 * d**2 // H),
    "gla": ({"num_heads": H}, "d²/(2H)", d**2 // (2 * H)),
    "mamba": ({"d_state": K}, "2·d·K + 6·d", 2 * d * K + 6 * d),
    "mamba2": ({"num_heads": H, "d_state": K}, "2·d·K + 6·(d + K)", 2 * d * K + 6 * (d + K)),
    "delta_net": ({"num_heads": H}, "d²/H + 9·d", d**2 // H + 9 * d),
    "gated_delta_net": ({"num_heads": H}, "d²/H + 9·d", d**2 // H + 9 * d),
    "rwkv7": ({"num_heads": H}, "d²/H + d", d**2 // H + d),
}


@pytest.mark.parametrize("name", sorted(set(MIXERS) - {"hybrid"}))
def test_a_mixers_state_is_what_its_row_says(name: str) -> None:
    options, formula, elements = STATES[name]
    (row,) = [line for line in TEXT.splitlines() if line.startswith(f"| `{name}` |")]
    assert formula == row.split(" | ")[3]
    config = parse_config(name, options)
    assert build(name, config, d_model=d, seq_len=N, layer_idx=0, num_layers=2).state_size(N) == elements


def test_nothing_is_left_to_fill_in() -> None:
    assert re.findall(r"@|\b(?:COST|PLACEHOLDER|SAVED|[A-Z]+TIME)\b", TEXT) == []
