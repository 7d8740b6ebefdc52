"""The words of certificates and abstentions: every case of STATISTICS section 8, every figure, everything not promised."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.test_calibration import FALLING, GRADE, RISING, Alternate, AnyBad, Graded, Reversed, drawn

import cutline as cl
from cutline import statements
from cutline.evidence import Binomial, Convex, Hoeffding, Normal


def certificate(queries=None, **changed):
    how = {"loss": cl.FalseDiscovery(GRADE), "alpha": 0.4, "delta": 0.1, "thresholds": FALLING} | changed
    found = cl.calibrate(drawn(0) if queries is None else queries, **how)
    assert isinstance(found, cl.Certificate)
    return found


def abstention(queries=None, **changed):
    how = {"loss": cl.FalseDiscovery(GRADE), "alpha": 0.01, "delta": 0.1, "thresholds": FALLING[10:]} | changed
    found = cl.calibrate(drawn(0) if queries is None else queries, **how)
    assert isinstance(found, cl.Abstention)
    return found


NOT_PROMISED = [
    "any single list, or any group of queries",
    "the non-empty lists alone (",
    "of lists were empty), or the pooled ",
    "that this certificate is right with probability 90 %: the figure covers the whole procedure, abstentions included",
    "anything if queries were not independent draws, or if queries, candidates",
    "scores, model or labelling change",
    (
        "anything if alpha, delta, seed, evidence, what counts as good, scoring, rule, thresholds or testing order were "
        "chosen after seeing the calibration queries (their scores included), or calibration was repeated until it passed"
    ),
]

CERTIFIED = {
    "false discoveries": {},
    "misses": {"loss": cl.Miss(GRADE), "thresholds": RISING},
    "unjudged dropped": {"loss": cl.FalseDiscovery(cl.Grade(3, unjudged="drop"))},
    "top m": {"loss": cl.FalseDiscovery(cl.TopM(m=2, ties="expected")), "alpha": 0.7},
    "a share": {"loss": cl.Miss(cl.TopM(fraction=0.07)), "thresholds": RISING},
    "sizes": {"sets": cl.Threshold(min_size=1, max_size=3), "alpha": 0.45},
    "win rates": {"scoring": cl.WinRate(scale=0.25), "alpha": 0.5},
    "normal": {"evidence": Normal(), "thresholds": FALLING[2:]},
    "fallback": {"sequence": cl.Fallback(), "thresholds": FALLING[::4].copy()},
    "a loss of one's own": {"loss": AnyBad(), "alpha": 0.7},
    "a rule of one's own": {"sets": Alternate()},
    "a scoring of one's own": {"scoring": Reversed(), "alpha": 0.9},
}


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_certificate_says_all_it_promises_and_all_it_does_not(name):
    found = certificate(**CERTIFIED[name])
    text = found.statement()
    promise, rest = text.split("\n\nNot promised:\n")
    assert promise.startswith("Keep items scoring ≥ ")
    assert float(re.match(r"Keep items scoring ≥ ([0-9.e-]*[0-9])", promise).group(1)) == found.threshold
    alpha = f"{100 * found.alpha:g} %"
    assert re.search(
        r"[Ww]ith probability at least 90 % over the draw of the 120 calibration queries, this procedure either abstains or "
        rf"returns a threshold whose expected .*, for a new query from the same source, is at most {alpha}\.",
        promise,
    )
    for clause in NOT_PROMISED:
        assert clause in rest
    assert all(line.startswith("  - ") for line in rest.splitlines())
    given = "n/a" if found.risk_given_nonempty is None else f"{100 * found.risk_given_nonempty:.1f}"
    assert f"the non-empty lists alone ({given.removesuffix('.0')} % here; " in rest
    assert f"{100 * (1 - found.share_nonempty):.1f}".removesuffix(".0") + " % of lists were empty" in rest
    assert f"({100 * found.item_rate:.1f}".removesuffix(".0") + " % here)" in rest


def test_a_certificate_in_full():
    scores, labels = np.tile([0.75, 0.25], 1_000), np.tile([4, 0, 4, 4, 0, 4, 4, 0], 250)
    queries = cl.Queries.from_arrays(scores, labels, group=[2] * 1_000)
    found = certificate(queries, alpha=0.3, thresholds=[0.5], evidence=Convex())
    assert found.statement() == (
        "Keep items scoring ≥ 0.5. With probability at least 90 % over the draw of the 1,000 calibration queries, this "
        "procedure either abstains or returns a threshold whose expected share of not-good items per list, for a new query "
        "from the same source, is at most 30 %. Empty lists count as 0. Good: label at least 3; unjudged items count as not "
        "good.\n\n"
        "Not promised:\n"
        "  - any single list, or any group of queries\n"
        "  - the non-empty lists alone (25 % here; 0 % of lists were empty), or the pooled item rate (25 % here)\n"
        "  - that this certificate is right with probability 90 %: the figure covers the whole procedure, abstentions "
        "included\n"
        "  - anything if queries were not independent draws, or if queries, candidates, scores, model or labelling change\n"
        "  - anything if alpha, delta, seed, evidence, what counts as good, scoring, rule, thresholds or testing order were "
        "chosen after seeing the calibration queries (their scores included), or calibration was repeated until it passed"
    )


def test_each_loss_names_its_share_and_what_counts_as_0():
    discoveries = certificate().statement()
    assert "expected share of not-good items per list, for" in discoveries
    assert "Empty lists count as 0." in discoveries
    assert "pooled item rate (" in discoveries
    misses = certificate(loss=cl.Miss(GRADE), thresholds=RISING).statement()
    assert "expected share of the good items among a query's candidates that its list misses, for" in misses
    assert "Queries without any good item among their candidates count as 0." in misses
    assert "pooled rate of not-good items (" in misses
    own = certificate(loss=AnyBad(), alpha=0.7).statement()
    assert "expected any-bad loss per list, for" in own


def test_the_promise_never_reads_as_a_share_of_what_is_shown():
    for how in CERTIFIED.values():
        assert not re.search(r"of (what is shown|all items|the items shown)", certificate(**how).statement())


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (cl.FalseDiscovery(cl.Grade(3)), "Good: label at least 3; unjudged items count as not good."),
        (cl.FalseDiscovery(cl.Grade(2.5, unjudged="error")), "Good: label at least 2.5."),
        (cl.FalseDiscovery(cl.Grade(1.23456789)), "Good: label at least 1.23456789;"),
        (cl.FalseDiscovery(cl.Grade(3, unjudged="drop")), "Good: label at least 3; unjudged items are passed over."),
        (
            cl.FalseDiscovery(cl.TopM(m=2)),
            "Good: label among the top 2 of its list, ties strict, unjudged items taken to be better;",
        ),
        (
            cl.FalseDiscovery(cl.TopM(m=1, ties="lenient")),
            "Good: label among the top 1 of its list, ties lenient, unjudged items taken to be better;",
        ),
        (
            cl.FalseDiscovery(cl.TopM(fraction=0.2)),
            "Good: label among the top 20 % of its list, ties strict, unjudged items taken to be better;",
        ),
        (
            cl.FalseDiscovery(cl.TopM(fraction=0.0725)),
            "Good: label among the top 7.25 % of its list, ties strict, unjudged items taken to be better;",
        ),
        (cl.FalseDiscovery(Graded()), "Good: graded."),
    ],
    ids=repr,
)
def test_what_good_means_is_said(loss, said):
    assert said in certificate(loss=loss, alpha=0.9).statement()


def test_dropped_items_narrow_the_promise_to_judged_ones():
    for kind, thresholds in ((cl.FalseDiscovery, FALLING), (cl.Miss, RISING)):
        text = certificate(loss=kind(cl.Grade(3, unjudged="drop")), thresholds=thresholds).statement()
        assert " among judged items, for a new query" in text
    assert "among judged items" not in certificate().statement()


def test_asymptotic_certificates_say_so_before_anything_else_is_promised():
    found = certificate(evidence=Normal(), thresholds=FALLING[2:])
    wanted = "Approximate only: this relies on the normal limit and has no finite-sample guarantee."
    text = found.statement()
    assert wanted in text
    assert text.index(wanted) < text.index("probability at least")
    assert repr(found).startswith("Certificate (approximate only)")
    assert wanted in abstention(evidence=Normal()).statement()
    for certain in (certificate(), abstention()):
        assert "Approximate" not in certain.statement()
        assert "approximate" not in repr(certain)


def test_scores_that_are_not_the_ones_given_are_named():
    rates = certificate(scoring=cl.WinRate(scale=0.25), alpha=0.5, thresholds=[0.5])
    assert rates.statement().startswith("Keep items scoring ≥ 0.5 in win rate within their list (scale 0.25). With")
    own = certificate(scoring=Reversed(), alpha=0.9, thresholds=[0.5])
    assert own.statement().startswith("Keep items scoring ≥ 0.5 by the scoring reversed. With")


def test_a_rule_beyond_a_plain_threshold_is_named_and_so_is_that_the_promise_ends_with_it():
    beyond = "any list cut by another rule, other sizes, other vectors or another selection than the one named above"
    sized = certificate(sets=cl.Threshold(min_size=1, max_size=3), alpha=0.6, thresholds=[0.5]).statement()
    assert sized.startswith("Keep items scoring ≥ 0.5 (always the best 1, at most the best 3). With")
    own = certificate(sets=Alternate(), thresholds=[0.5]).statement()
    assert own.startswith("Keep items scoring ≥ 0.5, then apply the rule alternate. With")
    assert beyond in sized
    assert beyond in own
    assert beyond not in certificate().statement()


def test_a_certificate_of_empty_lists_only_says_that_nothing_would_be_shown():
    found = certificate(thresholds=[2.0, 0.1], alpha=0.1)
    text = found.statement()
    assert "Every list is empty at this threshold: nothing would be shown." in text
    assert "the non-empty lists alone (n/a here; 100 % of lists were empty), or the pooled item rate (n/a here)" in text
    assert "nothing would be shown" not in certificate().statement()


def test_a_curve_speaks_like_its_queries():
    curve = cl.RiskCurve.empty(loss=cl.FalseDiscovery(GRADE), thresholds=FALLING).add(drawn(0))
    for alpha in (0.4, 0.02):
        streamed = cl.calibrate(curve, alpha=alpha, delta=0.1, evidence=Convex())
        direct = cl.calibrate(
            drawn(0), loss=cl.FalseDiscovery(GRADE), alpha=alpha, delta=0.1, evidence=Convex(), thresholds=FALLING
        )
        assert streamed.statement() == direct.statement()
        assert repr(streamed) == repr(direct)


# abstentions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "answer"),
    [
        ({}, "return nothing"),
        ({"loss": cl.Miss(GRADE), "thresholds": RISING[12:]}, "return everything"),
        ({"sets": cl.Threshold(min_size=1)}, "do not cut lists with it"),
        (
            {"loss": cl.Miss(GRADE), "thresholds": RISING[12:], "sets": cl.Threshold(max_size=2)},
            "do not cut lists with it",
        ),
        ({"loss": AnyBad()}, "do not cut lists with it"),
        ({"sequence": cl.Fallback()}, "return nothing"),
    ],
    ids=str,
)
def test_an_abstention_says_what_to_do_and_the_evidence_at_the_first_threshold(how, answer):
    found = abstention(**how)
    text = found.statement()
    assert text.startswith(f"No threshold was certified; {answer}. {found.refusal.reason}")
    risk = f"{100 * found.risk:.1f}".removesuffix(".0")
    wanted = (
        f"At the first threshold the mean loss is {risk} % over 120 queries; log evidence {found.log_evidence:.3g}."
    )
    assert wanted in text
    assert "What would help:\n  - " in text
    assert "Keep items" not in text


def test_an_abstention_names_the_alpha_that_would_do_without_promising_it():
    found = abstention(alpha=0.05)
    said = re.search(
        r"  - a larger alpha: the smallest this data would have certified is ([\d.]+) \(found on these same queries, so no "
        r"guarantee covers it: calibrate on new ones\)",
        found.statement(),
    )
    named = float(said.group(1))
    assert found.refusal.smallest_alpha <= named < found.refusal.smallest_alpha + 1e-4
    again = cl.calibrate(drawn(0), loss=found.loss, alpha=named, delta=0.1, thresholds=FALLING[10:])
    assert isinstance(again, cl.Certificate)
    assert "(no guarantee covers it)" in repr(found)


def test_an_abstention_below_alpha_asks_for_queries_and_one_above_it_for_a_better_ranker():
    near = abstention(alpha=0.33, thresholds=[0.2])
    assert near.risk < 0.33
    assert (
        f"  - more judged queries: about {near.refusal.queries_needed:,} for alpha = 0.33, if the risk stays"
        in near.statement()
    )
    assert "the upper bound on the risk is" in near.refusal.reason
    assert "better ranker" not in near.statement()
    above = abstention(alpha=0.01)
    assert above.risk > 0.01
    risk = f"{100 * above.risk:.1f} %"
    assert (
        f"  - a better ranker: the risk here, {risk}, is not below alpha; if the true risk is so too, more queries will not help"
        in above.statement()
    )
    assert "more judged queries" not in above.statement()
    assert "queries needed           n/a" in repr(above)


def test_the_reason_of_a_fallback_speaks_of_shares_of_delta():
    found = abstention(sequence=cl.Fallback(), thresholds=FALLING[10:])
    assert re.match(
        r"Each of the 7 thresholds had its own share of delta, and none was certified at alpha = 0\.01; about the nearest, 0\.\d+, "
        r"has the upper bound 0\.\d+ at level 0\.0143\.",
        found.refusal.reason,
    )


def test_an_abstention_always_names_something_that_would_help():
    hopeless = abstention(drawn(0, 2), alpha=1e-7, delta=0.001, evidence=Hoeffding(), thresholds=[5.0])
    assert (hopeless.refusal.smallest_alpha, hopeless.refusal.queries_needed) == (None, None)
    assert hopeless.statement().endswith("  - a larger alpha: 1e-07 would take more than a billion judged queries")


def test_binomial_abstentions_ask_for_queries_too():
    found = abstention(drawn(0, 40, one_item=True), evidence=Binomial(), alpha=0.35, thresholds=[0.1])
    assert found.risk < 0.35
    assert found.refusal.queries_needed > 40


# figures ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "delta", "promise", "confidence"),
    [
        (0.3, 0.1, "30 %", "90 %"),
        (0.4, 0.001, "40 %", "99.9 %"),
        (0.4, 0.00001, "40 %", "99.999 %"),
        (0.4321, 0.05, "43.21 %", "95 %"),
        (0.35, 0.1 + 0.2, "35 %", "69.999999999999996 %"),
    ],
)
def test_what_is_promised_is_not_rounded(alpha, delta, promise, confidence):
    found = certificate(drawn(0, 400), alpha=alpha, delta=delta, thresholds=FALLING)
    assert f"With probability at least {confidence} over" in found.statement()
    assert f"is at most {promise}." in found.statement()
    assert f"is right with probability {confidence}:" in found.statement()
    assert repr(found).splitlines()[0].endswith(f"risk ≤ {alpha} with confidence {confidence}")


@given(st.floats(1e-12, 1 - 1e-12))
def test_a_promised_share_reads_back_as_itself_and_a_confidence_is_never_100_percent(share):
    assert float(statements.level(share).removesuffix(" %")) == pytest.approx(100 * share, rel=1e-15)
    assert statements.confidence(share) not in ("100 %", "0 %")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_threshold_that_is_read_cuts_the_same_lists(value):
    assert float(statements.number(value)) == value


def test_an_exact_threshold_is_told_with_all_its_digits():
    queries = replace(drawn(0), scores=drawn(0).scores / 3)
    found = certificate(queries, evidence=Convex(), thresholds="exact")
    assert len(repr(found.threshold)) > 12
    assert f"scoring ≥ {found.threshold!r}. " in found.statement()


@pytest.mark.parametrize(
    ("share", "said"),
    [(None, "n/a"), (0.0, "0 %"), (1.0, "100 %"), (0.3, "30 %"), (0.1234, "12.3 %"), (1 / 3, "33.3 %"),
     (0.0004, "under 0.1 %"), (0.9996, "over 99.9 %"), (0.0006, "0.1 %"), (0.5, "50 %")],
)  # fmt: skip
def test_measured_shares_have_one_decimal_and_are_never_rounded_to_all_or_nothing(share, said):
    assert statements.percent(share) == said


@given(st.floats(0, 1))
def test_an_upper_bound_is_rounded_up(bound):
    assert bound - 1e-12 <= float(statements.upwards(bound)) <= bound + 1.0001e-4
    assert math.isfinite(float(statements.upwards(bound)))
