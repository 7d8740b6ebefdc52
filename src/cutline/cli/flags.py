"""Flags that several commands share, kept together: each group is a dataclass, and says what its flags stand for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from cutline.cli import options
from cutline.cli.inputs import Inputs

if TYPE_CHECKING:
    from cutline.losses import Loss


def with_groups(command: Callable[..., int]) -> Callable[..., int]:
    """The command with the flags of each group as parameters of their own, which is how Typer reads them."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            parameters += _parameters_of(hints[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> int:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in fields(kind)})
        return command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameters_of(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(group)
    ]


@dataclass(frozen=True, kw_only=True)
class ScoreFiles:
    """The file of scores, and how it is to be read."""

    scores: options.Scores
    vectors: options.Vectors = None
    format: options.Format = None
    query_column: options.QueryColumn = None
    item_column: options.ItemColumn = None
    score_column: options.ScoreColumn = None
    predictions: options.Predictions = None
    groups: options.Groups = None
    memory: options.Memory = None

    def inputs(self) -> Inputs:
        """What is to be read."""
        return Inputs(**self._named())

    def _named(self) -> dict[str, Any]:
        columns = {"query_id": self.query_column, "item_id": self.item_column, "score": self.score_column}
        return {
            "scores": self.scores,
            "vectors": self.vectors,
            "format": self.format,
            "columns": {role: name for role, name in columns.items() if name is not None},
            "predictions": self.predictions,
            "groups": self.groups,
            "memory": self.memory,
        }


@dataclass(frozen=True, kw_only=True)
class JudgedFiles(ScoreFiles):
    """The same with labels, in the file of scores or in one of their own."""

    labels: options.Labels = None
    labels_format: options.LabelsFormat = None
    label_column: options.LabelColumn = None

    def _named(self) -> dict[str, Any]:
        named = super()._named()
        columns = {} if self.label_column is None else {"label": self.label_column}
        return {
            **named,
            "columns": {**named["columns"], **columns},
            "labels": self.labels,
            "labels_format": self.labels_format,
        }


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What is good, how lists are cut, and how it is tested: all that is fixed before the labels are seen."""

    good_at_least: options.GoodAtLeast = None
    good_top: options.GoodTop = None
    ties: options.TiesFlag = "strict"
    unjudged: options.UnjudgedFlag = "bad"
    loss: options.LossFlag = "false-discovery"
    scoring: options.ScoringFlag = "as-given"
    scale: options.Scale = 1.0
    min_size: options.MinSize = 0
    max_size: options.MaxSize = None
    diverse: options.Diverse = None
    distance: options.DistanceFlag = "euclidean"
    strategy: options.StrategyFlag = "eliminate"
    evidence: options.EvidenceFlag = None
    thresholds: options.Thresholds = None
    sequence: options.SequenceFlag = "fixed"
    seed: options.Seed = 0

    def settings(self, vectors: str | None) -> dict[str, Any]:
        """The arguments of `calibrate`, but for alpha and delta."""
        from cutline.curve import check_thresholds

        loss, scoring = self._loss(), options.scoring_of(self.scoring, self.scale)
        thresholds = options.thresholds_of(self.thresholds)
        if thresholds is not None and not isinstance(thresholds, str):
            check_thresholds(thresholds, loss=loss, scoring=scoring)  # before files are read
        return {
            "loss": loss,
            "scoring": scoring,
            "sets": options.sets_of(self.min_size, self.max_size, self.diverse, self.distance, self.strategy, vectors),
            "evidence": options.evidence_of(self.evidence),
            "thresholds": thresholds,
            "sequence": options.sequence_of(self.sequence),
            "seed": self.seed,
        }

    def _loss(self) -> Loss:
        relevance = options.relevance_of(self.good_at_least, self.good_top, self.ties, self.unjudged)
        return options.loss_of(self.loss, relevance)


def check_levels(*, delta: float, **alphas: list[float]) -> None:
    """What is wrong with levels is said before files are read."""
    from cutline._checks import check_level

    for name, levels in alphas.items():
        for level in levels:
            check_level(name, level)
    check_level("delta", delta)


def check_output(output: Path, inputs: Inputs, *others: Path) -> None:
    """Whether a file can be written there, and is none of those that are read."""
    from cutline.io.writing import check_writable

    check_writable(output, [*others, *inputs.paths])
