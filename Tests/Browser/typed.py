#!/usr/bin/python3
"""Checks the page's scripts against the types in their comments (JSDoc), with Debian's `node-typescript`; nothing is built.

    Tests/Browser/typed.py
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "Sources/CViewerPage/page"
OPTIONS = {
    "noEmit": True, "allowJs": True, "checkJs": True, "strict": True, "noUnusedLocals": True, "noImplicitReturns": True, "target": "es2022",
    "lib": ["es2022", "dom", "dom.iterable"], "module": "es2022", "moduleResolution": "node",
    # The viewer serves all folders as one.
    "rootDirs": sorted(str(folder) for folder in PAGE.iterdir() if folder.is_dir()),
}


def main():
    if not shutil.which("tsc"):
        print("skipped, tsc is not installed: apt-get install node-typescript", file=sys.stderr)
        return 0
    scripts = sorted(str(file) for file in PAGE.rglob("*.js"))
    with tempfile.NamedTemporaryFile("w", suffix=".json") as project:
        json.dump({"compilerOptions": OPTIONS, "files": [str(HERE / "webcodecs.d.ts"), *scripts]}, project)
        project.flush()
        answer = subprocess.run(["tsc", "--project", project.name], text=True, capture_output=True)
    print(answer.stdout, end="")
    print(f"{'ok' if answer.returncode == 0 else 'FAILED'}: {len(scripts)} scripts fit their types")
    return answer.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
