"""An evening from bare boxes to a running site, and what may happen to it afterwards."""

import json
import os
import shutil
import time

import machine
import packages

ARCHIVE = "/var/lib/tributary/recordings"
USERS = "/var/lib/tributary-viewer/users"
STATUS = "systemctl show -P StatusText"
# What an emulated processor cannot keep up with; each such loss is in the ledger, with these causes.
SLOWNESS = {"driver drop", "encoder overload", "overrun"}
# Out of ten, as systemd-analyze counts: the most that a service may be exposed.
EXPOSURE = 3.0
WITHOUT_KEY = "the key of the collector at tcp://127.0.0.1:5550 is not known"
INSTALL = "DEBIAN_FRONTEND=noninteractive apt-get -qq -y install"


class Site:
    """A server and a camera box."""

    def __init__(self, parts, work, ours, options):
        self.flaws, self.options, self.ours = 0, options, ours
        port = machine.free_port()
        self.address = f"10.0.2.2:{port}"
        self.server = machine.Machine(
            parts, f"{work}/server", name="server", disk=f"{work}/server.disk", memory=768, forwards=[(port, 5550)],
            environment={"DEVICES": "none"})
        self.box = machine.Machine(parts, f"{work}/box", name="box", disk=f"{work}/box.disk", memory=1280)
        for target, names in (
            (self.server, ("tributary_", "tributary-collector_", "tributary-viewer_")), (self.box, ("tributary-agent_",))
        ):
            mine = [path for path in ours if os.path.basename(path).startswith(names)]
            for directory in ("files", "later"):
                os.makedirs(f"{target.share}/{directory}")
            for path in mine:
                shutil.copy(path, f"{target.share}/files")
            packages.missing(mine, parts.status(), f"{target.share}/files")
            for path in mine:
                packages.later(path, f"{target.share}/later")

    def end(self):
        for target in (self.server, self.box):
            if target.process:
                target.cut()

    def start_box(self):
        """Switches the box on, with sound for its microphone."""
        self.box.start()
        self.box.do("tone 440 > /dev/null 2>&1 &")

    def say(self, line):
        print(f"   {line}", flush=True)

    def expect(self, truth, line):
        if not truth:
            self.flaws += 1
        print(f"   {'' if truth else 'FLAW '}{line}", flush=True)

    def explain(self):
        """The messages of both when something has failed."""
        for target, unit in (
            (self.server, "tributary-collector"), (self.server, "tributary-viewer"), (self.box, "tributary-agent")
        ):
            try:
                print(target.do(f"systemctl status --no-pager -l {unit}; journalctl -b --no-pager -n 40 -u {unit}",
                                accept=range(256)))
            except (machine.MachineError, AttributeError) as error:
                print(f"   ({error})")

    def spend(self):
        """All of it, in its order."""
        self.settle_in()
        self.watch()
        self.pull_network()
        self.cut_box()
        self.cut_collector()
        self.lose_camera()
        self.upgrade()
        self.configure_wrongly()
        self.fill_disks()
        self.finish()
        self.leave()

    # What is known of the recording.

    def show(self):
        return json.loads(self.server.do(f"tributary show latest --json --archive {ARCHIVE}", 120))["sources"][0]

    @staticmethod
    def samples(source, kind):
        return sum(t["samples"] for f in source["files"] for t in f["tracks"] if t["kind"] == kind)

    def pictures(self):
        return self.samples(self.show(), "video")

    def verify(self, when, causes=()):
        """After whatever has happened: the archive is sound, and nothing is missing but for these causes."""
        said = self.server.do(f"tributary verify latest --archive {ARCHIVE}", 120, accept=range(256))
        source = self.show()
        strange = [gap for gap in source["gaps"] if gap.get("cause") not in SLOWNESS.union(causes)]
        clean = " damage" not in said and self.server.do(
            f"tributary verify latest --archive {ARCHIVE} > /dev/null; echo $?", 120).strip() == "0"
        self.expect(clean, f"{when}: tributary verify {'is clean' if clean else 'found: ' + said.strip()[-300:]}")
        slow = sum(gap.get("samples") or 0 for gap in source["gaps"] if gap.get("cause") in SLOWNESS)
        self.expect(not strange, f"{when}: nothing is missing but for what this slow box lost ({slow} pictures)"
                    + f"{' and the causes that it has to have' if causes else ''}"
                    + "".join(f"; {gap}" for gap in strange[:3]))
        return source

    def wait_until_sent(self, patience=120):
        return self.box.until("all is sent", f"{STATUS} tributary-agent",
                              lambda text: text.startswith("recording") and "; sent to" in text, patience).strip()

    def seals(self):
        """Digests of all segments that are final."""
        return self.server.do(
            f"cd {ARCHIVE}/sessions && find . -name '*.mp4' -printf '%T@ %p\\n' | sort | head -n -1 | cut -d' ' -f2 "
            "| sort | xargs -r sha256sum")

    # What happens.

    def settle_in(self):
        print("== a newcomer's evening", flush=True)
        started = time.monotonic()
        self.server.start()
        self.start_box()
        self.say(f"two machines up in {time.monotonic() - started:.0f} s")
        # The recording is to have several segments, and a picture that an emulated processor can encode.
        started = time.monotonic()
        self.server.do(f"{INSTALL} /share/files/*.deb", 300)
        self.server.until("the collector waits", f"{STATUS} tributary-collector",
                          lambda text: "waiting for agents at tcp://0.0.0.0:5550" in text)
        self.server.do("sed -i 's/^#segment: .*/segment: 20s/' /etc/tributary/collector.yaml; "
                       "systemctl restart tributary-collector")
        line = self.server.do(f"tributary keys enrol camera1 --server {self.address} 2> /dev/null").strip()
        self.box.do(f"{INSTALL} /share/files/*.deb", 300)
        self.box.do("systemctl start tributary-agent", accept=range(256))
        status = self.box.do(f"{STATUS} tributary-agent").strip()
        doctor = self.box.do("tributary-agent doctor --config /etc/tributary/agent.yaml", accept=range(256)).strip()
        self.expect(WITHOUT_KEY in status, f"before it is enrolled, the agent's status is: {status}")
        self.expect(WITHOUT_KEY in doctor, "and the doctor agrees")
        self.box.do("systemctl stop tributary-agent")
        self.box.do("sed -i 's/^#size: .*/size: 320x180/; s/^#fps: .*/fps: 15/; "
                    "s/^#audio: .*/audio: hw:Loopback,1,0/' /etc/tributary/agent.yaml")
        said = self.box.do(f"tributary-agent enrol <<'END'\n{line}\nEND\n")
        self.expect("systemctl enable --now tributary-agent" in said, "enrol says what to do next")
        self.box.do("systemctl enable --now tributary-agent", 90)
        second = self.box.do(f"tributary-agent enrol --file /tmp/x.yaml --keys /tmp/keys '{line}'", accept=range(256))
        self.expect("it has been used" in second and second.count("\n") == 1, f"a second use: {second.strip()}")
        rights = self.box.do("stat -c '%a %U' /var/lib/tributary-agent/keys/own.key").strip()
        self.expect(rights == "600 tributary-agent", f"the box's key is {rights}")
        self.server.until("a minute is recorded", f"tributary ls --json --archive {ARCHIVE}",
                          lambda text: text.strip().startswith(("[", "{")) and self.pictures() >= 60 * 15, 180)
        self.say(f"from bare machines to the first recorded minute: {time.monotonic() - started:.0f} s, "
                 "2 commands on the server, 3 on the box")
        self.verify("after the first minute")
        self.say(f"agent: {self.wait_until_sent()}")
        self.say("collector: " + self.server.do(f"{STATUS} tributary-collector").strip())
        for target, unit in (
            (self.server, "tributary-collector"), (self.server, "tributary-viewer"), (self.box, "tributary-agent")
        ):
            said = target.do(f"systemd-analyze security --no-pager {unit}.service | tail -n 1").split(":")[-1]
            self.expect(float(said.split()[0]) < EXPOSURE, f"{unit}: what systemd-analyze calls its exposure is {said.split()[0]}")

    @staticmethod
    def request(path, token=None):
        """A script that prints what the viewer answers, with no other program between."""
        header = f"Authorization: Bearer {token}\\r\\n" if token else ""
        return ("exec 3<>/dev/tcp/127.0.0.1/8080; "
                f"printf 'GET {path} HTTP/1.1\\r\\nHost: localhost\\r\\n{header}Connection: close\\r\\n\\r\\n' >&3; "
                "timeout 30 cat <&3")

    def watch(self):
        print("== somebody watches", flush=True)
        answer = self.server.do(self.request("/api/v1/sessions"))
        self.expect(answer.startswith("HTTP/1.1 401"), f"without an account: {answer.splitlines()[0].strip()}")
        add = f"runuser -u tributary-viewer -- tributary-viewer users add robot --token --users {USERS}"
        token = self.server.do(f"{add} 2> /dev/null").strip()
        session = self.server.do(f"tributary ls --names --archive {ARCHIVE} | head -n 1").strip()
        self.server.until("the account counts", self.request("/api/v1/sessions", token),
                          lambda text: text.startswith("HTTP/1.1 200") and session in text, 10)
        media = f"/api/v1/sessions/{session}/sources/camera1"
        for path, word in ((f"{media}/picture.jpg", "image/jpeg"), (f"/hls/{session}/camera1/index.m3u8", "#EXTINF:"),
                           ("/hls/live/camera1/index.m3u8", "#EXT-X-PART:")):
            answer = self.server.do(self.request(path, token))
            self.expect(answer.startswith("HTTP/1.1 200") and word in answer, f"{path}: {answer.splitlines()[0].strip()}")
        rights = self.server.do(f"stat -c '%a %U' {USERS} {USERS}.key").split()
        self.expect(rights == ["600", "tributary-viewer"] * 2, f"accounts and key are {' '.join(rights)}")
        said = self.server.do(f"runuser -u tributary-viewer -- touch {ARCHIVE}/file", accept=range(256))
        self.expect("Permission denied" in said, f"the viewer's user cannot write into the archive: {said.strip()}")

    def pull_network(self):
        seconds = self.options.outage
        print(f"== {seconds} s without network", flush=True)
        before = self.pictures()
        self.box.do("ip link set eth0 down")
        time.sleep(seconds)
        status = self.box.do(f"{STATUS} tributary-agent").strip()
        self.expect("not sent" in status, f"agent: {status}")
        self.box.do("ip link set eth0 up")
        self.wait_until_sent()
        grown = self.pictures() - before
        self.expect(grown >= (seconds - 5) * 15, f"{grown} pictures more afterwards")
        self.verify("after the outage")

    def cut_box(self):
        print("== the box's power is cut", flush=True)
        before = self.pictures()
        self.box.cut()
        time.sleep(5)
        self.start_box()
        self.wait_until_sent()
        self.server.until("more is recorded", "true", lambda _: self.pictures() >= before + 10 * 15)
        source = self.verify("after the box's power cut", {"restart"})
        gone = [gap for gap in source["gaps"] if gap.get("cause") == "restart"]
        self.expect(0 < len(gone), f"what the cut took: {[self.text(gap) for gap in gone]}")
        self.restarts = len(gone)

    def cut_collector(self):
        print("== the collector's power is cut", flush=True)
        before, seals = self.pictures(), self.seals()
        self.server.cut()
        time.sleep(10)
        status = self.box.do(f"{STATUS} tributary-agent").strip()
        self.expect("not sent" in status, f"agent: {status}")
        self.server.start()
        self.wait_until_sent()
        self.server.until("more is recorded", "true", lambda _: self.pictures() >= before + 20 * 15)
        now = self.seals()
        kept = all(line in now for line in seals.splitlines())
        self.expect(kept, f"all {len(seals.splitlines())} finished segments are as they were")
        source = self.verify("after the collector's power cut", {"restart"})
        count = sum(gap.get("cause") == "restart" for gap in source["gaps"])
        self.expect(count == self.restarts, "the cut took nothing")

    def lose_camera(self):
        print("== the camera is unplugged", flush=True)
        self.box.do("camera out")
        self.box.until("it is missed", f"{STATUS} tributary-agent", lambda text: "no video" in text, 30)
        self.say("agent: " + self.box.do(f"{STATUS} tributary-agent").strip())
        # An agent that starts without its camera says so, and so does the doctor.
        self.box.do("systemctl restart tributary-agent", accept=range(256))
        status = self.box.until("it is missed", f"{STATUS} tributary-agent", lambda text: "camera" in text, 30).strip()
        self.say(f"agent that starts without: {status}")
        doctor = self.box.do("tributary-agent doctor --config /etc/tributary/agent.yaml", accept=(1,))
        self.expect("PROBLEM" in doctor and "no camera" in doctor, "the doctor finds that there is no camera")
        self.box.do("systemctl stop tributary-agent")
        self.box.do("camera in")
        self.box.until("udev starts it", "systemctl is-active tributary-agent", lambda text: text.strip() == "active", 30)
        self.say("plugged in again, it is started by udev: " + self.wait_until_sent())

    def upgrade(self):
        print("== an upgrade of both, while they record", flush=True)
        sessions = self.server.do(f"ls {ARCHIVE}/sessions")
        for target, unit in ((self.server, "tributary-collector"), (self.box, "tributary-agent")):
            pid = target.do(f"systemctl show -P MainPID {unit}").strip()
            target.do(f"{INSTALL} /share/later/*.deb", 600)
            target.until("it runs again", f"systemctl show -P MainPID {unit}",
                         lambda text, pid=pid: text.strip() not in ("0", pid))
            if target is self.server:
                self.wait_until_sent()
                self.expect(self.server.do(f"ls {ARCHIVE}/sessions") == sessions, "the session goes on")
        versions = {t.do("dpkg-query -W -f '${Version}\\n' 'tributary*'").strip().replace("\n", " ")
                    for t in (self.server, self.box)}
        self.say(f"versions now: {', '.join(sorted(versions))}")
        self.wait_until_sent()
        time.sleep(10)
        self.verify("after the upgrade", {"restart", "command", "device lost"})

    def configure_wrongly(self):
        print("== a wrong configuration", flush=True)
        for target, unit, line in (
            (self.server, "tributary-collector", "segmnt: 5s"), (self.box, "tributary-agent", "fsp: 15")
        ):
            option = line.split(":")[0]
            file = f"/etc/tributary/{unit.removeprefix('tributary-')}.yaml"
            target.do(f"cp -p {file} /var/tmp/kept.yaml; echo '{line}' >> {file}; systemctl restart {unit}",
                      120, accept=range(256))
            status = [target.do(f"systemctl show -P {name} {unit}").strip() for name in ("ActiveState", "StatusText")]
            self.expect(status[0] == "failed" and f"'{option}'" in status[1], f"{unit}: {' '.join(status)}")
            shown = target.do(f"systemctl status --no-pager {unit}", accept=range(256))
            self.expect(f"'{option}'" in self.line(shown, "Status:"), "systemctl status shows it")
            for command in [f"{unit} --check-config"] + ["tributary-agent doctor"] * (target is self.box):
                said = target.do(f"{command} --config {file}", accept=range(256)).strip()
                self.expect(f"'{option}'" in said, f"{command}: {said}")
            target.do(f"mv /var/tmp/kept.yaml {file}; systemctl start {unit}", 90)
        self.wait_until_sent()

    def fill_disks(self):
        print("== both start with full disks", flush=True)
        fill = ("systemctl stop {}; sync; fallocate -l $(df --output=avail -B1 / | tail -n 1) /filler; "
                "cat /dev/zero >> /filler; sync; df -B1 --output=avail / | tail -n 1")
        for target, unit in ((self.box, "tributary-agent"), (self.server, "tributary-collector")):
            left = target.do(fill.format(unit), 120, accept=range(256)).strip().split("\n")[-1]
            self.say(f"{left.strip()} bytes are free on the {target.name}")
        for target in (self.box, self.server):
            target.cut()
        self.server.start()
        self.start_box()
        status = self.server.until("it is said", f"{STATUS} tributary-collector", lambda text: "no room on the disk" in text)
        self.expect("not recording" in status, f"collector: {status.strip()}")
        status = self.box.until("it is said", f"{STATUS} tributary-agent", lambda text: "kept in memory only" in text)
        self.expect("No space left" in status, f"agent: {status.strip()}")
        doctor = self.box.do("tributary-agent doctor --config /etc/tributary/agent.yaml", accept=(1,))
        found = self.line(doctor, "PROBLEM  spool")
        self.expect("free some space" in found, f"the doctor: {found}")
        for target in (self.server, self.box):
            target.do("rm /filler; sync")
        self.say("with room again: " + self.wait_until_sent())
        self.box.do("systemctl restart tributary-agent", 90)
        status = self.wait_until_sent()
        self.expect("memory" not in status, f"agent, started again: {status}")
        time.sleep(10)
        self.verify("after the full disks", {"restart", "command", "device lost"})

    @staticmethod
    def line(text, word):
        """The first line with a word in it."""
        return next((line.strip() for line in text.splitlines() if word in line), "")

    def finish(self):
        print("== the evening ends", flush=True)
        self.box.do("systemctl disable --now tributary-agent", 90)
        self.server.until("the session has ended", f"{STATUS} tributary-collector", lambda text: "waiting" in text)
        said = self.server.do(f"tributary verify --archive {ARCHIVE}", 120, accept=range(256))
        self.expect("damage" not in said, f"all sessions: {said.strip().splitlines()[-1]}")
        self.say("collector's exit: " + self.server.do(
            "systemctl stop tributary-collector; systemctl show -P Result tributary-collector").strip())

    def leave(self):
        print("== the packages go", flush=True)
        for target, names, left in (
            (self.box, "tributary-agent", "/etc/tributary /var/lib/tributary-agent /usr/bin/tributary-agent"),
            (self.server, "tributary-viewer tributary-collector tributary",
             "/etc/tributary /usr/bin/tributary /var/lib/tributary-viewer"),
        ):
            target.do(f"apt-get -qq -y remove {names}", 90)
            kept = target.do("ls /etc/tributary", accept=range(256)).split()
            self.expect(kept != [], f"removed on the {target.name}, its configuration stays: {' '.join(kept)}")
            said = target.do(f"apt-get -qq -y purge {names}", 90)
            there = target.do(f"ls -d {left} 2> /dev/null", accept=range(256)).split()
            self.expect(not there, f"purged on the {target.name}, nothing is left{': ' + ' '.join(there) if there else ''}")
            if target is self.server:
                self.expect("Recordings stay" in said, "and the recordings stay, as is said")
                self.expect(self.server.do(f"find {ARCHIVE} -name '*.mp4' | wc -l").strip() != "0", "they are there")

    @staticmethod
    def text(gap):
        seconds = gap.get("durationSeconds") or 0
        return f"{gap.get('track') or 'all'} for {seconds:.1f} s"
