#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes round.txt: a round of masks of four members, of which one drops before its message, from the definitions in
market/SPEC.md 15, with nothing but hashlib and Python's integers. Shares no code with the C++: points are affine, and
ChaCha20 is written from RFC 8439. Secrets are known to it, so it shares them but puts none together.
A line is `name hex` or `name number number ...`."""
import hashlib
import os

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
     0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8)


def add(a, b):
    if a is None:
        return b
    if b is None:
        return a
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, P) % P
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def mul(k, point):
    out = None
    while k:
        if k & 1:
            out = add(out, point)
        point = add(point, point)
        k >>= 1
    return out


def compressed(point):
    return bytes([2 + (point[1] & 1)]) + point[0].to_bytes(32, "big")


def u32(v):
    return v.to_bytes(4, "little")


def h(tag, *parts):
    return hashlib.sha256(tag + TASK.to_bytes(8, "little") + u32(ROUND) + u32(ATTEMPT) + b"".join(parts)).digest()


def chacha_words(key, count):
    out = []
    rotate = lambda x, n: (x << n | x >> (32 - n)) & 0xFFFFFFFF
    for block in range((count + 15) // 16):
        start = [int.from_bytes(b"expand 32-byte k"[i:i + 4], "little") for i in range(0, 16, 4)]
        start += [int.from_bytes(key[i:i + 4], "little") for i in range(0, 32, 4)] + [block, 0, 0, 0]
        x = list(start)

        def quarter(a, b, c, d):
            for first, second, third, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                x[first] = (x[first] + x[second]) & 0xFFFFFFFF
                x[third] = rotate(x[third] ^ x[first], turn)

        for _ in range(10):
            for i in range(4):
                quarter(i, 4 + i, 8 + i, 12 + i)
            for i in range(4):
                quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        out += [(a + b) & 0xFFFFFFFF for a, b in zip(x, start)]
    return out[:count]


class Random:
    """Bytes of SHA-256 in counter mode; the test gives the members the same ones."""

    def __init__(self, name):
        self.name, self.counter = name, 0

    def scalar(self):
        self.counter += 1
        return int.from_bytes(hashlib.sha256(self.name + u32(self.counter)).digest(), "big") % N


TASK, ROUND, ATTEMPT = 0x1122334455667788, 9, 2
RUNS = [1, 4, 6, 30]
DROPPED = 6
COUNT, VALUE_BITS = 37, 10
THRESHOLD = -(-2 * len(RUNS) // 3)
BITS = VALUE_BITS + (len(RUNS) - 1).bit_length()

lines = []
members = {}
for run in RUNS:
    random = Random(b"member %d" % run)
    secrets = {name: random.scalar() for name in ("mask", "self", "deal", "receive")}
    members[run] = {"random": random, "secrets": secrets, "keys": {k: mul(v, G) for k, v in secrets.items()}}
    names = ("mask", "self", "deal", "receive")
    keys = b"".join(compressed(members[run]["keys"][name]) for name in names)
    nonces = [random.scalar() for _ in names]
    digest = h(b"retrace/mask-keys/1", u32(run), keys, *(compressed(mul(nonce, G)) for nonce in nonces))
    challenge = int.from_bytes(digest, "big") % N
    keys += challenge.to_bytes(32, "big")
    for nonce, name in zip(nonces, names):
        keys += ((nonce - challenge * secrets[name]) % N).to_bytes(32, "big")
    lines.append(f"keys.{run} {keys.hex()}")

for run in RUNS:
    me = members[run]
    me["polynomial"] = {kind: [me["secrets"][kind]] + [me["random"].scalar() for _ in range(THRESHOLD - 1)]
                        for kind in ("self", "mask")}
    out = b"".join(compressed(mul(c, G)) for kind in ("self", "mask") for c in me["polynomial"][kind][1:])
    for place, receiver in enumerate(RUNS):
        agreed = mul(me["secrets"]["deal"], members[receiver]["keys"]["receive"])
        for number, kind in ((1, "self"), (2, "mask")):
            share = sum(c * (place + 1)**k for k, c in enumerate(me["polynomial"][kind])) % N
            pad = h(b"retrace/mask-share/1", u32(run), u32(receiver), bytes([number]), compressed(agreed))
            out += bytes(a ^ b for a, b in zip(pad, share.to_bytes(32, "big")))
    lines.append(f"shares.{run} {out.hex()}")


def self_key(run):
    return h(b"retrace/mask-self/1", u32(run), members[run]["secrets"]["self"].to_bytes(32, "big"))


def pair_key(a, b):
    agreed = mul(members[a]["secrets"]["mask"], members[b]["keys"]["mask"])
    return h(b"retrace/mask-pair/1", u32(min(a, b)), u32(max(a, b)), compressed(agreed))


total = [0] * COUNT
recorded = [run for run in RUNS if run != DROPPED]
for run in recorded:
    values = [(run * 131 + 17 * i * i) % 1024 - 512 for i in range(COUNT)]
    total = [a + b for a, b in zip(total, values)]
    words = [v + m for v, m in zip(values, chacha_words(self_key(run), COUNT))]
    for other in RUNS:
        if other != run:
            sign = 1 if run < other else -1
            words = [w + sign * m for w, m in zip(words, chacha_words(pair_key(run, other), COUNT))]
    lines.append(f"values.{run} " + " ".join(str(v) for v in values))
    lines.append(f"message.{run} " + " ".join(str(w % 2**BITS) for w in words))
for run in recorded:
    lines.append(f"term {self_key(run).hex()} +")
for run in recorded:
    lines.append(f"term {pair_key(run, DROPPED).hex()} {'+' if run < DROPPED else '-'}")
for run in recorded:
    place = RUNS.index(run)
    out = bytes([len(RUNS)])
    for dealer in RUNS:
        polynomial = members[dealer]["polynomial"]["mask" if dealer == DROPPED else "self"]
        share = sum(c * (place + 1)**k for k, c in enumerate(polynomial)) % N
        out += u32(dealer) + b"\x01" + share.to_bytes(32, "big")
    lines.append(f"revealed.{run} {out.hex()}")
lines.append("sum " + " ".join(str(v) for v in total))
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "round.txt"), "w") as file:
    file.write("\n".join(lines) + "\n")
