#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes trees.txt: roots and proofs of the merkle folder, computed from the definitions in merkle/SPEC.md with
nothing but hashlib. Shares no code and no algorithm with the C++ (subtrees are recursive, not level by level)."""
import hashlib
import os


def h(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def u32(v):
    return v.to_bytes(4, "little")


ZERO = bytes(32)


def split(n):
    """Largest power of two below n: the shape that promotion of the odd node gives."""
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def root(leaves):
    if not leaves:
        return ZERO
    if len(leaves) == 1:
        return leaves[0]
    k = split(len(leaves))
    return h(b"\x01", root(leaves[:k]), root(leaves[k:]))


def siblings(leaves, first, opened, level, out):
    """Collects (level, first leaf, hash) of the largest subtrees without an opened leaf. `level` is where the subtree
    meets its neighbour: that of a full left part, to which a shorter right part is promoted."""
    if not any(first <= i < first + len(leaves) for i in opened):
        out.append((level, first, root(leaves)))
    elif len(leaves) > 1:
        k = split(len(leaves))
        siblings(leaves[:k], first, opened, k.bit_length() - 1, out)
        siblings(leaves[k:], first + k, opened, k.bit_length() - 1, out)


def proof(leaves, opened):
    out = []
    siblings(leaves, 0, opened, 0, out)
    return [digest for _, _, digest in sorted(out)]


def tile(i):
    return bytes((i * 7 + j) % 256 for j in range(i % 50))


def sparse(items, depth=0):
    """items: list of (key, value hash)."""
    if not items:
        return ZERO
    if len(items) == 1:
        return h(b"\x08", items[0][0], items[0][1])
    left = [x for x in items if not x[0][depth // 8] >> (7 - depth % 8) & 1]
    right = [x for x in items if x[0][depth // 8] >> (7 - depth % 8) & 1]
    return h(b"\x01", sparse(left, depth + 1), sparse(right, depth + 1))


def main():
    lines = ["# Written by generate.py. Tile i is the i % 50 bytes (7 i + j) % 256, j = 0, 1, ...",
             "# tile N root | append N root (leaf i commits to tile i) | proof N opened,... siblings,...",
             "# sparse N root: keys H('key' i), value hashes H('value' i), i u32 little endian below N",
             "# indexed TAG INDEX digest: content is tile 33"]
    for n in [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 16, 17, 31, 33, 64, 100, 255, 256, 257, 1000]:
        for name, tag in (("tile", 0), ("append", 9)):
            lines.append(f"{name} {n} {root([h(bytes([tag]), tile(i)) for i in range(n)]).hex()}")
        items = [(h(b"key", u32(i)), h(b"value", u32(i))) for i in range(n)]
        lines.append(f"sparse {n} {sparse(items).hex()}")
    for n, opened in [(1, [0]), (2, [0]), (2, [1]), (2, [0, 1]), (5, [4]), (5, [0, 4]), (7, [6]), (7, [2, 5, 6]),
                      (11, [10]), (11, [3, 8]), (33, [0, 32]), (100, [1, 2, 3, 64, 99])]:
        found = proof([h(b"\x00", tile(i)) for i in range(n)], opened)
        text = ",".join(x.hex() for x in found) or "-"
        lines.append(f"proof {n} {','.join(map(str, opened))} {text}")
    for tag, index in [(4, 0), (6, 1), (7, 4294967295)]:
        lines.append(f"indexed {tag} {index} {h(bytes([tag]), u32(index), tile(33)).hex()}")
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "trees.txt"), "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
