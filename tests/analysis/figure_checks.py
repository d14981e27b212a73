"""What the tests look for in a figure that is drawn."""

from __future__ import annotations

import matplotlib as mpl

EIGHTEEN = (
    "attention", "base_conv", "based", "delta_net", "gated_delta_net", "gla", "h3", "hybrid", "hyena",
    "input_dependent_conv", "linear_attention", "long_conv", "mamba", "mamba2", "retnet", "rwkv4", "rwkv7",
    "sliding_window",
)  # fmt: skip
"""The mixers whose looks are known, in the order of their names."""


def lay_out(figure) -> None:
    """Put everything where it is drawn, unless it is there already."""
    if figure.stale:
        figure.draw_without_rendering()


def overlaps(figure) -> list[tuple[str, str]]:
    """Pairs of visible texts of a figure that cover one another."""
    lay_out(figure)
    renderer = figure.canvas.get_renderer()
    texts = [t for t in figure.findobj(mpl.text.Text) if t.get_visible() and t.get_text().strip()]
    boxes = []
    for text in texts:
        box = mpl.text.Text.get_window_extent(text, renderer)
        axes = text.axes
        hidden = (
            axes is not None and text in axes.get_xticklabels() + axes.get_yticklabels() and not _shown(text, axes)
        )
        if not hidden:
            boxes.append((text.get_text(), box))
    return [
        (a, b)
        for i, (a, box) in enumerate(boxes)
        for b, other in boxes[i + 1 :]
        if box.shrunk(0.9, 0.7).overlaps(other.shrunk(0.9, 0.7))
    ]


def _shown(text, axes) -> bool:
    ticks = [*axes.xaxis.get_major_ticks(), *axes.yaxis.get_major_ticks()]
    return any(tick.label1 is text and tick.label1.get_visible() for tick in ticks)


def legends_in_the_way(figure) -> list[str]:
    """Legends of a figure that cover a panel, another legend, or leave the page; by their first name."""
    lay_out(figure)
    boxes = [legend.get_window_extent() for legend in figure.legends]
    others = [[ax.get_window_extent() for ax in figure.axes] + boxes[i + 1 :] for i in range(len(boxes))]
    page = figure.bbox.padded(1.0)
    return [
        legend.get_texts()[0].get_text()
        for legend, box, rest in zip(figure.legends, boxes, others, strict=True)
        if any(box.overlaps(other) for other in rest) or not (page.containsx(box.x1) and page.containsy(box.y0))
    ]
