"""The results of a script: one line for each check."""


class Checks:
    def __init__(self):
        self.failures = 0

    def __call__(self, text, is_so, more=""):
        """Says whether something is as it should be."""
        print(f"{'ok' if is_so else 'FAILED'}: {text}{f' ({more})' if more or not is_so else ''}", flush=True)
        self.failures += not is_so
        return is_so

    def console(self, page, expected=()):
        """Prints the console's unexpected messages: the browser itself reports each refused request."""
        rest = [text for text in page.problems if not any(part in text for part in expected)]
        self("no error in the console", not rest, "; ".join(rest[:5]))
        page.problems.clear()
