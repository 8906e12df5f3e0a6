// SPDX-License-Identifier: MIT
// Proofs that accounts and records are in the state that a block's header names (ledger 5.5, 4.1; contracts 6.2). A proof
// shows that what the node says fits its own header; that the header is the chain's, a page cannot check.
import { equal, Fault, fromHex, hash, joined, toHex } from "./commit";
import { hex, num } from "./format";
import { node } from "./rpc";

const kDepthMax = 256;
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

/** The bytes of a leaf in the newest state; empty: it is not there. */
async function prove(leaf: string | { contract: string; key: string }, key: Uint8Array): Promise<Proved<Uint8Array>> {
    const height = num(await node.call<string>("eth_blockNumber"));
    const [{ root, block }, answer] = await Promise.all([headerOf(height), node.call<Answer>("retrace_getProof", [leaf, hex(height)])]);
    if (answer.leaf_key.toLowerCase() !== `0x${toHex(key)}`) fail("it is of another leaf");
    const value = fromHex(answer.value);
    if (!equal(rootOf(key, value, answer), root)) fail("it leads to another state root than the header's");
    return { value, height, block };
}

export async function proveAccount(address: string): Promise<Proved<{ nonce: bigint; balance: bigint }>> {
    const proved = await prove(address, hash(text("retrace/account/1"), fromHex(address, 20)));
    const { value: bytes } = proved;
    if (bytes.length === 0) return { ...proved, value: { nonce: 0n, balance: 0n } };
    if (bytes.length !== 40) fail("this is no account");
    return { ...proved, value: { nonce: new DataView(bytes.buffer).getBigUint64(0, true), balance: BigInt(`0x${toHex(bytes.slice(8))}`) } };
}

/** The root of state `index` of a run, as opened on the ledger (contracts 6.2: tag c, task, run, index). */
export async function proveState(task: number, run: number, index: number): Promise<Proved<string>> {
    const key = joined(text("c"), bigEndian(task), bigEndian(run), bigEndian(index));
    const proved = await prove({ contract: kMarket, key: `0x${toHex(key)}` }, hash(text("retrace/slot/1"), fromHex(kMarket), key));
    // commitment 32, height 8, opened 1, its height 8, its deadline 8, salt 32, root 32, …
    const bytes = proved.value;
    if (bytes.length < 121 || bytes[40] !== 1) fail("the state is not opened");
    return { ...proved, value: `0x${toHex(bytes.slice(89, 121))}` };
}
