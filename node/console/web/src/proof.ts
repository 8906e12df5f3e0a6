// SPDX-License-Identifier: MIT
// Proofs that accounts and records are in the state that a block's header names (ledger 5.5, 4.1; contracts 6.2). A proof
// shows that what the node says fits its own header; that the header is the chain's, a page cannot check.
import { equal, Fault, fromHex, hash, toHex } from "./commit";
import { hex, num } from "./format";
import { node, RpcError } from "./rpc";
import { decode, keys, kRun, type Read, readCheckpoint, readRun, readSpec, type Slot } from "./slots";

const kDepthMax = 256;
const kProofsAtOnce = 16;
const kHeaderBytes = 216;
const kStateRootAt = 136;
const kSparseLeaf = 8; // merkle's tags
const kNode = 1;
const kTooMany = -32005; // the node's limit of requests
const kPauseMs = 500;

const text = (value: string) => new TextEncoder().encode(value);

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
const slotLeaf = (slot: Slot): Leaf => ({ told: { ...slot }, key: hash(text("retrace/slot/1"), fromHex(slot.contract), fromHex(slot.key)) });

/** The node's answer, later if it says that it was asked too much. */
async function patiently<T>(ask: () => Promise<T>, stop?: AbortSignal): Promise<T> {
    for (;;) {
        try {
            return await ask();
        } catch (error) {
            if (!(error instanceof RpcError) || error.code !== kTooMany) throw error;
        }
        await new Promise((resolve) => setTimeout(resolve, kPauseMs));
        stop?.throwIfAborted();
    }
}

/** The state of one block. What is read of it is compared with the state root in the block's header; a Fault if it does not fit. */
export class ProvenState {
    /** Leaves that were read and proved. */
    proofs = 0;
    private readonly known = new Map<string, Promise<Uint8Array>>();
    private running = 0;
    private readonly waiting: (() => void)[] = [];

    private constructor(
        readonly height: number,
        /** The block's hash, "0x…". */
        readonly block: string,
        private readonly root: Uint8Array,
        private readonly stop?: AbortSignal,
        private readonly tell?: (proofs: number) => void,
    ) {}

    /** That of the newest block. `tell` is given the number of proofs as it grows. */
    static async newest(stop?: AbortSignal, tell?: (proofs: number) => void): Promise<ProvenState> {
        const height = num(await node.call<string>("eth_blockNumber"));
        const { root, block } = await headerOf(height);
        return new ProvenState(height, block, root, stop, tell);
    }

    /** The record in a slot; undefined: the ledger has none there. */
    async record<T>(slot: Slot, read: Read<T>): Promise<T | undefined> {
        const bytes = await this.leaf(slotLeaf(slot));
        return bytes.length === 0 ? undefined : decode(read, bytes);
    }
    account = (address: string): Promise<Uint8Array> => this.leaf(accountLeaf(address));

    private leaf(leaf: Leaf): Promise<Uint8Array> {
        const name = toHex(leaf.key);
        const found = this.known.get(name) ?? this.prove(leaf);
        this.known.set(name, found);
        return found;
    }

    private async prove({ told, key }: Leaf): Promise<Uint8Array> {
        if (this.running >= kProofsAtOnce) await new Promise<void>((resolve) => this.waiting.push(resolve));
        this.running++;
        try {
            this.stop?.throwIfAborted();
            const answer = await patiently(() => node.call<Answer>("retrace_getProof", [told, hex(this.height)]), this.stop);
            if (String(answer.leaf_key).toLowerCase() !== `0x${toHex(key)}`) fail("it is of another leaf");
            const bytes = fromHex(answer.value);
            if (!equal(rootOf(key, bytes, answer), this.root)) fail("it leads to another state root than the header's");
            this.tell?.(++this.proofs);
            return bytes;
        } finally {
            this.running--;
            this.waiting.shift()?.();
        }
    }
}

export async function proveAccount(address: string): Promise<Proved<{ nonce: bigint; balance: bigint }>> {
    const state = await ProvenState.newest();
    const bytes = await state.account(address);
    const where = { height: state.height, block: state.block };
    if (bytes.length === 0) return { ...where, value: { nonce: 0n, balance: 0n } };
    if (bytes.length !== 40) fail("this is no account");
    return { ...where, value: { nonce: new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true), balance: BigInt(`0x${toHex(bytes.slice(8))}`) } };
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

/**
 * The last state of a run and the terms of its task. A Fault if a record is not in the state, if the run neither delivers nor is
 * settled, or if it has not opened that state as its last; the last is the one after all segments, in rounds what a member has at its end.
 */
export async function proveModel(task: number, run: number, state: number, rounds: boolean): Promise<Proved<ProvedModel>> {
    const proven = await ProvenState.newest();
    const [spec, trained, checkpoint] = await Promise.all([
        proven.record(keys.spec(task), readSpec),
        proven.record(keys.run(task, run), readRun),
        proven.record(keys.checkpoint(task, run, state), readCheckpoint),
    ]);
    if (!spec || !trained || !checkpoint) return fail("the ledger has no such task, run or state");
    if (trained.state !== kRun.delivering && trained.state !== kRun.settled) fail("the run neither delivers nor is settled");
    const { steps, interval, contract, program, programBytes } = spec;
    if (trained.nextState !== state + 1 || (!rounds && state !== Math.ceil(steps / interval))) fail("this is not the run's last state");
    if (!checkpoint.opened) fail("the state is not opened");
    const value = { contract, program, programBytes, solver: trained.solver, root: checkpoint.root, steps, interval };
    return { value, height: proven.height, block: proven.block };
}
