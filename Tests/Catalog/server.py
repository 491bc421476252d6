"""A PostgreSQL server of one's own, in a directory, for tests and measurements. No other server is touched."""

import glob
import os
import shutil
import socket
import subprocess
import tempfile

PATIENCE = 60


class Absent(Exception):
    """Why there can be no server here."""


def binaries():
    """Where the server's programs are: on PATH, or where Debian puts them."""
    found = shutil.which("initdb")
    if found:
        return os.path.dirname(os.path.realpath(found))
    places = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    if not places:
        raise Absent("initdb is not installed (Debian: postgresql-15)")
    return os.path.dirname(places[-1])


def prefix():
    """The command that runs the server as `nobody` if this user is root, which the server refuses."""
    if os.geteuid() != 0:
        return []
    if not shutil.which("setpriv"):
        raise Absent("this is root, and setpriv is not installed")
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A primary, or a standby of `primary`."""

    def __init__(self, directory=None, primary=None, settings=()):
        self.programs, self.prefix = binaries(), prefix()
        self.directory = tempfile.mkdtemp(prefix="postgres-", dir=directory)
        if self.prefix:
            shutil.chown(self.directory, "nobody")
        self.data = os.path.join(self.directory, "data")
        self.port = free_port()
        if primary:
            self.run("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "-D", self.data, "-h", "127.0.0.1",
                     "-p", str(primary.port), "-U", "postgres")
        else:
            self.run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")
        with open(os.path.join(self.data, "postgresql.auto.conf"), "a") as text:
            lines = ["listen_addresses = '127.0.0.1'", f"unix_socket_directories = '{self.directory}'",
                     f"port = {self.port}", *settings]
            text.write("\n".join(lines) + "\n")

    def run(self, program, *words):
        outcome = subprocess.run(
            [*self.prefix, os.path.join(self.programs, program), *words], capture_output=True, text=True,
            cwd=self.directory, env={**os.environ, "HOME": self.directory})
        if outcome.returncode:
            raise RuntimeError(f"{program}: {outcome.stderr or outcome.stdout}")
        return outcome.stdout

    def start(self):
        # Not through run(): the server would keep the pipes open.
        with open(os.path.join(self.directory, "start.log"), "w") as log:
            subprocess.run(
                [*self.prefix, os.path.join(self.programs, "pg_ctl"), "-D", self.data, "-w", "-t", str(PATIENCE), "-l",
                 os.path.join(self.directory, "log"), "start"], check=True, stdout=log, stderr=log,
                cwd=self.directory)
        return self

    def stop(self, mode="fast"):
        self.run("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")

    def is_running(self):
        return os.path.exists(os.path.join(self.data, "postmaster.pid"))

    def sql(self, statements, database="postgres", role="postgres"):
        """Rows of the last statement, columns separated by tabs."""
        outcome = subprocess.run(
            [os.path.join(self.programs, "psql"), "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-h",
             "127.0.0.1", "-p", str(self.port), "-U", role, "-d", database],
            input=statements, capture_output=True, text=True)
        if outcome.returncode:
            raise RuntimeError(f"psql: {outcome.stderr}")
        return outcome.stdout

    def address(self, role="postgres", database="postgres"):
        return f"postgresql://{role}@127.0.0.1:{self.port}/{database}"

    def remove(self):
        try:
            if self.is_running():
                self.stop("immediate")
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)
