"""The gradient of LambdaRank, written down directly."""

from __future__ import annotations

from typing import Any

from cutline._extras import library

PAIRS = 1 << 21  # pairs of items looked at, at a time


def lambdas(scores: Any, gains: Any, present: Any, *, truncation: int | None) -> tuple[Any, Any]:
    """∂C/∂s of padded lists (queries, longest) and C of each query (Burges 2010, section 3):

        C = Σ_{i,j: g_i > g_j} |ΔNDCG_ij|·log(1 + exp(-(s_i - s_j)))
        ∂C/∂s_i = Σ_{j: g_j > g_i} λ_ji - Σ_{j: g_j < g_i} λ_ij,    λ_ij = |ΔNDCG_ij| / (1 + exp(s_i - s_j))
        |ΔNDCG_ij| = (g_i - g_j)·|D(r_i) - D(r_j)| / the largest DCG,    D(r) = 1/log₂(1 + r), 0 beyond `truncation`

    where g = 2^label - 1 is the gain and r the rank by s, equal scores in the order of the rows. |ΔNDCG_ij| is what the
    NDCG of the list would change by if i and j swapped places; it counts as a constant. `present` is False at padding.
    """
    torch = library("torch", extra="torch", what="LambdaRank")
    longest = scores.shape[1]
    top = longest if truncation is None else min(truncation, longest)
    at_once = max(1, PAIRS // (top * longest))
    if len(scores) <= at_once:
        return _of_lists(torch, scores, gains, present, top)
    starts = range(0, len(scores), at_once)
    some = [slice(start, start + at_once) for start in starts]
    parts = [_of_lists(torch, scores[rows], gains[rows], present[rows], top) for rows in some]
    return torch.cat([slopes for slopes, _ in parts]), torch.cat([costs for _, costs in parts])


def _of_lists(torch: Any, scores: Any, gains: Any, present: Any, top: int) -> tuple[Any, Any]:
    """With items in the order of their scores, a pair counts if the better placed of the two is among the `top`: so
    `top` rows of pairs hold all of them, each once, above the diagonal."""
    order = torch.argsort(scores.masked_fill(~present, -torch.inf), dim=1, descending=True, stable=True)
    s, g, there = scores.gather(1, order), gains.gather(1, order), present.gather(1, order)
    places = torch.arange(s.shape[1])
    discounts = torch.where(places < top, 1.0 / torch.log2(places.to(s.dtype) + 2.0), 0.0)
    largest = (gains.masked_fill(~present, 0.0).sort(dim=1, descending=True).values * discounts).sum(dim=1)
    scale = torch.where(largest > 0, 1.0 / largest, 0.0)[:, None, None]

    surplus = (g[:, :top, None] - g[:, None, :]) * (there[:, :top, None] & there[:, None, :])
    weight = surplus.abs() * (discounts[:top, None] - discounts[None, :]).triu(1) * scale
    wrong = surplus.sign() * (s[:, None, :] - s[:, :top, None])  # by how much the lesser item is ahead
    push = weight * torch.sigmoid(wrong) * surplus.sign()
    slopes = push.sum(dim=1)
    slopes[:, :top] -= push.sum(dim=2)
    cost = (weight * torch.nn.functional.softplus(wrong)).sum(dim=(1, 2))
    return torch.zeros_like(scores).scatter_(1, order, slopes), cost
