"""What a trial concludes from its pairs: the only place where savings and their intervals are computed.

The interval is that of Wilcoxon's signed ranks: of the means of all two differences, so many are cut off at each end that the
true difference lies inside with 95%, whatever the distribution, as long as it is symmetric, which random order within pairs
makes it. When to stop is decided at fixed numbers of pairs and by the width of the interval only, never by where it lies, so
that stopping early costs next to no coverage: tests/python/test_trial.py counts it.
"""

import functools
import math
import statistics

_TAIL = 0.0225  # at each end, not the 0.025 of 95%: what looking more than once may cost
LEAST_PAIRS = 6  # fewer have no interval of 95%
MOST_PAIRS = 256
LOOKS = (8, 10, 12, 14, 17, 20, 24, 29, 35, 42, 50, 60, 72, 86, 103, 124, 149, 179, 215, MOST_PAIRS)
_EXACT = 60


@functools.lru_cache(maxsize=None)
def _cut(n):
    """How many means of two of N differences are cut off at each end; 0 where there are too few."""
    if n > _EXACT:
        mean, deviation = n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return int(mean + statistics.NormalDist().inv_cdf(_TAIL) * deviation)
    ways = [1]  # subsets of the ranks 1 to N, by their sum
    for rank in range(1, n + 1):
        wider = ways + [0] * rank
        for total, count in enumerate(ways):
            wider[total + rank] += count
        ways = wider
    below = 0
    for total, count in enumerate(ways):
        below += count
        if below > _TAIL * 2 ** n:
            return total
    return 0


def interval(differences):
    """(estimate, low, high) of what differs; low and high are None with fewer than LEAST_PAIRS."""
    d = sorted(differences)
    means = sorted((d[i] + d[k]) / 2 for i in range(len(d)) for k in range(i, len(d)))
    cut = _cut(len(d))
    estimate = statistics.median(means)
    return (estimate, means[cut - 1], means[-cut]) if cut else (estimate, None, None)


def enough(pairs, precision):
    """May measuring stop? PAIRS are (off, on); PRECISION is the width of the interval as a share of a step."""
    if len(pairs) >= MOST_PAIRS:
        return True
    if len(pairs) not in LOOKS:
        return False
    _, low, high = interval([off - on for off, on in pairs])
    return high - low <= precision * statistics.median(off for off, _ in pairs)


def outliers(pairs):
    """How many differences are more than five deviations from their median."""
    d = [off - on for off, on in pairs]
    middle = statistics.median(d)
    spread = 1.4826 * statistics.median(abs(x - middle) for x in d)
    return sum(abs(x - middle) > 5 * spread for x in d) if spread else 0


def drift(times):
    """By how much of their median TIMES, in their order, have grown from first to last (Theil and Sen); 0 where that may be chance
    (Kendall, 1%)."""
    n = len(times)
    if n < 8:
        return 0.0
    slopes = [(times[k] - times[i]) / (k - i) for i in range(n) for k in range(i + 1, n)]
    score = sum((s > 0) - (s < 0) for s in slopes)
    if abs(score) < 2.576 * math.sqrt(n * (n - 1) * (2 * n + 5) / 18):
        return 0.0
    return statistics.median(slopes) * (n - 1) / statistics.median(times)
