"""What the pages of figures compute from rows of CSV files."""

import math


def number(row, column):
    """None where a row has no figure there."""
    return float(row[column]) if row.get(column) else None


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def percentile(values, percent):
    """Interpolated between neighbours, as dynrun does it."""
    ordered = sorted(values)
    position = percent / 100 * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
