"""Two PostgreSQL servers under Patroni, with etcd, in a directory. Needs Debian's `patroni` and `etcd-server`."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from server import PATIENCE, Absent, binaries, free_port, prefix

NAMES = ("one", "two")
# Seconds. A failover begins after `TTL`, whose minimum is 20; the defaults are 30, 10 and 10.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 20, 5, 5

CONFIGURATION = """scope: tributary
name: {name}
restapi: {{listen: '127.0.0.1:{rest}', connect_address: '127.0.0.1:{rest}'}}
etcd3: {{hosts: '127.0.0.1:{etcd}'}}
bootstrap:
  dcs: {{ttl: {ttl}, loop_wait: {loop_wait}, retry_timeout: {retry_timeout}, postgresql: {{use_pg_rewind: true}}}}
  initdb: [encoding: UTF8, auth: trust, no-sync]
  pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust']
postgresql:
  listen: '127.0.0.1:{port}'
  connect_address: '127.0.0.1:{port}'
  data_dir: '{directory}/{name}'
  bin_dir: '{programs}'
  pgpass: '{directory}/{name}.pgpass'
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
  authentication:
    superuser: {{username: postgres}}
    rewind: {{username: postgres}}
    replication: {{username: postgres}}
  parameters: {{unix_socket_directories: '{directory}'}}
"""


class Member:
    """A server and its Patroni."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.port, self.rest = free_port(), free_port()
        self.data = os.path.join(cluster.directory, name)
        self.configuration = os.path.join(cluster.directory, f"{name}.yml")
        with open(self.configuration, "w") as text:
            text.write(CONFIGURATION.format(
                name=name, rest=self.rest, etcd=cluster.etcd_port, ttl=TTL, loop_wait=LOOP_WAIT, retry_timeout=RETRY_TIMEOUT,
                port=self.port, directory=cluster.directory, programs=cluster.programs))
        self.process, self.is_stopped = None, False
        self.start()

    def start(self):
        self.process = self.cluster.spawn("patroni", self.configuration, log=f"{self.name}.log")

    def role(self):
        """`primary`, `replica`, or nothing while it does not answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.rest, timeout=2)
        try:
            connection.request("GET", "/patroni")
            state = json.load(connection.getresponse())
        except (OSError, ValueError, http.client.HTTPException):
            return ""
        finally:
            connection.close()
        if state.get("state") != "running":
            return ""
        return "primary" if state.get("role") in ("master", "primary") else "replica"

    def processes(self):
        """Processes of the server, the postmaster first."""
        try:
            with open(os.path.join(self.data, "postmaster.pid")) as text:
                postmaster = int(text.readline())
            children = subprocess.run(["pgrep", "-P", str(postmaster)], capture_output=True, text=True).stdout.split()
        except (OSError, ValueError):
            return []
        return [postmaster, *map(int, children)]

    def signal(self, number):
        for process in [self.process.pid, *self.processes()]:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait()

    def mend(self):
        """Resumes a hung server, and starts a killed one."""
        if self.is_stopped:
            self.signal(signal.SIGCONT)
            self.is_stopped = False
        if self.process.poll() is not None:
            self.start()


class Patroni:
    """`with Patroni() as cluster`: a primary and its standby, whichever of them is which."""

    def __init__(self, directory=None):
        for program in ("patroni", "patronictl", "etcd"):
            if not shutil.which(program):
                raise Absent(f"{program} is not installed (Debian: patroni, etcd-server)")
        self.programs, self.prefix = binaries(), prefix()
        self.directory = tempfile.mkdtemp(prefix="patroni-", dir=directory)
        if self.prefix:
            shutil.chown(self.directory, "nobody")
        self.etcd_port, peer = free_port(), free_port()
        client = f"http://127.0.0.1:{self.etcd_port}"
        self.etcd = self.spawn(
            "etcd", "--name", "etcd", "--data-dir", os.path.join(self.directory, "etcd"), "--listen-client-urls", client,
            "--advertise-client-urls", client, "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls",
            f"http://127.0.0.1:{peer}", "--initial-cluster", f"etcd=http://127.0.0.1:{peer}", "--unsafe-no-fsync", log="etcd.log")
        self.members = []
        try:
            for name in NAMES:
                self.members.append(Member(self, name))
                self.settle()
        except BaseException:
            self.remove()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

    def spawn(self, program, *words, log):
        with open(os.path.join(self.directory, log), "a") as text:
            return subprocess.Popen([*self.prefix, shutil.which(program), *words], stdout=text, stderr=text, cwd=self.directory,
                                    env={**os.environ, "HOME": self.directory}, start_new_session=True)

    def roles(self):
        return [member.role() for member in self.members]

    def settle(self):
        """Waits until there is one primary, and every other member follows it."""
        deadline = time.monotonic() + 2 * PATIENCE
        wanted = sorted(["primary"] + ["replica"] * (len(self.members) - 1))
        while sorted(self.roles()) != wanted:
            if time.monotonic() > deadline:
                raise RuntimeError(f"Patroni's servers are {self.roles()}; see {self.directory}")
            time.sleep(0.5)

    def catch_up(self):
        """Waits until the standby has every commit: a failover does not wait for that."""
        deadline = time.monotonic() + PATIENCE
        while self.sql("SELECT count(*) FROM pg_stat_replication WHERE replay_lsn >= pg_current_wal_lsn()").strip() == "0":
            if time.monotonic() > deadline:
                raise RuntimeError(f"Patroni's standby lacks commits; see {self.directory}")
            time.sleep(0.2)

    @property
    def primary(self):
        for member in self.members:
            if member.role() == "primary":
                return member
        return None

    def wait_for_another(self, before):
        """Waits until the primary is another member."""
        deadline = time.monotonic() + 2 * PATIENCE
        while self.primary in (None, before):
            if time.monotonic() > deadline:
                raise RuntimeError(f"Patroni's standby is not promoted; see {self.directory}")
            time.sleep(0.5)

    def switch(self):
        """The standby becomes the primary, without losing a commit."""
        subprocess.run(
            [*self.prefix, shutil.which("patronictl"), "-c", self.members[0].configuration, "switchover", "--force", "tributary"],
            check=True, capture_output=True, text=True, cwd=self.directory, env={**os.environ, "HOME": self.directory})

    def kill(self):
        """Kills the primary and its Patroni, as a power cut does."""
        self.primary.kill()

    def stop(self):
        """Stops the primary and its Patroni, as a hang does."""
        member = self.primary
        member.is_stopped = True
        member.signal(signal.SIGSTOP)

    def mend(self):
        for member in self.members:
            member.mend()
        self.settle()

    def sql(self, statements):
        """As `Server.sql`, on the primary."""
        outcome = subprocess.run(
            [os.path.join(self.programs, "psql"), "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1",
             self.address()], input=statements, capture_output=True, text=True)
        if outcome.returncode:
            raise RuntimeError(f"psql: {outcome.stderr}")
        return outcome.stdout

    def address(self, role="postgres", database="postgres"):
        hosts = ",".join(f"127.0.0.1:{member.port}" for member in self.members)
        return f"postgresql://{role}@{hosts}/{database}?target_session_attrs=read-write&connect_timeout=3"

    def remove(self):
        for member in self.members:
            member.is_stopped = False
            member.signal(signal.SIGCONT)
            member.kill()
        self.etcd.kill()
        self.etcd.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
