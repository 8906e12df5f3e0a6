// SPDX-License-Identifier: MIT
// Tensors whose elements lie in files of the person's disk. They are read piece by piece, so that a page of little memory
// hashes and sends what is larger than it.
import { bytesOfTensor, Fault, sizes, type Shape, tileOf } from "./commit";
import { tame } from "./format";
import { kTilesMax } from "./wire";

/** What a worker may be sent: row-major little-endian elements. */
export interface TensorSource extends Shape {
    name: string;
    /** null: zeros. */
    content: Blob | null;
    /** Numbers that a state begins with, as node/tasks/data cleans them: finite, and no subnormals. */
    clean: boolean;
}

/** Elements that lie in a file from byte `begin` on; to its end unless `length` is given. */
export function ofFile(tensor: Shape & { name: string }, file: File, begin: number, length = file.size - begin): TensorSource {
    const size = bytesOfTensor(tensor);
    if (length !== size) throw new Fault(`${tame(tensor.name)} has ${length} bytes and not ${size}.`);
    const { name, dtype, dims } = tensor;
    return { name, dtype, dims, content: file.slice(begin, begin + length), clean: false };
}

/** The elements from byte `at` on. */
async function read({ name, content, clean, dtype }: TensorSource, at: number, length: number): Promise<Uint8Array> {
    if (content === null) return new Uint8Array(length);
    const data = await content.slice(at, at + length).arrayBuffer().then((bytes) => new Uint8Array(bytes), () => undefined);
    if (data?.length !== length) throw new Fault(`${tame(name)} cannot be read any more: it was changed or removed. Choose the folder again.`);
    if (!clean || dtype !== 1) return data;
    const words = new DataView(data.buffer);
    for (let i = 0; i + 4 <= data.length; i += 4) {
        const word = words.getUint32(i, true);
        const exponent = (word >>> 23) & 255;
        if (exponent === 255) throw new Fault(`${tame(name)} holds a NaN or an infinity.`);
        if (exponent === 0 && word << 1 !== 0) words.setUint32(i, word & 0x80000000, true);
    }
    return data;
}

type Take = (index: number, tile: Uint8Array) => void;

/** Calls `take` with `count` tiles in order, at most kTilesMax. What is read at a time has at most three times their bytes. */
export async function eachTile(source: TensorSource, first: number, count: number, take: Take): Promise<void> {
    const { rows, cols, tileCols, size } = sizes(source);
    if (tileCols > kTilesMax) return eachTileOfLongRows(source, first, count, take);
    const top = Math.floor(first / tileCols);
    const bottom = Math.floor((first + count - 1) / tileCols);
    const data = await read(source, top * 32 * cols * size, (Math.min(rows, 32 * (bottom + 1)) - 32 * top) * cols * size);
    for (let index = first; index < first + count; index++)
        take(index, tileOf(source, index, data.subarray((Math.floor(index / tileCols) - top) * 32 * cols * size)));
}

/** Of rows that are too long to be read whole, the columns of the tiles. */
async function eachTileOfLongRows(source: TensorSource, first: number, count: number, take: Take): Promise<void> {
    const { rows, cols, tileCols, size } = sizes(source);
    for (let index = first; index < first + count; ) {
        const [top, left] = [Math.floor(index / tileCols) * 32, (index % tileCols) * 32];
        const tiles = Math.min(first + count - index, tileCols - left / 32);
        const part = { dtype: source.dtype, dims: [Math.min(32, rows - top), Math.min(cols - left, 32 * tiles)] };
        const [height, width] = part.dims as [number, number];
        const band = new Uint8Array(height * width * size);
        for (let row = 0; row < height; row++) band.set(await read(source, ((top + row) * cols + left) * size, width * size), row * width * size);
        for (let i = 0; i < tiles; i++) take(index + i, tileOf(part, i, band));
        index += tiles;
    }
}
