// SPDX-License-Identifier: MIT
// Sends the artifacts of a posted task to this node, which takes only what a live task names and its escrow stands for.
// What the node has is not sent again.
import type { Artifact, CompiledTask, TensorArtifact } from "./compiled";
import { bytesOfTensor, Fault, fromHex, joined, sizes, toHex } from "./commit";
import { eachTile } from "./tensor_source";
import { fields, get, kPieceMax, messageMax, numberOf, put, sentTiles, stateManifest, tileRange } from "./wire";

interface Info {
    complete: boolean;
    known: boolean;
    missing: { first: number; count: number }[];
}

async function infoOf(root: string, stop: AbortSignal): Promise<Info> {
    const reply = await get({ base: "", root }, "info", messageMax(0), stop).catch((error: Error) => {
        throw new Fault(/ 404$/.test(error.message) ? "The node wants none of it: the task has ended, or the node is behind its chain." : `The node does not say what it has: ${error.message}.`);
    });
    const all = fields(reply);
    const missing = all.filter(({ number }) => number === 5).map(({ bytes }) => {
        const range = fields(bytes);
        return { first: numberOf(range, 1), count: numberOf(range, 2) };
    });
    return { known: numberOf(all, 1) !== 0, complete: numberOf(all, 2) === 1, missing };
}

type Tell = (bytes: number) => void;

async function sendProgram(root: string, file: Uint8Array, stop: AbortSignal, tell: Tell): Promise<void> {
    const upload = toHex(crypto.getRandomValues(new Uint8Array(16)));
    if (file.length <= kPieceMax) await put(root, "program", file, stop);
    for (let at = 0; file.length > kPieceMax && at < file.length; at += kPieceMax)
        await put(root, `program?at=${at}&of=${file.length}&upload=${upload}`, file.subarray(at, at + kPieceMax), stop);
    tell(file.length);
}

async function sendTensor({ source, tree, root, name }: TensorArtifact, stop: AbortSignal, tell: Tell): Promise<void> {
    const { tileRows, tileCols, size } = sizes(source);
    const piece = sentTiles(size);
    const all = tileRows * tileCols;
    const bytes = bytesOfTensor(source);
    let told = 0;
    const sent = (tiles: number) => {
        told += (bytes * tiles) / all;
        tell((bytes * tiles) / all);
    };
    let left = all + 1;
    let from = -1;
    for (let info = await infoOf(root, stop); !info.complete; info = await infoOf(root, stop)) {
        const gaps = info.known ? info.missing : [{ first: 0, count: all }];
        const missing = gaps.reduce((sum, { count }) => sum + count, 0);
        // It names the first gaps only: if there are more, the first one moves on instead.
        const first = gaps[0]?.first ?? 0;
        if (missing === 0 || (missing >= left && first <= from)) throw new Fault(`The node does not keep what it is sent of ${name}.`);
        left = missing;
        from = first;
        for (const gap of gaps) {
            for (let first = gap.first; first < gap.first + gap.count; first += piece) {
                const count = Math.min(piece, gap.first + gap.count - first);
                const tiles: Uint8Array[] = [];
                await eachTile(source, first, count, (_, tile) => tiles.push(tile));
                await put(root, "tiles", tileRange(source, tree.root, first, joined(...tiles), tree.prove(first, first + count - 1)), stop);
                sent(count);
                if (stop.aborted) throw new Fault("Cancelled.");
            }
        }
    }
    tell(bytes - told); // what had arrived before
}

async function send(artifact: Artifact, stop: AbortSignal, tell: Tell): Promise<void> {
    const info = artifact.kind === "tensor" ? undefined : await infoOf(artifact.root, stop);
    if (artifact.kind === "tensor") return sendTensor(artifact, stop, tell);
    if (artifact.kind === "program") return info?.complete ? undefined : sendProgram(artifact.root, artifact.file, stop, tell);
    if (!info?.known) await put(artifact.root, "state", stateManifest(artifact.contract, artifact.program, 0, artifact.tensors.map(({ root }) => fromHex(root))), stop);
    for (const tensor of artifact.tensors) await sendTensor(tensor, stop, tell);
}

/** Resolves when the node has all of it; `tell`: the part that was sent. */
export async function upload(task: CompiledTask, stop: AbortSignal, tell: (part: number) => void): Promise<void> {
    let done = 0;
    for (const artifact of task.artifacts) await send(artifact, stop, (bytes) => tell(Math.min(1, (done += bytes) / task.bytes)));
}
