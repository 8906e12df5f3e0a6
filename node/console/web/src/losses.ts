// SPDX-License-Identifier: MIT
// The loss that a training keeps in its state: each opened checkpoint commits to that of its last step. What a party
// sends is compared with the root on the ledger; whether the root is right is what auditors replay.
import { Fault } from "./commit";
import { float, hex, num } from "./format";
import { begin, fetchManifest, fetchProgram, fetchTensor } from "./model";
import type { Program, StateTensor } from "./program";
import type { Run, Segment, Task } from "./records";
import { peersOf } from "./peers";
import { node, type TaskEvent } from "./rpc";

/** The state tensor that holds it (kernels/builder/training.hpp). */
const kTensor = "metrics.loss";
/** The place of the loss among state tensors; a Fault if they have none. */
export function placeOfLoss(states: StateTensor[]): number {
    const place = states.findIndex(({ name, dtype, dims }) => name === kTensor && dtype === 1 && dims.length === 0);
    if (place < 0) throw new Fault("This task's program keeps no loss in its state, so none is committed to: replay it with retrace task fetch --losses.");
    return place;
}

/** Checkpoints that are asked for; of a longer training every so many. */
export const kPointsMax = 200;
/** Checkpoints one after another that nobody sent; the rest are not asked for. */
export const kFailuresMax = 3;
const kSegments = 1000; // in one answer of the node

export interface LossPoint {
    run: number;
    step: number;
    loss: number;
    /** Auditors replayed the segment that ends here and got the same bits. */
    verified: boolean;
}

/** By the root of a state; a root is that of one state for ever. */
const known = new Map<string, number>();

const programs = new Map<string, Program>();
async function programOf(task: Task, stop: AbortSignal): Promise<Program> {
    const found = programs.get(task.spec.programRoot) ?? (await fetchProgram(task.spec.programRoot, num(task.spec.programBytes), stop));
    programs.set(task.spec.programRoot, found);
    return found;
}

/** The run whose losses are shown: the newest that was not convicted. */
export const shownRun = (task: Task): Run | undefined => [...task.runs].reverse().find(({ state }) => state !== "forfeited");

/** Segments of the run that auditors replayed with the same bits. */
export function replayed(events: TaskEvent[], run: number): Set<number> {
    const out = new Set<number>();
    for (const { event, arguments: a } of events)
        if (event === "SegmentVerified" && num(a.run) === run && num(a.audit) > 0) out.add(num(a.segment));
    return out;
}

/** The points of a run, as far as it is shown still; `verified`: its segments that were replayed since. */
export const pointsOf = (points: LossPoint[], run: number | undefined, verified: Set<number>, interval: number): LossPoint[] =>
    points.filter((one) => one.run === run).map((one) => ({ ...one, verified: verified.has(Math.ceil(one.step / interval) - 1) }));

/** Every so many segments, of those whose end is committed, the last among them. */
function sampled(task: Task, run: Run): number[] {
    const committed = Math.min(num(task.segments), Math.max(0, num(run.nextState) - 1));
    const stride = Math.max(1, Math.ceil(committed / kPointsMax));
    return Array.from({ length: Math.ceil(committed / stride) }, (_, i) => committed - 1 - i * stride).reverse();
}

/** The opened ends of sampled segments of a run. */
async function openedEnds(task: Task, run: Run): Promise<Segment[]> {
    const wanted = sampled(task, run);
    const ask = async (first: number, most: number) =>
        (await node.call<Segment[] | null>("retrace_segments", [task.task.id, hex(run.index), hex(first), hex(most)])) ?? [];
    const out: Segment[] = [];
    if ((wanted[1] ?? 0) - (wanted[0] ?? 0) < kSegments / 10)
        for (let first = wanted[0] ?? 0; first <= (wanted[wanted.length - 1] ?? -1); first += kSegments) out.push(...(await ask(first, kSegments)));
    else for (const index of wanted) out.push(...(await ask(index, 1)));
    const isWanted = new Set(wanted);
    return out.filter(({ index, end }) => end?.opened && isWanted.has(num(index)));
}

async function fetchLoss(base: string, task: Task, root: string, states: StateTensor[], place: number, stop: AbortSignal): Promise<number> {
    const { roots } = await fetchManifest({ base, root }, task.spec.contractHash, task.spec.programRoot, states.length, stop);
    const part = begin(states[place] as StateTensor);
    await fetchTensor(base, part, roots[place] as Uint8Array, stop, () => undefined);
    return float(new DataView(part.data.buffer).getUint32(0, true));
}

/** The loss in the state of a root, from the first of the parties that sends it; else what each of them did. */
export async function lossOf(task: Task, root: string, states: StateTensor[], parties: string[], stop: AbortSignal): Promise<number | string> {
    const failures: string[] = [];
    for (const base of known.has(root) ? [] : await peersOf(parties)) {
        if (stop.aborted) throw new Fault("Cancelled.");
        try {
            known.set(root, await fetchLoss(base, task, root, states, placeOfLoss(states), stop));
            break;
        } catch (error) {
            failures.push(`${base}: ${(error as Error).message}`);
        }
    }
    return known.get(root) ?? failures.join("; ");
}

/**
 * Fetches the losses that are not known yet. Resolves with the points that were found, and what those who sent none did;
 * throws a sentence if the task keeps no loss.
 */
export async function fetchLosses(task: Task, events: TaskEvent[], stop: AbortSignal, tell: (points: LossPoint[], of: number) => void): Promise<string> {
    const run = shownRun(task);
    if (!run) throw new Fault("No solver trains it.");
    const { states } = await programOf(task, stop);
    placeOfLoss(states);
    const ends = await openedEnds(task, run);
    const verified = replayed(events, run.index);
    const points: LossPoint[] = [];
    let trouble = "";
    let failed = 0;
    for (const { index, end } of ends) {
        if (stop.aborted) throw new Fault("Cancelled.");
        if (failed === kFailuresMax) break;
        const segment = num(index);
        const loss = await lossOf(task, end?.root ?? "", states, [run.solver, ...(end?.keepers ?? [])], stop);
        failed = typeof loss === "string" ? failed + 1 : 0;
        if (typeof loss === "string") trouble = `Nobody sent the loss of checkpoint ${segment + 1}. ${loss}`;
        else points.push({ run: run.index, step: Math.min(num(task.spec.steps), (segment + 1) * num(task.spec.interval)), loss, verified: verified.has(segment) });
        tell([...points], ends.length);
    }
    return trouble;
}
