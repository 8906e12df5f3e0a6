// SPDX-License-Identifier: MIT
// Numbers that a training keeps in its state: each opened checkpoint commits to those of its last step, such as the loss.
// What a party sends is compared with the root on the ledger; whether the root is right is what auditors replay.
import { Fault } from "./commit";
import { float, hex, num, tame } from "./format";
import { begin, fetchManifest, fetchProgram, fetchTensor } from "./model";
import { kMetricTensors, type Program, type StateTensor } from "./program";
import type { Dispute, Run, Segment, Task } from "./records";
import { peersOf } from "./peers";
import { node, type TaskEvent } from "./rpc";

/** A state tensor of one fp32 number. */
export interface Slot {
    place: number;
    /** As people read it. */
    label: string;
    isMetric: boolean;
}

const kSlotsMax = 64;
const kSegments = 1000; // in one answer of the node
const kCoarse = 200; // states that are asked for first, spread over the training
const kAtOnce = 4; // states
/** States one after another that nobody sent; older ones are not asked for. */
const kFailuresMax = 3;
const kAskedAgain = 8; // states, the newest, whose parties may have been away for a moment
const kTellMs = 300;

/** The numbers that a program keeps: its metrics, the loss first, and then others, at most 64. */
export function slotsOf(states: StateTensor[]): Slot[] {
    const all = states.flatMap(({ name, dtype, dims }, place): Slot[] => {
        if (dtype !== 1 || dims.length !== 0) return [];
        const isMetric = kMetricTensors.includes(name);
        return [{ place, label: isMetric ? name.replace("metrics.", "").replaceAll("_", " ") : tame(name, 40), isMetric }];
    });
    const rank = ({ isMetric, label }: Slot) => (label === "loss" && isMetric ? 0 : isMetric ? 1 : 2);
    return all.sort((a, b) => rank(a) - rank(b)).slice(0, kSlotsMax);
}

/** Numbers by the place of their tensor. */
export type Values = ReadonlyMap<number, number>;

/** By the root of a state; a root is that of one state for ever. */
const known = new Map<string, Map<number, number>>();
/** Roots of states that nobody had. */
const gone = new Set<string>();

const programs = new Map<string, Program>();
export async function statesOf({ spec }: Task, stop: AbortSignal): Promise<StateTensor[]> {
    const found = programs.get(spec.programRoot) ?? (await fetchProgram(spec.programRoot, num(spec.programBytes), stop));
    programs.set(spec.programRoot, found);
    return found.states;
}

/** The run that is shown first: the newest that was not convicted. */
export const shownRun = (task: Task): Run | undefined => [...task.runs].reverse().find(({ state }) => state !== "forfeited") ?? task.runs.at(-1);

/** Segments of the run that auditors replayed with the same bits. */
export function replayed(events: TaskEvent[], run: number): Set<number> {
    const out = new Set<number>();
    for (const { event, arguments: a } of events)
        if (event === "SegmentVerified" && num(a.run) === run && num(a.audit) > 0) out.add(num(a.segment));
    return out;
}

/** Segments of the run that a dispute is about, or was that convicted its solver. */
export const disputed = (disputes: Dispute[], run: number): Set<number> =>
    new Set(disputes.filter((one) => one.run === run && (one.state === "open" || one.state === "solver_lost")).map((one) => num(one.segment)));

/** The opened end of a segment. */
export interface OpenedState {
    segment: number;
    root: string;
    keepers: string[];
    verified: boolean;
    member: Segment["member"];
}

/** Answers of the node in which every segment is opened: they change no more, but for audits, of which events tell. */
const slices = new Map<string, OpenedState[]>();

/** All opened ends of segments of a run, ascending. */
export async function openedStates(task: Task, run: Run): Promise<OpenedState[]> {
    const out: OpenedState[] = [];
    const last = Math.min(num(task.segments), num(run.nextState));
    for (let first = 0; first < last; first += kSegments) {
        const key = `${task.task.id} ${run.index} ${first}`;
        const cached = slices.get(key);
        if (cached) {
            out.push(...cached);
            continue;
        }
        const some = (await node.call<Segment[] | null>("retrace_segments", [task.task.id, hex(run.index), hex(first), hex(kSegments)])) ?? [];
        const opened = some.flatMap(({ index, segment, end, member, undone }): OpenedState[] =>
            end?.opened && !undone ? [{ segment: num(index), root: end.root, keepers: end.keepers, verified: segment.state === "verified" && num(segment.audit) > 0, member }] : [],
        );
        if (opened.length === kSegments) slices.set(key, opened);
        out.push(...opened);
    }
    return out;
}

async function fetchFrom(base: string, task: Task, root: string, states: StateTensor[], places: number[], stop: AbortSignal): Promise<Map<number, number>> {
    const { roots } = await fetchManifest({ base, root }, task.spec.contractHash, task.spec.programRoot, states.length, stop);
    const out = new Map<number, number>();
    for (const place of places) {
        const part = begin(states[place] as StateTensor);
        await fetchTensor(base, part, roots[place] as Uint8Array, stop, () => undefined);
        out.set(place, float(new DataView(part.data.buffer).getUint32(0, true)));
    }
    return out;
}

/** What is known of a state's numbers; undefined if one of the wanted ones is missing. */
export function valuesOf(root: string, places: number[]): Values | undefined {
    const found = known.get(root);
    return found && places.every((place) => found.has(place)) ? found : undefined;
}

/** Fetches numbers of a state from the first party that sends them. Returns what each of them did, empty if one did. */
async function ask(task: Task, root: string, states: StateTensor[], places: number[], parties: string[], stop: AbortSignal): Promise<string> {
    const failures: string[] = [];
    const missing = places.filter((place) => !known.get(root)?.has(place));
    for (const base of await peersOf(parties)) {
        if (stop.aborted) throw new Fault("Cancelled.");
        try {
            const found = await fetchFrom(base, task, root, states, missing, stop);
            known.set(root, new Map([...(known.get(root) ?? []), ...found]));
            return "";
        } catch (error) {
            failures.push(`${base}: ${(error as Error).message}`);
        }
    }
    return failures.join("; ") || "Nobody has announced an address.";
}

/** The newest first: every so many of them, then the others. */
function inOrder(states: OpenedState[]): OpenedState[][] {
    const stride = Math.max(1, Math.ceil(states.length / kCoarse));
    const newest = [...states].reverse();
    return [newest.filter((_, i) => i % stride === 0), newest.filter((_, i) => i % stride !== 0)];
}

export const forgetFailures = (): void => gone.clear();

/**
 * Fetches the numbers at `places` of opened states of a run, all that are not known yet. Resolves with what those who sent
 * none did. `tell` is called as they come.
 */
export async function fetchNumbers(
    task: Task, run: Run, opened: OpenedState[], states: StateTensor[], places: number[], stop: AbortSignal, tell: () => void,
): Promise<string> {
    let trouble = "";
    let told = 0;
    const newest = new Set(opened.slice(-kAskedAgain).map(({ root }) => root));
    for (const wanted of inOrder(opened)) {
        const queue = wanted.filter(({ root }) => !valuesOf(root, places) && !gone.has(root));
        let failed = 0;
        const work = async () => {
            for (let one = queue.shift(); one && failed < kFailuresMax; one = queue.shift()) {
                if (stop.aborted) throw new Fault("Cancelled.");
                const failure = await ask(task, one.root, states, places, [run.solver, ...one.keepers], stop);
                failed = failure ? failed + 1 : 0;
                if (failure) {
                    if (!newest.has(one.root)) gone.add(one.root);
                    trouble = `Nobody sent the numbers at the end of segment ${one.segment} of run ${run.index}. ${failure}`;
                }
                if (Date.now() - told > kTellMs) {
                    told = Date.now();
                    tell();
                }
            }
        };
        await Promise.all(Array.from({ length: kAtOnce }, work));
    }
    tell();
    return trouble;
}

/** A file of comma-separated values. Names of columns may be a stranger's, and a spreadsheet must read no formula there. */
export const csvOf = (head: string[], rows: (string | number)[][]): string =>
    [head.map((name) => name.replace(/[^\w. ]/g, "_")), ...rows].map((row) => row.join(",")).join("\n") + "\n";
