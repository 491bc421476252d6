"""Virtual machines that are told what to do while they run, and whose power can be cut."""

import os
import shutil
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))


class MachineError(Exception):
    """A machine did not do what it was told; one line says what."""


class Rig:
    """What machines are made from: the camera box's parts, with a root file system that outlives its machine."""

    def __init__(self, place, parts, work):
        self.place, self.parts, self.work = place, parts, work
        os.makedirs(f"{work}/img")
        for name in ("vmlinuz", "root.img"):
            os.symlink(os.path.realpath(f"{parts}/img/{name}"), f"{work}/img/{name}")
        self.make_start()
        # With a journal, as every installation has one.
        self.image = f"{work}/image"
        with open(self.image, "wb") as file:
            file.truncate(2500 << 20)
        subprocess.run(
            ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1", "-d", f"{parts}/root", self.image],
            check=True)

    def make_start(self):
        """The rig's first program mounts its own disk, which forgets; ours mounts the one that is kept."""
        with open(f"{self.place}/guest/initramfs-init") as file:
            text = file.read()
        if "/dev/vda" not in text:
            raise MachineError("the rig's initramfs-init mounts no /dev/vda: this test does not know it")
        with tempfile.TemporaryDirectory() as scratch:
            with open(f"{scratch}/init", "w") as file:
                file.write(text.replace("/dev/vda", "/dev/vdb"))
            os.chmod(f"{scratch}/init", 0o755)
            made = subprocess.run(
                ["cpio", "--quiet", "-o", "-H", "newc"], cwd=scratch, input=b"init\n", capture_output=True, check=True)
        # Of archives behind each other the last one holds (the kernel's "initramfs buffer format").
        with open(f"{self.work}/img/initrd.img", "wb") as file:
            with open(f"{self.parts}/img/initrd.img", "rb") as before:
                shutil.copyfileobj(before, file)
            file.write(b"\0" * (-file.tell() % 4))
            file.write(made.stdout)

    def machine(self, name, **options):
        return Machine(self, name, **options)


class Machine:
    """One virtual machine with a disk of its own."""

    BOOT_SECONDS = 120

    def __init__(self, rig, name, memory, forward=None, has_devices=True):
        self.rig, self.name, self.memory, self.forward = rig, name, memory, forward
        self.share, self.disk = f"{rig.work}/{name}", f"{rig.work}/{name}.disk"
        self.process, self.count = None, 0
        for part in ("do", "done", "files"):
            os.makedirs(f"{self.share}/{part}")
        shutil.copy(f"{HERE}/guest/job.sh", self.share)
        with open(f"{self.share}/rig.env", "w") as file:
            file.write("" if has_devices else "NODEV=1\n")
        if has_devices:
            open(f"{self.share}/tone", "w").close()
        subprocess.run(["cp", "--sparse=always", rig.image, self.disk], check=True)

    def start(self):
        """Switches it on, and waits until it listens."""
        words = [f"{self.rig.place}/run-vm", self.share, "--state", self.disk, "--timeout", "0", "--quiet",
                 "--mem", str(self.memory), "--append", f"systemd.hostname={self.name}"]
        if self.forward:
            words += ["--fwd", f"{self.forward[0]}:{self.forward[1]}"]
        # What it was told and had not done before its power was cut, is not to be done now.
        for script in os.listdir(f"{self.share}/do"):
            os.unlink(f"{self.share}/do/{script}")
        log = open(f"{self.share}/run-vm.log", "ab")
        self.process = subprocess.Popen(
            words, env=dict(os.environ, RIG_OUT=self.rig.work), stdout=log, stderr=log)
        log.close()
        self.do("true", self.BOOT_SECONDS)

    def cut(self):
        """Pulls its plug."""
        open(f"{self.share}/powercut", "w").close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            self.process.wait()
        self.process = None

    def do(self, script, patience=60, accept=(0,)):
        """Has it run a script as root; what that said."""
        self.count += 1
        name = f"{self.count:04}"
        with open(f"{self.share}/do/.{name}", "w") as file:
            file.write(script + "\n")
        os.rename(f"{self.share}/do/.{name}", f"{self.share}/do/{name}.sh")
        deadline = time.monotonic() + patience
        while not os.path.exists(f"{self.share}/done/{name}"):
            if self.process.poll() is not None:
                raise MachineError(f"{self.name} has ended by itself; see {self.share}/console.log")
            if time.monotonic() > deadline:
                raise MachineError(f"{self.name} has not done within {patience} s: {script.splitlines()[0]}")
            time.sleep(0.05)
        with open(f"{self.share}/done/{name}") as file:
            status = int(file.read())
        with open(f"{self.share}/done/{name}.out", errors="replace") as file:
            said = file.read()
        if status not in accept:
            raise MachineError(f"{self.name}: status {status} of '{script.splitlines()[0]}': {said.strip()[-600:]}")
        return said

    def until(self, what, script, is_so, patience=90):
        """Asks again and again until the answer is as it should be; the answer."""
        deadline = time.monotonic() + patience
        while True:
            answer = self.do(script, accept=range(256))
            if is_so(answer):
                return answer
            if time.monotonic() > deadline:
                raise MachineError(f"{self.name}: waited too long until {what}; last: {answer.strip()[-400:]}")
            time.sleep(0.5)
