"""Times other accountants at the setting of peers_test.go; prints JSON, times in seconds.

Each time is the best of three in this one process, which has imported everything before.
"""
import json
import logging
import time
import warnings

import dp_accounting as dp
import prv_accountant as prv
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

SIGMA, RATE, STEPS, DELTA, TARGET = 0.75, 1 / 1200, 160000, 1e-5, 10.0
INTERVAL = 1e-4  # dp_accounting's default


def event(sigma):
    return dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(RATE, dp.GaussianDpEvent(sigma)), STEPS)


def by_dp_accounting():
    accountant = PLDAccountant(value_discretization_interval=INTERVAL)
    accountant.compose(event(SIGMA))
    return accountant.get_epsilon(DELTA)


def by_prv_accountant():
    step = prv.PoissonSubsampledGaussianMechanism(RATE, SIGMA)
    accountant = prv.PRVAccountant([step], eps_error=0.01, delta_error=DELTA / 1000, max_self_compositions=[STEPS])
    return accountant.compute_epsilon(DELTA, [STEPS])[2]  # the upper bound


def calibrate(accountant):
    return dp.calibrate_dp_mechanism(accountant, event, TARGET, DELTA)


def best(f):
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        value = f()
        seconds.append(time.perf_counter() - start)
    return dict(seconds=min(seconds), value=float(value))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    print(json.dumps({
        "epsilon/dp_accounting": best(by_dp_accounting),
        "epsilon/prv_accountant": best(by_prv_accountant),
        "calibrate-rdp/dp_accounting": best(lambda: calibrate(RdpAccountant)),
        "calibrate-pld/dp_accounting": best(lambda: calibrate(lambda: PLDAccountant(value_discretization_interval=INTERVAL))),
    }))
