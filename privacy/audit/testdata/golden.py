"""Golden values of the audit's bounds, in 40 digits. Needs mpmath (1.3.0 made golden.json).

    python3 golden.py > golden.json
"""
import json
from mpmath import mp, mpf, binomial, exp

mp.dps = 40


def tail(k, n, p):
    """P[Binomial(n, p) >= k], by summing."""
    if k <= 0:
        return mpf(1)
    mass = total = binomial(n, k) * p**k * (1 - p) ** (n - k)
    for j in range(k, n):
        mass *= mpf(n - j) / (j + 1) * p / (1 - p)
        total += mass
    return total


def p_value(m, r, v, epsilon, delta):
    """Steinke, Nasr & Jagielski 2023, Theorem 5.2: every window is tried."""
    q = exp(epsilon) / (1 + exp(epsilon))
    window, worst = mpf(0), mpf(0)
    mass = binomial(r, v - 1) * q ** (v - 1) * (1 - q) ** (r - v + 1) if v > 0 else mpf(0)
    for i in range(1, v + 1):
        k = v - i
        window += mass
        worst = max(worst, window / i)
        if k > 0:
            mass *= mpf(k) / (r - k + 1) * (1 - q) / q
    return min(mpf(1), tail(v, r, q) + 2 * m * delta * worst)


def lower_bound(m, r, v, delta, beta):
    low, high = mpf(0), mpf(50)
    if p_value(m, r, v, low, delta) > beta:
        return mpf(0)
    for _ in range(45):
        middle = (low + high) / 2
        if p_value(m, r, v, middle, delta) <= beta:
            low = middle
        else:
            high = middle
    return low


def upper_limit(k, n, beta):
    low, high = mpf(k) / n, mpf(1)
    for _ in range(80):
        middle = (low + high) / 2
        if 1 - tail(k + 1, n, middle) >= beta:
            low = middle
        else:
            high = middle
    return low


values = {"p_values": [], "bounds": [], "limits": []}
for m, r, v in [(1, 1, 1), (10, 10, 9), (20, 12, 12), (100, 100, 73), (100, 40, 40), (1000, 300, 231), (2000, 2000, 1100), (5000, 2500, 2499), (20000, 20000, 19000)]:
    for delta in ["0", "1e-12", "1e-5"]:
        for epsilon in ["0", "0.1", "1", "4"]:
            values["p_values"].append([m, r, v, float(epsilon), float(delta), float(p_value(m, r, v, mpf(epsilon), mpf(delta)))])
for m, r, v in [(1, 1, 1), (10, 10, 10), (100, 100, 50), (100, 100, 73), (100, 40, 40), (1000, 300, 231), (2000, 2000, 1100), (5000, 2500, 2499)]:
    for delta in ["0", "1e-5"]:
        for beta in ["0.05", "1e-6"]:
            values["bounds"].append([m, r, v, float(delta), float(beta), float(lower_bound(m, r, v, mpf(delta), mpf(beta)))])
for k, n in [(0, 10), (1, 10), (9, 10), (5, 1000), (400, 1000), (3, 2500), (2490, 2500)]:
    for beta in ["0.025", "1e-8"]:
        values["limits"].append([k, n, float(beta), float(upper_limit(k, n, mpf(beta)))])
print(json.dumps(values, indent=0))
