#!/usr/bin/env python3
"""A client of trace-serve that does what curl does not: many requests on few connections, many clients at once, requests that
are never finished, answers that are read slowly.

    serve_client.py SOCKET PID load N PATH...     N requests in a row; the server must not grow
    serve_client.py SOCKET PID many N PATH...     N clients at once; all get the same answer
    serve_client.py SOCKET PID half               half requests and slow ones are closed; others are served meanwhile
    serve_client.py SOCKET PID slow PATH          a reader who takes its time gets everything
    serve_client.py SOCKET PID replace FILE A B PATH    FILE is replaced by A and B while it is asked for
    serve_client.py SOCKET PID questions N PATH   N different questions, more than there may be descriptors
    serve_client.py - PID crowd LINK PLACES       on TCP, others take all places and more
"""
import http.client
import os
import shutil
import socket
import sys
import threading
import time


class Connection(http.client.HTTPConnection):
    def __init__(self):
        super().__init__("localhost", timeout=60)

    def connect(self):
        self.sock = plain()


def plain():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(sock)
    return s


def get(c, path):
    c.request("GET", path)
    r = c.getresponse()
    return r.status, r.read()


def resident_kb():
    with open(f"/proc/{pid}/status") as f:
        return int(next(line for line in f if line.startswith("VmRSS")).split()[1])


def descriptors():
    return len(os.listdir(f"/proc/{pid}/fd"))


def load(n, *paths):
    c = Connection()

    def some(count):
        nonlocal c
        for i in range(count):
            status, _ = get(c, paths[i % len(paths)])
            assert status in (200, 404), status
            if i % 100 == 99:
                c.close()
                c = Connection()

    n = int(n)
    some(n // 4)
    before, files = resident_kb(), descriptors()
    begin = time.monotonic()
    some(n)
    took = time.monotonic() - begin
    c.close()
    grown = resident_kb() - before
    print(f"{n} requests, {took / n * 1e6:.0f} us each, {grown} kB more, {descriptors() - files} descriptors more")
    assert descriptors() <= files + 2
    assert os.environ.get("GP_SANITIZED") or grown < 4096  # sanitizers keep what was freed


def many(n, *paths):
    results, lock = {}, threading.Lock()

    def client(path):
        status, body = get(Connection(), path)
        with lock:
            results.setdefault(path, []).append((status, body))

    threads = [threading.Thread(target=client, args=(paths[i % len(paths)],)) for i in range(int(n))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sum(len(r) for r in results.values()) == int(n)
    for path, answers in results.items():
        assert len(set(answers)) == 1 and answers[0][0] == 200, (path, [a[0] for a in answers])


def is_closed(s):
    try:
        while s.recv(4096):
            pass
    except ConnectionError:
        pass
    return True


def half():
    """The server was started with --request-time 1."""
    ends = []
    for begin in (b"", b"GE", b"GET /api HTTP/1.1\r\nHost: loc", b"GET /api HTTP/1.1\r\nHost: localhost\r\nX: "):
        s = plain()
        s.sendall(begin)
        ends.append(s)
    slow = plain()
    stop = threading.Event()

    def drip():
        try:
            slow.sendall(b"GET /api HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            while not stop.wait(0.05):
                slow.sendall(b"a")
        except OSError:
            pass

    t = threading.Thread(target=drip)
    t.start()
    assert get(Connection(), "/api")[0] == 200
    for s in ends + [slow]:
        assert is_closed(s)
    stop.set()
    t.join()
    body = plain()
    body.sendall(b"POST /api/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc")
    assert is_closed(body)
    assert get(Connection(), "/api")[0] == 200


def slow(path):
    _, whole = get(Connection(), path)
    s = plain()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    got = b""
    pause = 20
    while True:
        part = s.recv(16384)
        if not part:
            break
        got += part
        if pause:
            time.sleep(0.02)
            pause -= 1
    assert got.split(b"\r\n\r\n", 1)[1] == whole


def replace(file, a, b, path):
    """Whatever happens to the file, an answer is that of the one or of the other."""
    allowed = set()
    for source in (a, b):
        shutil.copy(source, file + ".tmp")
        os.rename(file + ".tmp", file)
        time.sleep(0.3)
        status, body = get(Connection(), path)
        assert status == 200
        allowed.add(body)
    assert len(allowed) == 2
    stop = threading.Event()

    def writer():
        i = 0
        while not stop.is_set():
            if i % 3:
                shutil.copy((a, b)[i % 2], file + ".tmp")
                os.rename(file + ".tmp", file)
            else:
                shutil.copy((a, b)[i % 2], file)  # in place: it is cut, and grows again
            i += 1
            time.sleep(0.03)

    t = threading.Thread(target=writer)
    t.start()
    seen = {}
    for _ in range(25):
        status, body = get(Connection(), path)
        seen[status] = seen.get(status, 0) + 1
        assert status in (404, 422, 503) or body in allowed, status
    stop.set()
    t.join()
    print(seen)


def questions(n, path):
    """As many different questions: all are answered, within the descriptors that the server may have."""
    c = Connection()
    with open(f"/proc/{pid}/limits") as f:
        most = int(next(line for line in f if line.startswith("Max open files")).split()[4])
    for i in range(1, int(n) + 1):
        status, body = get(c, path + str(i))
        assert status == 200, (i, status, body)
    assert int(n) > most > descriptors(), (most, descriptors())


def crowd(link, places):
    """Another user holds more connections than there are, slowly, and comes again: whoever has the token is answered."""
    host, rest = link.split("//")[1].split(":")
    port, token = int(rest.split("/")[0]), link.split("token=")[1].strip()
    address, wanted, count = ("127.0.0.1", port), 2 * int(places), [0]
    stop, full = threading.Event(), threading.Event()

    def hold():
        held = [None] * wanted
        while not stop.wait(0.02):
            for i, s in enumerate(held):
                try:
                    if s is None:
                        s = held[i] = socket.create_connection(address)
                        s.sendall(f"GET /api HTTP/1.1\r\nHost: {host}:{port}\r\nX: ".encode())
                        count[0] += 1
                    s.sendall(b"a")
                except OSError:
                    if s:
                        s.close()
                    held[i] = None
            if count[0] >= wanted:
                full.set()

    t = threading.Thread(target=hold)
    t.start()
    assert full.wait(60)
    seen = {}
    for _ in range(60):
        time.sleep(0.02)  # in which others come again
        for _ in range(5):  # on a busy machine others may come between the connection and the token, so try as browsers do
            c = http.client.HTTPConnection(*address, timeout=60)
            try:
                c.request("GET", "/api/traces", headers={"Host": f"{host}:{port}", "Authorization": f"Bearer {token}"})
                status = c.getresponse().status
            except OSError as e:
                status = type(e).__name__
            c.close()
            if status == 200:
                break
        seen[status] = seen.get(status, 0) + 1
    stop.set()
    t.join()
    print(seen, count[0])
    assert seen == {200: 60}, seen


sock, pid = sys.argv[1], sys.argv[2]
{"load": load, "many": many, "half": half, "slow": slow, "replace": replace,
 "questions": questions, "crowd": crowd}[sys.argv[3]](*sys.argv[4:])
