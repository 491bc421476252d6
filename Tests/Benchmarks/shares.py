"""Tables of what was measured, run by run: medians, and the share of one column in another, taken within each run."""

import statistics


class Table:
    """Rows of figures. With `share`, two names of columns: what the first is of the second."""

    def __init__(self, title, columns, share=None):
        self.title, self.columns, self.share = title, columns, share
        self.rows = {}
        self.goals = {}
        self.notes = []

    def add(self, row, goal=None, **values):
        """One run's figures of a row. The goal is for the share, or for the column that it names: ("p50, ms", 20)."""
        kept = self.rows.setdefault(row, {})
        for column, value in values.items():
            kept.setdefault(column, []).append(value)
        if goal is not None:
            self.goals[row] = goal

    def text(self):
        heads = [*self.columns.values(), *([f"{self.share[0]} / {self.share[1]}"] if self.share else []), "wished"]
        lines = [f"| {self.title} | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
        for row, values in self.rows.items():
            cells = [show(values.get(column, [])) for column in self.columns]
            lines.append(f"| {row} | " + " | ".join([*cells, *self.judged(row, values)]) + " |")
        return "\n".join(lines + [""] + self.notes) if self.notes else "\n".join(lines)

    def judged(self, row, values):
        """The share, if there is one, and what was wished."""
        goal = self.goals.get(row)
        if self.share:
            own, other = (values.get(column, []) for column in self.share)
            shares = [a / b for a, b in zip(own, other) if b]
            share = statistics.median(shares) if shares else None
            return [f"{share:.2f}" if shares else "–", verdict(share, goal)]
        if goal is None:
            return [""]
        column, limit = goal
        found = values.get(column)
        return [verdict(statistics.median(found) if found else None, limit, self.columns[column])]


def verdict(value, goal, name=""):
    if goal is None or value is None:
        return "" if goal is None else f"≤ {goal:g}"
    return f"{name} ≤ {goal:g}".strip() + ("" if value <= goal else ": missed")


def show(values):
    """The median, and the lowest in brackets."""
    if not values:
        return "–"
    median = f"{statistics.median(values):.3g}"
    return f"{median} ({min(values):.3g})" if len(values) > 1 else median


def percentile(values, share):
    """Of sorted or unsorted values: the smallest value that this share does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
