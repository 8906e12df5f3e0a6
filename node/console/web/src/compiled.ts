// SPDX-License-Identifier: MIT
// A task folder of `retrace task compile` as a person chooses it: its terms, and its artifacts under their roots.
import { parse } from "smol-toml";
import { bytesOfTensor, equal, Fault, fromHex, kDtypes, sizes, stateRoot, tensorRoot, type Shape, tileLeaf, tileOf, toHex, Tree } from "./commit";
import { hex, parseCoins, tame } from "./format";
import { parseProgram, type Program } from "./program";
import type { Spec } from "./records";
import { kTilesMax } from "./wire";

/** Bytes of a folder that a page sends; more takes the command line, which also goes on after a restart. */
const kBytesMax = 2 ** 30;
const kTextMax = 1 << 20;
const kProgramMax = 80 << 20;
const kHeaderMax = 16 << 20;

/** A tensor whose elements are read when they are needed. */
export interface TensorSource extends Shape {
    name: string;
    /** Row-major little-endian elements from byte `at` on. */
    read(at: number, length: number): Promise<Uint8Array>;
}
export interface TensorArtifact {
    kind: "tensor";
    name: string;
    root: string;
    source: TensorSource;
    tree: Tree;
}
export type Artifact =
    | { kind: "program"; name: string; root: string; file: Uint8Array }
    | { kind: "state"; name: string; root: string; contract: Uint8Array; program: Uint8Array; tensors: TensorArtifact[] }
    | TensorArtifact;

export interface CompiledTask {
    spec: Spec;
    artifacts: Artifact[];
    bytes: number;
}

/** Calls `take` with each tile of a tensor in order; reads 32 rows at a time. */
export async function eachTile(source: TensorSource, first: number, count: number, take: (index: number, tile: Uint8Array) => void): Promise<void> {
    const { rows, cols, tileCols, size } = sizes(source);
    let band = -1;
    let data: Uint8Array = new Uint8Array();
    for (let index = first; index < first + count; index++) {
        const wanted = Math.floor(index / tileCols);
        if (wanted !== band) {
            data = await source.read(wanted * 32 * cols * size, Math.min(32, rows - wanted * 32) * cols * size);
            band = wanted;
        }
        take(index, tileOf(source, index, data));
    }
}

async function committed(source: TensorSource, stop: AbortSignal, done: (bytes: number) => void): Promise<TensorArtifact> {
    const { tileRows, tileCols, size } = sizes(source);
    const tiles = tileRows * tileCols;
    const leaves = new Uint8Array(32 * tiles);
    for (let first = 0; first < tiles; first += kTilesMax) {
        if (stop.aborted) throw new Fault("Cancelled.");
        const count = Math.min(kTilesMax, tiles - first);
        await eachTile(source, first, count, (index, tile) => leaves.set(tileLeaf(tile), 32 * index));
        done(count * 1024 * size);
        await new Promise((resolve) => setTimeout(resolve)); // the page stays responsive
    }
    const tree = new Tree(leaves);
    return { kind: "tensor", name: source.name, root: `0x${toHex(tensorRoot(source, tree.root))}`, source, tree };
}

/** The files of the chosen folder by their paths in it. */
class Folder {
    private readonly files = new Map<string, File>();
    constructor(list: Iterable<File>) {
        for (const file of list) this.files.set(file.webkitRelativePath.split("/").slice(1).join("/"), file);
    }
    find(path: string, most: number): File {
        const file = this.files.get(path.replace(/^(\.\/)+/, ""));
        if (!file) throw new Fault(`The folder has no file ${tame(path)}.`);
        if (file.size > most) throw new Fault(`${tame(path)} is larger than ${most} bytes.`);
        return file;
    }
    async bytes(path: string, most: number): Promise<Uint8Array> {
        return new Uint8Array(await this.find(path, most).arrayBuffer());
    }
    text = (path: string) => this.find(path, kTextMax).text();
}

type Table = { [key: string]: unknown };
const table = (value: unknown, name: string): Table => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Fault(`task.toml has no section [${name}].`);
    return value as Table;
};
function text(of: Table, key: string): string {
    const value = of[key];
    if (typeof value !== "string" || !value) throw new Fault(`task.toml: ${key} is missing, or no text.`);
    return value;
}
function whole(of: Table, key: string, low: bigint, high: bigint): bigint {
    const value = of[key];
    if (typeof value !== "bigint" || value < low || value > high) throw new Fault(`task.toml: ${key} is not a whole number from ${low} to ${high}.`);
    return value;
}

interface Files {
    program: string;
    initialiser?: string;
    initialState?: string;
    data: string;
}

const kBlocksMax = 100_000_000n;

/** The terms that task.toml states, without the roots. */
function readTerms(source: string): { terms: Spec; files: Files } {
    let root: Table;
    try {
        root = parse(source, { integersAsBigInt: true }) as Table;
    } catch (error) {
        throw new Fault(`task.toml cannot be read: ${tame(String((error as Error).message).split("\n")[0], 160)}`);
    }
    if (root.rounds !== undefined) throw new Fault("This is a training in rounds, which this page does not post: use retrace task submit.");
    const task = table(root.task, "task");
    const market = table(root.market, "market");
    if (root.compiled === undefined) throw new Fault("task.toml has no section [compiled]: compile the task again, with this version of retrace.");
    const compiled = table(root.compiled, "compiled");
    const price = parseCoins(text(market, "price_ceiling"));
    if (!price) throw new Fault("task.toml: price_ceiling is no number of coins above zero.");
    const contract = text(compiled, "contract");
    if (!/^0x[0-9a-f]{64}$/.test(contract)) throw new Fault("task.toml: contract is not 0x and 64 hex digits.");
    if ((task.initialiser === undefined) === (task.initial_state === undefined)) throw new Fault("task.toml: initialiser or initial_state must be given, and not both.");
    const steps = whole(task, "steps", 1n, 2n ** 40n);
    const terms: Spec = {
        name: typeof task.name === "string" ? task.name : "",
        programRoot: "",
        programBytes: "0x0",
        initRoot: `0x${"0".repeat(64)}`,
        initialStateRoot: `0x${"0".repeat(64)}`,
        dataRoots: [],
        steps: hex(steps),
        interval: hex(whole(task, "checkpoint_every", 1n, 2n ** 40n)),
        seed: hex(whole(task, "seed", 0n, 2n ** 63n - 1n)),
        contractHash: contract,
        priceCeiling: hex(price),
        auditBp: Number(whole(market, "audit_basis_points", 0n, 10_000n)),
        auditors: Number(whole(market, "auditors", 1n, 5n)),
        replicas: Number(whole(market, "replicas", 1n, 5n)),
        hardwareClass: Number(whole(market, "hardware_class", 0n, 255n)),
        checkpointBlocks: hex(whole(market, "checkpoint_blocks", 1n, kBlocksMax)),
        replayBlocks: hex(whole(market, "replay_blocks", 1n, kBlocksMax)),
        finishBlocks: hex(whole(market, "finish_blocks", 1n, kBlocksMax)),
        stepCost: hex(whole(compiled, "step_cost", 1n, 2n ** 50n)),
        allowUnaudited: market.allow_unaudited === true,
        spot: market.spot === true,
    };
    const files: Files = { program: text(task, "program"), data: text(task, "data") };
    if (task.initialiser !== undefined) files.initialiser = text(task, "initialiser");
    else files.initialState = text(task, "initial_state");
    return { terms, files };
}

const kNames: { [name: string]: number } = { f32: 1, i8: 2, u8: 3, i32: 4, bool: 6 };
const isShape = (value: unknown): value is number[] =>
    Array.isArray(value) && value.length <= 6 && value.every((extent) => Number.isSafeInteger(extent) && extent > 0);

/** The tensors of a data set, as its manifest.json names them; `root`: what they must have. */
async function readData(folder: Folder, path: string): Promise<{ source: TensorSource; root: string }[]> {
    let list: unknown;
    try {
        list = (JSON.parse(await folder.text(`${path}/manifest.json`)) as { tensors?: unknown }).tensors;
    } catch (error) {
        throw error instanceof Fault ? error : new Fault(`${tame(path)}/manifest.json is no JSON.`);
    }
    if (!Array.isArray(list) || list.length === 0 || list.length > 64) throw new Fault(`${tame(path)}/manifest.json names no tensors.`);
    return list.map((entry: { name?: unknown; dtype?: unknown; shape?: unknown; root?: unknown }) => {
        const { name, dtype, shape, root } = entry ?? {};
        if (typeof name !== "string" || !/^[a-z][a-z0-9_]{0,31}$/.test(name) || !isShape(shape) || typeof root !== "string" || !kNames[String(dtype)])
            throw new Fault(`${tame(path)}/manifest.json describes a tensor that is none.`);
        const tensor = { name: `${path}/${name}.bin`, dtype: kNames[String(dtype)] as number, dims: shape };
        return { source: ofFile(tensor, folder.find(tensor.name, kBytesMax), 0), root };
    });
}

/** Elements that lie in a file from byte `begin` on; to its end unless `length` is given. */
function ofFile(tensor: Shape & { name: string }, file: File, begin: number, length = file.size - begin): TensorSource {
    const size = bytesOfTensor(tensor);
    if (length !== size) throw new Fault(`${tame(tensor.name)} has ${length} bytes and not ${size}.`);
    return { ...tensor, read: async (at, count) => new Uint8Array(await file.slice(begin + at, begin + at + count).arrayBuffer()) };
}

/** Numbers that a state may begin with, as node/tasks/data cleans them: finite, and no subnormals. */
function cleaned(source: TensorSource): TensorSource {
    const read = async (at: number, length: number) => {
        const data = await source.read(at, length);
        const words = new DataView(data.buffer, data.byteOffset, data.byteLength);
        for (let i = 0; i + 4 <= data.length; i += 4) {
            const word = words.getUint32(i, true);
            const exponent = (word >>> 23) & 255;
            if (exponent === 255) throw new Fault(`${tame(source.name)} holds a NaN or an infinity.`);
            if (exponent === 0 && word << 1 !== 0) words.setUint32(i, word & 0x80000000, true);
        }
        return data;
    };
    return source.dtype === 1 ? { ...source, read } : source;
}

/** The state before step 0: tensors of the program by name; those that the file lacks are zeros. */
async function readState(file: File, program: Program): Promise<TensorSource[]> {
    const head = new DataView(await file.slice(0, 8).arrayBuffer());
    const length = head.byteLength === 8 ? Number(head.getBigUint64(0, true)) : 0;
    if (length < 2 || length > Math.min(kHeaderMax, file.size - 8)) throw new Fault(`${tame(file.name)} is no safetensors file.`);
    let entries: { [name: string]: { dtype?: unknown; shape?: unknown; data_offsets?: unknown } };
    try {
        entries = JSON.parse(await file.slice(8, 8 + length).text());
    } catch {
        throw new Fault(`${tame(file.name)} is no safetensors file.`);
    }
    const known = new Map(Object.entries(entries).filter(([name]) => name !== "__metadata__"));
    const out = program.states.map((tensor): TensorSource => {
        const entry = known.get(tensor.name);
        known.delete(tensor.name);
        if (!entry) return { ...tensor, read: async (_, count) => new Uint8Array(count) };
        const [from, to] = Array.isArray(entry.data_offsets) ? (entry.data_offsets as number[]) : [];
        if (entry.dtype !== kDtypes[tensor.dtype]?.name || String(entry.shape) !== String(tensor.dims) || !Number.isSafeInteger(from) || !Number.isSafeInteger(to))
            throw new Fault(`${tame(file.name)}: ${tame(tensor.name)} has another shape than in the program.`);
        return cleaned(ofFile(tensor, file, 8 + length + (from as number), (to as number) - (from as number)));
    });
    if (known.size > 0) throw new Fault(`${tame(file.name)}: the program has no state tensor ${tame([...known.keys()][0])}.`);
    return out;
}

function checkShapes(program: Program, data: TensorSource[]) {
    const same = data.length === program.datasets.length &&
        program.datasets.every((wanted, i) => wanted.dtype === data[i]?.dtype && wanted.dims.join() === data[i]?.dims.join());
    if (!same) throw new Fault("The program reads data of other shapes than the folder holds.");
}

async function readFirstState(folder: Folder, files: Files, terms: Spec, program: Program, commit: (source: TensorSource) => Promise<TensorArtifact>): Promise<Artifact> {
    if (files.initialiser !== undefined) {
        const file = await folder.bytes(files.initialiser, kProgramMax);
        const init = parseProgram(file);
        if (init.states.length !== program.states.length) throw new Fault("The initialiser belongs to another program.");
        return { kind: "program", name: files.initialiser, root: `0x${toHex(init.root)}`, file };
    }
    const name = files.initialState as string;
    const tensors: TensorArtifact[] = [];
    for (const source of await readState(folder.find(name, kBytesMax), program)) tensors.push(await commit(source));
    const contract = fromHex(terms.contractHash);
    const root = stateRoot(contract, program.root, 0, tensors.map((one) => fromHex(one.root)));
    return { kind: "state", name, root: `0x${toHex(root)}`, contract, program: program.root, tensors };
}

/** Reads and hashes a folder; a Fault says what is wrong with it. */
export async function readCompiled(list: Iterable<File>, stop: AbortSignal, tell: (part: number) => void): Promise<CompiledTask> {
    const folder = new Folder(list);
    const { terms, files } = readTerms(await folder.text("task.toml"));
    const file = await folder.bytes(files.program, kProgramMax);
    const program = parseProgram(file);
    const data = await readData(folder, files.data);
    checkShapes(program, data.map(({ source }) => source));
    const states = files.initialState === undefined ? 0 : program.states.reduce((sum, tensor) => sum + bytesOfTensor(tensor), 0);
    const total = file.length + states + data.reduce((sum, { source }) => sum + bytesOfTensor(source), 0);
    if (total > kBytesMax) throw new Fault("The folder holds more than 1 GiB, which a page does not send: use retrace task submit.");
    let done = 0;
    const commit = (source: TensorSource) => committed(source, stop, (bytes) => tell(Math.min(1, (done += bytes) / total)));
    const first = await readFirstState(folder, files, terms, program, commit);
    const artifacts: Artifact[] = [{ kind: "program", name: files.program, root: `0x${toHex(program.root)}`, file }, first];
    for (const { source, root } of data) {
        const tensor = await commit(source);
        if (!equal(fromHex(tensor.root), fromHex(root))) throw new Fault(`${tame(source.name)} is not what its manifest.json names.`);
        artifacts.push(tensor);
    }
    const spec: Spec = {
        ...terms,
        programRoot: `0x${toHex(program.root)}`,
        programBytes: hex(file.length),
        dataRoots: artifacts.slice(2).map(({ root }) => root),
        [first.kind === "program" ? "initRoot" : "initialStateRoot"]: first.root,
    };
    return { spec, artifacts, bytes: total };
}
