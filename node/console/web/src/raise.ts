// SPDX-License-Identifier: MIT
// What a requester adds to its open task, and what that brings: a higher ceiling or more auctions (contracts 12.10), more replicas of
// a running one (12.7). The same amounts as those of `retrace task top-up` and `retrace task raise`.
import { checkpointOf } from "./delivered";
import { exactCoins, hex, many, parseCoins } from "./format";
import { escrowAt, type MarketParams } from "./odds";
import { ProvenState } from "./proof";
import { keys, kTask, readAuctions, readRun, readSpec, readStop, readTask, type Spec, type Task } from "./slots";

/** An open task, by proofs from one state. */
export interface Open {
    spec: Spec;
    task: Task;
    /** The least ceiling of its next auction; the highest that its escrow covers; auctions that may follow ones without winners. */
    least: bigint;
    covered: bigint;
    left: number;
    /** The newest final state of its runs, at which another replica would start. */
    newest: number;
}

const greatest = (...values: bigint[]) => values.reduce((a, b) => (a > b ? a : b));

export async function readOpen(id: number): Promise<Open> {
    const state = await ProvenState.newest();
    const [spec, task, known] = await Promise.all([
        state.record(keys.spec(id), readSpec), state.record(keys.task(id), readTask), state.record(keys.auctions(id), readAuctions),
    ]);
    if (!spec || !task) throw new Error(`There is no task ${id}.`);
    const reached = await Promise.all(task.active.map(async (index) => {
        const [run, stopped] = await Promise.all([state.record(keys.run(id, index), readRun), state.record(keys.stopped(id, index), readStop)]);
        const end = run && !stopped && (await checkpointOf(state, run, run.finalised));
        return run && end && end.opened ? run.finalised : 0;
    }));
    const covered = greatest(spec.ceiling, spec.lastCeiling, known?.least ?? 0n);
    return { spec, task, covered, least: greatest(spec.ceiling, known?.least ?? 0n), left: known?.left ?? 0, newest: Math.max(task.firstState, ...reached) };
}

const segmentsFrom = ({ spec }: Open, first: number) => BigInt(Math.max(0, Math.ceil(spec.steps / spec.interval) - first));

export interface TopUp {
    ceiling: bigint;
    auctions: number;
    /** Wei that it brings. */
    value: bigint;
}

/** `ceiling` and `auctions` as a person gives them, an empty ceiling for the present one; throws a sentence about what is wrong. */
export function topUpOf(open: Open, params: MarketParams, ceiling: string, auctions: string): TopUp {
    const { spec, task, least, left, covered } = open;
    const wanted = ceiling.trim() ? parseCoins(ceiling) : least;
    if (wanted === null) throw new Error("The ceiling is a number of coins, such as 1.5.");
    if (wanted < least) throw new Error(`The ceiling of the next auction is ${exactCoins(hex(least))} coins already, and only rises.`);
    const most = Math.max(0, Number(BigInt(params.rounds)) - task.round - left);
    if (!/^\d{1,3}$/.test(auctions.trim()) || Number(auctions) > most)
        throw new Error(`The task may have ${many(most, "more auction")}: it has had ${task.round} of ${Number(BigInt(params.rounds))}, and ${left} may follow.`);
    if (wanted === least && Number(auctions) === 0) throw new Error("Give a higher ceiling or a number of auctions.");
    const units = segmentsFrom(open, task.firstState) * BigInt(spec.replicas);
    const at = (price: bigint) => escrowAt(price, spec.auditors, params) * units;
    return { ceiling: wanted, auctions: Number(auctions), value: at(greatest(wanted, covered)) - at(covered) };
}

/** Wei that a running task brings so that `replicas` solvers compute it; throws a sentence if none can join. */
export function replicasValue(open: Open, params: MarketParams, replicas: string): bigint {
    const { spec, task, newest } = open;
    const has = task.active.length;
    if (!/^[1-5]$/.test(replicas.trim()) || Number(replicas) <= has) throw new Error(`The number of replicas is a whole number from ${has + 1} to 5: the task has ${has}.`);
    if (spec.spot) throw new Error("A spot task has one solver.");
    if (task.state !== kTask.running) throw new Error("Solvers join a task that is running.");
    if (task.wanted !== 0) throw new Error("An auction for more replicas is open.");
    if (segmentsFrom(open, newest) === 0n) throw new Error("All segments of a run are final: nobody joins any more.");
    return escrowAt(spec.ceiling, spec.auditors, params) * segmentsFrom(open, newest) * BigInt(Number(replicas) - has);
}
