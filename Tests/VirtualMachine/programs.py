"""The project's programs, as a machine can run them."""

import os
import shutil
import subprocess


class ProgramsError(Exception):
    """A program is not at the given path; the message names it and the remedy."""


def furnish(directory, binaries, names, image):
    """Puts programs into `directory`/bin, and into `directory`/lib the shared libraries that a machine does not have."""
    for name in names:
        if not os.access(f"{binaries}/{name}", os.X_OK):
            raise ProgramsError(f"there is no program {binaries}/{name}: run deploy/build programs, or name its directory "
                                "with --binaries")
    present, libraries = image.libraries(), {}
    os.makedirs(f"{directory}/bin")
    os.makedirs(f"{directory}/lib")
    for name in names:
        path = f"{binaries}/{name}"
        place(path, f"{directory}/bin/{name}")
        listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
        for line in listed.splitlines():
            words = line.split()
            if words[1:2] == ["=>"] and words[2].startswith("/"):
                libraries[words[0]] = words[2]
    for name, path in libraries.items():
        if name not in present:
            place(path, f"{directory}/lib/{name}")


def place(source, destination):
    """The same file at another place; a copy where that is another file system."""
    try:
        os.link(os.path.realpath(source), destination)
    except OSError:
        shutil.copy(source, destination)
