"""The image of virtual machines: a kernel, its first programs, and a disk with a small Debian.

All of it comes from the Debian archive that this machine's apt uses. It is built once, into a directory of the cache that is
named for the recipe, and again when the recipe changes.
"""

import fcntl
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
TOOLS = {
    "mmdebstrap": "mmdebstrap", "qemu-system-x86_64": "qemu-system-x86", "mkfs.ext4": "e2fsprogs", "modprobe": "kmod",
    "setpriv": "util-linux",
}
# An archive that does not answer is an error, too.
BUILD_SECONDS = 1200
# What the machine does not need, and would cost as much again as the rest.
EXCLUDED = [
    "/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/icons/*",
    "/usr/share/fonts/*", "/usr/share/pocketsphinx/*", "/usr/lib/*-linux-gnu/dri/*", "/usr/lib/*-linux-gnu/libLLVM-*",
    "/usr/lib/llvm-*", "/usr/lib/*-linux-gnu/libvulkan_*", "/usr/lib/udev/hwdb.d/*",
]
PARTS = ("kernel", "start", "disk", "libraries", "status")


class ImageError(Exception):
    """There is no image; the message has the reason and the remedy."""


def listed(name):
    """The words of a file of the recipe, without its remarks."""
    with open(os.path.join(HERE, name)) as file:
        return " ".join(line.split("#")[0] for line in file).split()


class Image:
    """A built image, in a directory of the cache."""

    def __init__(self, directory):
        self.directory = directory
        self.kernel, self.start, self.disk = (os.path.join(directory, name) for name in PARTS[:3])

    def libraries(self):
        """Names of the shared libraries that a machine has."""
        with open(os.path.join(self.directory, "libraries")) as file:
            return set(file.read().split())

    def status(self):
        """The state of a machine's packages by dpkg."""
        return os.path.join(self.directory, "status")


def image():
    """The image of today's recipe, built if it is not there."""
    obstacle = what_is_missing()
    if obstacle:
        raise ImageError(obstacle)
    cache = os.path.join(PROJECT, ".build", "virtual-machine")
    os.makedirs(cache, exist_ok=True)
    with open(os.path.join(cache, "lock"), "w") as lock:
        # One builds, the others wait for it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        directory = os.path.join(cache, recipe_digest())
        if not os.path.isdir(directory):
            for outdated in glob.glob(f"{cache}/*/"):
                shutil.rmtree(outdated)
            build(directory)
    return Image(directory)


def what_is_missing():
    """Why there can be no machine here, or `None`."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    absent = sorted({package for tool, package in TOOLS.items() if not shutil.which(tool, path=path)})
    if os.geteuid() != 0 and not shutil.which("newuidmap"):
        absent.append("uidmap")
    if absent:
        return f"not installed: {', '.join(absent)}; run deploy/dependencies machines"
    if os.uname().machine != "x86_64":
        return f"virtual machines of {os.uname().machine} are not supported; use x86_64"
    return None


def release():
    """This machine's Debian, by its codename: programs built here run in the machine."""
    with open("/etc/os-release") as file:
        fields = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    if fields.get("ID") != "debian":
        raise ImageError(f"this is {fields.get('ID', 'an unknown system')}; virtual machines are built on Debian only")
    return fields["VERSION_CODENAME"]


def recipe_digest():
    """Names the recipe: every file that goes into an image, and the release that it is for."""
    digest = hashlib.sha256(release().encode())
    for name in ("packages", "modules", "assemble", "initial", "image.py"):
        digest.update(contents(name))
    for place, directories, files in os.walk(os.path.join(HERE, "guest")):
        directories.sort()
        for name in sorted(files):
            path = os.path.relpath(os.path.join(place, name), HERE)
            digest.update(path.encode() + b"\0" + contents(path))
    return digest.hexdigest()[:16]


def contents(name):
    with open(os.path.join(HERE, name), "rb") as file:
        return file.read()


def run(words, log, **options):
    """One step of the build; its output goes to the log, whose last line explains a failure."""
    try:
        subprocess.run(words, stdout=options.pop("stdout", log), stderr=log, check=True, timeout=BUILD_SECONDS,
                       env=dict(os.environ, PATH=f"{os.environ['PATH']}:/usr/sbin:/sbin", LC_ALL="C"), **options)
    except subprocess.TimeoutExpired:
        raise ImageError(f"{words[0]} has not ended within {BUILD_SECONDS} s; see {log.name}") from None
    except subprocess.CalledProcessError as error:
        with open(log.name, errors="replace") as file:
            said = [line.strip() for line in file if line.strip()]
        reasons = [line for line in said if line.startswith(("E: ", "assemble: "))] or said or ["nothing was said"]
        raise ImageError(f"{words[0]} failed (status {error.returncode}): {reasons[-1]}; see {log.name}") from None


def apt_sources(codename):
    """This machine's own sources of its Debian release, as lines of a sources.list."""
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(CODENAME)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)",
         "Created-By: Packages"], capture_output=True, text=True, check=True).stdout
    lines = []
    for entry in sorted(set(listed.splitlines())):
        address, of, suite, component, origin = entry.split("|")
        if origin == "Debian" and component == "main" and of in (codename, f"{codename}-updates", f"{codename}-security"):
            lines.append(f"deb {address} {suite} {component}")
    if not lines:
        raise ImageError(f"apt knows no package of Debian {codename}: run apt-get update")
    return "\n".join(lines) + "\n"


def apt_options():
    """Options with which this machine's apt reaches its sources, such as proxies."""
    shown = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout
    return [line for line in shown.splitlines()
            if line.startswith(("Acquire::http", "Acquire::https", "Acquire::Retries")) and not line.endswith(' "";')]


def kernel_package(directory, log):
    """Fetches the package of Debian's kernel."""
    depends = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in depends.splitlines() if "Depends: linux-image-" in line]
    if not names:
        raise ImageError("apt knows no linux-image-amd64: run apt-get update")
    run(["apt-get", "-q", "download", names[0]], log, cwd=directory)
    return glob.glob(f"{directory}/linux-image-*.deb")[0]


def build(directory):
    """Makes an image; it takes its place when all of it is there."""
    print("building the virtual machine (a minute or two; again only when its recipe changes)", file=sys.stderr, flush=True)
    codename = release()
    work = tempfile.mkdtemp(prefix="new-", dir=os.path.dirname(directory))
    try:
        with open(f"{os.path.dirname(directory)}/build.log", "w") as log:
            make_parts(work, codename, log)
        for name in os.listdir(work):
            if name not in PARTS:
                os.unlink(f"{work}/{name}")
        os.rename(work, directory)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def make_parts(work, codename, log):
    words = ["mmdebstrap", "--variant=apt", "--format=tar", f"--include={','.join(listed('packages'))}"]
    words += [f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED]
    words += [f"--aptopt={line}" for line in apt_options()]
    with open(f"{work}/sources.list", "w+") as sources, open(f"{work}/root.tar", "wb") as tar:
        sources.write(apt_sources(codename))
        sources.seek(0)
        run([*words, codename, "-", "-"], log, stdin=sources, stdout=tar)
    kernel = kernel_package(work, log)
    # The files belong to root, or to the root of a user name space.
    as_root = [] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--map-auto"]
    run([*as_root, f"{HERE}/assemble", f"{work}/root.tar", kernel, work], log)
