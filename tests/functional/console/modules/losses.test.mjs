// SPDX-License-Identifier: MIT
// Which losses are drawn as verified.
import assert from "node:assert/strict";
import { test } from "node:test";
import "./world.mjs";

const { pointsOf, replayed } = await import("console/losses");

test("the audits of a run say nothing of another run's losses", () => {
    const verified = (run, segment) => ({ event: "SegmentVerified", arguments: { run, audit: "0x1", segment } });
    const events = [verified(0, "0x0"), verified(1, "0x1"), { event: "SegmentVerified", arguments: { run: 1, audit: "0x0", segment: "0x0" } }];
    const points = [0, 1].flatMap((run) => [10, 20, 25].map((step) => ({ run, step, loss: 1, verified: true })));
    const seen = (run) => pointsOf(points, run, replayed(events, run), 10).map((one) => [one.run, one.step, one.verified]);
    assert.deepEqual(seen(0), [[0, 10, true], [0, 20, false], [0, 25, false]]);
    assert.deepEqual(seen(1), [[1, 10, false], [1, 20, true], [1, 25, false]]);
    assert.deepEqual(seen(undefined), []);
});
