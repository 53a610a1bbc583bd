"""One message of trace-fleet, by its description: analyze/live/digest.h. digest(rank=3, time=time.time_ns())"""
import struct

MASK = (1 << 64) - 1


def turn(v, by):
    return (v << by | v >> 64 - by) & MASK


def siphash(data, k0, k1):
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]

    def mix(rounds):
        for _ in range(rounds):
            v[0], v[2] = v[0] + v[1] & MASK, v[2] + v[3] & MASK
            v[1], v[3] = turn(v[1], 13) ^ v[0], turn(v[3], 16) ^ v[2]
            v[0] = turn(v[0], 32)
            v[2], v[0] = v[2] + v[1] & MASK, v[0] + v[3] & MASK
            v[1], v[3] = turn(v[1], 17) ^ v[2], turn(v[3], 21) ^ v[0]
            v[2] = turn(v[2], 32)

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at:at + 8], "little")
        v[3] ^= word
        mix(2)
        v[0] ^= word
    v[2] ^= 0xff
    mix(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def unsigned(v):
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7f | 0x80)
        v >>= 7
    return bytes(out + bytes([v]))


def signed(v):
    return unsigned(v << 1 if v >= 0 else -v - 1 << 1 | 1)


def text(s):
    return unsigned(len(s)) + s


def digest(rank=0, time=1, run=1, seq=1, merged=1, steps=1, step_ns=10**6, kernels=(), key=(0, 0)):
    body = unsigned(run) + unsigned(seq) + signed(time) + signed(1) + unsigned(0) + unsigned(merged)
    body += signed(rank) + unsigned(0) + signed(0) + text(b"NVIDIA H200") + unsigned(steps) + signed(step_ns) * 8
    body += unsigned(len(kernels))
    for name, calls, per_step, per_call, usual in kernels:
        body += text(name) + unsigned(calls) + signed(per_step) + signed(per_call) + signed(usual)
    return b"GPD2" + struct.pack("<Q", siphash(body, *key)) + body
