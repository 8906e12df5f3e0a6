// SPDX-License-Identifier: MIT
// Fetches a trained model from those who keep its state, and compares every tile with the root on the ledger.
import { equal, Fault, fromHex, joined, kDtypes, sizes, stateRoot, tensorRoot, tileLeaf, toHex, treeRoot, u64 } from "./commit";
import { modelTensors, type Program, readProgram, type StateTensor } from "./program";
import { parsePlan, type Plan } from "./rounds";
import { bytesOf, fields, get, kPieceMax, kTilesMax, messageMax, numberOf, numbers, type Place } from "./wire";

const kManifestMax = 64 << 20;

/** The file of a program or a plan, as this node has it. */
export async function fetchFile(root: string, size: number, stop: AbortSignal): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let at = 0; at < size; at += kPieceMax) {
        const count = Math.min(kPieceMax, size - at);
        parts.push(await get({ base: "", root }, `program?at=${at}&count=${count}`, messageMax(count), stop));
    }
    return joined(...parts);
}

export const fetchProgram = async (root: string, size: number, stop: AbortSignal): Promise<Program> =>
    readProgram(await fetchFile(root, size, stop), fromHex(root));

export async function fetchPlan(root: string, size: number, stop: AbortSignal): Promise<Plan> {
    const plan = parsePlan(await fetchFile(root, size, stop));
    if (!equal(plan.root, fromHex(root))) throw new Fault("the plan is not the one that the task names");
    return plan;
}

/** The roots of the tensors of a state; a Fault if the answer does not lead to its root. */
export async function fetchManifest(place: Place, contract: string, program: string, stop: AbortSignal): Promise<Uint8Array[]> {
    const all = fields(await get(place, "state", kManifestMax, stop));
    const joinedRoots = bytesOf(all, 4);
    const roots = Array.from({ length: Math.floor(joinedRoots.length / 32) }, (_, i) => joinedRoots.subarray(32 * i, 32 * i + 32));
    const found = stateRoot(fromHex(contract), fromHex(program), numberOf(all, 3), roots);
    if (!equal(found, fromHex(place.root))) throw new Fault("it sends the names of another state");
    return roots;
}

/** Row-major elements of a tensor, each tile of which was hashed to its root. */
export async function fetchTensor(base: string, tensor: StateTensor, root: Uint8Array, stop: AbortSignal, progress: (bytes: number) => void): Promise<Uint8Array> {
    const { rows, cols, tileRows, tileCols, size } = sizes(tensor);
    const out = new Uint8Array(rows * cols * size);
    const leaves: Uint8Array[] = [];
    const tiles = tileRows * tileCols;
    for (let first = 0; first < tiles; first += kTilesMax) {
        const count = Math.min(kTilesMax, tiles - first);
        const all = fields(await get({ base, root: toHex(root) }, `tiles?first=${first}&count=${count}`, messageMax(count * 1024 * size), stop));
        const dims = numbers(fields(bytesOf(all, 1)), 2);
        const data = bytesOf(all, 3);
        if (dims.join() !== tensor.dims.join() || data.length !== count * 1024 * size) throw new Fault(`it sends something else for the tensor ${tensor.name}`);
        for (let i = 0; i < count; i++) {
            const tile = data.subarray(i * 1024 * size, (i + 1) * 1024 * size);
            leaves.push(tileLeaf(tile));
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
    /** Of a training in rounds, whose program is a plan. */
    rounds: boolean;
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
    const { states } = request.rounds
        ? (await fetchPlan(request.program, request.programBytes, stop)).inner
        : await fetchProgram(request.program, request.programBytes, stop);
    const wanted = modelTensors(states);
    const total = wanted.reduce((sum, i) => {
        const { tileRows, tileCols, size } = sizes(states[i] as StateTensor);
        return sum + tileRows * tileCols * 1024 * size;
    }, 0);
    const failures: string[] = [];
    for (const base of request.peers) {
        try {
            const roots = await fetchManifest({ base, root: request.stateRoot }, request.contract, request.program, stop);
            if (roots.length !== states.length) throw new Fault("it sends the names of another state");
            const parts: { tensor: StateTensor; data: Uint8Array }[] = [];
            let done = 0;
            for (const i of wanted) {
                const tensor = states[i] as StateTensor;
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
