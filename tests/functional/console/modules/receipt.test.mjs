// SPDX-License-Identifier: MIT
// Whether a model was audited as its terms promise.
import assert from "node:assert/strict";
import { test } from "node:test";
import { hash, spec } from "./fixtures.mjs";
import { answers } from "./world.mjs";

const { compare, parseReceipt, receiptOf, textOf, unaudited } = await import("console/receipt");

const kSolver = `0x${"5".repeat(40)}`;
const kAuditor = `0x${"6".repeat(40)}`;
const hex = (value) => `0x${value.toString(16)}`;

/// A node with a settled task of three segments, the states and audits of which are given.
function tells(segments, more = {}) {
    const checkpoint = (index) => ({ commitment: hash("9"), height: hex(10 + index), opened: true, openHeight: hex(20 + index), root: hash(String(index)), keepers: [] });
    const run = { index: 0, solver: kSolver, state: "settled", firstState: "0x0", nextState: "0x4", ...more };
    Object.assign(answers, {
        retrace_task: { task: { id: "0x1", requester: kAuditor, state: "settled", postedHeight: "0x1" }, spec: { ...spec, steps: "0x1e" }, segments: "0x3", runs: [run] },
        retrace_status: { chain_id: 7298, oldest_block: 0 }, eth_blockNumber: "0x64",
        retrace_taskEvents: segments.flatMap(([state], i) => (state === "verified" ? [{ event: "SegmentVerified", height: hex(30 + i), arguments: { audit: hex(i + 1) } }] : [])),
        retrace_segments: segments.map(([state, audit], i) => ({ index: hex(i), segment: { state, audit: audit ? hex(i + 1) : "0x0" }, start: checkpoint(i), end: checkpoint(i + 1) })),
        retrace_audits: { items: segments.flatMap(([, audit], i) => (audit ? [{ id: hex(i + 1), seats: [{ auditor: kAuditor, state: "matched" }] }] : [])), next: null },
    });
}

const whole = [["verified", true], ["unaudited", false], ["verified", true]];

test("a receipt says where an audit that the terms promise is missing", async () => {
    tells(whole);
    const held = await receiptOf(1);
    assert.equal(unaudited(held), "");
    assert.deepEqual(held.receipt.audits.map(({ segment, auditors }) => [segment, auditors]), [[0, [kAuditor]], [2, [kAuditor]]]);
    for (const [segments, sentence] of [
        [[["unaudited", false], ["unaudited", false], ["unaudited", false]], "NOT AUDITED: no segment was replayed by others."],
        [[["verified", true], ["unaudited", false], ["unaudited", false]], "NOT AUDITED in segment 2, which the terms promise."],
        [[["verified", true], ["unaudited", true], ["verified", true]], "NOT AUDITED in segment 1, which the terms promise."],
    ]) {
        tells(segments);
        assert.equal(unaudited(await receiptOf(1)), sentence);
    }
    tells(whole.slice(0, 2));
    await assert.rejects(receiptOf(1), /has not opened the first and the last state/);
});

test("a run that was convicted, or that began at another's state, has no receipt here", async () => {
    tells(whole, { state: "forfeited" });
    await assert.rejects(receiptOf(1), /No run has delivered a model/);
    await assert.rejects(receiptOf(1, kSolver), /No run of task 1 by 0x5+ stands/);
    tells(whole, { firstState: "0x1" });
    await assert.rejects(receiptOf(1), /comes from several runs/);
});

test("a file agrees only in every part", async () => {
    tells(whole);
    const { receipt } = await receiptOf(1);
    const again = parseReceipt(textOf(receipt));
    assert.ok(compare(again, receipt).every(({ ok }) => ok));
    for (const change of [{ chain_id: 1 }, { audits: [] }, { seed: 2n }, { interval: 5 }, { states: again.states.slice(1) }, { audits: again.audits.slice(1) }, { data: [] }])
        assert.ok(compare({ ...again, ...change }, receipt).some(({ ok }) => !ok), JSON.stringify(Object.keys(change)));
});
