"""From scores to a certificate and back to lists, on simulated queries whose true risk is known.

Run with `make demo`. Nothing is read from disk or from the network.
"""

from __future__ import annotations

import cutline as cl


def main() -> None:
    """Simulate a ranker's scores, calibrate a threshold, cut new lists with it, and audit the result."""
    world = cl.datasets.Simulator()
    queries = world.draw(6_000, rng=0)
    calibration, held_out = queries.split(0.5, rng=0)
    loss = cl.FalseDiscovery(cl.Grade(at_least=3))

    print("1. Judged queries, half of them to calibrate on\n")
    print(queries)

    print("\n2. Where should lists stop, so that on average at most 30 % of a list is not good?\n")
    certificate = cl.calibrate(calibration, loss=loss, alpha=0.30, delta=0.10)
    print(certificate)
    print(f"\n{certificate.statement()}")
    if isinstance(certificate, cl.Abstention):
        return

    print("\n3. New lists, cut with it: long where the ranker is sure, short where it is not\n")
    slates = certificate.apply(held_out)
    for position in range(3):
        query, kept = held_out[position], slates[position]
        shown = ", ".join(f"{query.scores[i]:.2f}{'+' if query.labels[i] >= 3 else '-'}" for i in kept)
        print(f"  {query.id}: {len(kept)} of {len(query)} items  {shown or '(empty)'}")
    print("  (scores of the items kept; + good, - not good)")

    print("\n4. Does the promise stand on queries that calibration never saw?\n")
    print(cl.audit(certificate, held_out, by="device"))

    truth = world.true_risk(certificate.threshold, loss=loss)
    print(f"\n5. The simulation's true risk at this threshold is {truth.value:.4f}; promised: at most 0.30.")

    print("\n6. How many judged queries would it take, for an expected risk of 28 %?\n")
    print(cl.queries_needed(alpha=0.30, delta=0.10, expected_risk=0.28))


if __name__ == "__main__":
    main()
