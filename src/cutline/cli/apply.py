"""cutline apply."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from cutline.cli import options
from cutline.cli.console import noted, say, say_json, working
from cutline.cli.flags import ScoreFiles
from cutline.cli.inputs import certificate_of


def apply(
    certificate: options.CertificateFile,
    files: ScoreFiles,
    output: Annotated[
        Path,
        typer.Option(
            "-o", "--output", metavar="OUT", help="Where the cut lists go: .parquet .csv .tsv .jsonl .run, also .gz."
        ),
    ],
    keep_all: Annotated[
        bool, typer.Option("--keep-all", help="Write every row, with a column `chosen` (tables only).")
    ] = False,
    json: options.Json = False,
) -> int:
    """Example: cutline apply cert.json bm25.run -o cut.run

    Cut lists with a certificate. The chosen rows are written, best first, with their rank; every column comes along.
    """
    from cutline.cutting import scores_of
    from cutline.io.writing import cut_rows, format_for_output, write_sheet
    from cutline.preferences import WinRate

    with noted() as notes:
        found, inputs = certificate_of(certificate, files.scores), files.inputs()
        form = format_for_output(output, [certificate, *inputs.paths], keep_all=keep_all)
        if inputs.in_chunks:
            from cutline.cli import streams

            cut, told = streams.applied(inputs, found, output, form, keep_all=keep_all)
            _tell(Counts(cut.queries, cut.items, cut.chosen, cut.empty), output, notes, told, json=json)
            return 0
        gathered = inputs.scored(vectors=found.sets.needs_vectors)
        with working("Cutting the lists"):
            slates = found.apply(gathered.queries)
            rates = None
            if isinstance(found.scoring, WinRate) and form.named_columns:
                rates = scores_of(gathered.queries, found.scoring)
            cut = cut_rows(gathered, slates, keep_all=keep_all, win_rates=rates)
        with working(f"Writing {output.name}"):
            write_sheet(cut, output, form)
        counts = Counts(len(slates), slates.queries.n_items, int(slates.sizes.sum()), int((slates.sizes == 0).sum()))
        _tell(counts, output, notes, inputs.told(gathered), json=json)
    return 0


class Counts(NamedTuple):
    """How many lists there were, their items, those kept, and how many lists are empty."""

    queries: int
    items: int
    chosen: int
    empty: int


def _tell(counts: Counts, output: Path, notes: list[str], told: str, *, json: bool) -> None:
    count, items, kept, empty = counts
    mean = kept / count if count else 0.0
    figures = {**counts._asdict(), "mean_size": mean}
    if json:
        say_json({"written": str(output), **figures, "read": told}, notes)
        return
    lists = f"{count:,} list{'' if count == 1 else 's'}"
    say(
        told,
        f"Kept {kept:,} of {items:,} items in {lists}: {mean:.2f} a list on average; "
        f"{empty:,} ({100 * empty / max(1, count):.1f} %) are empty. Written to {output}.",
    )
