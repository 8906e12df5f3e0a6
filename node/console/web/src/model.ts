// SPDX-License-Identifier: MIT
// Fetches a trained model from those who keep its state, and compares every tile with the root on the ledger.
import { bytesOfTensor, concat, equal, Fault, fromHex, kDtypes, rootOfRange, sizes, stateRoot, tensorRoot, tileLeaf, toHex, u64 } from "./commit";
import { bytes } from "./format";
import { modelTensors, type Program, readProgram, type StateTensor } from "./program";
import { parsePlan, type Plan } from "./rounds";
import { bytesOf, fields, get, kPieceMax, kTilesMax, messageMax, numberOf, numbers, type Place } from "./wire";

/** Bytes of tiles of a model that a page holds in memory. */
const kModelMax = 2 ** 31;
const kDimsMax = 8;
/** Bytes a second below which a party is left for another, and how long it is watched before. */
const kRate = 1 << 20;
const kPatienceMs = 20_000;

/** A party that sends so slowly that another is asked first. */
class Slow extends Fault {}

/** The file of a program or a plan, as this node has it. */
export async function fetchFile(root: string, size: number, stop: AbortSignal): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let at = 0; at < size; at += kPieceMax) {
        const count = Math.min(kPieceMax, size - at);
        parts.push(await get({ base: "", root }, `program?at=${at}&count=${count}`, messageMax(count), stop));
    }
    return concat(parts);
}

export const fetchProgram = async (root: string, size: number, stop: AbortSignal): Promise<Program> =>
    readProgram(await fetchFile(root, size, stop), fromHex(root));

export async function fetchPlan(root: string, size: number, stop: AbortSignal): Promise<Plan> {
    const plan = parsePlan(await fetchFile(root, size, stop));
    if (!equal(plan.root, fromHex(root))) throw new Fault("the plan is not the one that the task names");
    return plan;
}

/** The step of a state and the roots of its `states` tensors; a Fault if the answer does not lead to its root. */
export async function fetchManifest(place: Place, contract: string, program: string, states: number, stop: AbortSignal): Promise<{ step: number; roots: Uint8Array[] }> {
    const all = fields(await get(place, "state", messageMax(32 * states), stop));
    const [names, step] = [bytesOf(all, 4), numberOf(all, 3)];
    const roots = Array.from({ length: states }, (_, i) => names.subarray(32 * i, 32 * i + 32));
    const isIt = names.length === 32 * states && Number.isSafeInteger(step) && equal(stateRoot(fromHex(contract), fromHex(program), step, roots), fromHex(place.root));
    if (!isIt) throw new Fault("it sends the names of another state");
    return { step, roots };
}

/** What is there of a tensor: row-major elements, and how many of its tiles have arrived. */
export interface Part {
    tensor: StateTensor;
    data: Uint8Array;
    tiles: number;
}
export const begin = (tensor: StateTensor): Part => ({ tensor, data: new Uint8Array(bytesOfTensor(tensor)), tiles: 0 });

function place({ tensor, data }: Part, index: number, tile: Uint8Array) {
    const { rows, cols, tileCols, size } = sizes(tensor);
    const [top, left] = [Math.floor(index / tileCols) * 32, (index % tileCols) * 32];
    for (let row = top; row < Math.min(rows, top + 32); row++) {
        const from = (row - top) * 32 * size;
        data.set(tile.subarray(from, from + Math.min(32, cols - left) * size), (row * cols + left) * size);
    }
}

/** Fetches the tiles that a part lacks. Each message is compared with the root before it counts, so another party can go on. */
export async function fetchTensor(base: string, part: Part, root: Uint8Array, stop: AbortSignal, progress: (bytes: number) => void): Promise<void> {
    const { tensor } = part;
    const { tileRows, tileCols, size } = sizes(tensor);
    const total = tileRows * tileCols;
    while (part.tiles < total) {
        const first = part.tiles;
        const count = Math.min(kTilesMax, total - first);
        const all = fields(await get({ base, root: toHex(root) }, `tiles?first=${first}&count=${count}`, messageMax(count * 1024 * size), stop));
        const header = fields(bytesOf(all, 1));
        const [tree, data] = [bytesOf(header, 3), bytesOf(all, 3)];
        if (numbers(header, 2, kDimsMax).join() !== tensor.dims.join() || data.length !== count * 1024 * size) throw new Fault(`it sends something else for the tensor ${tensor.name}`);
        const tile = (i: number) => data.subarray(i * 1024 * size, (i + 1) * 1024 * size);
        const leaves = new Uint8Array(32 * count);
        for (let i = 0; i < count; i++) leaves.set(tileLeaf(tile(i)), 32 * i);
        if (!equal(tensorRoot(tensor, tree), root) || !equal(rootOfRange(leaves, first, total, bytesOf(all, 4)), tree)) throw new Fault(`it sends wrong tiles of the tensor ${tensor.name}`);
        for (let i = 0; i < count; i++) place(part, first + i, tile(i));
        part.tiles += count;
        progress(data.length);
        await new Promise((resolve) => setTimeout(resolve)); // the page stays responsive between messages
    }
}

/** The file of huggingface/safetensors. */
export function safetensors(tensors: Part[], metadata: { [key: string]: string }): Blob {
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
    return new Blob([u64(text.length + padding.length), text, padding, ...tensors.map(({ data }) => data)] as BlobPart[]);
}

export interface ModelRequest {
    task: number;
    contract: string;
    program: string;
    programBytes: number;
    /** Of a training in rounds, whose program is a plan. */
    rounds: boolean;
    stateRoot: string;
    /** After which the state must be; null: it is not known. */
    step: number | null;
    /** URLs of those who may have it, the likeliest first. */
    peers: string[];
}

const sum = (all: number[]) => all.reduce((a, b) => a + b, 0);
const bytesOfTiles = (tensor: StateTensor) => {
    const { tileRows, tileCols, size } = sizes(tensor);
    return tileRows * tileCols * 1024 * size;
};

/** Room for the tensors of a model; a Fault if a page has none. */
function roomFor(tensors: StateTensor[]): Part[] {
    const size = sum(tensors.map(bytesOfTiles));
    const sentence = `The model has ${bytes(size)}, more than a page can hold: use retrace task fetch.`;
    if (!(size <= kModelMax)) throw new Fault(sentence);
    try {
        return tensors.map(begin);
    } catch {
        throw new Fault(sentence);
    }
}

/** Throws once a party has sent less than kRate for kPatienceMs. */
function watch(least: number): (bytes: number) => void {
    const began = Date.now();
    let received = 0;
    return (bytes) => {
        received += bytes;
        const ms = Date.now() - began;
        if (ms > kPatienceMs && received < (least * ms) / 1000) throw new Slow("it is slow");
    };
}

/** The model as a file; throws a sentence that names each peer and what it did wrong. */
export async function fetchModel(
    request: ModelRequest,
    stop: AbortSignal,
    tell: (progress: string, part: number) => void,
): Promise<{ file: Blob; tensors: number; bytes: number }> {
    tell("fetching the program …", 0);
    const { states } = request.rounds
        ? (await fetchPlan(request.program, request.programBytes, stop)).inner
        : await fetchProgram(request.program, request.programBytes, stop);
    const wanted = modelTensors(states);
    const parts = roomFor(wanted.map((i) => states[i] as StateTensor));
    const total = sum(parts.map(({ tensor }) => bytesOfTiles(tensor)));
    tell(`the model has ${bytes(total)}`, 0);
    let done = 0;
    const failures: string[] = [];
    const fetchFrom = async (base: string, least: number) => {
        const { step, roots } = await fetchManifest({ base, root: request.stateRoot }, request.contract, request.program, states.length, stop);
        if (request.step !== null && step !== request.step) throw new Fault(`the state is the one after step ${step}, and the terms have ${request.step}`);
        const isFast = watch(least);
        for (const [i, part] of parts.entries())
            await fetchTensor(base, part, roots[wanted[i] as number] as Uint8Array, stop, (bytes_) => {
                done += bytes_;
                tell(`from ${base}: ${Math.floor((100 * done) / total)} % of ${bytes(total)}`, done / total);
                if (done < total) isFast(bytes_);
            });
    };
    // Whoever is slow is asked again when nobody else has sent the rest.
    const turns = request.peers.map((base) => ({ base, least: kRate }));
    for (const { base, least } of turns) {
        try {
            await fetchFrom(base, least);
            const file = safetensors(parts, { format: "pt", "retrace.task": String(request.task) });
            return { file, tensors: parts.length, bytes: done };
        } catch (error) {
            if (stop.aborted) throw new Fault("Cancelled.");
            if (error instanceof Slow) turns.push({ base, least: 0 });
            else failures.push(`${base}: ${error instanceof Fault ? error.message : `this page failed: ${(error as Error).message}`}`);
        }
    }
    throw new Fault(failures.length ? `Nobody sent it. ${failures.join("; ")}.` : "Nobody has announced an address from which it could be fetched.");
}
