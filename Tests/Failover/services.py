"""A site's database with a standby, and its object store, which collectors in network namespaces of their own reach by relays."""

import os
import select
import socket
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(HERE))
sys.path += [os.path.join(os.path.dirname(HERE), "Catalog"), os.path.join(os.path.dirname(HERE), "Stores")]

from patroni import Patroni  # noqa: E402
from server import Absent, Server  # noqa: E402, F401
from stores import Absent as AbsentStore  # noqa: E402, F401
from stores import KEYS, SeaweedFS  # noqa: E402

BUCKET = "tributary"
# Of the services, in the namespace of the agents: all collectors reach it by their default route.
ADDRESS = "10.77.9.9"


class Relay:
    """Passes connections on to a port of this namespace. `fault`: "refuse" ends them, "hang" leaves them without an answer."""

    def __init__(self, port):
        self.target, self.fault = port, None
        self.listener = socket.create_server(("0.0.0.0", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        server = None
        try:
            with client:
                while self.fault == "hang":
                    time.sleep(0.1)
                if self.fault == "refuse":
                    return
                server = socket.create_connection(("127.0.0.1", self.target))
                with server:
                    while self.fault != "refuse":
                        if self.fault == "hang":
                            time.sleep(0.1)
                            continue
                        ready, _, _ = select.select([client, server], [], [], 0.2)
                        for source in ready:
                            data = source.recv(1 << 16)
                            if not data:
                                return
                            (server if source is client else client).sendall(data)
        except OSError:
            pass


class Pair:
    """A primary and its standby, which is promoted once."""

    KINDS = ("promote",)

    def __init__(self, directory):
        self.directory = directory
        self.primary, self.standby = Server(directory).start(), None
        self.is_promoted = False

    def sql(self, statements):
        self.primary.sql(statements)

    def replicate(self):
        self.standby = Server(self.directory, primary=self.primary).start()

    @property
    def ports(self):
        return [self.primary.port, self.standby.port]

    def address(self, role):
        return (self.standby if self.is_promoted else self.primary).address(role)

    def fail(self, _):
        if not self.is_promoted:
            self.is_promoted = True
            self.primary.stop("immediate")
            self.standby.sql("SELECT pg_promote()")

    def mend(self):
        pass

    def end(self):
        if self.standby:
            self.standby.remove()
        self.primary.remove()


class Managed:
    """Two servers under Patroni: a planned switch, a primary without power, and one that hangs with its Patroni."""

    KINDS = ("switch", "power", "stop")

    def __init__(self, directory):
        self.cluster = Patroni(directory)
        self.sql, self.address = self.cluster.sql, self.cluster.address
        self.mend, self.end = self.cluster.mend, self.cluster.remove

    def replicate(self):
        self.cluster.settle()
        self.cluster.catch_up()

    @property
    def ports(self):
        return [member.port for member in self.cluster.members]

    def fail(self, kind):
        self.cluster.settle()
        before = self.cluster.primary
        {"switch": self.cluster.switch, "power": self.cluster.kill, "stop": self.cluster.stop}[kind]()
        self.cluster.wait_for_another(before)


class Services:
    """The site's services. Faults affect all collectors."""

    @staticmethod
    def kinds(is_managed):
        """Faults: of `--patroni`, or of a standby that is promoted by hand."""
        return ("database", "store", *(Managed if is_managed else Pair).KINDS)

    def __init__(self, work, tributary, run, is_managed):
        self.directory = os.path.join(work, "services")
        os.makedirs(self.directory)
        # The database's server may be another user, who has to reach its directory.
        os.chmod(work, 0o755)
        self.database, self.store = (Managed if is_managed else Pair)(self.directory), None
        try:
            self.begin(work, tributary, run)
        except BaseException:
            self.end()
            raise

    def begin(self, work, tributary, run):
        """Prepares the catalog, and starts the other services."""
        with open(os.path.join(PROJECT, "deploy", "postgresql", "roles.sql")) as text:
            self.database.sql(text.read())
        run([tributary, "index", "--prepare", "--archive", f"{work}/none", "--catalog", self.database.address("tributary_owner")])
        self.database.replicate()
        self.store = SeaweedFS(self.directory).start(self.directory)
        self.store.make_bucket(BUCKET)
        self.databases = [Relay(port) for port in self.database.ports]
        self.objects = Relay(self.store.port)
        # The collectors' clocks run at rates of their own since then.
        self.began = time.clock_gettime(time.CLOCK_MONOTONIC)

    def options(self, name):
        """Options of a collector."""
        hosts = ",".join(f"{ADDRESS}:{relay.port}" for relay in self.databases)
        return ["--catalog", f"postgresql://tributary_writer@{hosts}/postgres", "--store", f"s3://{BUCKET}/{name}",
                *self.store_options]

    @property
    def store_options(self):
        return ["--store-endpoint", f"http://{ADDRESS}:{self.objects.port}"]

    @property
    def environment(self):
        return {"AWS_ACCESS_KEY_ID": KEYS[0], "AWS_SECRET_ACCESS_KEY": KEYS[1]}

    @property
    def catalog(self):
        """The catalog's address for readers of this namespace."""
        return self.database.address("tributary_reader")

    def fail(self, kind, luck):
        if kind == "database":
            for relay in self.databases:
                relay.fault = luck.choice(["hang", "refuse"])
        elif kind == "store":
            self.objects.fault = luck.choice(["hang", "refuse"])
        else:
            self.database.fail(kind)

    def mend(self):
        for relay in (*self.databases, self.objects):
            relay.fault = None
        self.database.mend()

    def end(self):
        try:
            if self.store:
                self.store.stop()
        finally:
            self.database.end()
