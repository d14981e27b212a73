"""Several laws in one search for minimal widths: which they are, and how they share the compute."""

from __future__ import annotations

from collections import Counter

from minimal_width_runs import LONG, NEVER, QUIET, TWO, Law, Run, plan_of

from tune_zoo.search.history import Outcome
from tune_zoo.search.width.minimal_width import laws_of
from tune_zoo.spec import TrialSpec


def test_laws_of_a_plan() -> None:
    tied = {"axes": {"seq_len": None, "num_kv_pairs": None, "seq_len_and_num_kv_pairs": [[64, 2], [128, 4]]}}
    assert [label for label, _ in laws_of(plan_of(None, tied))] == ["a"]
    crossed = plan_of(None, {"mixers": [{"name": "b"}, {"name": "a"}]}, num_kv_pairs=[4, 2])
    laws = dict(laws_of(crossed))
    assert list(laws) == ["b, k = 2", "b, k = 4", "a, k = 2", "a, k = 4"]
    assert sum(map(len, laws.values())) == len(crossed.cells)
    assert {cell.axes[2] for cell in laws["b, k = 4"]} == {4}


def test_each_law_has_the_axes_of_its_mixer() -> None:
    own = {"name": "b", "axes": {"d_model": [10, 20], "seq_len": [66, 132], "seed": [5]}}
    run = Run(plan_of({"max_seeds": 2}, {"mixers": [{"name": "a"}, own]}), Law(), workers=4).go()
    for request in run.requests:
        mixer, seq_len, _, d_model, seed = request.spec.cell
        if mixer == "b":
            assert (seq_len in (66, 132), d_model in (10, 20), seed in (5, 6)) == (True,) * 3
        else:
            assert (seq_len in (64, 128, 256), seed in (0, 1)) == (True,) * 2
    assert {request.spec.cell[0] for request in run.requests} == {"a", "b"}


def test_compute_goes_to_the_law_that_a_seed_tells_most_of() -> None:
    """One mixer never solves; it is not given up on, and does not starve the other."""

    def world(spec: TrialSpec, time: int) -> Outcome:
        return (NEVER if spec.model.mixer.label == "a" else QUIET)(spec, time)

    search = Run(plan_of({"budget": 2.0}, TWO, **LONG), world, workers=2)
    search.go(40)
    mixers = Counter(request.spec.cell[0] for request in search.requests)
    assert min(mixers["a"], mixers["b"]) >= 5
    search.search.ask()
    picks = [law.best_pick() for law in search.search.laws]
    assert all(picks)


def test_of_two_laws_the_one_with_the_better_pick_goes_first() -> None:
    run = Run(plan_of({}, TWO), Law(), workers=1).go(12)
    while run.search.laws[0].next_open() or run.search.laws[1].next_open():
        pass
    picks = {law.label: law.best_pick() for law in run.search.laws}
    best = max(picks, key=lambda label: picks[label].score if picks[label] else 0.0)  # type: ignore[union-attr]
    request = run.search.ask()
    assert request is not None
    assert request.spec.cell[0] == best
