"""How much of a GPU a trial needs: its memory, its arithmetic, and the fraction of a GPU to give it.

All of it is estimated from the spec, without torch, so that a driver without a GPU can plan. The memory is

    of the process    CUDA's context with the kernels that were loaded, and the workspaces of matrix products
    held throughout   weights, gradients, both moments of AdamW; the rows of the training data and of both splits
    and the larger of
      a step          what every layer and the head keep for backward, and what comes and goes on top
      an evaluation   logits and one layer's forward pass, for as many rows as a pass takes

What a layer needs stands in `tune_zoo.layer_footprint`, by mixer. Autocast to bfloat16 takes off what was measured
to go: most mixers compute in float32 anyway where they sum over positions. Compilation is taken to save nothing,
and so are the kernels of flash-linear-attention. An evaluation may need less at a larger size, since a pass then
takes fewer rows; a step grows with every size.
"""

from __future__ import annotations

from collections.abc import Iterator

from tune_zoo.cost import flops
from tune_zoo.layer_footprint import SCAN_ELEMENTS, Layer, Place, layer
from tune_zoo.spec import TrialSpec

GIB = 2**30
CLASSES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
"""The fractions there are: few, so that a worker process with its GPU serves many trials."""

PROCESS_BYTES = 576 * 2**20
"""What a process takes before its first tensor: 512 MiB for the context, and 64 MiB for workspaces.

PyTorch's maintainers name 300 to 400 MB for a context whose kernels load on demand, as they do since CUDA 11.7
(issues 107667 and 109888 of pytorch/pytorch); before that it was 1 GB and more. A workspace of matrix products is
32 MiB on a GPU of the Hopper generation and less on others, and there are two libraries of them.
"""
UNKNOWN_GPU_BYTES = 16 * GIB  # of a GPU that no one has seen yet: the least that data centres commonly have
USABLE = 0.9  # of a GPU's memory; the driver and the display keep some, and an estimate may be a little under

STEP_S = 2e-3
"""Seconds of a step that does next to nothing: some hundred launches and Python between them (an assumption)."""
FLOPS_A_SECOND = 2e13
"""What a GPU does a second in float32 without TF32: the nominal rate of an A100, a third of an H100's.

Taken high on purpose. Trials that share a GPU whose arithmetic is full take turns and lose nothing in all; a GPU
given to one trial that does not fill it stands idle.
"""

FLOAT = 4
INTEGER = 8
PER_WEIGHT = 4 * FLOAT  # the weight, its gradient and two moments
ALLOCATOR = 1.2  # what the caching allocator reserves over what is in use (an assumption)
ELEMENTS_A_PASS = 4_000_000  # as in tune_zoo.evaluation
BLOCK_ROWS = 1024  # as in tune_zoo.batches
FORWARD_PART = 0.5  # of what is kept for backward, alive at once where nothing is kept


def memory_bytes(spec: TrialSpec) -> float:
    """Estimate the peak bytes of a GPU's memory that one trial takes, those of its process included."""
    working = max(_step_bytes(spec), _evaluation_bytes(spec))
    return PROCESS_BYTES + ALLOCATOR * (_held_bytes(spec) + working)


def kept_bytes(spec: TrialSpec) -> float:
    """Estimate the bytes that a step's forward pass keeps for backward, logits included and weights not."""
    n, d, rows = spec.task.seq_len, spec.model.d_model, spec.training.batch_size
    a_position = (1.25 + 2 * (spec.model.embed_dropout > 0)) * d  # embedded input, and what dropout makes of it
    mlp = 11.0 * d * (spec.model.state_mixer == "mlp")
    filters = 0.0
    for needs in _layers(spec):
        a_position += (needs.kept + 1.25 * d) * _autocast(spec, needs) + mlp
        filters += needs.filter
    a_query = 2.0 * d + spec.task.vocab_size
    elements = rows * (n * (a_position + 2) + spec.task.num_queries * a_query) + filters
    return FLOAT * elements


def gpu_share(spec: TrialSpec, *, gpu_bytes: float | None) -> float:
    """Return the fraction of a GPU that a trial should get, one of `CLASSES`.

    It is the larger of two, rounded up: the trial's memory over what is usable of the GPU's; and the arithmetic of
    a step over what a GPU does in the time that a step takes at the least. A small model's step is bound by the
    launching of kernels, so that several trials share a GPU until their arithmetic fills it.

    Args:
        spec: The trial; the options of its mixer have been checked.
        gpu_bytes: The memory of the smallest GPU that it may run on; none where that is not known, which counts as
            16 GiB.

    Returns:
        The fraction; 1 also for a trial that by the estimate fits no such GPU, since an estimate forbids nothing.
    """
    memory = memory_bytes(spec) / (USABLE * (UNKNOWN_GPU_BYTES if gpu_bytes is None else gpu_bytes))
    needed = max(memory, _step_flops(spec) / (FLOPS_A_SECOND * STEP_S))
    return next((share for share in CLASSES if share >= needed), CLASSES[-1])


def _layers(spec: TrialSpec) -> Iterator[Layer]:
    """Yield what each layer needs; the last reads at the queries only."""
    model, mixer = spec.model, spec.model.mixer
    for index in range(model.num_layers):
        queries = spec.task.num_queries if index == model.num_layers - 1 else 0
        at = Place(n=spec.task.seq_len, d=model.d_model, layer_idx=index, queries=queries)
        yield layer(mixer.name, mixer.config, at)


def _autocast(spec: TrialSpec, needs: Layer) -> float:
    return needs.bfloat16 if spec.training.precision == "bfloat16" else 1.0


def _step_flops(spec: TrialSpec) -> float:
    """Return the operations of a step; in bfloat16 those of mixers that autocast reaches count for less."""
    factor = max(_autocast(spec, needs) for needs in _layers(spec))
    return factor * flops(spec) / spec.training.total_steps


def _held_bytes(spec: TrialSpec) -> float:
    """Return the bytes of the model, its optimiser and all rows, which are there from beginning to end."""
    task, model, training = spec.task, spec.model, spec.training
    d = model.d_model
    embeddings = (task.vocab_size + task.seq_len) * d  # positions too, learned or not
    mlp = (8 * d * d + 7 * d) * (model.state_mixer == "mlp")
    weights = embeddings + sum(needs.weights + mlp + 4 * d for needs in _layers(spec))
    if training.num_train_examples is None:
        train_rows = 2 * max(BLOCK_ROWS, 2 * training.batch_size)  # the next block is drawn beside the old one
    else:
        train_rows = training.num_train_examples
    rows = train_rows + training.num_validation + training.num_test
    cast = 0.5 * FLOAT * weights * (training.precision == "bfloat16")  # autocast keeps a copy of each weight
    return PER_WEIGHT * weights + cast + INTEGER * rows * (task.seq_len + 2 * task.num_queries)


def _step_bytes(spec: TrialSpec) -> float:
    """Return the bytes of a step when most is there: in the head, or in the worst layer's backward."""
    task, rows = spec.task, spec.training.batch_size
    logits = rows * task.num_queries * task.vocab_size
    positions = rows * task.seq_len
    mlp = 9.0 * positions * spec.model.d_model * (spec.model.state_mixer == "mlp")
    in_layers = max(mlp, *(_passing(spec, needs, positions, buffers=4) for needs in _layers(spec)))
    embedding = task.vocab_size * spec.model.d_model  # its gradient comes in two parts, as table and as head
    return kept_bytes(spec) + FLOAT * (logits + max(2.0 * logits, in_layers) + embedding)


def _evaluation_bytes(spec: TrialSpec) -> float:
    """Return the bytes of a pass of an evaluation, whose rows `tune_zoo.evaluation` limits."""
    task, d, training = spec.task, spec.model.d_model, spec.training
    a_row = task.num_queries * task.vocab_size + task.seq_len * d
    rows = min(max(1, ELEMENTS_A_PASS // a_row), max(training.num_validation, training.num_test))
    positions = rows * task.seq_len
    in_layers = max(
        _passing(spec, needs, positions, buffers=2)
        + positions * (FORWARD_PART * needs.kept * _autocast(spec, needs) + 3 * d)
        + needs.filter
        for needs in _layers(spec)
    )
    mlp = 13.0 * positions * d * (spec.model.state_mixer == "mlp")
    logits = 3.0 * rows * task.num_queries * task.vocab_size
    return FLOAT * max(in_layers, mlp, logits)


def _passing(spec: TrialSpec, needs: Layer, positions: float, *, buffers: int) -> float:
    """Return the elements that come and go in a layer, at so many positions of all rows."""
    one_row = spec.task.seq_len * needs.buffer
    buffer = min(positions * needs.buffer, max(SCAN_ELEMENTS, one_row))
    return positions * needs.passing * _autocast(spec, needs) + buffers * buffer
