// SPDX-License-Identifier: MIT
// Proofs that accounts and records are in the state that a block's header names (ledger 5.5, 4.1; contracts 6.2). A proof
// shows that what the node says fits its own header; that the header is the chain's, a page cannot check.
import { equal, Fault, fromHex, hash, joined, toHex } from "./commit";
import { hex, num } from "./format";
import { Reader } from "./program";
import { node } from "./rpc";

const kDepthMax = 256;
const kProofsAtOnce = 20;
const kHeaderBytes = 216;
const kStateRootAt = 136;
const kSparseLeaf = 8; // merkle's tags
const kNode = 1;
const kMarket = "0x0000000000000000000000000000000000001002";

const text = (value: string) => new TextEncoder().encode(value);
function bigEndian(value: number): Uint8Array {
    const out = new Uint8Array(8);
    new DataView(out.buffer).setBigUint64(0, BigInt(value));
    return out;
}

/** What a header proves, and its name to be compared elsewhere. */
export interface Proved<T> {
    value: T;
    height: number;
    /** Of the block, "0x…". */
    block: string;
}

interface Answer {
    leaf_key: string;
    value: string;
    siblings: string[];
    other: { key: string; value_hash: string } | null;
}

function fail(what: string): never {
    throw new Fault(`The node's proof does not hold: ${what}.`);
}

/** The state root in the header of a block, which hashes to the block's hash. */
async function headerOf(height: number): Promise<{ root: Uint8Array; block: string }> {
    const { hash: told, encoded } = await node.call<{ hash: string; encoded: string }>("retrace_getHeader", [hex(height)]);
    const bytes = fromHex(encoded, kHeaderBytes);
    if (Number(new DataView(bytes.buffer).getBigUint64(32, true)) !== height) fail("this is the header of no such block");
    const block = `0x${toHex(hash(text("retrace/block/1"), bytes))}`;
    if (block !== told) fail("the header has another hash");
    return { root: bytes.slice(kStateRootAt, kStateRootAt + 32), block };
}

const bitOf = (key: Uint8Array, at: number) => ((key[at >> 3] as number) >> (7 - (at & 7))) & 1;
const leafHash = (key: Uint8Array, value: Uint8Array) => hash(Uint8Array.of(kSparseLeaf), key, value);

/** The root that follows from a leaf's value, empty for its absence, and the proof of it. */
export function rootOf(key: Uint8Array, value: Uint8Array, { siblings, other }: Pick<Answer, "siblings" | "other">): Uint8Array {
    if (siblings.length > kDepthMax) fail("it is too long");
    let at: Uint8Array = new Uint8Array(32);
    if (value.length > 0) {
        if (other) fail("it has a needless leaf");
        at = leafHash(key, hash(value));
    } else if (other) {
        const elsewhere = fromHex(other.key, 32);
        const below = Array.from(siblings, (_, i) => i).every((i) => bitOf(elsewhere, i) === bitOf(key, i));
        if (equal(elsewhere, key) || !below) fail("its leaf is elsewhere");
        at = leafHash(elsewhere, fromHex(other.value_hash, 32));
    }
    for (let depth = siblings.length; depth-- > 0; ) {
        const sibling = fromHex(siblings[depth] as string, 32);
        at = bitOf(key, depth) ? hash(Uint8Array.of(kNode), sibling, at) : hash(Uint8Array.of(kNode), at, sibling);
    }
    return at;
}

type Leaf = { told: string | { contract: string; key: string }; key: Uint8Array };
const accountLeaf = (address: string): Leaf => ({ told: address, key: hash(text("retrace/account/1"), fromHex(address, 20)) });
/** A record of the market: its tag, then numbers (contracts 6.2). */
function recordLeaf(tag: string, ...numbers: number[]): Leaf {
    const key = joined(text(tag), ...numbers.map(bigEndian));
    return { told: { contract: kMarket, key: `0x${toHex(key)}` }, key: hash(text("retrace/slot/1"), fromHex(kMarket), key) };
}

/** The bytes of leaves in the newest state, all of one header; empty: it is not there. */
async function prove(...leaves: Leaf[]): Promise<Proved<Uint8Array[]>> {
    const height = num(await node.call<string>("eth_blockNumber"));
    const [{ root, block }, answers] = await Promise.all([
        headerOf(height),
        Promise.all(leaves.map(({ told }) => node.call<Answer>("retrace_getProof", [told, hex(height)]))),
    ]);
    const value = answers.map((answer, i) => {
        const { key } = leaves[i] as Leaf;
        if (answer.leaf_key.toLowerCase() !== `0x${toHex(key)}`) fail("it is of another leaf");
        const bytes = fromHex(answer.value);
        if (!equal(rootOf(key, bytes, answer), root)) fail("it leads to another state root than the header's");
        return bytes;
    });
    return { value, height, block };
}

export async function proveAccount(address: string): Promise<Proved<{ nonce: bigint; balance: bigint }>> {
    const proved = await prove(accountLeaf(address));
    const bytes = proved.value[0] as Uint8Array;
    if (bytes.length === 0) return { ...proved, value: { nonce: 0n, balance: 0n } };
    if (bytes.length !== 40) fail("this is no account");
    return { ...proved, value: { nonce: new DataView(bytes.buffer).getBigUint64(0, true), balance: BigInt(`0x${toHex(bytes.slice(8))}`) } };
}

/** What a model answers to, by the records of one state. */
export interface ProvedModel {
    contract: string;
    program: string;
    programBytes: number;
    solver: string;
    root: string;
    steps: number;
    interval: number;
}

const named = (bytes: Uint8Array) => `0x${toHex(bytes)}`;
const kStands = [3, 4]; // delivering, settled
const kU256 = 32;

/**
 * The last state of a run and the terms of its task. A Fault if a record is not in the state, if the run neither delivers nor is
 * settled, or if it has not opened that state as its last; the last is the one after all segments, in rounds what a member has at its end.
 */
export async function proveModel(task: number, run: number, state: number, rounds: boolean): Promise<Proved<ProvedModel>> {
    const proved = await prove(recordLeaf("s", task), recordLeaf("r", task, run), recordLeaf("c", task, run, state));
    if (proved.value.some((bytes) => bytes.length === 0)) fail("the ledger has no such task, run or state");
    const [spec, trained, checkpoint] = proved.value.map((bytes) => new Reader(bytes, "record")) as [Reader, Reader, Reader];
    // Records begin with these fields (market/types.hpp: TaskSpec, Run, Checkpoint; merkle 2).
    spec.bytes(); // name
    const [program, programBytes] = [named(spec.raw(32)), spec.number(8)];
    spec.raw(64); // initialiser, first state
    spec.raw(32 * spec.number(4)); // data
    const [steps, interval] = [spec.number(8), spec.number(8)];
    spec.number(8); // seed
    const contract = named(spec.raw(32));
    trained.raw(12); // task, index
    const solver = named(trained.raw(20));
    if (!kStands.includes(trained.number(1))) fail("the run neither delivers nor is settled");
    trained.raw(kU256 + 16 + kU256); // price, heights, lock
    trained.number(8); // first state
    if (trained.number(8) !== state + 1 || (!rounds && state !== Math.ceil(steps / interval))) fail("this is not the run's last state");
    checkpoint.raw(40); // commitment, height
    if (checkpoint.number(1) !== 1) fail("the state is not opened");
    checkpoint.raw(48); // height, deadline, salt
    return { ...proved, value: { contract, program, programBytes, solver, root: named(checkpoint.raw(32)), steps, interval } };
}

/** The root of an opened checkpoint: commitment 32, height 8, opened 1, its height 8, its deadline 8, salt 32, root 32, … */
function openedRoot(bytes: Uint8Array): string {
    if (bytes.length < 121 || bytes[40] !== 1) fail("the state is not opened");
    return named(bytes.slice(89, 121));
}

/** The roots of many states of a run, in their order; the header is the newest of the last of them. */
export async function proveStates(task: number, run: number, indices: number[]): Promise<Proved<string[]>> {
    const value: string[] = [];
    let newest = { height: 0, block: "" };
    for (let first = 0; first < indices.length; first += kProofsAtOnce) {
        // A node proves its newest states only, so each time those of another header.
        const proved = await prove(...indices.slice(first, first + kProofsAtOnce).map((index) => recordLeaf("c", task, run, index)));
        value.push(...proved.value.map(openedRoot));
        newest = proved;
    }
    return { value, height: newest.height, block: newest.block };
}
