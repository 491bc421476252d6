"""Results as Markdown: medians, and ratios against the product that are taken within each round."""

import statistics

PRODUCTS = {"tributary", "tributary-agent"}
# What is encrypted is compared with what is encrypted.
WITH_KEYS = ", with keys"


class Results:
    """Results by comparison, cell (a column) and contender."""

    def __init__(self):
        self.rows = []

    def add(self, **row):
        self.rows.append(row)

    def cells(self, comparison):
        return unique(row["cell"] for row in self.rows if row["comparison"] == comparison)

    def contenders(self, comparison):
        return unique(row["contender"] for row in self.rows if row["comparison"] == comparison)

    def values(self, comparison, cell, contender, figure):
        """One per round that went well, by round."""
        return {
            row["round"]: row[figure] for row in self.rows
            if (row["comparison"], row["cell"], row["contender"]) == (comparison, cell, contender)
            and figure in row and not row["flaws"]}

    def flaws(self):
        return [row for row in self.rows if row["flaws"]]


def unique(values):
    return list(dict.fromkeys(values))


def table(results, comparison, figure, unit, scale=1):
    """Medians, the lowest in brackets; and what the product's is of each, the median over the rounds."""
    cells = results.cells(comparison)
    head = [f"| {unit} |" + "".join(f" {cell} | product's share |" for cell in cells)]
    head.append("|---|" + "---:|---:|" * len(cells))
    return "\n".join(head + [
        f"| {contender} |" + "".join(
            columns(results, comparison, cell, contender, figure, scale) for cell in cells)
        for contender in results.contenders(comparison)])


def columns(results, comparison, cell, contender, figure, scale):
    values = results.values(comparison, cell, contender, figure)
    if not values:
        return " – | – |"
    product = next((name for name in results.contenders(comparison) if name in PRODUCTS), None)
    if contender.startswith("floor") and contender.endswith(WITH_KEYS):
        product += WITH_KEYS
    own = results.values(comparison, cell, product, figure)
    ratios = [own[number] / value for number, value in values.items() if number in own and value]
    share = f"{statistics.median(ratios):.2f}" if ratios and contender != product else ""
    median, lowest = statistics.median(values.values()), min(values.values())
    return f" {median / scale:.3g} ({lowest / scale:.3g}) | {share} |"


def memory_per_source(results, comparison, few, many):
    """Bytes that each source beyond the first few needs, by contender."""
    figures = {}
    for contender in results.contenders(comparison):
        low = results.values(comparison, cell_name(few), contender, "peak_bytes")
        high = results.values(comparison, cell_name(many), contender, "peak_bytes")
        if low and high:
            grown = statistics.median(high.values()) - statistics.median(low.values())
            figures[contender] = grown / (many - few)
    return figures


def cell_name(sources):
    return "1 source" if sources == 1 else f"{sources} sources"


def noise(results):
    """The steadiness of the machine: the same work before every run, and the spread of the results."""
    calibrations = sorted(row["calibration"] for row in results.rows)
    if not calibrations:
        return "nothing was measured"
    middle = statistics.median(calibrations)
    spreads = []
    for figure in ("cpu_per_stream_minute", "cpu_per_gigabyte"):
        for comparison in unique(row["comparison"] for row in results.rows):
            for cell in results.cells(comparison):
                for contender in results.contenders(comparison):
                    values = results.values(comparison, cell, contender, figure).values()
                    if len(values) > 1:
                        spreads.append((max(values) - min(values)) / statistics.median(values))
    spread = f"{statistics.median(spreads):.0%} (worst {max(spreads):.0%})" if spreads else "unknown"
    busy = sum(row["busy"] > 0.1 for row in results.rows)
    return (
        f"Fixed work before each run: {calibrations[0] / middle:.2f} to {calibrations[-1] / middle:.2f} of its "
        f"median. Spread of a cell, (highest − lowest) / median: {spread}. Runs that began while "
        f"others used more than a tenth of the machine: {busy} of {len(results.rows)}.")


def report(results, sources):
    """Everything that was measured."""
    parts = []
    for comparison, figure, unit, title in [
        ("paced, null", "cpu_per_stream_minute", "CPU s per stream-minute", "Real-time pace, into /dev/null"),
        ("paced, files", "cpu_per_stream_minute", "CPU s per stream-minute", "Real-time pace, into files"),
        ("unpaced, null", "cpu_per_gigabyte", "CPU s per GB", "As fast as it goes, into /dev/null"),
        ("unpaced, files", "cpu_per_gigabyte", "CPU s per GB", "As fast as it goes, into files"),
        ("agent", "cpu_per_stream_minute", "CPU s per stream-minute", "Camera's side, 720p30"),
    ]:
        if results.cells(comparison):
            parts += [f"### {title}", table(results, comparison, figure, unit)]
    for comparison, figure, title in [
        ("paced, null", "peak_bytes", "Peak memory at real-time pace, into /dev/null"),
        ("paced, files", "peak_bytes", "Peak memory at real-time pace, into files"),
        ("agent", "peak_bytes", "Peak memory of the camera's side"),
        ("agent", "own_bytes", "… of which written to, and not shared"),
    ]:
        if results.cells(comparison):
            parts += [f"### {title}", table(results, comparison, figure, "MB", scale=1e6)]
    grown = memory_per_source(results, "paced, files", 1, max(sources))
    if grown:
        lines = [f"{name} {size / 1e6:.2f} MB" for name, size in grown.items()]
        parts.append(f"Each source beyond the first, at {max(sources)}: " + ", ".join(lines) + ".")
    parts.append(noise(results))
    parts += [
        f"Left out: {row['contender']}, {row['comparison']}, {row['cell']}: {'; '.join(row['flaws'])}"
        for row in results.flaws()]
    return "\n\n".join(parts)
