// SPDX-License-Identifier: MIT
// How programs, tensors and states are committed to by roots: kernels/contract-v1.txt (6), kernels/SPEC.md (5), merkle 3.
import { sha256 } from "viem";

export class Fault extends Error {}

export const equal = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, i) => byte === b[i]);
export const toHex = (bytes: Uint8Array) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
/** The bytes of hex digits; a Fault if they are none, or not `length` bytes. */
export function fromHex(text: string, length?: number): Uint8Array {
    const digits = String(text).replace(/^0x/, "");
    if (!/^([0-9a-f]{2})*$/i.test(digits) || (length !== undefined && digits.length !== 2 * length)) throw new Fault(`it names no ${length ?? "whole number of"} bytes`);
    return Uint8Array.from({ length: digits.length / 2 }, (_, i) => Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16));
}

export const joined = (...parts: Uint8Array[]): Uint8Array => concat(parts);
/** The same of a list of any length; an engine takes some hundred thousand arguments at most. */
export function concat(parts: Uint8Array[]): Uint8Array {
    const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
        out.set(part, at);
        at += part.length;
    }
    return out;
}
export const hash = (...parts: Uint8Array[]) => sha256(joined(...parts), "bytes");
const tag = (value: number) => Uint8Array.of(value);
export function u32(value: number): Uint8Array {
    const out = new Uint8Array(4);
    new DataView(out.buffer).setUint32(0, value, true);
    return out;
}
export function u64(value: number): Uint8Array {
    const out = new Uint8Array(8);
    new DataView(out.buffer).setBigUint64(0, BigInt(value), true);
    return out;
}

export const tileLeaf = (tile: Uint8Array) => hash(tag(0), tile);

/** The level above nodes of 32 bytes each, the first of which has an even place. */
function above(level: Uint8Array): Uint8Array {
    const next = new Uint8Array(32 * Math.ceil(level.length / 64));
    for (let at = 0; at < level.length; at += 64)
        next.set(at + 32 < level.length ? hash(tag(1), level.subarray(at, at + 64)) : level.subarray(at, at + 32), at / 2);
    return next;
}

/** A tree over leaves of 32 bytes each, joined pairwise from the left; an odd last node is promoted (merkle 3.1). */
export class Tree {
    /** `levels`: the nodes of each level one after another, the leaves first. */
    constructor(readonly levels: Uint8Array[]) {}
    static of(leaves: Uint8Array): Tree {
        const levels = [leaves];
        for (let level = leaves; level.length > 32; levels.push(level)) level = above(level);
        return new Tree(levels);
    }
    get root(): Uint8Array {
        const top = this.levels[this.levels.length - 1] as Uint8Array;
        return top.length === 0 ? new Uint8Array(32) : top;
    }
    /** The siblings that lead from leaves `first` to `last` to the root, upward and each level from the left. */
    prove(first: number, last: number): Uint8Array {
        const siblings: Uint8Array[] = [];
        for (const level of this.levels.slice(0, -1)) {
            if (first % 2 === 1) siblings.push(level.subarray(32 * (first - 1), 32 * first));
            if (last % 2 === 0 && 32 * (last + 1) < level.length) siblings.push(level.subarray(32 * (last + 1), 32 * (last + 2)));
            first = Math.floor(first / 2);
            last = Math.floor(last / 2);
        }
        return joined(...siblings);
    }
}
export const treeRoot = (leaves: Uint8Array[]) => Tree.of(concat(leaves)).root;

/**
 * The root of a tree of `total` leaves that follows from some of them, from `first` on, and the siblings of `prove`. A Fault if there
 * are too few siblings, or more than are used.
 */
export function rootOfRange(leaves: Uint8Array, first: number, total: number, siblings: Uint8Array): Uint8Array {
    let level = leaves;
    let last = first + leaves.length / 32 - 1;
    let at = 0;
    const sibling = () => {
        if (at + 32 > siblings.length) throw new Fault("it sends too short a proof");
        return siblings.subarray(at, (at += 32));
    };
    for (let count = total; count > 1; count = Math.ceil(count / 2)) {
        if (first % 2 === 1) level = joined(sibling(), level);
        if (last % 2 === 0 && last + 1 < count) level = joined(level, sibling());
        level = above(level);
        first = Math.floor(first / 2);
        last = Math.floor(last / 2);
    }
    if (at !== siblings.length) throw new Fault("it sends too long a proof");
    return level;
}

export const kDtypes: { [code: number]: { name: string; size: number } } = {
    1: { name: "F32", size: 4 }, 2: { name: "I8", size: 1 }, 3: { name: "U8", size: 1 }, 4: { name: "I32", size: 4 }, 6: { name: "BOOL", size: 1 },
};

export interface Shape {
    dtype: number;
    dims: number[];
}

/** Rows and columns of the matrix that a tensor is cut from, in elements and in tiles; `size`: bytes of an element. */
export function sizes({ dims, dtype }: Shape) {
    const cols = dims.length ? (dims[dims.length - 1] as number) : 1;
    const rows = dims.slice(0, -1).reduce((product, extent) => product * extent, 1);
    return { rows, cols, tileRows: Math.ceil(rows / 32), tileCols: Math.ceil(cols / 32), size: kDtypes[dtype]?.size ?? 0 };
}
export function bytesOfTensor(shape: Shape): number {
    const { rows, cols, size } = sizes(shape);
    return rows * cols * size;
}

export const tensorRoot = (shape: Shape, tree: Uint8Array) =>
    hash(tag(2), tag(shape.dtype), tag(shape.dims.length), ...shape.dims.map(u64), tree);

/** Tile `index` cut from rows of the matrix; `band` holds them whole, from the tile's first row on (contract 6.1). */
export function tileOf(shape: Shape, index: number, band: Uint8Array): Uint8Array {
    const { rows, cols, tileCols, size } = sizes(shape);
    const out = new Uint8Array(1024 * size);
    const [top, left] = [Math.floor(index / tileCols) * 32, (index % tileCols) * 32];
    const length = Math.min(32, cols - left) * size;
    for (let row = 0; row < Math.min(32, rows - top); row++) {
        const from = (row * cols + left) * size;
        out.set(band.subarray(from, from + length), row * 32 * size);
    }
    return out;
}

export function stateRoot(contract: Uint8Array, program: Uint8Array, step: number, tensors: Uint8Array[]): Uint8Array {
    return hash(tag(3), contract, program, u64(step), treeRoot(tensors.map((root, i) => hash(tag(4), u32(i), root))));
}
