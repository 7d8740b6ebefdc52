"""The report of a command: its flags, and the file for people to read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutline.cli import options
from cutline.cli.console import working
from cutline.cli.flags import check_output
from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.certificate import Abstention, Certificate
    from cutline.cli.inputs import Inputs
    from cutline.io.gathering import Gathered
    from cutline.queries import Queries


@dataclass(frozen=True, kw_only=True)
class Reported:
    """Where a report goes, and what its items are called."""

    report: options.Report = None
    titles: options.Titles = None

    @property
    def columns(self) -> list[str]:
        """Columns of the scores that it needs."""
        return [] if self.titles is None else [self.titles]

    def check(self, inputs: Inputs, *others: Path | None) -> None:
        """What is wrong with it is said before files are read: where it goes, and what draws it."""
        if self.report is None:
            if self.titles is not None:
                raise InputError("--titles belongs to --report FILE; leave it out, or say where the report goes")
            return
        from cutline.report.rendering import check_libraries

        named = [path for path in others if path is not None]
        check_output(self.report, inputs, *named)
        if any(self.report.resolve() == path.resolve() for path in named):
            raise InputError(f"--report: {self.report} is named twice; write the report to a file of its own")
        check_libraries()

    def page(self, certificate: Certificate | Abstention, gathered: Gathered, **more: Any) -> str | None:
        """The text of the report, if one is wanted. `more` says whether the queries calibrated, or were held out."""
        if self.report is None:
            return None
        from cutline.report import page

        queries, titles = self._named(gathered)
        role = {"held_out": queries} if "audit" in more else {"calibration": queries}
        with working("Drawing the report"):
            return page(certificate, titles=titles, title=Path(gathered.sheet.source).name, **role, **more)

    def _named(self, gathered: Gathered) -> tuple[Queries, str | None]:
        """The queries, and the column that says what their items are called: titles, or item ids."""
        queries, sheet = gathered.queries, gathered.sheet
        if self.titles is not None or not sheet.has("item_id"):
            return queries, self.titles
        from cutline._frames import values_of_column
        from cutline.io.sheets import free_name

        name = free_name("item", list(queries.columns))
        items = values_of_column(sheet.column("item_id"))[gathered.rows]
        return replace(queries, columns={**queries.columns, name: items}), name

    def write(self, text: str | None) -> list[str]:
        """Write it whole, and say where it is."""
        if self.report is None or text is None:
            return []
        from cutline._files import write_whole

        write_whole(self.report, text)
        return [f"Report: {self.report}"]

    def as_json(self) -> dict[str, Any]:
        """Where it is, for JSON."""
        return {"report": None if self.report is None else str(self.report)}
