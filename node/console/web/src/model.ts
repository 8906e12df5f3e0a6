// SPDX-License-Identifier: MIT
// Fetches a trained model from those who keep its state, and compares every tile with the root on the ledger: the
// formats are those of kernels/contract-v1.txt (6), kernels/SPEC.md (5) and node/wire/artifact.proto.
import { sha256 } from "viem";

export class Fault extends Error {}

const equal = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, i) => byte === b[i]);
export const toHex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
export function fromHex(text: string): Uint8Array {
    const digits = text.replace(/^0x/, "");
    return Uint8Array.from({ length: digits.length / 2 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

function joined(...parts: Uint8Array[]): Uint8Array {
    const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
        out.set(part, at);
        at += part.length;
    }
    return out;
}
const hash = (...parts: Uint8Array[]) => sha256(joined(...parts), "bytes");
const tag = (value: number) => Uint8Array.of(value);
function u32(value: number): Uint8Array {
    const out = new Uint8Array(4);
    new DataView(out.buffer).setUint32(0, value, true);
    return out;
}
function u64(value: number): Uint8Array {
    const out = new Uint8Array(8);
    new DataView(out.buffer).setBigUint64(0, BigInt(value), true);
    return out;
}

/** merkle 3.1: joined pairwise from the left, an odd last node is promoted. */
export function treeRoot(leaves: Uint8Array[]): Uint8Array {
    if (leaves.length === 0) return new Uint8Array(32);
    let level = leaves;
    while (level.length > 1) {
        const next: Uint8Array[] = [];
        for (let i = 0; i < level.length; i += 2) {
            const [left, right] = [level[i] as Uint8Array, level[i + 1]];
            next.push(right ? hash(tag(1), left, right) : left);
        }
        level = next;
    }
    return level[0] as Uint8Array;
}

/** The fields of a Protobuf message: numbers of varints, bytes of the others. */
function fields(message: Uint8Array): { number: number; value: number; bytes: Uint8Array }[] {
    let at = 0;
    const varint = () => {
        let value = 0;
        for (let shift = 1; ; shift *= 128) {
            const byte = message[at++];
            if (byte === undefined || shift > 2 ** 56) throw new Fault("it sends no message of the artifact transfer");
            value += (byte & 127) * shift;
            if (byte < 128) return value;
        }
    };
    const out = [];
    while (at < message.length) {
        const key = varint();
        const number = Math.floor(key / 8);
        if (key % 8 === 0) out.push({ number, value: varint(), bytes: new Uint8Array() });
        else if (key % 8 === 2) {
            const length = varint();
            if (at + length > message.length) throw new Fault("it sends a message that is cut off");
            out.push({ number, value: 0, bytes: message.subarray(at, at + length) });
            at += length;
        } else throw new Fault("it sends no message of the artifact transfer");
    }
    return out;
}

/** Values of a repeated field of varints, packed or not. */
function numbers(all: ReturnType<typeof fields>, number: number): number[] {
    return all.filter((one) => one.number === number).flatMap((one) => {
        if (one.bytes.length === 0) return [one.value];
        const out: number[] = [];
        let value = 0;
        let scale = 1;
        for (const byte of one.bytes) {
            value += (byte & 127) * scale;
            scale *= 128;
            if (byte < 128) {
                out.push(value);
                value = 0;
                scale = 1;
            }
        }
        return out;
    });
}
const bytesOf = (all: ReturnType<typeof fields>, number: number) => all.find((one) => one.number === number)?.bytes ?? new Uint8Array();

/** Reads the canonical codec (merkle 2). */
class Reader {
    private at = 0;
    constructor(private readonly data: Uint8Array) {}
    raw(length: number): Uint8Array {
        if (this.at + length > this.data.length) throw new Fault("the program is cut off");
        return this.data.subarray(this.at, (this.at += length));
    }
    number(size: 1 | 2 | 4 | 8): number {
        return this.raw(size).reduceRight((value, byte) => value * 256 + byte, 0);
    }
    bytes = () => this.raw(this.number(4));
    /** What `read` reads, as bytes. */
    slice(read: () => void): Uint8Array {
        const from = this.at;
        read();
        return this.data.subarray(from, this.at);
    }
    get ended() {
        return this.at === this.data.length;
    }
}

const kDtypes: { [code: number]: { name: string; size: number } } = {
    1: { name: "F32", size: 4 }, 2: { name: "I8", size: 1 }, 3: { name: "U8", size: 1 }, 4: { name: "I32", size: 4 }, 6: { name: "BOOL", size: 1 },
};
const kKind = { state: 1, constant: 2 };
const kRecordLeaf = 7;

export interface StateTensor {
    name: string;
    dtype: number;
    dims: number[];
}

interface TensorRecord extends StateTensor {
    kind: number;
}

function sizes({ dims, dtype }: StateTensor) {
    const cols = dims.length ? (dims[dims.length - 1] as number) : 1;
    const rows = dims.slice(0, -1).reduce((product, extent) => product * extent, 1);
    return { rows, cols, tileRows: Math.ceil(rows / 32), tileCols: Math.ceil(cols / 32), size: kDtypes[dtype]?.size ?? 0 };
}

function tensorRoot(tensor: StateTensor, tree: Uint8Array): Uint8Array {
    return hash(tag(2), tag(tensor.dtype), tag(tensor.dims.length), ...tensor.dims.map(u64), tree);
}

/** Cuts row-major elements into tiles (contract 6.1). */
function tilesOf(tensor: StateTensor, data: Uint8Array): Uint8Array[] {
    const { rows, cols, tileRows, tileCols, size } = sizes(tensor);
    const out: Uint8Array[] = [];
    for (let tile = 0; tile < tileRows * tileCols; tile++) {
        const bytes = new Uint8Array(1024 * size);
        const [top, left] = [Math.floor(tile / tileCols) * 32, (tile % tileCols) * 32];
        for (let row = top; row < Math.min(rows, top + 32); row++) {
            const length = Math.min(32, cols - left) * size;
            const from = (row * cols + left) * size;
            bytes.set(data.subarray(from, from + length), (row - top) * 32 * size);
        }
        out.push(bytes);
    }
    return out;
}

/** The state tensors of a program whose bytes have that root; a Fault if they have another. */
export function readProgram(file: Uint8Array, root: Uint8Array): StateTensor[] {
    const in_ = new Reader(file);
    if (new TextDecoder().decode(in_.raw(4)) !== "RTP1") throw new Fault("the program does not begin with RTP1");
    const [version, states, constants, datasets, ops] = Array.from({ length: 5 }, () => in_.number(4)) as [number, number, number, number, number];
    if ((states + constants + datasets + ops) * 11 > file.length) throw new Fault("the program is cut off");
    const records: TensorRecord[] = [];
    const tensorLeaves: Uint8Array[] = [];
    for (let i = 0; i < states + constants + datasets + ops; i++) {
        const bytes = in_.slice(() => {
            const kind = in_.number(1);
            const dtype = in_.number(1);
            const dims = Array.from({ length: in_.number(1) }, () => in_.number(8));
            in_.number(4);
            records.push({ kind, dtype, dims, name: new TextDecoder().decode(in_.bytes()) });
        });
        tensorLeaves.push(hash(tag(kRecordLeaf), u32(i), bytes));
    }
    const opLeaves = Array.from({ length: ops }, (_, i) => {
        const bytes = in_.slice(() => {
            in_.number(2);
            in_.raw(4 * in_.number(4));
            in_.raw(8 * in_.number(4));
            in_.bytes();
        });
        return hash(tag(kRecordLeaf), u32(i), bytes);
    });
    const constantLeaves = Array.from({ length: constants }, (_, i) => {
        const record = records[states + i] as TensorRecord;
        const tree = treeRoot(tilesOf(record, in_.bytes()).map((tile) => hash(tag(0), tile)));
        return hash(tag(kRecordLeaf), u32(i), tensorRoot(record, tree));
    });
    const found = hash(tag(5), ...[version, states, constants, datasets, ops].map(u32), treeRoot(opLeaves), treeRoot(tensorLeaves), treeRoot(constantLeaves));
    if (!in_.ended || !equal(found, root)) throw new Fault("the program is not the one that the task names");
    return records.slice(0, states).map((record) => {
        if (record.kind !== kKind.state || !kDtypes[record.dtype]) throw new Fault("the program has a tensor of an unknown kind");
        return record;
    });
}

export interface Source {
    /** "" for this node. */
    base: string;
    root: string;
}

const kTimeoutMs = 30_000;
const kProgramPiece = 4 << 20;
const kTiles = 1024; // in one message
const kEnvelope = 64 << 10; // what a message has beside its tiles or its piece of a program
const kManifestMax = 64 << 20;

/** Reads a reply of at most `most` bytes; whoever sends more is cut off. `stop`: the person's. */
async function get(source: Source, what: string, most: number, stop: AbortSignal): Promise<Uint8Array> {
    const end = new AbortController();
    const late = setTimeout(() => end.abort(), kTimeoutMs);
    const cancel = () => end.abort();
    stop.addEventListener("abort", cancel);
    try {
        const reply = await fetch(`${source.base}/artifact/${source.root.replace(/^0x/, "")}/${what}`, {
            signal: end.signal, referrerPolicy: "no-referrer", credentials: "omit", redirect: "error",
        });
        if (!reply.ok) throw new Fault(`it answers ${reply.status}`);
        const reader = reply.body?.getReader();
        const parts: Uint8Array[] = [];
        for (let size = 0; reader; ) {
            const { done, value } = await reader.read();
            if (done) break;
            size += value.length;
            if (size > most) throw new Fault("it sends more than was asked for");
            parts.push(value);
        }
        return joined(...parts);
    } finally {
        clearTimeout(late);
        stop.removeEventListener("abort", cancel);
        end.abort(); // ends what is still being received
    }
}

export async function fetchProgram(root: string, size: number, stop: AbortSignal): Promise<StateTensor[]> {
    const parts: Uint8Array[] = [];
    for (let at = 0; at < size; at += kProgramPiece) {
        const count = Math.min(kProgramPiece, size - at);
        parts.push(await get({ base: "", root }, `program?at=${at}&count=${count}`, count + kEnvelope, stop));
    }
    return readProgram(joined(...parts), fromHex(root));
}

/** The roots of the tensors of a state; a Fault if the answer does not lead to its root. */
async function fetchManifest(source: Source, contract: string, program: string, stop: AbortSignal): Promise<Uint8Array[]> {
    const all = fields(await get(source, "state", kManifestMax, stop));
    const joinedRoots = bytesOf(all, 4);
    const roots = Array.from({ length: Math.floor(joinedRoots.length / 32) }, (_, i) => joinedRoots.subarray(32 * i, 32 * i + 32));
    const step = all.find((one) => one.number === 3)?.value ?? 0;
    const tree = treeRoot(roots.map((root, i) => hash(tag(4), u32(i), root)));
    if (!equal(hash(tag(3), fromHex(contract), fromHex(program), u64(step), tree), fromHex(source.root))) throw new Fault("it sends the names of another state");
    return roots;
}

/** Row-major elements of a tensor, each tile of which was hashed to its root. */
async function fetchTensor(base: string, tensor: StateTensor, root: Uint8Array, stop: AbortSignal, progress: (bytes: number) => void): Promise<Uint8Array> {
    const { rows, cols, tileRows, tileCols, size } = sizes(tensor);
    const out = new Uint8Array(rows * cols * size);
    const leaves: Uint8Array[] = [];
    const tiles = tileRows * tileCols;
    for (let first = 0; first < tiles; first += kTiles) {
        const count = Math.min(kTiles, tiles - first);
        const all = fields(await get({ base, root: toHex(root) }, `tiles?first=${first}&count=${count}`, count * 1024 * size + kEnvelope, stop));
        const dims = numbers(fields(bytesOf(all, 1)), 2);
        const data = bytesOf(all, 3);
        if (dims.join() !== tensor.dims.join() || data.length !== count * 1024 * size) throw new Fault(`it sends something else for the tensor ${tensor.name}`);
        for (let i = 0; i < count; i++) {
            const tile = data.subarray(i * 1024 * size, (i + 1) * 1024 * size);
            leaves.push(hash(tag(0), tile));
            const [top, left] = [Math.floor((first + i) / tileCols) * 32, ((first + i) % tileCols) * 32];
            for (let row = top; row < Math.min(rows, top + 32); row++) {
                const from = (row - top) * 32 * size;
                out.set(tile.subarray(from, from + Math.min(32, cols - left) * size), (row * cols + left) * size);
            }
        }
        progress(data.length);
        await new Promise((resolve) => setTimeout(resolve)); // the page stays responsive between messages
    }
    if (!equal(tensorRoot(tensor, treeRoot(leaves)), root)) throw new Fault(`it sends wrong tiles of the tensor ${tensor.name}`);
    return out;
}

/** What a model has of a state: no moments of an optimiser, nothing that only a training in rounds has. */
export function modelTensors(tensors: StateTensor[]): number[] {
    const names = new Set(tensors.map(({ name }) => name));
    const isMoment = (name: string) => /\.(m|v|momentum)$/.test(name) && names.has(name.replace(/\.[a-z]+$/, ""));
    return tensors.flatMap(({ name }, i) => (isMoment(name) || name.startsWith("rounds.") ? [] : [i]));
}

/** The file of huggingface/safetensors. */
export function safetensors(tensors: { tensor: StateTensor; data: Uint8Array }[], metadata: { [key: string]: string }): Uint8Array {
    // Written by hand, because an object of JavaScript would move a name like "0" to the front.
    const entries = [`"__metadata__":${JSON.stringify(metadata)}`];
    let at = 0;
    for (const { tensor, data } of tensors) {
        const entry = { dtype: kDtypes[tensor.dtype]?.name, shape: tensor.dims, data_offsets: [at, at + data.length] };
        entries.push(`${JSON.stringify(tensor.name)}:${JSON.stringify(entry)}`);
        at += data.length;
    }
    const text = new TextEncoder().encode(`{${entries.join()}}`);
    const padding = new Uint8Array((8 - (text.length % 8)) % 8).fill(32);
    return joined(u64(text.length + padding.length), text, padding, ...tensors.map(({ data }) => data));
}

export interface ModelRequest {
    task: number;
    contract: string;
    program: string;
    programBytes: number;
    stateRoot: string;
    /** URLs of those who may have it, the likeliest first. */
    peers: string[];
}

/** The model as a file; throws a sentence that names each peer and what it did wrong. */
export async function fetchModel(
    request: ModelRequest,
    stop: AbortSignal,
    tell: (progress: string, part: number) => void,
): Promise<{ file: Uint8Array; tensors: number; bytes: number }> {
    tell("fetching the program …", 0);
    const program = await fetchProgram(request.program, request.programBytes, stop);
    const wanted = modelTensors(program);
    const total = wanted.reduce((sum, i) => {
        const { tileRows, tileCols, size } = sizes(program[i] as StateTensor);
        return sum + tileRows * tileCols * 1024 * size;
    }, 0);
    const failures: string[] = [];
    for (const base of request.peers) {
        try {
            const roots = await fetchManifest({ base, root: request.stateRoot }, request.contract, request.program, stop);
            if (roots.length !== program.length) throw new Fault("it sends the names of another state");
            const parts: { tensor: StateTensor; data: Uint8Array }[] = [];
            let done = 0;
            for (const i of wanted) {
                const tensor = program[i] as StateTensor;
                parts.push({ tensor, data: await fetchTensor(base, tensor, roots[i] as Uint8Array, stop, (bytes) => {
                    done += bytes;
                    tell(`from ${base}: ${Math.floor((100 * done) / total)} %`, done / total);
                }) });
            }
            const file = safetensors(parts, { format: "pt", "retrace.task": String(request.task) });
            return { file, tensors: parts.length, bytes: done };
        } catch (error) {
            if (stop.aborted) throw new Fault("Cancelled.");
            failures.push(`${base}: ${error instanceof Fault ? error.message : "no answer to this page"}`);
        }
    }
    throw new Fault(failures.length ? `Nobody sent it. ${failures.join("; ")}.` : "Nobody has announced an address from which it could be fetched.");
}
