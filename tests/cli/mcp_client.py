"""A client of the Model Context Protocol for tests: starts trace-mcp, sends requests, matches answers by id."""
import json
import os
import re
import subprocess
import threading


class Server:
    def __init__(self, *args):
        options = ["--memory-limit", "0"] if os.environ.get("GP_SANITIZED") else []
        self.process = subprocess.Popen(["trace-mcp", *options, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answers, self.lock, self.last = {}, threading.Condition(), 0
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            answer = json.loads(line)
            assert answer["jsonrpc"] == "2.0" and ("result" in answer) != ("error" in answer), line
            with self.lock:
                self.answers[answer["id"]] = (answer, line)
                self.lock.notify_all()
        with self.lock:
            self.answers[None, "ended"] = True
            self.lock.notify_all()

    def send(self, method, params=None, **more):
        """A request; its id."""
        self.last += 1
        self.raw(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}, **more}))
        return self.last

    def raw(self, line):
        self.process.stdin.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
        self.process.stdin.flush()

    def wait(self, id):
        with self.lock:
            self.lock.wait_for(lambda: id in self.answers or (None, "ended") in self.answers)
            return self.answers.pop(id)[0]

    def ask(self, method, params=None):
        return self.wait(self.send(method, params))

    def call(self, tool, /, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def open(self, version="2025-11-25"):
        result = self.ask("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}})
        self.raw('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return result["result"]

    def close(self):
        """The exit status after the input has ended."""
        self.process.stdin.close()
        self.reader.join()
        self.process.stdout.close()
        return self.process.wait()


def parts(result):
    """(command, text or picture, notes) of an answer."""
    first, *rest = result["content"]
    line = re.match(r"\$ ((?:[^'\\\n]|\\.|'[^']*')*)\n", first["text"])  # to the first line end outside of quotes
    command, out = line[1], first["text"][line.end():]
    notes = "".join(r["text"] for r in rest if r["type"] == "text")
    pictures = [r["resource"]["text"] for r in rest if r["type"] == "resource"]
    return command, pictures[0] if pictures else out, notes
