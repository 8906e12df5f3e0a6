// SPDX-License-Identifier: MIT
// Which numbers of a training are drawn as verified.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./world.mjs";

const { replayed } = await import("console/numbers");

test("the audits of a run say nothing of another run's numbers, and a segment that nobody audited is not verified", () => {
    const verified = (run, segment) => ({ event: "SegmentVerified", arguments: { run, audit: "0x1", segment } });
    const events = [verified(0, "0x0"), verified(1, "0x1"), { event: "SegmentVerified", arguments: { run: 1, audit: "0x0", segment: "0x0" } }];
    assert.deepEqual([...replayed(events, 0)], [0]);
    assert.deepEqual([...replayed(events, 1)], [1]);
    assert.deepEqual([...replayed(events, 2)], []);
});
