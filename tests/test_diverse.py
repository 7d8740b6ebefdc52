"""Certificates of diverse lists: in files and out again, what they say, and what they refuse to cut."""

from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import cutline as cl
from cutline.certificate import Certificate
from cutline.diversity import distances_of, diversity_of
from cutline.errors import CannotApplyError, CertificateError, CutlineWarning, InputError
from cutline.evidence import Betting, Convex, EmpiricalBernstein

LOSS = cl.FalseDiscovery(cl.Grade(at_least=1))
GRID = np.linspace(0.95, 0.05, 19)


@dataclass(frozen=True)
class Every:
    """Every so manieth item."""

    step: int = 2
    name: ClassVar[str] = "every"

    def __call__(self, scores, distances, max_size):
        return list(range(0, len(scores), self.step))[:max_size]

    def settings(self):
        return {"step": self.step}


def at_random(scores, distances, max_size, *, rng):
    return rng.permutation(len(scores))[:max_size]


def drawn(count=120, *, kind="normal", seed=0):
    rng = np.random.default_rng(seed)
    items = count * 8
    vectors = rng.normal(size=(items, 3)) if kind == "normal" else (rng.random((items, 12)) < 0.3) * 1.0
    if kind == "matrices":
        halves = rng.integers(0, 9, (count, 8, 8)) / 8
        vectors = ((halves + halves.transpose(0, 2, 1)) * (1 - np.eye(8))).reshape(items, 8)
    scores = rng.random(items)
    labels = (rng.random(items) < 0.2 + 0.6 * scores).astype(float)
    return cl.Queries.from_arrays(scores, labels, qid=np.repeat(np.arange(count), 8), vectors=vectors)


def found_on(queries, sets, **changed):
    how = {"loss": LOSS, "alpha": 0.5, "delta": 0.1, "thresholds": GRID} | changed
    return cl.calibrate(queries, sets=sets, **how)


RULES = {
    "eliminate": ("normal", cl.Diverse(3)),
    "cosine": ("normal", cl.Diverse(2, distance="cosine")),
    "jaccard": ("tags", cl.Diverse(3, distance="jaccard")),
    "precomputed": ("matrices", cl.Diverse(3, distance="precomputed")),
    "mmr": ("normal", cl.Diverse(3, strategy="mmr", trade_off=0.25)),
    "dpp": ("normal", cl.Diverse(3, strategy="dpp")),
    "random": ("normal", cl.Diverse(3, strategy=at_random, seed=4)),
    "an object": ("normal", cl.Diverse(3, strategy=Every(2))),
}


# in files and out ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_a_certificate_of_diverse_lists_survives_its_file(name, tmp_path):
    kind, rule = RULES[name]
    queries, path = drawn(kind=kind), tmp_path / "it.json"
    certificate = found_on(queries, rule)
    assert isinstance(certificate, Certificate)
    certificate.save(path)
    own = {"sets": rule} if not isinstance(rule.strategy, str) else {}
    loaded = cl.load(path, **own)
    assert loaded.sets == rule
    assert loaded.seal == certificate.seal
    assert loaded.statement() == certificate.statement()
    assert np.array_equal(loaded.apply(queries).order, certificate.apply(queries).order)
    assert json.loads(path.read_text())["sets"] == rule.settings()


@pytest.mark.parametrize("name", ["random", "an object"])
def test_a_strategy_of_ones_own_is_passed_again(name, tmp_path):
    path = tmp_path / "it.json"
    found_on(drawn(), RULES[name][1]).save(path)
    with pytest.raises(CertificateError, match=r"made with sets 'diverse', which a file cannot give; .*sets=…"):
        cl.load(path)


@pytest.mark.parametrize(
    "other",
    [
        cl.Diverse(3),
        cl.Diverse(2, strategy=Every(2)),
        cl.Diverse(3, strategy=Every(3)),
        cl.Diverse(3, strategy=at_random),
    ],
)
def test_another_rule_than_the_one_calibrated_with_is_refused(other, tmp_path):
    path = tmp_path / "it.json"
    found_on(drawn(), cl.Diverse(3, strategy=Every(2))).save(path)
    with pytest.raises(CertificateError, match=r"was made with sets diverse.*; pass the same one"):
        cl.load(path, sets=other)


def test_an_edited_rule_does_not_load(tmp_path):
    path = tmp_path / "it.json"
    found_on(drawn(), cl.Diverse(3)).save(path)
    path.write_text(path.read_text().replace('"max_size": 3', '"max_size": 4'))
    with pytest.raises(CertificateError, match="was edited"):
        cl.load(path)


def noise(count: int, *, start: int) -> np.ndarray:
    """Numbers in [0, 1) that no version of anything changes: a multiplicative hash of whole numbers, in 1/2^16."""
    return ((np.arange(start, start + count, dtype=np.uint64) * 2654435761 % 2**32) >> 16) / 2.0**16


def test_the_same_sets_are_chosen_as_ever():
    """Golden file. Regenerate: WRITE_GOLDEN=1 make test ARGS="-k chosen_as_ever"

    Regenerating it says that lists already calibrated are now cut otherwise: name it in the CHANGELOG.
    """
    found = {}
    for distance in ("euclidean", "cosine", "jaccard", "precomputed"):
        rule = cl.Diverse(5, distance=distance, strategy=at_random, seed=11)
        lists = []
        for query in range(12):
            count = 6 + 3 * query
            scores = np.round(noise(count, start=1_000 * query), 1 + query % 2)
            vectors = noise(12 * count, start=50_000 + 1_000 * query).reshape(count, 12)
            if distance == "jaccard":
                vectors = np.floor(vectors * 1.4)
            elif distance == "precomputed":
                vectors = np.abs(vectors[:, :1] - vectors[:, :1].T)
            chosen = cl.Diverse(5, distance=distance).choose(scores, vectors, 0.2).tolist()
            lists.append({"chosen": chosen, "seed": f"{rule.candidates(scores, vectors).seed:032x}"})
        found[distance] = lists
    path = Path(__file__).parent / "golden" / "diverse.json"
    if os.environ.get("WRITE_GOLDEN"):
        path.write_text(json.dumps(found) + "\n")
    assert json.loads(path.read_text()) == found


# what it says -------------------------------------------------------------------------------------------------------


def test_the_statement_names_the_choosing():
    certificate = found_on(drawn(), cl.Diverse(3))
    said = certificate.statement()
    assert "(where these are more than 3, at most 3 of them, chosen by eliminate on euclidean distances)" in said
    assert (
        "The promise holds for the lists after at most 3 items are chosen by eliminate on euclidean distances; not for "
        "any other number, vectors or selection."
    ) in said
    assert "any list cut by another rule, other sizes, other vectors or another selection" in said
    assert "diverse(max_size=3, distance=euclidean, strategy=eliminate)" in repr(certificate)
    assert "chosen by mmr of pyversity, trade-off 0.25" in found_on(drawn(), RULES["mmr"][1]).statement()
    assert "chosen by every on euclidean distances" in found_on(drawn(), RULES["an object"][1]).statement()


@pytest.mark.parametrize("evidence", [Betting(), Betting(strategy="wsr"), Convex(), EmpiricalBernstein()], ids=repr)
@pytest.mark.parametrize("loss", [LOSS, cl.Miss(cl.Grade(1))], ids=["false-discovery", "miss"])
def test_every_kind_of_evidence_and_loss_certifies_diverse_lists(evidence, loss):
    queries = drawn(300, seed=1)
    alpha, grid = (0.5, GRID) if loss is LOSS else (0.9, GRID[::-1].copy())
    certificate = found_on(queries, cl.Diverse(3), loss=loss, evidence=evidence, alpha=alpha, thresholds=grid)
    assert isinstance(certificate, Certificate)
    with pytest.warns(CutlineWarning, match="calibration queries"):
        found = cl.audit(certificate, queries)
    for figure in ("risk", "share_nonempty", "risk_given_nonempty", "item_rate"):
        assert getattr(found, figure) == getattr(certificate, figure)
    assert found.sizes.mean == certificate.mean_size <= 3


def test_by_default_thresholds_are_quantiles_of_a_sample_and_every_score_is_refused():
    certificate = found_on(drawn(300), cl.Diverse(3), thresholds=None, evidence=Convex())
    assert certificate.sample == 15
    with pytest.raises(InputError, match="a built-in loss with Threshold, not false-discovery with diverse"):
        found_on(drawn(300), cl.Diverse(3), thresholds="exact", evidence=Convex())


def test_an_abstention_returns_nothing_where_that_is_honest_and_else_refuses():
    queries = drawn()
    abstention = found_on(queries, cl.Diverse(3), alpha=0.01)
    assert isinstance(abstention, cl.Abstention)
    with pytest.warns(CutlineWarning, match="every list comes out empty"):
        assert len(abstention.apply(queries).order) == 0
    assert abstention.choose(queries[0].scores, queries[0].vectors).tolist() == []
    full = found_on(queries, cl.Diverse(3), loss=cl.Miss(cl.Grade(1)), alpha=0.1, thresholds=GRID[::-1].copy())
    with pytest.raises(CannotApplyError, match="neither empty nor full lists keep"):
        full.apply(queries)


# bad input ----------------------------------------------------------------------------------------------------------


def without(queries, **changed):
    parts = {"labels": queries.labels, "vectors": queries.vectors, "query_ids": queries.query_ids} | changed
    return cl.Queries(queries.scores, queries.offsets, **parts)


def spoiled(row, values, kind="normal"):
    queries = drawn(kind=kind)
    vectors = queries.vectors.copy()
    vectors[row] = values
    return without(queries, vectors=vectors)


BAD = [
    (without(drawn(), vectors=None), cl.Diverse(3), "queries have no vectors, and diverse needs them: pass vectors="),
    (
        spoiled(9, 0.0), cl.Diverse(3, distance="cosine"),
        r"vectors must not be all zero, for cosine distances, got .* for query 1 at position 1 \(from 0\); drop the item",
    ),
    (
        spoiled(17, 0.5, "tags"), cl.Diverse(3, distance="jaccard"),
        "vectors must hold 0 and 1 only, .* for query 2 at position 1 .*; write 1 where an item has the tag",
    ),
    (
        drawn(), cl.Diverse(3, distance="precomputed"),
        "precomputed distances must be square: query 0 at position 0 .* in a list of 8 items, and vectors hold 3 distances",
    ),
    (
        spoiled((8, 3), -0.25, "matrices"), cl.Diverse(3, distance="precomputed"),
        "precomputed distances must not be negative, got -0.25 for query 1 at position 0 .*, to position 3",
    ),
    (
        spoiled((8, 0), 1.0, "matrices"), cl.Diverse(3, distance="precomputed"),
        "precomputed distances must be 0 from an item to itself, got 1.0 for query 1 at position 0",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("queries", "rule", "message"), BAD)
def test_vectors_that_cannot_be_measured_are_refused_wherever_they_come(queries, rule, message):
    good = drawn(kind={"jaccard": "tags", "precomputed": "matrices"}.get(rule.distance, "normal"))
    certificate = found_on(good, rule)
    how = {"loss": LOSS, "alpha": 0.5, "delta": 0.1, "sets": rule, "thresholds": GRID}
    for use in (
        lambda: found_on(queries, rule),
        lambda: certificate.apply(queries),
        lambda: cl.audit(certificate, queries),
        lambda: cl.resample(queries, n_calibration=60, repeats=1, rng=0, **how),
        lambda: cl.RiskCurve.empty(loss=LOSS, sets=rule, thresholds=GRID).add(queries),
    ):
        with pytest.raises(InputError, match=message):
            use()


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (None, "vectors are wanted, as diverse needs them"),
        (np.ones((7, 3)), "vectors must have one value per item, 8 in all, got 7"),
        (np.ones(8), r"vectors must be numbers of shape \(n_items, d\)"),
        (np.full((8, 3), np.nan), "vectors must be finite, got NaN or infinity for the item at position 0"),
        ([["x"]] * 8, "vectors must be numbers of shape"),
    ],
)
def test_one_list_is_checked_before_it_is_cut(vectors, message):
    certificate = found_on(drawn(), cl.Diverse(3))
    with pytest.raises(InputError, match=message):
        certificate.choose(np.linspace(0, 1, 8), vectors)


@pytest.mark.parametrize(
    ("rule", "kind", "vectors", "message"),
    [
        (cl.Diverse(3, distance="cosine"), "normal", np.zeros((8, 3)), "must not be all zero, .* at position 0; drop"),
        (cl.Diverse(3, distance="jaccard"), "tags", np.full((8, 12), 2.0), "must hold 0 and 1 only, .* at position 0"),
        (
            cl.Diverse(3, distance="precomputed"), "matrices", np.ones((8, 7)),
            r"must be a square matrix, .* for each of 8 items, got shape \(8, 7\)",
        ),
        (cl.Diverse(3, distance="precomputed"), "matrices", -np.ones((8, 8)), "must not be negative, got -1.0"),
    ],
)  # fmt: skip
def test_one_list_that_cannot_be_measured_is_refused(rule, kind, vectors, message):
    certificate = found_on(drawn(kind=kind), rule)
    with pytest.raises(InputError, match=message):
        certificate.choose(np.linspace(0, 1, 8), vectors)


def test_a_table_of_vectors_cannot_hold_distances_of_lists():
    rng = np.random.default_rng(0)
    queries = cl.Queries.from_arrays(rng.random(8), [0, 1] * 4, group=[4, 4], item_ids=list("abcdefgh"))
    queries = queries.with_vectors({item: rng.random(4) for item in "abcdefgh"})
    with pytest.raises(InputError, match="a table of vectors cannot hold them; pass vectors= with one row per item"):
        found_on(queries, cl.Diverse(2, distance="precomputed"))


def test_a_strategy_that_breaks_its_word_is_stopped_while_calibrating():
    def greedy(scores, distances, max_size):
        return range(len(scores))

    with pytest.raises(InputError, match=r"strategy 'greedy' must choose at most 3 items, got \d"):
        found_on(drawn(), cl.Diverse(3, strategy=greedy))


# What keeps a promise from being lost unseen -------------------------------------------------------------------------


def lists_with(vectors, *, scores=None, labels=None, count=200, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.random(count * 8) if scores is None else scores
    labels = rng.integers(0, 2, count * 8) if labels is None else labels
    return cl.Queries.from_arrays(scores, labels, group=np.full(count, 8), vectors=vectors)


def certified(queries, rule, **how):
    how = {"alpha": 0.9, "delta": 0.1, "thresholds": [0.2], "evidence": Convex()} | how
    found = cl.calibrate(queries, loss=cl.FalseDiscovery(cl.Grade(at_least=1)), sets=rule, **how)
    assert isinstance(found, cl.Certificate)
    return found


def test_vectors_of_another_width_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    made = certified(lists_with(rng.normal(size=(1600, 4))), cl.Diverse(3))
    made.save(tmp_path / "it.json")
    loaded = cl.load(tmp_path / "it.json")
    assert loaded.vector_width == 4
    message = "vectors must hold 4 numbers each, as those that were calibrated, got 7; are they of the same model"
    with pytest.raises(InputError, match=message):
        loaded.apply(lists_with(rng.normal(size=(1600, 7))))
    with pytest.raises(InputError, match=message):
        loaded.choose(rng.random(8), rng.normal(size=(8, 7)))
    plain = cl.calibrate(lists_with(rng.normal(size=(1600, 4))), loss=made.loss, alpha=0.9, delta=0.1, thresholds=[0.2])
    assert plain.vector_width is None


def test_ties_that_positions_decide_among_unequal_items_are_told():
    tags = np.tile(np.eye(8), (200, 1))  # each as far from each
    labels = np.tile([1, 1, 1, 0, 0, 0, 0, 0], 200)
    rule = cl.Diverse(3, distance="jaccard")
    with pytest.warns(CutlineWarning, match="in 100.0% of the lists a size cuts through items of equal score"):
        certified(lists_with(tags, scores=np.full(1600, 0.5), labels=labels), rule)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        certified(lists_with(tags, labels=labels), rule)  # scores differ: nothing is left to positions


def test_a_function_made_with_other_values_is_another_strategy(tmp_path):
    def weighted(w):
        def choose(scores, distances, max_size):
            return np.argsort(-w * scores, kind="stable")[:max_size]

        return choose

    queries = lists_with(np.random.default_rng(0).normal(size=(1600, 4)))
    made = certified(queries, cl.Diverse(3, strategy=weighted(-1.0)))
    made.save(tmp_path / "it.json")
    assert cl.load(tmp_path / "it.json", sets=cl.Diverse(3, strategy=weighted(-1.0))).seal == made.seal
    with pytest.raises(CertificateError, match="pass the same one"):
        cl.load(tmp_path / "it.json", sets=cl.Diverse(3, strategy=weighted(1.0)))


def test_scaled_copies_of_a_vector_are_at_cosine_distance_0():
    rng = np.random.default_rng(1)
    one = rng.normal(size=8)
    assert not distances_of(np.outer(rng.uniform(0.1, 9, 12), one), distance="cosine").any()
    scores = np.full(12, 0.5)
    copies = np.outer(rng.uniform(0.1, 9, 12), one)
    assert cl.Diverse(2, distance="cosine").choose(scores, copies, 0.0).tolist() == [0, 1]


def test_rows_of_padded_distances_are_served_one_list_at_a_time():
    rng = np.random.default_rng(2)
    matrices = np.zeros((13, 8))
    for begin, end in ((0, 8), (8, 13)):
        points = rng.normal(size=(end - begin, 2))
        matrices[begin:end, : end - begin] = np.linalg.norm(points[:, None] - points[None], axis=2)
    queries = cl.Queries.from_arrays(rng.random(13), np.ones(13), group=[8, 5], vectors=matrices)
    made = certified(queries, cl.Diverse(3, distance="precomputed"))
    for query, kept in zip(queries, made.apply(queries), strict=True):
        np.testing.assert_array_equal(made.choose(query.scores, query.vectors), kept)


def test_lists_are_taken_for_arrays_and_a_size_may_be_huge():
    assert cl.Diverse(3).choose([0.1, 0.9], [[0.0], [1.0]], 0.0).tolist() == [1, 0]
    assert diversity_of([[0.0], [1.0]], max_size=4 * 10**9, denominator="pairs") > 0


def test_a_strategy_that_cannot_be_called_is_refused_when_the_rule_is_made():
    def short(scores, distances):
        return []

    def long(scores, distances, max_size, other):
        return []

    for strategy in (short, long):
        with pytest.raises(
            InputError, match=r"must take \(scores, distances, max_size\), and may take vectors and rng"
        ):
            cl.Diverse(3, strategy=strategy)


def test_a_ragged_answer_of_a_strategy_is_refused():
    def ragged(scores, distances, max_size):
        return [[0], [1, 2]]

    with pytest.raises(InputError, match="'ragged' must give positions of items"):
        certified(lists_with(np.random.default_rng(0).normal(size=(1600, 4))), cl.Diverse(3, strategy=ragged))
