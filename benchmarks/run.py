"""Measure cutline beside its peers: `make bench`, or with ARGS="--only betting,choose".

Prints the table. A full run also keeps every sample in latest.json and writes the table into README.md.
Exits with 1 where a target is missed or where cutline and a peer disagree.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import scaling
from clock import Neighbours, machine
from lists import SEED
from measures import ALPHA, DELTA, DisagreementError
from rich.console import Console
from rich.table import Table
from rows import GROUPS

HERE = Path(__file__).parent
RECORD, README = HERE / "latest.json", HERE / "README.md"
QUIET = 0.1  # of a core
WITH_SERVANTS = ("spark",)  # groups whose own processes are the children of others
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
HEADINGS = ("what", "seconds", "beside", "its seconds", "ratio", "target", "met", "kept")


def duration(seconds: float) -> str:
    """Seconds with three digits, in the unit that suits them."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def measured(row: dict[str, Any]) -> str:
    """What was measured, in its unit: seconds, if it is no other."""
    value, unit = row["cutline"]["seconds"], row.get("unit", "s")
    return duration(value) if unit == "s" else f"{value:.3g} {unit}"


def cells(row: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table, from its record."""
    peer, ratio, walk = row["peer"], row["ratio"], row["walk"]
    return (
        row["what"],
        measured(row),
        peer["name"] if peer else "",
        duration(peer["seconds"]) if peer else "",
        "" if ratio is None else f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.2f}×",
        row["target"],
        {True: "yes", False: "NO", None: ""}[row["met"]],
        f"{walk['share_kept']:.0%} ({walk['tested']})" if walk else "",
    )


def company(record: dict[str, Any]) -> str:
    """Whether the machine was busy with anything else, which distorts every ratio."""
    busy = record["others_busy"].items()
    known = {name: cores for name, cores in busy if cores is not None and name not in WITH_SERVANTS}
    if not known:
        return "How busy other programs were is not known here."
    worst = max(known, key=lambda name: known[name])
    verdict = "a quiet machine" if known[worst] < QUIET else "NOT a quiet machine: measure again"
    return f"Other programs used up to {known[worst]:.2f} of a core (during {worst}): {verdict}."


def printed(record: dict[str, Any], console: Console) -> None:
    """The table on the terminal."""
    about = record["machine"]
    table = Table(
        title=f"cutline beside its peers: {about['processor']}, {about['cores']} cores, NumPy {about['numpy']}"
    )
    for heading in HEADINGS:
        table.add_column(heading, justify="right" if "seconds" in heading or heading in ("ratio", "kept") else "left")
    for row in record["rows"]:
        table.add_row(*cells(row), style={True: "", False: "bold red", None: "dim"}[row["met"]])
    console.print(table)
    console.print(f"  {company(record)}", highlight=False)
    for remark in dict.fromkeys(row["remark"] for row in record["rows"] if row["remark"]):
        console.print(f"  {remark}", highlight=False)


def markdown(record: dict[str, Any]) -> str:
    """The table for README.md."""
    about = record["machine"]
    lines = [" | ".join(HEADINGS), " | ".join("--:" if "seconds" in h or h == "ratio" else "---" for h in HEADINGS)]
    lines += [" | ".join(cells(row)) for row in record["rows"]]
    versions = ", ".join(f"{name} {about[name]}" for name in ("numpy", "numba", "scipy", "mapie"))
    machine_line = (
        f"{about['processor']}, {about['cores']} cores, {about['system']}, Python {about['python']}, {versions}; "
        f"NumPy uses {', '.join(about['numpy_simd']) or 'no vector instructions'}."
    )
    remarks = [f"- {remark}" for remark in dict.fromkeys(row["remark"] for row in record["rows"] if row["remark"])]
    return "\n".join([*(f"| {line} |" for line in lines), "", machine_line, company(record), "", *remarks])


def write_readme(record: dict[str, Any]) -> None:
    """Put the table between its two markers."""
    before, rest = README.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    README.write_text(f"{before}{BEGIN}\n\n{markdown(record)}\n\n{END}{after}", encoding="utf-8")


def asked() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure cutline beside its peers.")
    parser.add_argument(
        "--only", default="", help=f"some groups, with commas between: {', '.join(GROUPS)}; writes no file"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer queries for MAPIE, whose row is then not judged; writes no file"
    )
    parser.add_argument(
        "--scaling", nargs="?", type=float, const=1e8, metavar="ROWS",
        help="time and memory against rows instead, up to so many (default 1e8); writes scaling.json and scaling.svg",
    )  # fmt: skip
    given = parser.parse_args()
    given.groups = [name for name in given.only.split(",") if name] or list(GROUPS)
    if unknown := [name for name in given.groups if name not in GROUPS]:
        parser.error(f"--only must name groups of {', '.join(GROUPS)}, got {', '.join(unknown)}")
    return given


def main() -> int:
    """Measure, print and keep."""
    given, console = asked(), Console(width=None if sys.stdout.isatty() else 160)
    if given.scaling is not None:
        return scaling.main(int(given.scaling))
    rows: list[dict[str, Any]] = []
    others: dict[str, float | None] = {}
    for name in given.groups:
        print(f"{name} ...", file=sys.stderr, flush=True)
        neighbours = Neighbours()
        try:
            rows += [row.record() for row in GROUPS[name](given.quick)]
        except DisagreementError as trouble:
            print(f"{name}: {trouble}", file=sys.stderr)
            return 1
        others[name] = neighbours.cores()
    record = {"alpha": ALPHA, "delta": DELTA, "seed": SEED, "machine": machine(), "others_busy": others, "rows": rows}
    printed(record, console)
    if given.groups == list(GROUPS) and not given.quick:
        RECORD.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        write_readme(record)
    missed = [row["what"] for row in rows if row["met"] is False]
    if missed:
        print(f"missed: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
