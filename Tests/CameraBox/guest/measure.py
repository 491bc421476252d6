"""Runs a program to its end, in the box: what it took, as a line of JSON."""

import json
import os
import sys
import time

name, command = sys.argv[1], sys.argv[2:]
began = time.monotonic()
child = os.fork()
if child == 0:
    log = os.open("agent.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.execvp(command[0], command)
_, status, usage = os.wait4(child, 0)
print(json.dumps({
    "name": name, "status": os.waitstatus_to_exitcode(status), "seconds": time.monotonic() - began,
    "cpu": usage.ru_utime + usage.ru_stime, "memory": usage.ru_maxrss * 1024}), flush=True)
