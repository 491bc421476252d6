#!/usr/bin/python3
"""Holds the page's scripts against the types in their comments (JSDoc), with Debian's `node-typescript`; nothing is built.

    Tests/Browser/typed.py
"""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "Sources/CViewerPage/page"
OPTIONS = [
    "--noEmit", "--allowJs", "--checkJs", "--strict", "--noUnusedLocals", "--noImplicitReturns", "--target", "es2022", "--lib", "es2022,dom,dom.iterable",
    "--module", "es2022", "--moduleResolution", "node",
]


def main():
    if not shutil.which("tsc"):
        print("skipped, tsc is not installed: apt-get install node-typescript", file=sys.stderr)
        return 0
    scripts = sorted(str(file) for file in PAGE.glob("*.js"))
    answer = subprocess.run(["tsc", *OPTIONS, str(HERE / "webcodecs.d.ts"), *scripts], text=True, capture_output=True)
    print(answer.stdout, end="")
    print(f"{'ok' if answer.returncode == 0 else 'FAILED'}: {len(scripts)} scripts fit their types")
    return answer.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
