// SPDX-License-Identifier: MIT
// A node whose newest state has given records, in the ledger's own encoding (market 2), and proves them.
import { answers } from "./world.mjs";

const { hash, joined, toHex } = await import("console/commit");

export const text = (value) => new TextEncoder().encode(value);
export const told = (bytes) => `0x${toHex(bytes)}`;
const u8 = (value) => Uint8Array.of(value);
export const u64 = (value) => new Uint8Array(new BigUint64Array([BigInt(value)]).buffer);
export const u32 = (value) => new Uint8Array(new Uint32Array([value]).buffer);
const u16 = (value) => new Uint8Array(new Uint16Array([value]).buffer);
export const filled = (byte, length = 32) => new Uint8Array(length).fill(byte);
const u256 = (value) => joined(filled(0, 31), u8(value));
const list = (items) => joined(u32(items.length), ...items);

export const leafHash = (key, value) => hash(u8(8), key, value);
export const bit = (key, at) => (key[at >> 3] >> (7 - (at & 7))) & 1;

/// The root of a state with these leaves, [key, value], and the siblings of one of them.
export function stateOf(leaves, wanted, depth = 0) {
    if (leaves.length === 0) return { root: new Uint8Array(32), siblings: [] };
    if (leaves.length === 1) {
        const [[key, value]] = leaves;
        const other = toHex(key) === toHex(wanted) ? null : { key: told(key), value_hash: told(hash(value)) };
        return { root: leafHash(key, hash(value)), siblings: [], other };
    }
    const [zero, one] = [0, 1].map((side) => stateOf(leaves.filter(([key]) => bit(key, depth) === side), wanted, depth + 1));
    const [own, other] = bit(wanted, depth) ? [one, zero] : [zero, one];
    return { root: hash(u8(1), zero.root, one.root), siblings: [other.root, ...own.siblings], other: own.other ?? null };
}

/// The answer to retrace_getHeader of a block of height 16 with this state root.
export function headerOf(root) {
    const header = joined(new Uint8Array(32), Uint8Array.of(16, 0, 0, 0, 0, 0, 0, 0), new Uint8Array(96), root, new Uint8Array(48));
    return { hash: told(hash(text("retrace/block/1"), header)), encoded: told(header) };
}

/// The name of a slot: the contract's number, a tag, then numbers.
export const slot = (contract, tag, ...numbers) => ({
    contract: told(joined(new Uint8Array(18), Uint8Array.of(0x10, contract))),
    key: told(joined(text(tag), ...numbers.map((n) => Uint8Array.of(0, 0, 0, 0, 0, 0, 0, n)))),
});
const bytesOf = (digits) => Uint8Array.from(Buffer.from(digits.slice(2), "hex"));
const keyOf = ({ contract, key }) => hash(text("retrace/slot/1"), bytesOf(contract), bytesOf(key));

/// A node with records in slots, [slot, bytes]; those of `instead` it proves in their place.
export function keeps(records, instead = []) {
    const leaves = records.map(([name, bytes]) => [keyOf(name), bytes]);
    const same = (a, b) => a.contract === b.contract && a.key === b.key;
    answers.eth_blockNumber = "0x10";
    answers.retrace_getHeader = headerOf(stateOf(leaves, filled(0)).root);
    answers.retrace_getProof = (name) => {
        const key = keyOf(name);
        const value = [...instead, ...records].find(([one]) => same(one, name))?.[1] ?? new Uint8Array();
        const { siblings, other } = stateOf(leaves, key);
        return { leaf_key: told(key), value: told(value), siblings: siblings.map(told), other };
    };
}

export const specOf = ({ steps = 90, interval = 10, ceiling = 9, last = 0, spot = 0, pause = 0 } = {}) => joined(
    u32(4), text("name"), filled(1), u64(77), filled(0), filled(2), list([filled(3)]), u64(steps), u64(interval), u64(5), filled(4), u256(ceiling), u16(500), u8(2),
    u8(1), u8(0), u64(10), u64(10), u64(100), u64(1000), u8(0), u8(spot), u256(last), u8(1), u64(pause));
export const taskOf = ({ id = 2, state = 6, runs = 2, round = 1, first = 0, active = [], wanted = 0 } = {}) => joined(
    u64(id), filled(6, 20), u8(state), u64(1), u32(round), u64(2), u64(3), u256(0), u256(0), u64(first), filled(0), u32(runs), list(active.map(u32)), list([]), list([]),
    u64(0), u8(wanted), u64(0), filled(0));
export const auctionsOf = ({ first = 9, least = 0, failed = 0, left = 0 } = {}) => joined(u256(first), u256(least), u32(failed), u32(left));
/// Of a run that has stopped.
export const stopOf = () => joined(u64(1), u8(0));
export const runOf = ({ task = 2, index = 1, state = 4, first = 0, next = 10, finalised = next - 1, root = 0, solver = 5 } = {}) => joined(
    u64(task), u32(index), filled(solver, 20), u8(state), u256(1), u64(1), u64(2), u256(3), u64(first), u64(next), u64(0), u64(finalised), u64(finalised), list([]), u32(0),
    u256(0), filled(root), u64(0), u32(0), u32(0), u64(0), u64(0), u64(0), u64(0), u32(0), u64(0), u8(0), u64(0), u64(0), u8(0));
export const checkpointOf = ({ opened = 1, root = 6, height = 20 } = {}) =>
    joined(filled(0), u64(1), u8(opened), u64(height), u64(2), filled(0), filled(root), list([]), list([]));
export const segmentOf = ({ state = 4, audit = 0 } = {}) =>
    joined(u8(state), u64(1), u64(1), u32(1), u32(0), u64(audit), u64(1), u32(0), u32(0), u64(0), u8(0), u64(0));
/// `seats`: [the byte of the auditor's address, state].
export const auditOf = ({ id, seats }) => joined(
    u64(id), u64(2), u32(0), u64(0), u8(7), u64(0), u64(0),
    list(seats.map(([auditor, state]) => joined(filled(auditor, 20), u8(state), u256(0), filled(0), filled(0), u8(1), u32(0), u32(0), u64(0)))), list([]));
