#!/usr/bin/env python3
# usage: on_terminal.py 0|1|2 COMMAND ARG...
# Runs COMMAND with that descriptor on a terminal; what it writes there comes out on standard output.
import os
import pty
import subprocess
import sys

master, terminal = pty.openpty()
which = {"0": "stdin", "1": "stdout", "2": "stderr"}[sys.argv[1]]
child = subprocess.Popen(sys.argv[2:], **{which: terminal})
os.close(terminal)
while which != "stdin":
    try:
        data = os.read(master, 65536)
    except OSError:  # the other side is closed
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
sys.stdout.flush()
status = child.wait(timeout=60)
sys.exit(status if status >= 0 else 128 - status)
