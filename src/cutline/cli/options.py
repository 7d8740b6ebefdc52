"""The flags that commands share, and what their texts stand for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.evidence import Evidence
    from cutline.losses import Loss
    from cutline.preferences import Scoring
    from cutline.relevance import Relevance
    from cutline.sequence import TestingOrder
    from cutline.sets import SetRule

EvidenceName = Literal[
    "betting", "wsr", "convex", "hoeffding", "hoeffding-bentkus", "binomial", "empirical-bernstein", "normal"
]
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt])?i?b?", re.IGNORECASE)
LEAST_MEMORY = 32 << 20  # bytes: with less of it, parts would be too small to be worth a call
LossName = Literal["false-discovery", "miss"]
Ties = Literal["strict", "lenient", "expected"]
Unjudged = Literal["bad", "drop", "error"]

_GOOD, _TEST, _LISTS, _FILES = "What is good", "How it is tested", "How lists are cut", "Files and columns"


def _option(*names: str, help: str, panel: str | None = None, metavar: str | None = None, parser: Any = None) -> Any:
    return typer.Option(*names, help=help, rich_help_panel=panel, metavar=metavar, parser=parser)


def size(text: str | int) -> int:
    """Bytes, as a flag gives them: 512M, 1.5G, 2GiB."""
    found = _SIZE.fullmatch(str(text).strip())
    if found is None or not (count := int(float(found[1]) * 1024 ** " kmgt".index((found[2] or " ").lower()))):
        raise typer.BadParameter(f"{text!r} is not a size; write 512M or 2G")
    return max(count, LEAST_MEMORY)


def number(text: str | float) -> float:
    """A number, as a flag gives it."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None


def whole(text: str | int) -> int:
    """A whole number, as a flag gives it."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


Scores = Annotated[
    Path,
    typer.Argument(
        metavar="SCORES",
        help="Scored items: .parquet .csv .tsv .jsonl, a TREC run (.run .trec .res), or LETOR (.svm .letor) with "
        "--predictions; each also .gz. Also a folder or a pattern of parquet, CSV or TREC files.",
    ),
]
Features = Annotated[
    Path,
    typer.Argument(
        metavar="FEATURES",
        help="Features and labels: LETOR (.svm .letor), or .parquet .jsonl with a column `vector`; each also .gz.",
    ),
]
CertificateFile = Annotated[Path, typer.Argument(metavar="CERT", help="A certificate that calibrate wrote.")]
Labels = Annotated[
    Path | None,
    _option(
        "--labels", help="Judgments: TREC qrels, or a table of query, item and label.", panel=_FILES, metavar="QRELS"
    ),
]
Alpha = Annotated[
    float, _option("--alpha", help="The largest risk allowed, in (0, 1).", metavar="LEVEL", parser=number)
]
Delta = Annotated[
    float, _option("--delta", help="The chance of error: confidence is 1 - delta.", metavar="LEVEL", parser=number)
]
GoodAtLeast = Annotated[
    float | None,
    _option("--good-at-least", help="Good: a label of at least this.", panel=_GOOD, metavar="GRADE", parser=number),
]
GoodTop = Annotated[
    str | None,
    _option("--good-top", help="Good: among the best of its list, as 5 or 20%.", panel=_GOOD, metavar="M|SHARE%"),
]
TiesFlag = Annotated[Ties, _option("--ties", help="Items tied across the last good place.", panel=_GOOD)]
UnjudgedFlag = Annotated[Unjudged, _option("--unjudged", help="What becomes of items without a label.", panel=_GOOD)]
LossFlag = Annotated[LossName, _option("--loss", help="Not-good items in a list, or good items left out.", panel=_GOOD)]
ScoringFlag = Annotated[
    Literal["as-given", "win-rate"],
    _option("--scoring", help="Scores as they are, or the share of its list that an item beats.", panel=_LISTS),
]
Scale = Annotated[
    float,
    _option(
        "--scale",
        help="Of win rates: the score difference that counts as 1.",
        panel=_LISTS,
        metavar="SCALE",
        parser=number,
    ),
]
EvidenceFlag = Annotated[
    EvidenceName | None,
    _option(
        "--evidence",
        help="The test. Default: betting, and beyond --sample queries empirical-bernstein on all.",
        panel=_TEST,
    ),
]
Sample = Annotated[
    int,
    _option(
        "--sample",
        help="Betting looks at so many queries, those of smallest keyed hash.",
        panel=_TEST,
        metavar="N",
        parser=whole,
    ),
]
Thresholds = Annotated[
    str | None,
    _option("--thresholds", help="START:STOP:STEP, numbers with commas, or exact.", panel=_TEST, metavar="GRID"),
]
SequenceFlag = Annotated[
    Literal["fixed", "fallback"], _option("--sequence", help="How delta is spent along the walk.", panel=_TEST)
]
Seed = Annotated[
    int,
    _option(
        "--seed", help="Key of the order in which betting sees queries.", panel=_TEST, metavar="SEED", parser=whole
    ),
]
MinSize = Annotated[
    int, _option("--min-size", help="Keep at least so many of a list.", panel=_LISTS, metavar="N", parser=whole)
]
MaxSize = Annotated[
    int | None, _option("--max-size", help="Keep at most so many of a list.", panel=_LISTS, metavar="N", parser=whole)
]
Diverse = Annotated[
    int | None,
    _option("--diverse", help="Of longer lists keep so many diverse items.", panel=_LISTS, metavar="M", parser=whole),
]
Vectors = Annotated[
    str | None,
    _option(
        "--vectors", help="A column of lists, or a parquet or JSONL file of item id and vector.", panel=_LISTS,
        metavar="COLUMN|FILE",
    ),
]  # fmt: skip
DistanceFlag = Annotated[
    Literal["euclidean", "cosine", "jaccard"],
    _option("--distance", help="Of --diverse, between vectors.", panel=_LISTS),
]
StrategyFlag = Annotated[
    Literal["eliminate", "mmr", "msd", "dpp", "cover"],
    _option("--strategy", help="Of --diverse: how items are chosen.", panel=_LISTS),
]
Format = Annotated[
    str | None, _option("--format", help="The form of SCORES, whatever its name.", panel=_FILES, metavar="FORMAT")
]
LabelsFormat = Annotated[
    str | None, _option("--labels-format", help="The form of QRELS.", panel=_FILES, metavar="FORMAT")
]
QueryColumn = Annotated[
    str | None, _option("--query-column", help="The column of query ids.", panel=_FILES, metavar="NAME")
]
ItemColumn = Annotated[
    str | None, _option("--item-column", help="The column of item ids.", panel=_FILES, metavar="NAME")
]
ScoreColumn = Annotated[
    str | None, _option("--score-column", help="The column of scores.", panel=_FILES, metavar="NAME")
]
LabelColumn = Annotated[
    str | None, _option("--label-column", help="The column of labels.", panel=_FILES, metavar="NAME")
]
Predictions = Annotated[
    Path | None,
    _option("--predictions", help="Scores of a LETOR file, one number a line.", panel=_FILES, metavar="FILE"),
]
Groups = Annotated[
    Path | None,
    _option("--groups", help="Group sizes of a LETOR file without qid, one a line.", panel=_FILES, metavar="FILE"),
]
EngineFlag = Annotated[
    Literal["local", "spark"], _option("--engine", help="Where it is worked out: here, or on Spark.", panel=_FILES)
]
Master = Annotated[
    str | None,
    _option("--master", help="Of --engine spark, as local[2] (default local[*]).", panel=_FILES, metavar="URL"),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="HTML", help="Where a report for people goes: one file, with pictures."),
]
Titles = Annotated[
    str | None,
    typer.Option("--titles", metavar="COLUMN", help="Of --report: a column of SCORES that says what items are called."),
]
Memory = Annotated[
    int | None,
    _option(
        "--memory", help="What rows may take of it, as 512M or 2G; larger files are read in chunks.", panel=_FILES,
        metavar="SIZE", parser=size,
    ),
]  # fmt: skip
Json = Annotated[bool, _option("--json", help="Print one JSON object.")]


def relevance_of(at_least: float | None, top: str | None, ties: Ties, unjudged: Unjudged) -> Relevance:
    """What makes an item good: --good-at-least or --good-top, one of the two."""
    from cutline.relevance import Grade, TopM

    if (at_least is None) == (top is None):
        came = "neither" if top is None else "both"
        raise InputError(f"say what is good by --good-at-least or by --good-top, one of the two; got {came}")
    if at_least is not None:
        return Grade(at_least=at_least, unjudged=unjudged)
    text = (top or "").strip()
    try:
        if text.endswith("%"):
            from decimal import Decimal

            return TopM(fraction=float(Decimal(text[:-1]) / 100), ties=ties, unjudged=unjudged)
        return TopM(m=int(text), ties=ties, unjudged=unjudged)
    except (ValueError, ArithmeticError):  # an InputError is a ValueError too, and speaks of m and fraction
        raise InputError(
            f"--good-top must be a number of items or a share up to 100%, as 5 or 20%, got {text!r}"
        ) from None


def loss_of(name: LossName, relevance: Relevance) -> Loss:
    """The loss with this name."""
    from cutline.losses import LOSSES

    loss: Loss = LOSSES[name](relevance)
    return loss


def sets_of(
    min_size: int, max_size: int | None, diverse: int | None, distance: Any, strategy: str, vectors: str | None
) -> SetRule:
    """A plain threshold with sizes, or diverse lists."""
    from cutline.sets import Diverse as DiverseSets
    from cutline.sets import Threshold

    if diverse is None:
        unused = {"--vectors": vectors is not None, "--distance": distance != "euclidean"}
        unused["--strategy"] = strategy != "eliminate"
        for flag in (flag for flag, given in unused.items() if given):
            raise InputError(
                f"{flag} belongs to --diverse M; leave it out, or say how many diverse items a list may have"
            )
        return Threshold(min_size=min_size, max_size=max_size)
    if min_size or max_size is not None:
        raise InputError("--diverse M says how long lists may be; leave --min-size and --max-size out")
    if diverse < 1:
        raise InputError(f"--diverse must be a whole number of at least 1, got {diverse}")
    return DiverseSets(max_size=diverse, distance=distance, strategy=strategy)


def evidence_of(name: EvidenceName | None) -> Evidence | None:
    """The evidence with this name; wsr is a strategy of betting. None is what the number of queries says."""
    if name is None:
        return None
    from cutline.evidence import evidence_from_name

    return evidence_from_name("betting", strategy="wsr") if name == "wsr" else evidence_from_name(name)


def scoring_of(name: str, scale: float) -> Scoring:
    """Scores as given, or win rates."""
    from cutline.preferences import AsGiven, WinRate

    if name == "as-given":
        if scale != 1.0:
            raise InputError("--scale belongs to --scoring win-rate; leave it out, or ask for win rates")
        return AsGiven()
    return WinRate(scale=scale)


def sequence_of(name: str) -> TestingOrder:
    """How delta is spent."""
    from cutline.sequence import SEQUENCES

    sequence: TestingOrder = SEQUENCES[name]()
    return sequence


def thresholds_of(text: str | None) -> Any:
    """A grid as START:STOP:STEP, numbers between commas, or the word exact."""
    if text is None or text == "exact":
        return text
    wanted = f"--thresholds must be START:STOP:STEP, numbers between commas, or exact, got {text!r}"
    parts = text.split(":") if ":" in text else text.split(",")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        raise InputError(wanted) from None
    if ":" not in text:
        return numbers
    if len(numbers) != 3:
        raise InputError(wanted)
    from cutline.sequence import grid

    return grid(*numbers)


def numbers_of(flag: str, text: str) -> list[float]:
    """Numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"{flag} must be numbers between commas, as 0.1,0.2,0.3, got {text!r}") from None
