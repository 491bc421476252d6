"""Prerequisites of the benchmarks: programs, peers and media. Created once, in one directory."""

import glob
import json
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
PRODUCTS = ("tributary-collector", "tributary-agent", "tributary", "bench-load")
CLIP_SECONDS = 60
RAW_SECONDS = 10
PICTURE = ["-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30"]
SOUND = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=48000", "-ac", "2"]


class Workplace:
    """Paths of everything a contender starts or reads."""

    def __init__(self, root, binaries, before=None):
        self.root = root
        self.binaries = binaries
        self.before = before
        self.output = f"{root}/output"
        self.floor = f"{root}/floor"
        self.floor_keys = []  # public and secret
        self.devnull = f"{root}/devnull.so"
        self.nginx = f"{root}/nginx/usr/sbin/nginx"
        self.rtmp_module = f"{root}/nginx/usr/lib/nginx/modules/ngx_rtmp_module.so"
        self.clip = f"{root}/clip.mp4"
        self.small_clip = f"{root}/small.mp4"
        self.raw = f"{root}/raw.nut"
        self.server_keys, self.box_keys = f"{root}/keys/server", f"{root}/keys/box"
        os.makedirs(root, exist_ok=True)

    def product(self, name, before=False):
        return f"{self.before if before else self.binaries}/{name}"

    def prepare(self):
        """Makes what is missing."""
        need("gcc", "ffmpeg", "ffprobe")
        self.compile()
        self.fetch_nginx()
        self.make_clip()
        self.make_raw()
        self.make_keys()

    def compile(self):
        libraries = ["-lavformat", "-lavcodec", "-lavutil", "-lzmq"]
        call(["gcc", "-O2", "-o", self.floor, f"{HERE}/floor.c", *libraries])
        self.floor_keys = subprocess.check_output([self.floor, "keys"], text=True).split()
        call(["gcc", "-O2", "-shared", "-fPIC", "-o", self.devnull, f"{HERE}/devnull.c"])

    def fetch_nginx(self):
        """Debian's packages, unpacked beside the media: no service is installed."""
        if os.path.exists(self.rtmp_module) or not shutil.which("apt-get"):
            return
        packages = f"{self.root}/packages"
        os.makedirs(packages, exist_ok=True)
        fetched = subprocess.run(
            ["apt-get", "download", "-q", "nginx", "libnginx-mod-rtmp"], cwd=packages,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if fetched.returncode:
            print("nginx-rtmp is left out: apt-get cannot download it", flush=True)
            return
        for package in glob.glob(f"{packages}/*.deb"):
            call(["dpkg", "-x", package, f"{self.root}/nginx"])

    def make_keys(self):
        """A server's key, and one that all boxes share."""
        if os.path.exists(f"{self.root}/keys"):
            return
        keys = [self.product("tributary"), "keys"]
        for directory in (self.server_keys, self.box_keys):
            subprocess.run(
                [*keys, "generate", "--keys", directory], check=True, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
        call([
            *keys, "authorize", "bench", self.public_key(self.box_keys), "--sources", "*",
            "--keys", self.server_keys])

    def public_key(self, directory):
        listing = subprocess.check_output(
            [self.product("tributary"), "keys", "list", "--json", "--keys", directory], text=True)
        return json.loads(listing)["publicKey"]

    def make_clip(self):
        """A minute that was encoded: 31 MB."""
        encoders = [
            "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-g", "60",
            "-sc_threshold", "0", "-b:v", "4M", "-maxrate", "4M", "-bufsize", "4M",
            "-c:a", "aac", "-b:a", "128k"]
        self.make(self.clip, [*PICTURE, *SOUND, "-t", CLIP_SECONDS, *encoders, "-f", "mp4"])

    def make_small_clip(self):
        """A minute of 200 kbit/s, as of a camera that watches a door."""
        encoders = [
            "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "veryfast", "-bf", "0", "-g", "30",
            "-sc_threshold", "0", "-b:v", "168k", "-maxrate", "168k", "-bufsize", "168k",
            "-c:a", "aac", "-b:a", "32k"]
        picture = ["-f", "lavfi", "-i", "testsrc2=size=320x180:rate=15"]
        sound = ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=24000", "-ac", "1"]
        self.make(self.small_clip, [*picture, *sound, "-t", CLIP_SECONDS, *encoders, "-f", "mp4"])

    def make_raw(self):
        """Ten seconds that were not: 416 MB."""
        plain = ["-pix_fmt", "nv12", "-c:v", "rawvideo", "-c:a", "pcm_s16le"]
        self.make(self.raw, [*PICTURE, *SOUND, "-t", RAW_SECONDS, *plain, "-f", "nut"])

    def make(self, path, arguments):
        if os.path.exists(path):
            return
        print(f"making {path}", flush=True)
        call(["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments, f"{path}.part"])
        os.rename(f"{path}.part", path)

    def clip_bytes_per_second(self):
        """Payload of the clip: bytes of its packets, without the container's."""
        sizes = subprocess.check_output(
            ["ffprobe", "-v", "error", "-show_entries", "packet=size", "-of", "csv=p=0", self.clip],
            text=True)
        return sum(int(line.strip(",")) for line in sizes.split()) / CLIP_SECONDS


def build():
    """Builds the programs, optimised; returns where they are."""
    base = ["swift", "build", "-c", "release", "--static-swift-stdlib", "--package-path", PROJECT]
    for product in PRODUCTS:
        call([*base, "--product", product])
    return subprocess.check_output([*base, "--show-bin-path"], text=True).strip()


def need(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)}; see README.md")


def call(command):
    subprocess.run([str(word) for word in command], check=True)
