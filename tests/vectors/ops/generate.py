#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes cases.txt: outputs of row_top, row_pick, row_add_at, put_rows, chacha_bits and the integer ops, computed from
kernels/ops/SPEC.md (sections 2, 5, 8, 9) and RFC 8439 with nothing but the standard library. Shares no code with the
C++. A line is: op, attributes ("-" for none), step, inputs, output; a tensor is dtype:extents:hex of its bytes."""
import os
import struct

MASK = 0xFFFFFFFF
SPECIAL = [0x00000000, 0x80000000, 0x7FC00000, 0xFFC12345, 0x7F800001, 0x7F800000, 0xFF800000, 0x00000001, 0x807FFFFF,
           0x00800000, 0x7F7FFFFF, 0x3F800000, 0xBF800000]


class Random:
    def __init__(self, seed):
        self.state = seed

    def word(self):
        """SplitMix64."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    def below(self, n):
        return self.word() % n

    def f32(self):
        """Bits of a special value, of a value that many others equal, or of any."""
        kind = self.below(4)
        if kind == 0:
            return SPECIAL[self.below(len(SPECIAL))]
        if kind == 1:
            return 0x40000000 + (self.below(3) << 21) + (self.below(2) << 31)
        return (self.word() & 0x807FFFFF) | (110 + self.below(30)) << 23

    def place(self, n):
        """Mostly in range, sometimes the ends of int32."""
        return [-1, n, 2**31 - 1, -2**31][self.below(4)] if self.below(8) == 0 else self.below(max(1, n))


def flushed(bits):
    """The epilogue: canonical NaN, subnormals to zero."""
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FC00000
    return bits & 0x80000000 if bits & 0x7F800000 == 0 else bits


def f32_add(a, b):
    x, y = (struct.unpack("<f", struct.pack("<I", v))[0] for v in (a, b))
    # The sum in binary64 rounds to binary32 as the exact one: 53 bits are at least 2 * 24 + 2.
    total = x + y
    try:
        return flushed(struct.unpack("<I", struct.pack("<f", total))[0])
    except OverflowError:
        return 0x7F800000 if total > 0 else 0xFF800000


def chacha(key, counter, nonce):
    def quarter(x, a, b, c, d):
        for to, by, other, bits in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = (x[to] + x[by]) & MASK
            x[other] ^= x[to]
            x[other] = (x[other] << bits | x[other] >> 32 - bits) & MASK

    start = list(struct.unpack("<4I", b"expand 32-byte k")) + key + [counter] + nonce
    x = list(start)
    for _ in range(10):
        for lane in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
                     (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(x, *lane)
    return [(a + b) & MASK for a, b in zip(x, start)]


def top(row, k):
    """Takes the greatest of what is left, k times."""
    magnitude = [min(bits & 0x7FFFFFFF, 0x7F800001) for bits in row]
    left = list(range(len(row)))
    chosen = []
    for _ in range(k):
        best = left[0]
        for place in left:
            if magnitude[place] > magnitude[best]:
                best = place
        left.remove(best)
        chosen.append(best)
    return sorted(chosen)


def tensor(dtype, dims, values):
    data = bytes(v & 0xFF for v in values) if dtype == "u8" else b"".join(struct.pack("<I", v & MASK) for v in values)
    return ":".join([dtype, "x".join(map(str, dims)), data.hex()])


def line(op, attributes, step, inputs, output):
    return " ".join([op, ",".join(map(str, attributes)) or "-", str(step)] + inputs + [output])


def top_lines(random):
    for rows, n, k in ((3, 1, 1), (2, 7, 3), (4, 32, 32), (3, 33, 5), (2, 100, 40), (2, 512, 8)):
        x = [[random.f32() for _ in range(n)] for _ in range(rows)]
        places = [p for row in x for p in top(row, k)]
        yield line("row_top", [k], 0, [tensor("f32", [rows, n], sum(x, []))], tensor("i32", [rows, k], places))
    equal = [0x7FC00000, 0x40000000, 0xC0000000, 0xFFFFFFFF, 0x40000000, 0x7F800000]
    yield line("row_top", [4], 0, [tensor("f32", [6], equal)], tensor("i32", [4], [0, 1, 3, 5]))


def pick_lines(random):
    for dtype, rows, n, k in (("f32", 3, 9, 4), ("u8", 4, 33, 7), ("i32", 2, 70, 35), ("f32", 2, 0, 3)):
        x = [[random.f32() for _ in range(n)] for _ in range(rows)]
        places = [[random.place(n) for _ in range(k)] for _ in range(rows)]
        out = [x[r][p] if 0 <= p < n else 0 for r in range(rows) for p in places[r]]
        yield line("row_pick", [], 0, [tensor(dtype, [rows, n], sum(x, [])), tensor("i32", [rows, k], sum(places, []))],
                   tensor(dtype, [rows, k], out))


def add_at_lines(random):
    for rows, n, k in ((3, 9, 4), (2, 33, 40), (1, 512, 8), (2, 5, 512), (2, 6, 0)):
        base = [[random.f32() for _ in range(n)] for _ in range(rows)]
        values = [[random.f32() for _ in range(k)] for _ in range(rows)]
        places = [[random.place(n) for _ in range(k)] for _ in range(rows)]
        out = [f32_add(base[r][j], values[r][places[r].index(j)]) if j in places[r] else base[r][j]
               for r in range(rows) for j in range(n)]
        yield line("row_add_at", [], 0, [tensor("f32", [rows, n], sum(base, [])),
                                         tensor("i32", [rows, k], sum(places, [])),
                                         tensor("f32", [rows, k], sum(values, []))],
                   tensor("f32", [rows, n], out))


def put_lines(random):
    for dtype, n, width, m in (("f32", 5, 3, 4), ("u8", 3, 40, 9), ("i32", 40, 2, 480), ("f32", 4, 3, 0)):
        table = [[random.f32() for _ in range(width)] for _ in range(n)]
        rows = [[random.f32() for _ in range(width)] for _ in range(m)]
        index = [random.place(n) for _ in range(m)]
        out = [list(row) for row in table]
        for i, row in zip(index, rows):
            if 0 <= i < n:
                out[i] = row
        yield line("put_rows", [], 0, [tensor(dtype, [n, width], sum(table, [])),
                                       tensor(dtype, [m, width], sum(rows, [])), tensor("i32", [m], index)],
                   tensor(dtype, [n, width], sum(out, [])))


def chacha_lines(random):
    key = list(struct.unpack("<8I", bytes(range(32))))
    # RFC 8439, 2.3.2: nonce 00:00:00:09:00:00:00:4a:00:00:00:00, counter 1.
    step = 0x4A00000009000000
    block = chacha(key, 1, [0x09000000, 0x4A000000, 0])
    assert block == [0xE4E7F110, 0x15593BD1, 0x1FDD0F50, 0xC47120A3, 0xC7F4D1C7, 0x0368C033, 0x9AAA2204, 0x4E6CD4C3,
                     0x466482D2, 0x09AA9F07, 0x05D7C214, 0xA2028BD9, 0xD19C12B5, 0xB94E16DE, 0xE883D0CB, 0x4E3C50A2]
    for own, number, at, dims in ((key, 0, step, [2, 16]), ([random.word() & MASK for _ in range(8)], 65535, 77, [5, 7]),
                                  ([0] * 8, 1, 2**64 - 1, [3]), (key, 9, 0, [])):
        elements = 1
        for extent in dims:
            elements *= extent
        words = []
        while len(words) < elements:
            words += chacha(own, len(words) // 16, [at & MASK, at >> 32, number])
        yield line("chacha_bits", [number], at, [tensor("i32", [8], own)], tensor("i32", dims, words[:elements]))


def integer_lines(random):
    a = [0, MASK, 2**31, 2**31 - 1, 1] + [random.word() & MASK for _ in range(35)]
    b = [0, 1, 2**31, MASK, 2**31 - 1] + [random.word() & MASK for _ in range(35)]
    for op, function in (("add_wrap", lambda x, y: x + y), ("sub_wrap", lambda x, y: x - y),
                         ("and_bits", lambda x, y: x & y)):
        yield line(op, [], 0, [tensor("i32", [5, 8], a), tensor("i32", [5, 8], b)],
                   tensor("i32", [5, 8], [function(x, y) % 2**32 for x, y in zip(a, b)]))


def main():
    random = Random(12)
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.txt"), "w") as out:
        out.write("# Written by generate.py; the format is described there.\n")
        for lines in (top_lines, pick_lines, add_at_lines, put_lines, chacha_lines, integer_lines):
            for text in lines(random):
                out.write(text + "\n")


if __name__ == "__main__":
    main()
