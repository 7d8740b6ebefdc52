"""Certificates of diverse lists: in files and out again, what they say, and what they refuse to cut."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import cutline as cl
from cutline.certificate import Certificate
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
            cl.Diverse(3, distance="precomputed"), "matrices", np.ones((8, 9)),
            r"must be a square matrix, .* for each of 8 items, got shape \(8, 9\)",
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
