"""Servers of recordings and live streams, and their sources: each a child process with its own ports."""

import contextlib
import os
import shutil
import socket
import subprocess
import time

import machine
import workplace


class Stage(contextlib.ExitStack):
    """A temporary directory's servers. They are killed when the stage is left."""

    def __init__(self, place, directory):
        super().__init__()
        self.place, self.directory = place, directory
        self.errors = self.enter_context(open(f"{directory}/errors.log", "a"))

    def start(self, command, environment=None):
        process = machine.Process(command, environment, errors=self.errors)
        self.callback(end, process)
        return process

    def viewer(self, archive, certificate=None):
        """The viewer of an archive: its process and its port."""
        port = free_port()
        secure = ["--tls-certificate", certificate[0], "--tls-key", certificate[1]] if certificate else []
        process = self.start([
            self.place.product("tributary-viewer"), "--archive", archive, "--listen", f"127.0.0.1:{port}",
            "--exports", f"{self.directory}/exports", *secure])
        machine.wait_for_ports([port], process.poll)
        return process, port

    def collector(self, archive, devnull=None):
        """A collector: its process and its endpoint. With `devnull`, recordings go to /dev/null."""
        os.makedirs(archive, exist_ok=True)
        endpoint = f"ipc://{archive}/in"
        process = self.start(
            [self.place.product("tributary-collector"), "--archive", archive, "--listen", endpoint],
            {"LD_PRELOAD": devnull} if devnull else None)
        wait_for_file(f"{archive}/in", process)
        return process, endpoint

    def load(self, endpoint, sources, seconds, each=False):
        """Sends the clip as a number of sources source0, source1, …"""
        return self.start([
            self.place.product("bench-load"), "--collector", endpoint, "--media", self.place.clip,
            "--sources", sources, "--seconds", seconds, "--unfinishable", *(["--each"] if each else [])])

    def nginx(self, program, modules, blocks, ports):
        """One process that is master and worker."""
        path = f"{self.directory}/nginx-{ports[0]}.conf"
        with open(path, "w") as file:
            file.write("".join(f"load_module {module};\n" for module in modules))
            file.write(
                f"daemon off; master_process off; pid {path}.pid; error_log {path}.log warn;\n"
                "worker_rlimit_nofile 4096; events { worker_connections 1024; }\n" + blocks)
        process = self.start([program, "-e", f"{path}.log", "-c", path])
        machine.wait_for_ports(ports, process.poll)
        return process


def end(process):
    process.stop(9)
    machine.Processes([process]).wait(10)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_file(path, process, seconds=30):
    deadline = time.monotonic() + seconds
    while not os.path.exists(path):
        if not process.poll() or time.monotonic() > deadline:
            raise RuntimeError(f"{process.command[0]} does not listen")
        time.sleep(0.02)


def find_nginx(place):
    """The nginx that is installed, or the one that `run` has unpacked, and its RTMP module. None: it is missing."""
    installed = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    for program, module in [
        (installed, "/usr/lib/nginx/modules/ngx_rtmp_module.so"), (place.nginx, place.rtmp_module),
    ]:
        if program and os.path.exists(program):
            return program, module if os.path.exists(module) else None
    return None, None


def make_certificate(directory):
    """A self-signed chain and its key."""
    chain, key = f"{directory}/chain.pem", f"{directory}/key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", key, "-out", chain, "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return chain, key


def make_devnull(directory):
    """The library that sends recordings to /dev/null."""
    library = f"{directory}/devnull.so"
    workplace.call(["gcc", "-O2", "-shared", "-fPIC", "-o", library, f"{workplace.HERE}/devnull.c"])
    return library
