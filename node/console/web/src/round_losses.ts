// SPDX-License-Identifier: MIT
// The losses of the members of a training in rounds. Each segment with inner steps ends in a state that has the loss of
// the last one (kernels/plan/SPEC.md 4.7); what a party sends is compared with the root on the ledger.
import { Fault } from "./commit";
import { hex, num } from "./format";
import { kFailuresMax, kPointsMax, lossOf, placeOfLoss, replayed } from "./losses";
import { fetchPlan } from "./model";
import type { StateTensor } from "./program";
import type { Group, Segment, Task } from "./records";
import { node, type TaskEvent } from "./rpc";

export interface MemberLoss {
    run: number;
    solver: string;
    segment: number;
    /** The round at whose beginning the member stood. */
    round: number;
    steps: number;
    loss: number;
}

/** Segments of a member with inner steps, the newest first. */
interface Trained {
    segment: number;
    round: number;
    steps: number;
}
function trainedBy(events: TaskEvent[], run: number): Trained[] {
    const out = events.filter(({ event, arguments: a }) => event === "SegmentCommitted" && num(a.run) === run && num(a.steps) > 0);
    return out.map(({ arguments: a }) => ({ segment: num(a.segment), round: num(a.base), steps: num(a.steps) })).reverse();
}

const plans = new Map<string, StateTensor[]>();
async function statesOf({ spec }: Task, stop: AbortSignal): Promise<StateTensor[]> {
    const found = plans.get(spec.programRoot);
    if (found) return found;
    const { inner } = await fetchPlan(spec.programRoot, num(spec.programBytes), stop);
    plans.set(spec.programRoot, inner.states);
    return inner.states;
}

/** States whose losses nobody had. */
const gone = new Set<string>();

/**
 * Fetches the losses of the newest segments of each member, `kPointsMax` in all. Resolves with what those who sent none
 * did; throws a sentence if the plan keeps no loss. `again`: also asks for what nobody had before.
 */
export async function fetchRoundLosses(
    task: Task,
    group: Group,
    events: TaskEvent[],
    again: boolean,
    stop: AbortSignal,
    tell: (points: MemberLoss[]) => void,
): Promise<string> {
    const states = await statesOf(task, stop);
    placeOfLoss(states);
    if (again) gone.clear();
    const most = Math.max(1, Math.floor(kPointsMax / Math.max(1, group.members.length)));
    const points: MemberLoss[] = [];
    let trouble = "";
    for (const { run, solver } of group.members) {
        const trained = trainedBy(events, run).slice(0, most);
        const [newest, oldest] = [trained[0], trained[trained.length - 1]];
        if (!newest || !oldest) continue;
        const count = Math.min(1000, newest.segment - oldest.segment + 1);
        const params = [task.task.id, hex(run), hex(newest.segment + 1 - count), hex(count)];
        const segments = (await node.call<Segment[] | null>("retrace_segments", params)) ?? [];
        const ends = new Map(segments.map(({ index, end }) => [num(index), end]));
        let failed = 0;
        for (const one of trained) {
            if (stop.aborted) throw new Fault("Cancelled.");
            const end = ends.get(one.segment);
            if (!end?.opened || gone.has(end.root)) continue;
            const loss = await lossOf(task, end.root, states, [solver, ...end.keepers], stop);
            if (typeof loss === "number") {
                points.push({ run, solver, loss, ...one });
                tell([...points]);
                failed = 0;
                continue;
            }
            gone.add(end.root);
            trouble = `Nobody sent the loss of run ${run} in round ${one.round}. ${loss}`;
            if (++failed === kFailuresMax) break; // older losses were dropped before
        }
    }
    return trouble;
}

export type Standing = "verified" | "claimed" | "convicted";

/** What is known of the points: auditors replayed the segment, its member only claims it, or it was convicted. */
export function standings(events: TaskEvent[], group: Group): (point: MemberLoss) => Standing {
    const verified = new Map(group.members.map(({ run }) => [run, replayed(events, run)]));
    const convicted = new Set(group.members.filter(({ state }) => state === "forfeited").map(({ run }) => run));
    return ({ run, segment }) => (verified.get(run)?.has(segment) ? "verified" : convicted.has(run) ? "convicted" : "claimed");
}
