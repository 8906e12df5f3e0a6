// SPDX-License-Identifier: MIT
// Proofs of a node that lies: what does not follow from its header is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers } from "./world.mjs";

const { hash, joined } = await import("console/commit");
const { proveAccount, proveModel, rootOf } = await import("console/proof");
const { bit, checkpointOf, filled, headerOf, keeps, leafHash, runOf, slot, specOf, text, told } = await import("./state.mjs");

const u8 = (value) => Uint8Array.of(value);
const kAddress = `0x${"ab".repeat(20)}`;
const kKey = hash(text("retrace/account/1"), new Uint8Array(20).fill(0xab));
const kValue = joined(Uint8Array.of(7, 0, 0, 0, 0, 0, 0, 0), new Uint8Array(31), u8(9)); // nonce 7, 9 wei

/// The root above a node with these siblings.
const above = (at, key, siblings) =>
    siblings.reduceRight((node, sibling, depth) => (bit(key, depth) ? hash(u8(1), sibling, node) : hash(u8(1), node, sibling)), at);

/// A node whose header names `root`; `change` edits what it answers.
function tells(root, proof, change = () => undefined) {
    const out = { header: headerOf(root),
        proof: { leaf_key: told(kKey), value: told(kValue), siblings: [], other: null, ...proof } };
    change(out);
    Object.assign(answers, { eth_blockNumber: "0x10", retrace_getHeader: out.header, retrace_getProof: out.proof });
}

const siblings = [1, 2, 3].map((n) => new Uint8Array(32).fill(n));
const root = above(leafHash(kKey, hash(kValue)), kKey, siblings);
const honest = { siblings: siblings.map(told) };

test("a balance is proved", async () => {
    tells(root, honest);
    const { value, height, block } = await proveAccount(kAddress);
    assert.deepEqual([value, height], [{ nonce: 7n, balance: 9n }, 16]);
    assert.equal(block, answers.retrace_getHeader.hash);
});

test("what does not hold is refused", async () => {
    for (const [change, sentence] of [
        [({ header }) => (header.hash = told(new Uint8Array(32))), /the header has another hash/],
        [({ header }) => (header.encoded = header.encoded.replace("10", "11")), /no such block|another hash/],
        [({ header }) => (header.encoded += "00"), /names no 216 bytes/],
        [({ proof }) => (proof.leaf_key = told(new Uint8Array(32))), /it is of another leaf/],
        [({ proof }) => (proof.value = told(kValue.map((byte) => byte ^ 1))), /another state root than the header's/],
        [({ proof }) => (proof.value = "0x"), /another state root than the header's/],
        [({ proof }) => (proof.siblings = proof.siblings.slice(1)), /another state root than the header's/],
        [({ proof }) => (proof.siblings = Array(257).fill(proof.siblings[0])), /it is too long/],
        [({ proof }) => (proof.siblings[0] += "zz"), /names no 32 bytes/],
        [({ proof }) => (proof.siblings[0] = "0xzz" + proof.siblings[0].slice(4)), /names no 32 bytes/],
        [({ proof }) => (proof.siblings[0] = proof.siblings[0].slice(0, -2)), /names no 32 bytes/],
        [({ proof }) => (proof.siblings[0] = 7), /names no 32 bytes/],
        [({ proof }) => (proof.other = { key: told(kKey), value_hash: told(hash(kValue)) }), /it has a needless leaf/],
    ]) {
        tells(root, structuredClone(honest), change);
        await assert.rejects(proveAccount(kAddress), sentence, String(change));
    }
});

test("absence is proved by an empty place or by another leaf on the way, and by no leaf elsewhere", async () => {
    tells(above(new Uint8Array(32), kKey, siblings), { ...honest, value: "0x" });
    assert.deepEqual((await proveAccount(kAddress)).value, { nonce: 0n, balance: 0n });
    // A neighbour that shares the first bits of the key, and one that does not.
    const near = kKey.map((byte, i) => (i === 31 ? byte ^ 1 : byte));
    const far = kKey.map((byte, i) => (i === 0 ? byte ^ 128 : byte));
    const value = hash(text("value"));
    tells(above(leafHash(near, value), kKey, siblings), { ...honest, value: "0x", other: { key: told(near), value_hash: told(value) } });
    assert.deepEqual((await proveAccount(kAddress)).value, { nonce: 0n, balance: 0n });
    for (const key of [far, kKey]) assert.throws(() => rootOf(kKey, new Uint8Array(), { siblings: honest.siblings, other: { key: told(key), value_hash: told(value) } }), /its leaf is elsewhere/);
    for (const wrong of [{ key: told(near) + "00", value_hash: told(value) }, { key: told(near), value_hash: "0x00" }])
        assert.throws(() => rootOf(kKey, new Uint8Array(), { siblings: honest.siblings, other: wrong }), /names no 32 bytes/);
});

const kSlots = { s: slot(2, "s", 2), r: slot(2, "r", 2, 1), c: slot(2, "c", 2, 1, 9) };

/// Records of task 2, its run 1 and its state 9.
const records = ({ steps = 90, interval = 10, state = 4, next = 10, opened = 1 } = {}) => ({
    s: specOf({ steps, interval }),
    r: runOf({ state, next }),
    c: checkpointOf({ opened }),
});
const named = (of) => Object.entries(of).map(([tag, bytes]) => [kSlots[tag], bytes]);

test("the model's terms, its run and its root are those of one state", async () => {
    keeps(named(records()));
    const { value } = await proveModel(2, 1, 9, false);
    assert.deepEqual(value, { contract: told(filled(4)), program: told(filled(1)), programBytes: 77, solver: told(filled(5, 20)), root: told(filled(6)), steps: 90, interval: 10 });
    keeps(named(records({ steps: 81, state: 3 })));
    assert.equal((await proveModel(2, 1, 9, false)).value.steps, 81);
    keeps(named(records({ steps: 40 }))); // a member's states are more than the rounds
    assert.equal((await proveModel(2, 1, 9, true)).value.root, told(filled(6)));
});

test("a node cannot pass another run, another state or other terms for the model's", async () => {
    for (const [of, instead, sentence] of [
        [{ state: 5 }, {}, /neither delivers nor is settled/], // convicted
        [{ state: 2 }, {}, /neither delivers nor is settled/],
        [{ steps: 91 }, {}, /not the run's last state/],
        [{ interval: 9 }, {}, /not the run's last state/],
        [{ next: 11 }, {}, /not the run's last state/],
        [{ next: 9 }, {}, /not the run's last state/],
        [{ opened: 0 }, {}, /the state is not opened/],
        [{ interval: 9 }, { s: records().s }, /another state root than the header's/],
        [{ state: 5 }, { r: records().r }, /another state root than the header's/],
        [{}, { c: checkpointOf({ root: 7 }) }, /another state root than the header's/],
    ]) {
        keeps(named(records(of)), named(instead));
        await assert.rejects(proveModel(2, 1, 9, false), sentence, JSON.stringify(of));
    }
    const { r: gone, ...rest } = records();
    keeps(named(rest));
    await assert.rejects(proveModel(2, 1, 9, false), /no such task, run or state/);
    for (const [s, sentence] of [
        [filled(255, 40), /the record is cut off/],
        [joined(records().s, u8(0)), /the record is longer than what it holds/],
        [joined(records().s.slice(0, -43), u8(2), records().s.slice(-42)), /neither set nor clear/],
        [joined(records().s.slice(0, 112), filled(255, 4), records().s.slice(116)), /too long a list/],
    ]) {
        keeps(named({ ...records(), s }));
        await assert.rejects(proveModel(2, 1, 9, false), sentence);
    }
});
