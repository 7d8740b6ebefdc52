"""Reference values of the evidence, and the loss sequences they are for.

p-values and upper bounds of the (n, S) evidence are closed forms, good to 1e-6; `betting_star` bounds come from a grid
of 1e-4; the rest is good to 1e-9 or better. Losses are taken in the order given.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FDP = np.array([0, 0, 1 / 3, 0, 1 / 2, 0, 2 / 3, 0, 1 / 4, 1])


def losses_named(name: str, n: int) -> npt.NDArray[np.float64]:
    """The sequence x_0 ... x_(n-1) of that name."""
    i = np.arange(n)
    sequences = {
        "zeros": np.zeros(n),
        "ones": np.ones(n),
        "fdp10": FDP[(7 * i + 3) % 10],
        "mod101": ((37 * i) % 101) / 100,
        "bern30": ((7 * i) % 10 < 3).astype(np.float64),
        "sparse": 0.5 * ((13 * i) % 20 == 0),
    }
    return sequences[name]


P_VALUE_ROWS = [
    {
        "total": 0.0,
        "n": 100,
        "alpha": 0.1,
        "hoeffding": 0.13533528323661262,
        "hoeffding_kl": 2.6561398887587334e-05,
        "hoeffding_bentkus": 2.6561398887587334e-05,
        "convex": 2.6561398887587476e-05,
        "binomial": 2.6561398887587476e-05,
    },
    {
        "total": 10.0,
        "n": 200,
        "alpha": 0.1,
        "hoeffding": 0.3678794411714422,
        "hoeffding_kl": 0.035390911264305595,
        "hoeffding_bentkus": 0.02193993208590663,
        "convex": 0.013669754234569365,
        "binomial": 0.008071249955102729,
    },
    {
        "total": 100.0,
        "n": 500,
        "alpha": 0.3,
        "hoeffding": 4.539992976248509e-05,
        "hoeffding_kl": 2.5843249146302297e-06,
        "hoeffding_bentkus": 7.324024489991909e-07,
        "convex": 5.413644950815669e-07,
        "binomial": 2.6943580365041816e-07,
    },
    {
        "total": 275.0,
        "n": 1000,
        "alpha": 0.3,
        "hoeffding": 0.28650479686019104,
        "hoeffding_kl": 0.22023102036508774,
        "hoeffding_bentkus": 0.12121522222311695,
        "convex": 0.10409822951807825,
        "binomial": 0.04459258821291246,
    },
    {
        "total": 2320.0,
        "n": 8000,
        "alpha": 0.3,
        "hoeffding": 0.2018965179946548,
        "hoeffding_kl": 0.14702878916309742,
        "hoeffding_bentkus": 0.0705013621765538,
        "convex": 0.06410342661390941,
        "binomial": 0.025936001719336074,
    },
    {
        "total": 3.0,
        "n": 10,
        "alpha": 0.3,
        "hoeffding": 1.0,
        "hoeffding_kl": 1.0,
        "hoeffding_bentkus": 1.0,
        "convex": 1.0,
        "binomial": 0.6496107184000002,
    },
    {
        "total": 7.0,
        "n": 100,
        "alpha": 0.1,
        "hoeffding": 0.835270211411272,
        "hoeffding_kl": 0.5753775097208654,
        "hoeffding_bentkus": 0.5601043133801681,
        "convex": 0.3677489779891962,
        "binomial": 0.20605086180401067,
    },
]
UPPER_BOUND_ROWS = [
    {
        "losses": "zeros",
        "n": 100,
        "delta": 0.1,
        "hoeffding": 0.10729830131446737,
        "hoeffding_bentkus": 0.022762779044190076,
        "convex": 0.022762779044190017,
        "empirical_bernstein": 0.07060648456187857,
        "betting_star": 0.022802280228022775,
        "binomial": 0.02276277904418932,
    },
    {
        "losses": "fdp10",
        "n": 1000,
        "delta": 0.1,
        "hoeffding": 0.3089307021220756,
        "hoeffding_bentkus": 0.30130870356946665,
        "convex": 0.30028062296255825,
        "empirical_bernstein": 0.3078195322693632,
        "betting_star": 0.2903290329032904,
    },
    {
        "losses": "fdp10",
        "n": 1000,
        "delta": 0.01,
        "hoeffding": 0.3229852591218808,
        "hoeffding_bentkus": 0.31444518683621503,
        "convex": 0.31369050093789147,
        "empirical_bernstein": 0.3217163307544163,
        "betting_star": 0.3015301530153015,
    },
    {
        "losses": "mod101",
        "n": 1010,
        "delta": 0.05,
        "hoeffding": 0.538510203569796,
        "hoeffding_bentkus": 0.5333019777064135,
        "convex": 0.5324134448284801,
        "empirical_bernstein": 0.5334608298069519,
        "betting_star": 0.5167516751675167,
    },
    {
        "losses": "sparse",
        "n": 1000,
        "delta": 0.1,
        "hoeffding": 0.05893070212207556,
        "hoeffding_bentkus": 0.03562432984602114,
        "convex": 0.03482771314338048,
        "empirical_bernstein": 0.04043622507081242,
        "betting_star": 0.030903090309030934,
    },
    {
        "losses": "ones",
        "n": 100,
        "delta": 0.1,
        "hoeffding": 1.0,
        "hoeffding_bentkus": 1.0,
        "convex": 1.0,
        "empirical_bernstein": 1.0,
        "betting_star": 1.0,
        "binomial": 1.0,
    },
]
WSR_P_VALUE_ROWS = [
    {"losses": "fdp10", "n": 1000, "alpha": 0.3, "delta": 0.1, "p_value": 0.06454541549510305},
    {"losses": "bern30", "n": 1000, "alpha": 0.35, "delta": 0.1, "p_value": 0.0069716494163483776},
    {"losses": "ones", "n": 50, "alpha": 0.1, "delta": 0.1, "p_value": 1.0},
]
STAR_DECISION_ROWS = [
    {"losses": "fdp10", "n": 1000, "alpha": 0.3, "delta": 0.1, "log_wealth_max": 2.303833187385061, "certify": True},
    {
        "losses": "fdp10",
        "n": 1000,
        "alpha": 0.285,
        "delta": 0.1,
        "log_wealth_max": 0.2942193391294458,
        "certify": False,
    },
    {"losses": "fdp10", "n": 100, "alpha": 0.35, "delta": 0.1, "log_wealth_max": 2.3176922067239483, "certify": True},
    {"losses": "bern30", "n": 1000, "alpha": 0.33, "delta": 0.1, "log_wealth_max": 2.3037947231657867, "certify": True},
    {
        "losses": "sparse",
        "n": 1000,
        "alpha": 0.035,
        "delta": 0.05,
        "log_wealth_max": 2.9957713882818875,
        "certify": True,
    },
    {"losses": "zeros", "n": 100, "alpha": 0.02, "delta": 0.1, "log_wealth_max": 2.020066670733618, "certify": False},
]
