"""From labels to badness: which items are not good, in [0, 1] per item, and what becomes of items nobody judged."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from cutline._checks import check_number, check_one_of, check_whole
from cutline.errors import InputError

if TYPE_CHECKING:
    from cutline.queries import Queries

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Unjudged = Literal["bad", "drop", "error"]
UNJUDGED = ("bad", "drop", "error")


@dataclass(frozen=True, slots=True, eq=False)
class Badness:
    """Badness of every item in whole units: `codes` times `unit`, of UNITS; below zero where the loss passes over
    the item. `unjudged` counts the items without a label."""

    codes: npt.NDArray[np.int8] | Integers
    unit: int
    unjudged: int = 0

    def shares(self) -> Floats:
        """Badness as numbers in [0, 1], NaN where the loss passes over the item."""
        from cutline.kernels.walk import UNITS

        return np.where(self.codes < 0, np.nan, self.codes.astype(np.float64) * self.unit / UNITS)


@runtime_checkable
class Relevance(Protocol):
    """Turns the labels of queries into badness, list by list."""

    name: ClassVar[str]

    @property
    def unjudged(self) -> Unjudged:
        """What becomes of items without a label."""
        ...

    def badness(self, queries: Queries) -> Badness | Floats:
        """Badness of every item: numbers in [0, 1], NaN where the loss passes over the item, or the same in whole
        units."""
        ...

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        ...


@dataclass(frozen=True, slots=True)
class Grade:
    """An item is good when its label is at least `at_least`: b = 1[label < at_least].

    `unjudged="bad"` counts items without a label as bad, which is conservative for false discoveries; "drop" passes
    over them in the loss, so that the promise reads "among judged items", while the list that the rule sees keeps
    them; "error" refuses them.
    """

    at_least: float
    unjudged: Unjudged = "bad"
    name: ClassVar[str] = "grade"

    def __post_init__(self) -> None:
        object.__setattr__(self, "at_least", check_number("at_least", self.at_least))
        check_one_of("unjudged", self.unjudged, UNJUDGED)

    def badness(self, queries: Queries) -> Badness:
        """1 where the label is below the grade, else 0."""
        from cutline.kernels._compile import on_threads, spans
        from cutline.kernels.lists import grade_badness
        from cutline.kernels.walk import UNITS

        labels = _labels(queries)
        codes = np.empty(len(labels), np.int8)
        code = 1 if self.unjudged == "bad" else -1
        tasks = spans(len(labels), least=65_536)
        missing = sum(on_threads([partial(grade_badness, labels, self.at_least, code, *span, codes) for span in tasks]))
        if missing and self.unjudged == "error":
            _refuse_unjudged(queries, labels, missing)
        return Badness(codes, UNITS, missing)

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        return {"name": self.name, "at_least": self.at_least}


@dataclass(frozen=True, slots=True)
class TopM:
    """An item is good when its label is among the best m of its list; m is given, or a fraction of the list's
    length K.

    With a fraction, m = max(1, ceil(fraction·K)), the fraction read as the decimal it is written as, and at most K.
    Items tied across the m-th place are all bad (`ties="strict"`), all good ("lenient"), or share the places that
    are left ("expected": badness between 0 and 1). Unjudged items count in K. With `unjudged="bad"` they are bad and,
    as any of them might be the best, take a place each before the judged ones: a judged item is good only if it is so
    whatever their labels are. With "drop" the best m are those among the judged items.
    """

    m: int | None = None
    fraction: float | None = None
    ties: Literal["strict", "lenient", "expected"] = "strict"
    unjudged: Unjudged = "bad"
    name: ClassVar[str] = "top-m"

    def __post_init__(self) -> None:
        if (self.m is None) == (self.fraction is None):
            raise InputError(f"TopM needs m or fraction, one of the two, got m={self.m!r}, fraction={self.fraction!r}")
        if self.m is not None:
            if isinstance(self.m, float) and 0 < self.m < 1:
                raise InputError(f"m must be a whole number of at least 1, got {self.m!r}; write fraction={self.m!r}")
            object.__setattr__(self, "m", check_whole("m", self.m, least=1))
        if self.fraction is not None:
            object.__setattr__(self, "fraction", _checked_fraction(self.fraction))
        check_one_of("ties", self.ties, ("strict", "lenient", "expected"))
        check_one_of("unjudged", self.unjudged, UNJUDGED)

    def places(self, sizes: Integers) -> Integers:
        """How many items count as good in lists of these lengths, ties apart."""
        if self.m is not None:
            return np.minimum(self.m, sizes)
        share = Fraction(repr(float(self.fraction or 0.0)))
        lengths, which = np.unique(sizes, return_inverse=True)
        wanted = [max(1, -(-share.numerator * int(length) // share.denominator)) for length in lengths]
        return np.asarray(wanted, dtype=np.int64)[which]

    def badness(self, queries: Queries) -> Badness:
        """0 for the best m of each list, 1 for the rest, and what `ties` says in between."""
        from cutline.kernels import lists
        from cutline.kernels._compile import on_threads, spans
        from cutline.kernels.walk import UNITS

        labels = _labels(queries)
        missing = int(np.isnan(labels).sum())
        if missing and self.unjudged == "error":
            _refuse_unjudged(queries, labels, missing)
        wanted = self.places(np.diff(queries.offsets))
        ties = {"strict": lists.STRICT, "lenient": lists.LENIENT, "expected": lists.EXPECTED}[self.ties]
        code = 1 if self.unjudged == "bad" else -1
        units = np.empty(len(labels), np.int64)
        top = partial(lists.top_badness, labels, queries.offsets, wanted, ties, code, UNITS)
        on_threads([partial(top, *span, units) for span in spans(len(queries), least=1024)])
        return Badness(units, 1, missing)

    def settings(self) -> dict[str, Any]:
        """What a certificate writes down of it."""
        size = {"m": self.m} if self.m is not None else {"fraction": self.fraction}
        return {"name": self.name, **size, "ties": self.ties}


def _checked_fraction(given: float) -> float:
    """A share in (0, 1], as the decimal that is shown: a float32 of 0.2 is 0.2."""
    fraction = check_number("fraction", given)
    if isinstance(given, np.floating):
        fraction = float(str(given))
    if not 0 < fraction <= 1:
        hint = f"; did you mean {fraction / 100:g}?" if 1 < fraction <= 100 else ""
        raise InputError(f"fraction must be in (0, 1], got {given!r}{hint}")
    return fraction


def _labels(queries: Queries) -> Floats:
    labels = queries.labels
    if labels is None:
        there = ", ".join(map(repr, queries.columns))
        hint = f" (there are {there}), as in columns={{'label': {next(iter(queries.columns))!r}}}" if there else ""
        raise InputError(
            f"queries have no labels at all, and labels are wanted here: pass labels= or name the column{hint}"
        )
    return labels


def _refuse_unjudged(queries: Queries, labels: Floats, missing: int) -> None:
    row = int(np.flatnonzero(np.isnan(labels))[0])
    query = int(np.searchsorted(queries.offsets, row, side="right")) - 1
    raise InputError(
        f"labels are missing for {missing} of {len(labels)} items, first in query {queries.id_of(query)!r} at position "
        f'{row - int(queries.offsets[query])}; judge them, or choose unjudged="bad" or unjudged="drop"'
    )


RELEVANCES: dict[str, type[Any]] = {relevance.name: relevance for relevance in (Grade, TopM)}
