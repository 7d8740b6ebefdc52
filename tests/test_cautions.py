"""What cutline warns of: settings and data that are allowed, and hardly ever what was meant."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import cutline as cl
from cutline import cutting
from cutline.errors import CutlineWarning, InputError
from cutline.judging import judge_of, moments
from cutline.kernels import walk
from cutline.relevance import Badness
from cutline.sequence import Walked

LOSS, MISS = cl.FalseDiscovery(cl.Grade(at_least=3)), cl.Miss(cl.Grade(at_least=3))
GRID = cl.grid(0.95, 0.05, 0.05)
QUERIES = cl.datasets.simulate(400, rng=0)


def judged_in_part(share: float) -> cl.Queries:
    """The same queries, the later ones without any label."""
    labels = QUERIES.labels.copy()
    labels[QUERIES.offsets[round(share * len(QUERIES))] :] = np.nan
    return cl.Queries(QUERIES.scores, QUERIES.offsets, labels, query_ids=QUERIES.query_ids)


def test_a_confidence_in_place_of_delta_is_noticed():
    with pytest.warns(CutlineWarning, match=r"0.95 asks for a confidence of 0.05; did you mean 0.05\?") as caught:
        cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.95, thresholds=GRID)
    assert caught[0].filename == __file__


def test_misses_among_items_that_nobody_judged_are_warned_of_and_are_not_promised():
    half = judged_in_part(0.5)
    with pytest.warns(CutlineWarning, match=r"of the items have no label, and 200 of 400 queries have no judged item"):
        made = cl.calibrate(half, loss=MISS, alpha=0.2, delta=0.1, thresholds=GRID[::-1].copy())
    assert "not among a query's candidates, or that nobody judged: they count as neither" in made.statement()
    with pytest.warns(CutlineWarning, match="may be missed unseen") as caught:
        cl.audit(made, half[100:])
    assert caught[0].filename == __file__
    strict = cl.Miss(cl.Grade(at_least=3, unjudged="error"))
    whole = cl.calibrate(QUERIES, loss=strict, alpha=0.2, delta=0.1, thresholds=GRID[::-1].copy())
    assert "nobody judged" not in whole.statement()
    assert "good items that are not among a query's candidates: they count as neither" in whole.statement()


def test_queries_without_a_judged_item_are_not_counted_where_there_are_none():
    labels = QUERIES.labels.copy()
    labels[QUERIES.offsets[:-1][QUERIES.sizes > 1]] = np.nan
    with pytest.warns(CutlineWarning, match=r"^[\d.]+% of the items have no label: misses are counted among judged"):
        cl.calibrate(replace(QUERIES, labels=labels), loss=MISS, alpha=0.2, delta=0.1, thresholds=GRID[::-1].copy())


def test_unjudged_items_that_take_the_places_of_the_best_are_told():
    labels = np.ones(QUERIES.n_items)
    labels[QUERIES.offsets[:-1]] = np.nan
    half = replace(QUERIES, labels=labels)
    said = (
        r"^no item is wholly good \(label among the top 1 of its list, ties strict, unjudged items taken to be better\); "
        r'items without a label are taken .* take the places: unjudged="drop" asks for the best among judged items\. Wh'
    )
    with pytest.warns(CutlineWarning, match=said):
        cl.calibrate(half, loss=cl.FalseDiscovery(cl.TopM(m=1)), alpha=0.3, delta=0.1, thresholds=GRID)


def test_scores_that_are_all_equal_are_told():
    queries = replace(QUERIES, scores=np.zeros(QUERIES.n_items))
    found = cl.calibrate(queries, loss=LOSS, alpha=0.1, delta=0.1)
    assert isinstance(found, cl.Abstention)
    assert "All scores are equal; were the items scored?" in found.statement()
    assert "begin higher" not in found.statement()


def test_lists_that_nobody_judged_are_warned_of_where_they_cost_nothing():
    half = judged_in_part(0.5)
    dropped = cl.FalseDiscovery(cl.Grade(at_least=3, unjudged="drop"))
    with pytest.warns(CutlineWarning, match="200 of 400 queries have no judged item.*cost nothing"):
        cl.calibrate(half, loss=dropped, alpha=0.3, delta=0.1, thresholds=GRID)
    with pytest.warns(CutlineWarning, match="200 of 400 queries have no judged item.*on the safe side"):
        cl.calibrate(half, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID)
    with pytest.warns(CutlineWarning, match="200 of 400 queries have no judged item"):
        cl.RiskCurve.empty(loss=dropped, thresholds=GRID).add(half)


def test_splits_warn_once_and_not_once_a_split():
    half = judged_in_part(0.5)
    dropped = cl.FalseDiscovery(cl.Grade(at_least=3, unjudged="drop"))
    with pytest.warns(CutlineWarning) as caught:
        cl.resample(half, loss=dropped, alpha=0.3, delta=0.1, n_calibration=200, repeats=5, rng=0, thresholds=GRID)
    assert [warning.filename for warning in caught] == [__file__]


def test_most_lists_empty_is_said_in_the_title_the_statement_and_the_audit():
    many = cl.datasets.simulate(4000, rng=0)
    upside_down = cl.Queries(-many.scores, many.offsets, many.labels, query_ids=many.query_ids)
    calibration, held_out = upside_down.split(0.5, rng=0)
    made = cl.calibrate(calibration, loss=LOSS, alpha=0.3, delta=0.1, evidence=cl.evidence.Convex())
    assert isinstance(made, cl.Certificate)
    assert 0 < made.share_nonempty < 0.5
    assert "% OF LISTS ARE EMPTY" in repr(made).splitlines()[0]
    for text in (made.statement(), cl.audit(made, held_out).statement()):
        assert "Is a higher score better" in text
    good = cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1)
    assert good.share_nonempty > 0.5
    assert "EMPTY" not in repr(good)
    assert "Is a higher score better" not in good.statement()


def test_a_curve_whose_lists_hold_nothing_good_is_warned_of():
    curve = cl.RiskCurve.empty(loss=cl.FalseDiscovery(cl.Grade(at_least=99)), thresholds=GRID).add(QUERIES)
    with pytest.warns(CutlineWarning, match="no item that any threshold keeps is wholly good .label at least"):
        cl.calibrate(curve, alpha=0.3, delta=0.1, evidence=cl.evidence.Convex())


def test_queries_that_drew_the_thresholds_are_told_and_are_asked_for_again():
    made = cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1)
    assert made.sample == 20
    assert "(20 more queries drew the thresholds)" in repr(made)
    assert "Another 20 queries drew the thresholds to test and did not calibrate." in made.statement()
    few = cl.datasets.simulate(14, rng=0)
    with_sample = cl.calibrate(few, loss=LOSS, alpha=0.3, delta=0.1)
    assert isinstance(with_sample, cl.Abstention)
    assert with_sample.sample == 10
    assert with_sample.refusal.queries_needed > 14


def test_a_repr_tells_how_far_along_its_thresholds_the_walk_went():
    made = cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID)
    assert f"{made.tested} of 19" in repr(made)
    by_shares = cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID, sequence=cl.Fallback())
    assert "19 of 19, by fallback" in repr(by_shares)


# Pieces of one's own ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnLoss:
    """False discoveries, as someone else might write them; each test spoils one thing."""

    safe_end: str = "high"
    written: object = None
    gives: object = None
    relevance: cl.Grade = cl.Grade(at_least=3)  # noqa: RUF009
    name: ClassVar[str] = "own"

    def of_lists(self, chosen, badness, offsets):
        return LOSS.of_lists(chosen, badness, offsets) if self.gives is None else self.gives

    def settings(self):
        return {"name": "own"} if self.written is None else self.written


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (OwnLoss(safe_end="High"), "safe_end of the loss 'own' must be one of 'high', 'low', got 'High'; did you mean"),
        (OwnLoss(written=object()), r"loss: settings\(\) must give a dict of plain values"),
        (OwnLoss(written=["own"]), r"loss: settings\(\) must give a dict of plain values"),
        (OwnLoss(gives=["bad"] * 400), "own: of_lists must give numbers, got"),
    ],
)
def test_a_loss_of_ones_own_is_checked_before_anything_is_certified(loss, message):
    with pytest.raises(InputError, match=message):
        cl.calibrate(QUERIES, loss=loss, alpha=0.3, delta=0.1, thresholds=GRID)
    made = cl.calibrate(QUERIES, loss=OwnLoss(), alpha=0.3, delta=0.1, thresholds=GRID)
    assert made.threshold == cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID).threshold


@dataclass(frozen=True)
class Shares:
    """A relevance that gives badness as plain numbers: the share of the best label that an item lacks."""

    unjudged: str = "drop"
    wrong: object = None
    name: ClassVar[str] = "shares"

    def badness(self, queries):
        return 1.0 - queries.labels / 4 if self.wrong is None else self.wrong

    def settings(self):
        return {"name": "shares"}


def test_a_relevance_of_ones_own_may_give_plain_numbers():
    labels = QUERIES.labels.copy()
    labels[::50] = np.nan
    queries = cl.Queries(QUERIES.scores, QUERIES.offsets, labels, query_ids=QUERIES.query_ids)
    made = cl.calibrate(queries, loss=cl.FalseDiscovery(Shares()), alpha=0.45, delta=0.1, thresholds=GRID)
    slates = made.apply(queries)
    losses = [np.nan_to_num(np.nanmean(1 - labels[rows] / 4)) if len(rows) else 0.0
              for rows in (kept + begin for kept, begin in zip(slates, queries.offsets, strict=False))]  # fmt: skip
    assert made.risk == pytest.approx(np.mean(losses), abs=1e-9)


@pytest.mark.parametrize("wrong", [np.full(3, 0.5), np.full(QUERIES.n_items, 1.5), "bad", None])
def test_a_relevance_of_ones_own_must_give_one_number_in_0_to_1_per_item(wrong):
    relevance = Shares(wrong=np.array(["x"] * QUERIES.n_items) if wrong is None else wrong)
    with pytest.raises(InputError, match="shares: badness must be"):
        cl.calibrate(QUERIES, loss=cl.FalseDiscovery(relevance), alpha=0.3, delta=0.1, thresholds=GRID)


@dataclass(frozen=True)
class Words:
    """A scoring that gives text."""

    name: ClassVar[str] = "words"
    depends_on_length: ClassVar[bool] = False

    def item_scores(self, outputs, offsets):
        return ["high"] * len(outputs)

    def settings(self):
        return {"name": "words"}


def test_a_scoring_of_ones_own_must_give_numbers():
    with pytest.raises(InputError, match="words: item_scores must give numbers, got"):
        cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID, scoring=Words())


@dataclass(frozen=True)
class Needy:
    """An evidence that lacks the methods its kind must have."""

    name: ClassVar[str] = "needy"
    needs: ClassVar[str] = "sum"
    asymptotic: ClassVar[bool] = False


def test_a_plan_checks_the_evidence_it_is_given():
    with pytest.raises(InputError, match=r"evidence 'needy' needs 'sum' and so must have the methods of SumEvidence"):
        cl.queries_needed(alpha=0.3, delta=0.1, expected_risk=0.25, evidence=Needy())


def test_a_true_risk_needs_a_loss():
    with pytest.raises(InputError, match="loss must be an object such as"):
        cl.datasets.Simulator().true_risk(0.7, loss=None)


def test_no_message_repeats_a_long_value_in_full():
    long = [0.3] * 3000
    made = cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID)
    for wrong in (
        lambda: cl.calibrate(QUERIES, loss=LOSS, alpha=long, delta=0.1),
        lambda: cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=[*long, float("nan")]),
        lambda: made.choose([float("nan")] * 3000),
        lambda: made.choose(np.zeros((3000, 2))),
        lambda: cl.load({"alpha": long}),
        lambda: cl.calibrate(QUERIES, loss=QUERIES, alpha=0.3, delta=0.1),
    ):
        with pytest.raises(InputError) as caught:
            wrong()
        assert len(str(caught.value)) < 300
        assert "\n" not in str(caught.value)


# What foreign pieces are given, they cannot change; what they answer is checked ------------------------------------


@dataclass(frozen=True)
class Greedy:
    """A rule that crosses out what it has taken, in the scores themselves, as greedy selections are often written."""

    name: ClassVar[str] = "greedy"
    needs_vectors: ClassVar[bool] = False

    def choose(self, scores, vectors, threshold):
        taken = []
        while scores.max() >= threshold:
            taken.append(int(np.argmax(scores)))
            scores[taken[-1]] = -np.inf
        return np.array(taken, dtype=np.int64)

    def settings(self):
        return {"name": self.name}


@dataclass(frozen=True)
class Rows:
    """A rule that gives whatever rows it is told to."""

    rows: tuple[int, ...] = ()
    name: ClassVar[str] = "rows"
    needs_vectors: ClassVar[bool] = False

    def choose(self, scores, vectors, threshold):
        return np.array([len(scores) if row == 99 else row for row in self.rows])

    def settings(self):
        return {"name": self.name}


@pytest.mark.parametrize("scoring", [cl.AsGiven(), cl.WinRate(scale=0.01)], ids=repr)
def test_a_rule_that_writes_into_its_scores_is_stopped_and_corrupts_nothing(scoring):
    grid = cl.grid(0.9, 0.1, 0.1)
    with pytest.raises(ValueError, match="read-only"):
        cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=grid, scoring=scoring, sets=Greedy())
    made = cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=grid, scoring=scoring)
    with pytest.raises(ValueError, match="read-only"):
        cl.Certificate(**{**fields_of(made), "sets": Greedy()}).choose(np.array([0.9, 0.8]))


def fields_of(made):
    return {each: getattr(made, each) for each in made.__dataclass_fields__}


@dataclass(frozen=True)
class Scribbler(OwnLoss):
    """A loss that writes into what it is given."""

    def of_lists(self, chosen, badness, offsets):
        chosen[:] = False
        return np.zeros(len(offsets) - 1)


def test_a_loss_that_writes_into_its_lists_is_stopped():
    with pytest.raises(ValueError, match="read-only"):
        cl.calibrate(QUERIES, loss=Scribbler(), alpha=0.3, delta=0.1, thresholds=GRID)


@pytest.mark.parametrize("rows", [(99,), (-1,), (0, 0)], ids=["beyond the list", "before it", "twice"])
def test_a_rule_of_ones_own_must_give_rows_of_its_list(rows):
    with pytest.raises(InputError, match="rows: choose must give each row once, from 0 to"):
        cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID, sets=Rows(rows))


@dataclass(frozen=True)
class Codes:
    """A relevance that gives badness in whole units, right or wrong."""

    codes: object = None
    unit: object = walk.UNITS
    unjudged: str = "bad"
    name: ClassVar[str] = "codes"

    def badness(self, queries):
        own = (queries.labels < 3).astype(np.int8)
        return Badness(own if self.codes is None else np.resize(self.codes, len(own)), self.unit)

    def settings(self):
        return {"name": self.name}


@pytest.mark.parametrize(
    ("codes", "unit"),
    [
        (np.array([0, -2], np.int8), walk.UNITS),
        (np.array([0, 2], np.int8), walk.UNITS),
        (np.array([0.0, 1.0]), walk.UNITS),
        (np.array([0, 1], np.int8), 0),
        (np.array([0, 1], np.int8), float(walk.UNITS)),
        (np.array([0, 1], np.int8), walk.UNITS + 1),
    ],
)
def test_badness_in_units_is_checked_before_compiled_loops_read_it(codes, unit):
    assert cl.calibrate(QUERIES, loss=cl.FalseDiscovery(Codes()), alpha=0.3, delta=0.1, thresholds=GRID)
    with pytest.raises(InputError, match="codes: badness must be"):
        cl.calibrate(QUERIES, loss=cl.FalseDiscovery(Codes(codes, unit)), alpha=0.3, delta=0.1, thresholds=GRID)


def test_a_relevance_has_a_known_word_for_unjudged_items_and_is_a_relevance():
    with pytest.raises(InputError, match="unjudged of the relevance 'codes' must be one of 'bad', 'drop', 'error'"):
        cl.calibrate(QUERIES, loss=OwnLoss(relevance=Codes(unjudged="keep")), alpha=0.3, delta=0.1)
    with pytest.raises(InputError, match="relevance must be an object such as"):
        cl.calibrate(QUERIES, loss=OwnLoss(relevance="grade"), alpha=0.3, delta=0.1)


@dataclass(frozen=True, slots=True)
class Boaster(cl.evidence.Convex):
    """Says one thing of sums and another of p-values."""

    def critical_total(self, n, *, alpha, delta):
        return float(n)


@dataclass(frozen=True, slots=True)
class Mute(cl.evidence.Betting):
    """Answers for the first row only."""

    def certifies_each(self, losses, *, alpha, delta, tuning_delta=None):
        return np.array([True])


def test_evidence_that_contradicts_itself_certifies_nothing():
    how = {"loss": LOSS, "alpha": 0.1, "delta": 0.1, "thresholds": GRID}
    with pytest.raises(InputError, match="evidence 'convex' contradicts itself: it certifies threshold"):
        cl.calibrate(QUERIES, evidence=Boaster(), **how)
    with pytest.raises(InputError, match="certifies_each must give one answer for each of"):
        cl.calibrate(QUERIES, evidence=Mute(), **how)


@dataclass(frozen=True)
class Liar:
    """A sequence that tells of a walk it did not take."""

    farthest: int | None
    tested: int
    name: ClassVar[str] = "liar"

    def walk(self, blocks, *, delta, count):
        for block in blocks:
            block.certified(delta, 0, len(block))
        return Walked(self.farthest, self.tested)

    def settings(self):
        return {"name": self.name}


@pytest.mark.parametrize(("farthest", "tested"), [(98, 99), (5, 5), (None, 0)])
def test_a_sequence_cannot_end_where_it_has_not_been(farthest, tested):
    with pytest.raises(InputError, match="sequence 'liar' walked to what it did not test"):
        cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID, sequence=Liar(farthest, tested))


@dataclass(frozen=True, slots=True)
class Tuned(cl.evidence.Betting):
    """Notes the level its bets are tuned for."""

    seen: list = field(default_factory=list)

    def certifies_each(self, losses, *, alpha, delta, tuning_delta=None):
        self.seen.append((delta, tuning_delta))
        return super(Tuned, self).certifies_each(losses, alpha=alpha, delta=delta, tuning_delta=tuning_delta)


def test_under_fallback_bets_stay_tuned_for_one_level_that_does_not_depend_on_the_losses():
    evidence = Tuned(strategy="wsr")
    cl.calibrate(QUERIES, loss=LOSS, alpha=0.4, delta=0.1, thresholds=GRID, evidence=evidence, sequence=cl.Fallback())
    assert len({delta for delta, _ in evidence.seen}) > 1
    assert {tuning for delta, tuning in evidence.seen if delta != 0.1} == {0.1}


def test_choose_checks_a_scoring_of_ones_own():
    made = cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID)
    spoiled = cl.Certificate(**{**fields_of(made), "scoring": Words()})
    with pytest.raises(InputError, match="words: item_scores must give numbers"):
        spoiled.choose(np.array([0.9, 0.8]))


def test_a_rule_that_sees_vectors_sees_finite_ones_in_choose():
    made = cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID)
    with pytest.raises(InputError, match="vectors must"):
        made.choose([0.9, 0.8], vectors=[["a"], ["b"]])
    with pytest.raises(InputError, match="vectors must be finite"):
        made.choose([0.9, 0.8], vectors=[[1.0], [np.nan]])


# Curves -------------------------------------------------------------------------------------------------------------


def test_a_curve_is_whole_or_is_refused_and_cannot_be_written_to():
    curve = cl.RiskCurve.empty(loss=LOSS, thresholds=GRID).add(QUERIES)
    for sums in (curve.sums[:3], curve.sums.astype(float), curve.sums[:, :4]):
        with pytest.raises(InputError, match=r"sums must be .* 64-bit whole numbers for each of 19 thresholds"):
            replace(curve, sums=sums)
    with pytest.raises(ValueError, match="read-only"):
        curve.sums[0, 0] = 0
    with pytest.raises(ValueError, match="read-only"):
        curve.thresholds[0] = 0


def test_judged_items_are_counted_over_merges():
    nothing = cl.Queries(QUERIES.scores, QUERIES.offsets, np.full(QUERIES.n_items, np.nan))
    empty = cl.RiskCurve.empty(loss=LOSS, thresholds=GRID)
    assert empty.add(nothing).merge(empty.add(QUERIES)).n_judged == QUERIES.n_items


def test_more_queries_than_sums_can_hold_are_refused():
    curve = cl.RiskCurve.empty(loss=LOSS, thresholds=GRID).add(QUERIES)
    many = replace(curve, lengths={20: cutting.MOST_SUMMED})
    with pytest.raises(InputError, match="queries must be at most 1,700,000,000 to be summed"):
        many.merge(curve)
    with pytest.raises(InputError, match="queries of one table must be at most 536,870,911"):
        cutting.check_countable(2**29)


def test_losses_between_0_and_1_beyond_the_stop_do_not_matter_to_binomial():
    """From queries and from their curve alike, whatever the size of a block."""
    scores = np.tile([0.9, 0.5, 0.1, 0.1], 300)
    labels = np.tile([4.0, 0.0, 4.0, 0.0], 300)
    queries = cl.Queries.from_arrays(scores, labels, group=np.full(300, 4))
    how = {"alpha": 0.3, "delta": 0.1, "evidence": cl.evidence.Binomial()}
    with pytest.raises(InputError, match="for losses that are 0 or 1 only"):
        cl.calibrate(queries, loss=LOSS, thresholds=[0.9, 0.5], **how)
    binary = cl.Queries.from_arrays(*at_once(300), group=np.full(300, 3))
    from_queries = cl.calibrate(binary, loss=LOSS, thresholds=[0.9, 0.5, 0.2], **how)
    from_curve = cl.calibrate(cl.RiskCurve.empty(loss=LOSS, thresholds=[0.9, 0.5, 0.2]).add(binary), **how)
    assert from_queries.threshold == from_curve.threshold == 0.9
    assert from_queries.tested == from_curve.tested == 2


def at_once(n):
    """Lists of one item that is good, then all of two that are bad in half of the lists, then a third, good one."""
    scores = np.where(np.arange(n)[:, None] % 2, [0.9, 0.1, 0.1], [0.5, 0.5, 0.1])
    labels = np.where(np.arange(n)[:, None] % 2, [4.0, 0.0, 4.0], [0.0, 0.0, 4.0])
    return scores.ravel(), labels.ravel()


# What abstentions say under Fallback, and what statements say of other people's pieces ------------------------------


@pytest.mark.parametrize(
    "evidence", [cl.evidence.Betting(), cl.evidence.Betting("wsr"), cl.evidence.Convex()], ids=repr
)
@pytest.mark.parametrize("first", [None, 0.9])
def test_the_smallest_alpha_of_a_fallback_certifies_and_a_smaller_one_does_not(evidence, first):
    weights = None if first is None else (first, *[(1 - first) / 18] * 18)
    few = cl.datasets.simulate(80, rng=3)
    how = {"loss": LOSS, "delta": 0.1, "thresholds": GRID, "evidence": evidence, "sequence": cl.Fallback(weights)}
    smallest = cl.calibrate(few, alpha=0.02, **how).refusal.smallest_alpha
    assert isinstance(cl.calibrate(few, alpha=smallest + 1e-4, **how), cl.Certificate)
    assert isinstance(cl.calibrate(few, alpha=smallest - 3e-4, **how), cl.Abstention)


def test_an_abstaining_fallback_speaks_of_the_nearest_threshold_and_not_of_the_first():
    least = {"sets": cl.Threshold(min_size=1), "sequence": cl.Fallback(), "thresholds": GRID}
    text = cl.calibrate(QUERIES, loss=LOSS, alpha=0.2, delta=0.1, **least).statement()
    assert "is not below alpha" not in text
    assert "if the risk stays as it is here" not in text


class Half(cl.FalseDiscovery):
    """Inherits all words, and costs half."""

    def of_lists(self, chosen, badness, offsets):
        return super().of_lists(chosen, badness, offsets) / 2


class Other(cl.Threshold):
    """Inherits all words, and keeps every second item."""

    def choose(self, scores, vectors, threshold):
        return super().choose(scores, vectors, threshold)[::2]


class Worst(cl.Grade):
    """Inherits all words, and means the contrary."""

    def badness(self, queries):
        return 1.0 - super().badness(queries).shares()


def test_a_subclass_is_not_described_in_the_words_of_the_built_in_one():
    how = {"alpha": 0.3, "delta": 0.1, "thresholds": cl.grid(0.9, 0.1, 0.1)}
    half = cl.calibrate(QUERIES, loss=Half(cl.Grade(at_least=3)), **how).statement()
    assert "Half loss per list" in half
    assert "share of not-good items per list" not in half
    other = cl.calibrate(QUERIES, loss=LOSS, sets=Other(), **how).statement()
    assert "then apply the rule Other" in other
    worst = cl.calibrate(QUERIES, loss=cl.FalseDiscovery(Worst(at_least=3)), **{**how, "alpha": 0.9}).statement()
    assert "Good: Worst" in worst


def test_curves_of_a_loss_and_of_its_subclass_are_not_merged():
    one, other = (cl.RiskCurve.empty(loss=loss, thresholds=GRID) for loss in (LOSS, Half(cl.Grade(at_least=3))))
    with pytest.raises(InputError, match="curves to merge must share thresholds, loss, scoring and sets"):
        one.merge(other)


# Numbers at the edge ------------------------------------------------------------------------------------------------


def test_large_sums_of_whole_losses_stay_whole():
    rng = np.random.default_rng(0)
    sums = np.zeros((1000, walk.COLUMNS), np.int64)
    whole = rng.integers(10**7, 10**9, 1000)
    sums[:, walk.LOSS] = whole * walk.UNITS
    assert (moments(sums)[0] == whole).all()


@pytest.mark.parametrize(
    "evidence", [cl.evidence.Hoeffding(), cl.evidence.HoeffdingBentkus(), cl.evidence.Convex()], ids=repr
)
def test_an_upper_bound_is_certified_by_the_p_value_itself(evidence):
    rng = np.random.default_rng(1)
    for n in (1, 3, 10, 57, 400):
        for _ in range(20):
            losses = rng.integers(0, 5, n) / 4 * (rng.random() < 0.8)
            delta = float(rng.choice([0.3, 0.1, 0.01]))
            bound = evidence.upper_bound(losses, delta=delta)
            assert bound == 1 or evidence.certifies(losses, alpha=bound, delta=delta)


@pytest.mark.parametrize("evidence", [cl.evidence.Binomial(), cl.evidence.HoeffdingBentkus()], ids=repr)
def test_a_bound_at_a_level_that_cannot_be_computed_is_still_a_bound(evidence):
    for losses in ([1.0, 1.0, 0, 0, 0, 0, 0], [1.0] * 45 + [0.0] * 5):
        bound = evidence.upper_bound(losses, delta=1e-250)
        assert np.mean(losses) <= bound <= 1


def test_a_share_of_delta_too_small_to_tell_from_nothing_certifies_nothing():
    weights = (1 - 1e-310, 1e-310)
    walked = cl.calibrate(
        QUERIES, loss=LOSS, alpha=0.3, delta=0.1, thresholds=[0.95, 0.9], sequence=cl.Fallback(weights)
    )
    assert walked.tested == 2
    assert cl.Fallback((1e-310, 1 - 1e-310)).certified([0.0, 0.5], delta=0.1) == []


def test_a_score_that_is_the_largest_number_cannot_be_stepped_over():
    scores, labels = [np.finfo(float).max, 0.5] * 50, [0.0, 4.0] * 50
    queries = cl.Queries.from_arrays(scores, labels, group=[2] * 50)
    with pytest.raises(InputError, match=r"scores must be below 1.797.*, the largest number there is; rescale them"):
        cl.calibrate(queries, loss=LOSS, alpha=0.3, delta=0.1, evidence=cl.evidence.Convex())


def test_normal_evidence_asks_for_thresholds_where_the_default_ones_cannot_do():
    with pytest.raises(InputError, match=r"thresholds are wanted: normal evidence refuses losses that are all equal"):
        cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, evidence=cl.evidence.Normal())
    grid = cl.grid(0.9, 0.01, 0.01)
    assert cl.calibrate(QUERIES, loss=LOSS, alpha=0.3, delta=0.1, evidence=cl.evidence.Normal(), thresholds=grid)


def test_a_p_value_of_exactly_delta_certifies_and_the_next_number_above_does_not():
    """No tolerance on that comparison: at the critical sum the p-value itself decides."""
    n, total = 10, 1
    losses = np.zeros((1, walk.COLUMNS), np.int64)
    losses[0, walk.LOSS] = losses[0, walk.SQUARED] = total * walk.UNITS
    for evidence in (cl.evidence.Convex(), cl.evidence.Binomial(), cl.evidence.Hoeffding()):
        p = evidence.p_value_from_sums(total, n, alpha=0.5)
        judge = judge_of(evidence, n=n, alpha=0.5, delta=p)
        assert judge.certified(losses, np.empty((1, 0)), level=p).tolist() == [True]
        assert judge.certified(losses, np.empty((1, 0)), level=float(np.nextafter(p, 0))).tolist() == [False]


def test_a_true_risk_is_sampled_where_its_integral_would_be_coarse():
    steep = cl.datasets.Simulator(signal=0.9999, score_shift=1.0, n_items=(5, 10))
    found = steep.true_risk(0.7, loss=LOSS, queries=20_000)
    assert found.standard_error > 0
    assert cl.datasets.Simulator(signal=0.99).true_risk(0.7, loss=LOSS).standard_error == 0


@pytest.mark.parametrize("evidence", [cl.evidence.EmpiricalBernstein(), cl.evidence.Normal()], ids=repr)
def test_as_many_queries_as_planned_certify_about_as_often_as_planned(evidence):
    needed = cl.queries_needed(alpha=0.1, delta=0.05, expected_risk=0.02, evidence=evidence).needed[evidence.name]
    rng, passed = np.random.default_rng(5), 0
    for _ in range(600):
        losses = (rng.random(needed) < 0.02).astype(float)
        passed += bool(losses.any()) and evidence.certifies(losses, alpha=0.1, delta=0.05)
        passed += not losses.any() and not evidence.asymptotic and evidence.certifies(losses, alpha=0.1, delta=0.05)
    assert 0.72 < passed / 600 < 0.92


# What is read from what is given ------------------------------------------------------------------------------------


@pytest.mark.parametrize("short", [np.float16, np.float32])
def test_labels_of_single_precision_are_the_decimals_they_are_shown_as(short):
    labels = np.tile(np.array([0, 0.3, 0.7], short), 50)
    arrays = cl.Queries.from_arrays(np.tile([0.1, 0.5, 0.9], 50), labels, group=np.full(50, 3))
    tables = [arrays]
    if short is np.float32:
        tables.append(cl.Queries.from_frame(arrays.to_frame("polars").with_columns(label=pl.Series(labels))))
    for queries in tables:
        assert sorted(set(queries.labels.tolist())) == [0, 0.3, 0.7]
        assert cl.Grade(at_least=0.7).badness(queries).shares().mean() == pytest.approx(2 / 3)


def test_a_level_of_single_precision_is_the_decimal_it_is_shown_as():
    made = cl.calibrate(QUERIES, loss=LOSS, alpha=np.float32(0.4), delta=np.float32(0.1), thresholds=GRID)
    assert (made.alpha, made.delta) == (0.4, 0.1)


def tied_lists(order):
    labels = np.tile(np.array([3, 3, 3, 0, 0, 0])[order], 60)
    return cl.Queries.from_arrays(np.full(360, 0.5), labels, group=np.full(60, 6))


@pytest.mark.parametrize("sets", [cl.Threshold(max_size=3), cl.Threshold(min_size=2)])
def test_sizes_that_cut_through_ties_of_unequal_items_are_told(sets):
    how = {"loss": LOSS, "alpha": 0.3, "delta": 0.1, "thresholds": [0.9, 0.4], "evidence": cl.evidence.Convex()}
    with pytest.warns(CutlineWarning, match=r"in 100.0% of the lists a size cuts through items of equal score"):
        cl.calibrate(tied_lists([0, 1, 2, 3, 4, 5]), sets=sets, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cl.calibrate(QUERIES, sets=sets, **how)  # scores differ: nothing to tell


def test_scores_on_another_scale_are_noticed_when_lists_are_cut():
    queries = QUERIES
    made = cl.calibrate(queries, loss=LOSS, alpha=0.3, delta=0.1, thresholds=GRID)
    for factor, kept in ((1000.0, "every item of these lists is kept"), (0.001, "no item of these lists is kept")):
        scaled = cl.Queries.from_arrays(queries.scores * factor + (factor > 1), group=queries.sizes)
        with pytest.warns(CutlineWarning, match=kept + r".*on the scale of those that were calibrated\?"):
            made.apply(scaled)
    nearly = cl.Queries.from_arrays(np.r_[queries.scores * 0.001, 5.0], group=[*queries.sizes, 1])
    said = rf"^under 0\.1 % of the items of these lists are kept, and {share(made)} were in calibration: are the scores"
    with pytest.warns(CutlineWarning, match=said):
        made.apply(nearly)
    nearly = cl.Queries.from_arrays(np.r_[queries.scores * 1000 + 1, 0.0], group=[*queries.sizes, 1])
    with pytest.warns(CutlineWarning, match=r"^over 99\.9 % of the items of these lists are kept, and"):
        made.apply(nearly)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.apply(queries)
        long = 20 * int(queries.sizes.max())
        longer = [np.r_[query.scores, np.zeros(long - len(query))] for query in queries]  # as many kept, of far more
        made.apply(cl.Queries.from_arrays(np.concatenate(longer), group=[long] * len(queries)))
        made.apply(cl.Queries.from_arrays(queries.scores[:90] * 0.001, group=[90]))  # few items say nothing


def share(made: cl.Certificate) -> str:
    return f"{100 * made.mean_size * made.n_queries / made.n_items:.1f} %"


def test_a_chunk_that_is_added_twice_is_noticed():
    curve = cl.RiskCurve.empty(loss=LOSS, thresholds=GRID).add(QUERIES)
    with pytest.warns(CutlineWarning, match="was a chunk added twice"):
        curve.add(QUERIES)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curve.add(cl.datasets.simulate(300, rng=1))


def test_an_abstention_asks_whether_scores_are_turned_around():
    queries = QUERIES
    turned = cl.Queries.from_arrays(-queries.scores, queries.labels, group=queries.sizes)
    grid = -GRID[::-1]
    found = cl.calibrate(turned, loss=LOSS, alpha=0.2, delta=0.1, thresholds=grid)
    assert isinstance(found, cl.Abstention)
    assert "is a higher score a better item?" in found.statement()
    low = cl.calibrate(queries, loss=LOSS, alpha=0.01, delta=0.1, thresholds=GRID[12:])
    assert "is a higher score" not in low.statement()


def test_series_whose_rows_do_not_belong_together_are_refused():
    frame = QUERIES.to_frame("pandas")
    ordered = frame.sort_values("score")
    with pytest.raises(InputError, match=r"scores and labels have different indexes.*from_frame"):
        cl.Queries.from_arrays(ordered["score"], frame["label"], qid=frame["query_id"])
    assert len(cl.Queries.from_arrays(frame["score"], frame["label"], qid=frame["query_id"])) == len(QUERIES)
