// SPDX-License-Identifier: MIT
// A task folder of `retrace task compile` as a person chooses it: its terms, and its artifacts under their roots.
import { parse } from "smol-toml";
import { bytesOfTensor, equal, Fault, fromHex, kDtypes, stateRoot, tensorRoot, toHex, Tree } from "./commit";
import { hex, parseCoins, tame } from "./format";
import type { HashAnswer } from "./hash_worker";
import hashWorker from "./hash_worker.ts?worker&url";
import { parseProgram, type Program } from "./program";
import type { GroupSpec, Spec } from "./records";
import { groupOf, parsePlan, type RoundTerms, type Plan } from "./rounds";
import { ofFile, type TensorSource } from "./tensor_source";

/** Bytes of a tensor, as the command line takes them (node/tasks/data). */
const kBytesMax = 2 ** 33;
const kTextMax = 1 << 20;
const kProgramMax = 80 << 20;
const kHeaderMax = 16 << 20;

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
    /** Of a training in rounds. */
    rounds?: { group: GroupSpec; costs: SegmentCosts };
    artifacts: Artifact[];
    bytes: number;
}

/** Multiply-adds of a member's segment: without messages, and to take in one. */
export interface SegmentCosts {
    alone: bigint;
    message: bigint;
}

interface TrustedTypes {
    createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): string };
}

/** The worker's address as browsers with trusted types want it (node/console/console.cpp); no other text becomes a script. */
function workerAddress(): string {
    const types = (window as { trustedTypes?: TrustedTypes }).trustedTypes;
    policy ??= types?.createPolicy("retrace", { createScriptURL: () => hashWorker });
    return policy ? policy.createScriptURL("") : hashWorker;
}
let policy: { createScriptURL(url: string): string } | undefined;

/** Hashes tensors one after another in a worker; `end` stops it. */
class Hasher {
    private readonly worker = new Worker(workerAddress(), { type: "module" });
    constructor(private readonly stop: AbortSignal, private readonly done: (bytes: number) => void) {}
    commit(source: TensorSource): Promise<TensorArtifact> {
        return new Promise((resolve, reject) => {
            const cancel = () => reject(new Fault("Cancelled."));
            if (this.stop.aborted) return cancel();
            this.stop.addEventListener("abort", cancel);
            this.worker.onerror = () => reject(new Fault("This browser does not run the part of the page that hashes."));
            this.worker.onmessage = ({ data }: MessageEvent<HashAnswer>) => {
                if ("done" in data) return this.done(data.done);
                this.stop.removeEventListener("abort", cancel);
                if ("fault" in data) return reject(new Fault(data.fault));
                const tree = new Tree(data.levels);
                resolve({ kind: "tensor", name: source.name, root: `0x${toHex(tensorRoot(source, tree.root))}`, source, tree });
            };
            this.worker.postMessage(source);
        });
    }
    end = () => this.worker.terminate();
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
    plan?: string;
}
interface Terms {
    terms: Spec;
    files: Files;
    rounds?: RoundTerms;
    messageCost: bigint;
}

const kBlocksMax = 100_000_000n;
/** As `retrace task submit --auctions`. */
const kAuctions = 3;

/** The terms that task.toml states, without the roots. */
function readTerms(source: string): Terms {
    let root: Table;
    try {
        root = parse(source, { integersAsBigInt: true }) as Table;
    } catch (error) {
        throw new Fault(`task.toml cannot be read: ${tame(String((error as Error).message).split("\n")[0], 160)}`);
    }
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
        stepCost: hex(whole(compiled, "step_cost", 1n, 2n ** 63n - 1n)),
        allowUnaudited: market.allow_unaudited === true,
        spot: market.spot === true,
        lastCeiling: "0x0",
        auctions: kAuctions,
        pauseBlocks: "0x0",
    };
    const files: Files = { program: text(task, "program"), data: text(task, "data") };
    if (task.initialiser !== undefined) files.initialiser = text(task, "initialiser");
    else files.initialState = text(task, "initial_state");
    if (root.rounds === undefined) return { terms, files, messageCost: 0n };
    const section = table(root.rounds, "rounds");
    if (files.initialState !== undefined) throw new Fault("task.toml: a training in rounds begins with an initialiser.");
    files.plan = text(section, "plan");
    return { terms, files, rounds: readRounds(section), messageCost: whole(compiled, "message_cost", 0n, 2n ** 63n - 1n) };
}

/** The numbers of [rounds], with the defaults of node/tasks/task_file.hpp. */
function readRounds(of: Table): RoundTerms {
    const number = (key: string, low: bigint, high: bigint, otherwise?: number) =>
        of[key] === undefined && otherwise !== undefined ? otherwise : Number(whole(of, key, low, high));
    const blocks = (key: string, otherwise: number) => number(key, 1n, kBlocksMax, otherwise);
    const members = number("members", 1n, 256n);
    const absenceLimit = number("absence_limit", 1n, 256n, 8);
    const maxAge = number("max_age", 0n, 256n, 0);
    if (of.private === true) throw new Fault("task.toml: members of a private training are admitted by `retrace task submit --admit`; this page cannot.");
    return {
        rounds: number("rounds", 1n, 1_000_000n),
        members,
        inner: number("inner", 1n, 65_536n),
        least: number("least_members", 2n, 255n, Math.max(2, Math.ceil(members / 2))),
        roundBlocks: blocks("round_blocks", 600),
        graceBlocks: blocks("grace_blocks", 60),
        fetchBlocks: blocks("fetch_blocks", 60),
        revealBlocks: blocks("reveal_blocks", 30),
        absenceLimit,
        keepRounds: number("keep_rounds", 1n, 256n, 64),
        catchUpMax: of.catch_up_max === undefined ? null : number("catch_up_max", 1n, 2n ** 20n - 1n),
        maxAge,
        rollbacks: number("rollbacks", 0n, 8n, 0),
        ahead: number("ahead", 0n, 64n, 0),
    };
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
        const { dtype, dims } = tensor;
        if (!entry) return { name: tensor.name, dtype, dims, content: null, clean: false };
        const [from, to] = Array.isArray(entry.data_offsets) ? (entry.data_offsets as number[]) : [];
        if (entry.dtype !== kDtypes[tensor.dtype]?.name || String(entry.shape) !== String(tensor.dims) || !Number.isSafeInteger(from) || !Number.isSafeInteger(to))
            throw new Fault(`${tame(file.name)}: ${tame(tensor.name)} has another shape than in the program.`);
        return { ...ofFile(tensor, file, 8 + length + (from as number), (to as number) - (from as number)), clean: true };
    });
    if (known.size > 0) throw new Fault(`${tame(file.name)}: the program has no state tensor ${tame([...known.keys()][0])}.`);
    return out;
}

function checkShapes(program: Program, data: TensorSource[]) {
    const same = data.length === program.datasets.length &&
        program.datasets.every((wanted, i) => wanted.dtype === data[i]?.dtype && wanted.dims.join() === data[i]?.dims.join());
    if (!same) throw new Fault("The program reads data of other shapes than the folder holds.");
}

/** Artifacts of a training, its program or plan and its first state, and the program that reads the data. */
interface Programs {
    program: Program;
    plan?: Plan;
    main: Artifact & { kind: "program" };
    /** Sources of the first state; empty: an initialiser makes it. */
    states: TensorSource[];
    init?: Artifact;
}

async function readPrograms(folder: Folder, files: Files): Promise<Programs> {
    const name = files.plan ?? files.program;
    const file = await folder.bytes(name, kProgramMax);
    const artifact = (root: Uint8Array) => ({ kind: "program" as const, name, root: `0x${toHex(root)}`, file });
    if (files.plan !== undefined) {
        const plan = parsePlan(file);
        const init = { kind: "program" as const, name: `${name}: init`, root: `0x${toHex(plan.init.program.root)}`, file: plan.init.file };
        return { program: plan.inner, plan, main: artifact(plan.root), states: [], init };
    }
    const program = parseProgram(file);
    const out = { program, main: artifact(program.root) };
    if (files.initialState !== undefined) return { ...out, states: await readState(folder.find(files.initialState, kBytesMax), program) };
    const initialiser = files.initialiser as string;
    const initFile = await folder.bytes(initialiser, kProgramMax);
    const init = parseProgram(initFile);
    if (init.states.length !== program.states.length) throw new Fault("The initialiser belongs to another program.");
    return { ...out, states: [], init: { kind: "program", name: initialiser, root: `0x${toHex(init.root)}`, file: initFile } };
}

/** The terms with the roots of the artifacts, which are the program or plan, the first state or its maker, and the data. */
function specOf(terms: Spec, artifacts: Artifact[]): Spec {
    const [main, first] = artifacts as [Artifact & { kind: "program" }, Artifact];
    return {
        ...terms,
        programRoot: main.root,
        programBytes: hex(main.file.length),
        dataRoots: artifacts.slice(2).map(({ root }) => root),
        [first.kind === "program" ? "initRoot" : "initialStateRoot"]: first.root,
    };
}

/** What the market has of a training in rounds: members are replicas, and a segment is a round. */
function postedRounds(terms: Spec, message: bigint, chosen: RoundTerms, plan: Plan): { terms: Spec; rounds: NonNullable<CompiledTask["rounds"]> } {
    const group = groupOf(chosen, plan);
    const alone = BigInt(terms.stepCost);
    const stepCost = hex(alone + BigInt(chosen.members) * message);
    return {
        terms: { ...terms, steps: hex(chosen.rounds + 1), interval: "0x1", replicas: chosen.members, stepCost, spot: false },
        rounds: { group, costs: { alone, message } },
    };
}

/** Reads and hashes a folder; a Fault says what is wrong with it. `tell`: the part that is done. */
export async function readCompiled(list: Iterable<File>, stop: AbortSignal, tell: (part: number) => void): Promise<CompiledTask> {
    const folder = new Folder(list);
    const { terms, files, rounds, messageCost } = readTerms(await folder.text("task.toml"));
    const { program, plan, main, states, init } = await readPrograms(folder, files);
    const data = await readData(folder, files.data);
    checkShapes(program, data.map(({ source }) => source));
    const posted = plan && rounds && postedRounds(terms, messageCost, rounds, plan);
    const total = main.file.length + [...states, ...data.map(({ source }) => source)].reduce((sum, tensor) => sum + bytesOfTensor(tensor), 0);
    let done = 0;
    const hasher = new Hasher(stop, (bytes) => tell(Math.min(1, (done += bytes) / total)));
    try {
        const tensors: TensorArtifact[] = [];
        for (const source of states) tensors.push(await hasher.commit(source));
        const contract = fromHex(terms.contractHash);
        const root = () => `0x${toHex(stateRoot(contract, program.root, 0, tensors.map((one) => fromHex(one.root))))}`;
        const first: Artifact = init ?? { kind: "state", name: files.initialState as string, root: root(), contract, program: program.root, tensors };
        const artifacts: Artifact[] = [main, first];
        for (const { source, root: wanted } of data) {
            const tensor = await hasher.commit(source);
            if (!equal(fromHex(tensor.root), fromHex(wanted))) throw new Fault(`${tame(source.name)} is not what its manifest.json names.`);
            artifacts.push(tensor);
        }
        if (!posted) return { spec: specOf(terms, artifacts), artifacts, bytes: total };
        return { spec: specOf(posted.terms, artifacts), rounds: posted.rounds, artifacts, bytes: total };
    } finally {
        hasher.end();
    }
}
