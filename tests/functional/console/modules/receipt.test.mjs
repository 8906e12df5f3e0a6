// SPDX-License-Identifier: MIT
// Whether a model was audited as its terms promise, by the records of a state that its header proves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers } from "./world.mjs";

const { compare, parseReceipt, receiptOf, textOf, unaudited } = await import("console/receipt");
const { auditOf, checkpointOf, filled, keeps, runOf, segmentOf, slot, specOf, taskOf, told } = await import("./state.mjs");

const kTask = 2;
const kSolver = told(filled(5, 20));
const kAuditor = told(filled(8, 20));
const kOpened = [200, 201, 202, 203]; // heights at which the states are opened
const hex = (value) => `0x${value.toString(16)}`;

const verified = (audit) => segmentOf({ state: 4, audit });
const notDrawn = segmentOf({ state: 2 });
const nobody = (audit) => segmentOf({ state: 2, audit });

/// A settled task of three segments: the records of its runs, [run, first segment, records of segments], are those of one state.
function tells(runs, { state = 6, instead = [], seats = [[8, 3], [9, 4]], ...more } = {}) {
    const records = [[slot(2, "s", kTask), specOf({ steps: 30 })], [slot(2, "t", kTask), taskOf({ id: kTask, state, runs: runs.length })]];
    for (const [index, { first = 0, segments, ...run }] of runs.entries()) {
        const next = first + segments.length + 1;
        records.push([slot(2, "r", kTask, index), runOf({ task: kTask, index, first, next, ...run, ...more })]);
        for (const [i, segment] of segments.entries()) if (segment) records.push([slot(2, "g", kTask, index, first + i), segment]);
        for (let at = first; at < next; at++) records.push([slot(2, "c", kTask, index, at), checkpointOf({ root: at + 1, height: kOpened[at] + 10 * index })]);
    }
    for (let audit = 1; audit <= 3; audit++) records.push([slot(3, "a", audit), auditOf({ id: audit, seats })]);
    keeps(records, instead);
    Object.assign(answers, {
        retrace_status: { chain_id: 7298, oldest_block: 0 },
        retrace_taskEvents: [1, 2, 3].map((audit) => ({ event: "SegmentVerified", height: hex(30 + audit), arguments: { audit: hex(audit) } })),
    });
}
const kWhole = [{ segments: [verified(1), notDrawn, verified(3)] }];

test("a receipt says where an audit that the terms promise is missing", async () => {
    tells(kWhole);
    const held = await receiptOf(kTask);
    assert.equal(unaudited(held), "");
    assert.deepEqual(held.counts, { verified: 2, notDrawn: 1, unaudited: 0 });
    assert.deepEqual(held.receipt.audits, [[0, 31], [2, 33]].map(([segment, height]) => ({ segment, height, auditors: [kAuditor] })));
    assert.deepEqual([held.height, held.block], [16, answers.retrace_getHeader.hash]);
    for (const [segments, sentence] of [
        [[notDrawn, notDrawn, notDrawn], "NOT AUDITED: no segment was replayed by others."],
        [[verified(1), notDrawn, notDrawn], "NOT AUDITED in segment 2, which the terms promise."],
        [[verified(1), nobody(2), verified(3)], "NOT AUDITED in segment 1, which the terms promise."],
        [[verified(1), undefined, verified(3)], "NOT AUDITED in segment 1, which the terms promise."],
    ]) {
        tells([{ segments }]);
        assert.equal(unaudited(await receiptOf(kTask)), sentence);
    }
    tells([{ segments: [verified(1), notDrawn] }]);
    await assert.rejects(receiptOf(kTask), /No run has delivered a model/);
    tells(kWhole, { state: 4 });
    await assert.rejects(receiptOf(kTask), /Task 2 has delivered no model/);
});

test("a node cannot tell audits that did not happen", async () => {
    const runs = [{ segments: [notDrawn, notDrawn, notDrawn] }];
    for (const instead of [
        [[slot(2, "g", kTask, 0, 1), verified(1)]],
        [[slot(2, "s", kTask), specOf({ steps: 20 })]],
        [[slot(2, "c", kTask, 0, 3), checkpointOf({ root: 9 })]],
        [[slot(2, "r", kTask, 0), runOf({ task: kTask, index: 0, next: 4, solver: 7 })]],
    ]) {
        tells(runs, { instead });
        await assert.rejects(receiptOf(kTask), /another state root than the header's/);
    }
    tells(kWhole, { instead: [[slot(3, "a", 1), auditOf({ id: 1, seats: [[1, 3], [2, 3]] })]] });
    await assert.rejects(receiptOf(kTask), /another state root than the header's/);
});

test("a model of several runs has the states and the audits of each", async () => {
    const runs = [
        { segments: [verified(1), notDrawn, verified(2)], next: 2, finalised: 1, state: 6, solver: 7 },
        { first: 1, segments: [notDrawn, verified(3)], root: 2 },
    ];
    tells(runs);
    const held = await receiptOf(kTask);
    assert.deepEqual(held.runs, [1, 0]);
    assert.deepEqual(held.receipt.states.map(({ index, height }) => [index, height]), [[0, 200], [1, 211], [2, 212], [3, 213]]);
    assert.deepEqual(held.receipt.audits.map(({ segment, height }) => [segment, height]), [[0, 31], [2, 33]]);
    assert.deepEqual(held.counts, { verified: 2, notDrawn: 1, unaudited: 0 });
    assert.equal(unaudited(held), "NOT AUDITED in segment 1, which the terms promise.", "the first segment of each run is always drawn");
    // A receipt may name either run's opening of the state from which the second went on.
    const states = held.receipt.states.map((one) => (one.index === 1 ? { ...one, height: 201 } : one));
    assert.ok(compare({ ...held.receipt, states }, held.receipt, held.also).every(({ ok }) => ok));
    assert.ok(compare({ ...held.receipt, states }, held.receipt).some(({ ok }) => !ok));
    for (const [change, sentence] of [
        [[{ finalised: 0 }, {}], /does not say from where/], // what it had not finalised is nobody's start
        [[{}, { root: 3 }], /does not say from where/],
        [[{}, { state: 6 }], /No run has delivered/],
        [[{}, { state: 5 }], /No run has delivered/],
    ]) {
        tells(runs.map((run, i) => ({ ...run, ...change[i] })));
        await assert.rejects(receiptOf(kTask), sentence);
    }
});

test("a run that was convicted has no receipt", async () => {
    tells(kWhole.map((run) => ({ ...run, state: 5 })));
    await assert.rejects(receiptOf(kTask), /No run has delivered a model/);
    await assert.rejects(receiptOf(kTask, kSolver), /No run of task 2 by 0x(05)+ stands/);
});

test("a file agrees only in every part", async () => {
    tells(kWhole);
    const { receipt, also } = await receiptOf(kTask);
    const again = parseReceipt(textOf(receipt));
    assert.ok(compare(again, receipt, also).every(({ ok }) => ok));
    for (const change of [{ chain_id: 1 }, { audits: [] }, { seed: 2n }, { interval: 5 }, { states: again.states.slice(1) }, { audits: again.audits.slice(1) }, { data: [] }])
        assert.ok(compare({ ...again, ...change }, receipt, also).some(({ ok }) => !ok), JSON.stringify(Object.keys(change)));
});

test("a file lists a state and an audit once, in order", async () => {
    tells(kWhole);
    const { receipt, also } = await receiptOf(kTask);
    const given = parseReceipt(textOf(receipt));
    const [first, last] = given.audits;
    const notes = (change) => compare({ ...given, ...change }, receipt, also).filter(({ ok }) => !ok).map(({ note }) => note);
    assert.deepEqual(notes({ audits: [first, first, last] }), ["the file lists the audit of segment 0 twice, or out of order"]);
    assert.deepEqual(notes({ audits: [last, first] }), ["the file lists the audit of segment 0 twice, or out of order"]);
    assert.deepEqual(notes({ states: [given.states[0], ...given.states] }), ["a state is listed twice, or out of order"]);
});
