// SPDX-License-Identifier: MIT
// The runs that produced a model, as the state of the ledger tells them: the same as node/agents/delivered_runs.cpp.
import { each } from "./parallel";
import type { ProvenState } from "./proof";
import { keys, kRun, readCheckpoint, readMember, readRun, type Run, type Task } from "./slots";

const stands = (run: Run) => run.state !== kRun.forfeited && run.state !== kRun.left;

export const checkpointOf = (state: ProvenState, { task, index }: Run, at: number) => state.record(keys.checkpoint(task, index, at), readCheckpoint);
const openedRoot = async (state: ProvenState, run: Run, at: number): Promise<string | undefined> => {
    const found = await checkpointOf(state, run, at);
    return found?.opened ? found.root : undefined;
};

/** All runs of a task, in the order of their numbers. */
export async function runsOf(state: ProvenState, { id, runs }: Task): Promise<Run[]> {
    const all = await each(runs, (index) => state.record(keys.run(id, index), readRun));
    return all.filter((run): run is Run => run !== undefined);
}

/**
 * The run whose last state is the model, then the one from whose state it began, and so on to the one that began with the task; none
 * if there is no such run. `solver`: who made the model; undefined: anybody, the newest run first. A forfeited run is among them for
 * the states up to the one from which the next went on, which was final.
 */
export async function deliveredRuns(state: ProvenState, task: Task, segments: number, solver: string | undefined): Promise<Run[]> {
    const newestFirst = (await runsOf(state, task)).reverse();
    const out: Run[] = [];
    for (const run of newestFirst)
        if (out.length === 0 && stands(run) && (solver === undefined || run.solver === solver) && (await openedRoot(state, run, segments)) !== undefined) out.push(run);
    for (let next = out[0]; next && next.firstState !== 0; ) {
        const { firstState, firstRoot } = next;
        next = undefined;
        for (const run of newestFirst)
            if (!next && run.firstState < firstState && run.finalised >= firstState && (await openedRoot(state, run, firstState)) === firstRoot) next = run;
        if (next) out.push(next);
    }
    return out;
}

/** The run of these that made a segment. */
export const runOfSegment = (runs: Run[], index: number): Run | undefined => runs.find((run) => run.firstState <= index);

/** The member of a training in rounds whose last state is the model: it has taken in all records, and its segments are final. */
export async function deliveredMember(state: ProvenState, task: Task, rounds: number, solver: string | undefined): Promise<Run | undefined> {
    for (const run of await runsOf(state, task)) {
        if (!stands(run) || (solver !== undefined && run.solver !== solver)) continue;
        const member = await state.record(keys.member(run.task, run.index), readMember);
        if (member?.base !== rounds || run.finalised + 1 !== run.nextState) continue;
        if ((await openedRoot(state, run, run.finalised)) !== undefined) return run;
    }
    return undefined;
}
