// SPDX-License-Identifier: MIT
// The auctions before a deadline are those that the command line counts.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { auctionsBy, deadlineOf } from "console/deadline";

const vectors = JSON.parse(fs.readFileSync(path.join(process.env.RETRACE_ROOT, "tests/vectors/auctions/deadlines.json"), "utf8"));

test("a deadline is a block, or a time from now on", () => {
    assert.ok(vectors.deadlines.length > 20);
    for (const { by, height, block_s, deadline } of vectors.deadlines)
        assert.equal(deadlineOf(by, BigInt(height), block_s), deadline === null ? null : BigInt(deadline), by);
});

test("as many auctions are held as are over in time", () => {
    assert.ok(vectors.auctions.length > 5);
    for (const { bid_blocks, reveal_blocks, rounds, height, deadline, auctions, pause } of vectors.auctions)
        assert.deepEqual(
            auctionsBy(BigInt(bid_blocks) + BigInt(reveal_blocks), BigInt(rounds), BigInt(height), BigInt(deadline)),
            { auctions: BigInt(auctions), pause: BigInt(pause) }, deadline);
});
