"""Debian packages: what is needed beside ours, and later versions of ours."""

import glob
import os
import re
import subprocess
import tempfile


def field(package, name):
    return subprocess.run(["dpkg-deb", "-f", package, name], capture_output=True, text=True, check=True).stdout.strip()


def needed(text):
    """Names of the packages in a Depends field, each by its first alternative."""
    return [re.split(r"[ (|:]", part.strip())[0] for part in text.split(",") if part.strip()]


def installed(status):
    """Names of what a machine has, by dpkg's status file, and of what stands in for more."""
    names = set()
    with open(status) as file:
        for entry in file.read().split("\n\n"):
            if "\nStatus: install ok installed" in entry:
                names |= set(re.findall(r"^Package: (\S+)", entry, re.M))
                for provided in re.findall(r"^Provides: (.*)", entry, re.M):
                    names |= set(needed(provided))
    return names


def missing(packages, status, directory):
    """Fetches what these packages need and a machine does not have, from the archive that this host's apt uses."""
    present = installed(status) | {field(package, "Package") for package in packages}
    wanted = [name for package in packages for name in needed(field(package, "Depends"))]
    fetched = []
    while wanted:
        name = wanted.pop()
        if name in present:
            continue
        present.add(name)
        with tempfile.TemporaryDirectory() as scratch:
            os.chmod(scratch, 0o777)
            subprocess.run(["apt-get", "-q", "download", name], cwd=scratch, check=True, capture_output=True)
            file = glob.glob(f"{scratch}/*.deb")[0]
            target = f"{directory}/{os.path.basename(file)}"
            with open(file, "rb") as source, open(target, "wb") as destination:
                destination.write(source.read())
        fetched.append(target)
        wanted += needed(field(target, "Depends"))
    return fetched


def later(package, directory):
    """The same package as a later version."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["dpkg-deb", "-R", package, f"{scratch}/tree"], check=True)
        control = f"{scratch}/tree/DEBIAN/control"
        with open(control) as file:
            text = file.read()
        version = re.search(r"^Version: (.*)", text, re.M)[1]
        text = text.replace(f"Version: {version}", f"Version: {version}+later")
        text = text.replace(f"tributary (= {version})", f"tributary (= {version}+later)")
        with open(control, "w") as file:
            file.write(text)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", f"{scratch}/tree", directory],
                       check=True, capture_output=True)
