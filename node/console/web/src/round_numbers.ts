// SPDX-License-Identifier: MIT
// The numbers of the members of a training in rounds. Each segment with inner steps ends in a state that has those of the
// last one (kernels/plan/SPEC.md 4.7); what a party sends is compared with the root on the ledger.
import { num } from "./format";
import { fetchPlan } from "./model";
import { disputed, fetchNumbers, openedStates, replayed, type Values, valuesOf } from "./numbers";
import { each } from "./parallel";
import type { StateTensor } from "./program";
import type { Dispute, Group, Run, Task } from "./records";
import type { TaskEvent } from "./rpc";

export interface MemberPoint {
    run: number;
    solver: string;
    segment: number;
    /** The round at whose beginning the member stood. */
    round: number;
    steps: number;
    /** By the state of the segment; events may know of a later audit. */
    verified: boolean;
    values: Values;
}

const plans = new Map<string, StateTensor[]>();
export async function memberStates({ spec }: Task, stop: AbortSignal): Promise<StateTensor[]> {
    const found = plans.get(spec.programRoot);
    if (found) return found;
    const { inner } = await fetchPlan(spec.programRoot, num(spec.programBytes), stop);
    plans.set(spec.programRoot, inner.states);
    return inner.states;
}

/** Fetches the numbers of all members. Resolves with what those who sent none did; `tell` gets all points that are known. */
export async function fetchMembers(task: Task, states: StateTensor[], places: number[], stop: AbortSignal, tell: (points: MemberPoint[], of: number) => void): Promise<string> {
    const all = await each(task.runs.length, async (i) => {
        const run = task.runs[i] as Run;
        return { run, opened: (await openedStates(task, run)).filter(({ member }) => member && member.steps > 0) };
    });
    const of = all.reduce((sum, { opened }) => sum + opened.length, 0);
    const points = () =>
        all.flatMap(({ run, opened }) =>
            opened.flatMap(({ segment, root, verified, member }): MemberPoint[] => {
                const values = valuesOf(root, places);
                return values && member ? [{ run: run.index, solver: run.solver, segment, round: member.base, steps: member.steps, verified, values }] : [];
            }),
        );
    let trouble = "";
    tell(points(), of);
    for (const { run, opened } of all) trouble = (await fetchNumbers(task, run, opened, states, places, stop, () => tell(points(), of))) || trouble;
    return trouble;
}

export type Standing = "verified" | "claimed" | "disputed" | "convicted";

/** What is known of the points: auditors replayed the segment, its member only claims it, it is disputed, or its member was convicted. */
export function standings(events: TaskEvent[], group: Group, disputes: Dispute[]): (point: MemberPoint) => Standing {
    const verified = new Map(group.members.map(({ run }) => [run, replayed(events, run)]));
    const open = new Map(group.members.map(({ run }) => [run, disputed(disputes, run)]));
    const convicted = new Set(group.members.filter(({ state }) => state === "forfeited").map(({ run }) => run));
    return ({ run, segment, verified: known }) => {
        if (open.get(run)?.has(segment)) return convicted.has(run) ? "convicted" : "disputed";
        if (known || verified.get(run)?.has(segment)) return "verified";
        return convicted.has(run) ? "convicted" : "claimed";
    };
}
