// SPDX-License-Identifier: MIT
// Hashes tensors in a thread of its own: the page stays responsive, and a tab that nobody looks at is not slowed down.
// Takes a TensorSource; answers with the bytes done, then with the levels of its tree, or with the sentence of a fault.
import { Fault, sizes, tileLeaf, Tree } from "./commit";
import { eachTile, type TensorSource } from "./tensor_source";
import { kTilesMax } from "./wire";

export type HashAnswer = { done: number } | { levels: Uint8Array[] } | { fault: string };

const answer = (message: HashAnswer, moved: Transferable[] = []) => postMessage(message, { transfer: moved });

async function hashed(source: TensorSource): Promise<void> {
    const { tileRows, tileCols, size } = sizes(source);
    const tiles = tileRows * tileCols;
    const leaves = new Uint8Array(32 * tiles);
    for (let first = 0; first < tiles; first += kTilesMax) {
        const count = Math.min(kTilesMax, tiles - first);
        await eachTile(source, first, count, (index, tile) => leaves.set(tileLeaf(tile), 32 * index));
        answer({ done: count * 1024 * size });
    }
    const { levels } = Tree.of(leaves);
    answer({ levels }, levels.map(({ buffer }) => buffer));
}

onmessage = ({ data }: MessageEvent<TensorSource>) =>
    void hashed(data).catch((error: Error) => answer({ fault: error instanceof Fault ? error.message : `${data.name} cannot be hashed: ${error.message}` }));
