// SPDX-License-Identifier: MIT
// Program files (kernels/SPEC.md 5): their roots, and the shapes of their tensors.
import { bytesOfTensor, equal, Fault, hash, kDtypes, type Shape, sizes, tensorRoot, tileLeaf, tileOf, Tree, treeRoot, u32 } from "./commit";

/** Reads the canonical codec (merkle 2). */
export class Reader {
    private at = 0;
    constructor(private readonly data: Uint8Array, private readonly what = "program") {}
    raw(length: number): Uint8Array {
        if (this.at + length > this.data.length) throw new Fault(`the ${this.what} is cut off`);
        return this.data.subarray(this.at, (this.at += length));
    }
    number(size: 1 | 2 | 4 | 8): number {
        return this.raw(size).reduceRight((value, byte) => value * 256 + byte, 0);
    }
    bytes = (): Uint8Array => this.raw(this.number(4));
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

const kKind = { state: 1 };
const kRecordLeaf = Uint8Array.of(7);

export interface StateTensor extends Shape {
    name: string;
}

export interface Program {
    root: Uint8Array;
    states: StateTensor[];
    datasets: StateTensor[];
}

/** The program of a file; a Fault if it is none. */
export function parseProgram(file: Uint8Array): Program {
    const in_ = new Reader(file);
    if (new TextDecoder().decode(in_.raw(4)) !== "RTP1") throw new Fault("the program does not begin with RTP1");
    const [version, states, constants, datasets, ops] = Array.from({ length: 5 }, () => in_.number(4)) as [number, number, number, number, number];
    if ((states + constants + datasets + ops) * 11 > file.length) throw new Fault("the program is cut off");
    const records: (StateTensor & { kind: number })[] = [];
    const leaf = (index: number, content: Uint8Array) => hash(kRecordLeaf, u32(index), content);
    const tensorLeaves = Array.from({ length: states + constants + datasets + ops }, (_, i) => leaf(i, in_.slice(() => {
        const kind = in_.number(1);
        const dtype = in_.number(1);
        const dims = Array.from({ length: in_.number(1) }, () => in_.number(8));
        in_.number(4);
        records.push({ kind, dtype, dims, name: new TextDecoder().decode(in_.bytes()) });
    })));
    const opLeaves = Array.from({ length: ops }, (_, i) => leaf(i, in_.slice(() => {
        in_.number(2);
        in_.raw(4 * in_.number(4));
        in_.raw(8 * in_.number(4));
        in_.bytes();
    })));
    for (const record of records) if (!kDtypes[record.dtype]) throw new Fault("the program has a tensor of an unknown kind");
    const constantLeaves = Array.from({ length: constants }, (_, i) => leaf(i, constantRoot(records[states + i] as StateTensor, in_.bytes())));
    if (!in_.ended) throw new Fault("the program is longer than what it holds");
    if (records.slice(0, states).some(({ kind }) => kind !== kKind.state)) throw new Fault("the program has a tensor of an unknown kind");
    const counts = [version, states, constants, datasets, ops].map(u32);
    return {
        root: hash(Uint8Array.of(5), ...counts, treeRoot(opLeaves), treeRoot(tensorLeaves), treeRoot(constantLeaves)),
        states: records.slice(0, states),
        datasets: records.slice(states + constants, states + constants + datasets),
    };
}

function constantRoot(shape: Shape, data: Uint8Array): Uint8Array {
    const { cols, tileRows, tileCols, size } = sizes(shape);
    // A stranger's shape must not make a loop or a list that its bytes do not pay for.
    if (data.length !== bytesOfTensor(shape) || tileRows * tileCols > data.length) throw new Fault("the program has a constant of another size");
    const leaves = new Uint8Array(32 * tileRows * tileCols);
    for (let tile = 0; tile < tileRows * tileCols; tile++)
        leaves.set(tileLeaf(tileOf(shape, tile, data.subarray(Math.floor(tile / tileCols) * 32 * cols * size))), 32 * tile);
    return tensorRoot(shape, Tree.of(leaves).root);
}

/** The program of a file that has that root; a Fault if it has another. */
export function readProgram(file: Uint8Array, root: Uint8Array): Program {
    const program = parseProgram(file);
    if (!equal(program.root, root)) throw new Fault("the program is not the one that the task names");
    return program;
}

/** State tensors about the step before (kernels/builder/training.hpp). */
export const kMetricTensors = ["metrics.accuracy", "metrics.gradient_norm", "metrics.loss"];

/** State tensors of which a model has none: moments of an optimiser, what a training in rounds keeps, metrics. */
export function modelTensors(tensors: StateTensor[]): number[] {
    const names = new Set(tensors.map(({ name }) => name));
    const isMoment = (name: string) => /\.(m|v|momentum)$/.test(name) && names.has(name.replace(/\.[a-z]+$/, ""));
    return tensors.flatMap(({ name }, i) => (isMoment(name) || name.startsWith("rounds.") || kMetricTensors.includes(name) ? [] : [i]));
}
