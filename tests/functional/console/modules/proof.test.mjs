// SPDX-License-Identifier: MIT
// Proofs of a node that lies: what does not follow from its header is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers } from "./world.mjs";

const { hash, joined, toHex } = await import("console/commit");
const { proveAccount, proveState, rootOf } = await import("console/proof");

const text = (value) => new TextEncoder().encode(value);
const u8 = (value) => Uint8Array.of(value);
const told = (bytes) => `0x${toHex(bytes)}`;
const kAddress = `0x${"ab".repeat(20)}`;
const kKey = hash(text("retrace/account/1"), new Uint8Array(20).fill(0xab));
const kValue = joined(Uint8Array.of(7, 0, 0, 0, 0, 0, 0, 0), new Uint8Array(31), u8(9)); // nonce 7, 9 wei
const leafHash = (key, value) => hash(u8(8), key, value);
const bit = (key, at) => (key[at >> 3] >> (7 - (at & 7))) & 1;

/// The root above a node with these siblings.
const above = (at, key, siblings) =>
    siblings.reduceRight((node, sibling, depth) => (bit(key, depth) ? hash(u8(1), sibling, node) : hash(u8(1), node, sibling)), at);

/// A node whose header names `root`; `change` edits what it answers.
function tells(root, proof, change = () => undefined) {
    const header = joined(new Uint8Array(32), Uint8Array.of(16, 0, 0, 0, 0, 0, 0, 0), new Uint8Array(96), root, new Uint8Array(48));
    const out = { header: { hash: told(hash(text("retrace/block/1"), header)), encoded: told(header) },
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

test("a state that is committed and not opened is no root", async () => {
    const market = Uint8Array.of(...new Uint8Array(18), 0x10, 0x02);
    const slot = joined(text("c"), ...[2, 0, 9].map((n) => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, n)));
    const key = hash(text("retrace/slot/1"), market, slot);
    for (const opened of [0, 1]) {
        const value = joined(new Uint8Array(40), u8(opened), new Uint8Array(48), new Uint8Array(32).fill(5));
        tells(leafHash(key, hash(value)), { leaf_key: told(key), value: told(value) });
        if (opened) assert.equal((await proveState(2, 0, 9)).value, told(new Uint8Array(32).fill(5)));
        else await assert.rejects(proveState(2, 0, 9), /the state is not opened/);
    }
});
