// SPDX-License-Identifier: MIT
// The receipt of a task, as `retrace task fetch` writes it (receipt.json), from records of one state that proofs show to be in it
// (contracts 6.2); and whether a given one agrees with that.
import { deliveredMember, deliveredRuns, checkpointOf, runOfSegment } from "./delivered";
import { num } from "./format";
import { type GroupFacts, groupFacts, isPrivate } from "./group_receipt";
import { allTaskEvents } from "./kept";
import { each } from "./parallel";
import { ProvenState } from "./proof";
import type { Status, Task } from "./records";
import { node } from "./rpc";
import { type Checkpoint, type GroupSpec, keys, kSeatMatched, kSegment, kTask, readAudit, readGroupSpec, readSegment, readSpec, readTask, type Run, type Segment } from "./slots";

export interface Receipt {
    format: number;
    chain_id: number;
    task: number;
    requester: string;
    solver: string;
    contract: string;
    program: string;
    init: string;
    data: string[];
    seed: bigint;
    steps: number;
    interval: number;
    posted_height: number;
    settled_height: number;
    states: { index: number; height: number; root: string }[];
    audits: { segment: number; height: number; auditors: string[] }[];
}

/** How many segments are confirmed by auditors, were not drawn, and were drawn and confirmed by nobody. */
export interface Counts {
    verified: number;
    notDrawn: number;
    unaudited: number;
}

type State = Receipt["states"][0];

/** What the ledger holds of a task's delivered model. */
export interface Held {
    receipt: Receipt;
    /** States that the run before has opened too, where one went on from another's. */
    also: Map<number, State>;
    /** Numbers of the runs that produced it, the last first. */
    runs: number[];
    /** Segments that the terms promise to audit and that nobody confirmed, by name. */
    missing: string[];
    counts: Counts;
    /** Of a training in rounds. */
    group?: GroupFacts;
    /** The block whose state it is, and the number of records that were proved. */
    height: number;
    block: string;
    proofs: number;
}

/** The run whose model is delivered: the one that has most, the first of equals. */
export function deliveredRun(task: Task): Task["runs"][0] | undefined {
    const whole = task.runs.filter((run) => run.state === "settled" || run.state === "delivering");
    return whole.sort((a, b) => num(b.nextState) - num(a.nextState))[0];
}

interface Heights {
    settled: number;
    /** By audit. */
    verified: Map<number, number>;
}

/** Of events, which no proof shows. */
async function heightsOf(id: number, posted: number, stop: AbortSignal | undefined): Promise<Heights> {
    const events = await allTaskEvents(id, posted, stop);
    const settled = events.find((one) => one.event === "TaskStateChanged" && num(one.arguments.to) === kTask.settled);
    const verified = new Map(events.filter((one) => one.event === "SegmentVerified").map((one) => [num(one.arguments.audit), num(one.height)]));
    return { settled: settled ? num(settled.height) : 0, verified };
}

const named = (index: number, { openHeight, root }: Checkpoint): State => ({ index, height: openHeight, root });

/** The auditors who got the same bits, in the order of their seats. */
async function auditorsOf(state: ProvenState, segment: Segment | undefined): Promise<string[] | undefined> {
    if (segment?.state !== kSegment.verified || segment.audit === 0) return undefined;
    const audit = await state.record(keys.audit(segment.audit), readAudit);
    return audit?.seats.filter((seat) => seat.state === kSeatMatched).map((seat) => seat.auditor);
}

interface Step {
    segment: Segment | undefined;
    end: Checkpoint | undefined;
    auditors: string[] | undefined;
}

/** A segment of the runs, and the state in which it ends. Auditors by a member's consent may be its own, so they are not named. */
async function stepOf(state: ProvenState, runs: Run[], terms: GroupSpec | undefined, index: number): Promise<Step> {
    const [run, next] = [runOfSegment(runs, index), runOfSegment(runs, index + 1)];
    if (!run || !next) return { segment: undefined, end: undefined, auditors: undefined };
    const [segment, end] = await Promise.all([state.record(keys.segment(run.task, run.index, index), readSegment), checkpointOf(state, next, index + 1)]);
    if (await isPrivate(state, terms, run, index)) return { segment, end, auditors: undefined };
    return { segment, end, auditors: await auditorsOf(state, segment) };
}

/** Counts the segments of a training by one solver after another; the first of each run and the last are always drawn. */
function countSteps(steps: Step[], runs: Run[]): { counts: Counts; missing: string[] } {
    const counts = { verified: 0, notDrawn: 0, unaudited: 0 };
    const missing: string[] = [];
    for (const [index, { segment }] of steps.entries()) {
        if (segment?.state === kSegment.verified) {
            counts.verified++;
            continue;
        }
        const notDrawn = segment?.state === kSegment.unaudited && segment.audit === 0;
        counts[notDrawn ? "notDrawn" : "unaudited"]++;
        if (!notDrawn || index === runOfSegment(runs, index)?.firstState || index === steps.length - 1) missing.push(String(index));
    }
    return { counts, missing };
}

/** The first states of runs that went on from another's, as that one has opened them. */
async function joints(state: ProvenState, runs: Run[]): Promise<Map<number, State>> {
    const out = new Map<number, State>();
    for (const [i, { firstState }] of runs.slice(0, -1).entries()) {
        const found = await checkpointOf(state, runs[i + 1] as Run, firstState);
        if (found?.opened) out.set(firstState, named(firstState, found));
    }
    return out;
}

function countsOf(facts: GroupFacts): Counts {
    const sum = (of: keyof Counts) => facts.members.reduce((total, member) => total + member[of], 0);
    return { verified: sum("verified"), notDrawn: sum("notDrawn"), unaudited: sum("unaudited") };
}

/** Reads the newest state; an Error says why there is no receipt. `solver`: whose run it is, else that of whoever delivered. */
export async function receiptOf(id: number, solver?: string, stop?: AbortSignal, tell?: (proofs: number) => void): Promise<Held> {
    const state = await ProvenState.newest(stop, tell);
    const [spec, task, terms] = await Promise.all([
        state.record(keys.spec(id), readSpec),
        state.record(keys.task(id), readTask),
        state.record(keys.groupSpec(id), readGroupSpec),
    ]);
    if (!spec || !task) throw new Error(`There is no task ${id}.`);
    if (task.state !== kTask.settled && task.state !== kTask.delivering) throw new Error(`Task ${id} has delivered no model, so no receipt of it holds.`);
    const segments = Math.ceil(spec.steps / spec.interval);
    const member = terms && (await deliveredMember(state, task, terms.rounds, solver));
    const runs = terms ? (member ? [member] : []) : await deliveredRuns(state, task, segments, solver);
    const [newest, oldest] = [runs[0], runs[runs.length - 1]];
    if (!newest || !oldest) throw new Error(solver === undefined ? "No run has delivered a model." : `No run of task ${id} by ${solver} stands that trained it to the end.`);
    if (oldest.firstState !== 0) throw new Error("The ledger does not say from where the model's states come.");
    const last = terms ? newest.finalised : segments;
    const [status, heights, first, steps, also, group] = await Promise.all([
        node.call<Status>("retrace_status"),
        heightsOf(id, task.postedHeight, stop),
        checkpointOf(state, oldest, 0),
        each(last, (index) => stepOf(state, runs, terms, index)),
        joints(state, runs),
        terms && groupFacts(state, task, terms),
    ]);
    const states = [first, ...steps.map(({ end }) => end)].flatMap((one, index) => (one?.opened ? [named(index, one)] : []));
    if (states[0]?.index !== 0 || states[states.length - 1]?.index !== last) throw new Error("The ledger has not opened the first and the last state.");
    const receipt: Receipt = {
        format: 1,
        chain_id: status.chain_id,
        task: id,
        requester: task.requester,
        solver: newest.solver,
        contract: spec.contract,
        program: spec.program,
        init: spec.init,
        data: spec.data,
        seed: spec.seed,
        steps: spec.steps,
        interval: spec.interval,
        posted_height: task.postedHeight,
        settled_height: heights.settled,
        states,
        audits: steps.flatMap(({ segment, auditors }, index) =>
            segment && auditors ? [{ segment: index, height: heights.verified.get(segment.audit) ?? 0, auditors }] : []),
    };
    const missed = (facts: GroupFacts) => facts.members.flatMap(({ run: { index }, missed: at }) => (at === undefined ? [] : [`${at} of run ${index}`]));
    const found = group ? { counts: countsOf(group), missing: missed(group), group } : countSteps(steps, runs);
    return { receipt, also, runs: runs.map(({ index }) => index), ...found, height: state.height, block: state.block, proofs: state.proofs };
}

/** As a file. */
export const textOf = (receipt: Receipt): string => JSON.stringify({ ...receipt, seed: 0 }).replace('"seed":0,', `"seed":${receipt.seed},`);

/** What nobody has confirmed, in capitals for the headline; empty if the terms' audits were made. */
export function unaudited({ counts, missing }: Pick<Held, "counts" | "missing">): string {
    if (counts.verified === 0) return "NOT AUDITED: no segment was replayed by others.";
    if (missing.length === 0) return "";
    const shown = missing.slice(0, 8).join(", ") + (missing.length > 8 ? ", …" : "");
    return `NOT AUDITED in segment ${shown}, which the terms promise.`;
}

export interface Line {
    what: string;
    ok: boolean;
    note: string;
}

/** Compares a file with the ledger, part by part. `also`: states that it may name instead of the receipt's. */
export function compare(given: Receipt, own: Receipt, also: Held["also"] = new Map()): Line[] {
    const out: Line[] = [];
    const same = (what: string, a: unknown, b: unknown) => {
        const [x, y] = [JSON.stringify(a), JSON.stringify(b)];
        out.push({ what, ok: x === y, note: x === y ? "" : `the file says ${x}, the ledger ${y}` });
    };
    same("chain", given.chain_id, own.chain_id);
    same("requester", given.requester, own.requester);
    same("numeric contract", given.contract, own.contract);
    same("program", given.program, own.program);
    same("initialiser", given.init, own.init);
    same("data", given.data, own.data);
    same("seed", String(given.seed), String(own.seed));
    same("steps and interval", [given.steps, given.interval], [own.steps, own.interval]);
    same("posted in block", given.posted_height, own.posted_height);
    // A receipt of a model that was fetched before it was accepted, or by proofs alone, has no such height.
    if (given.settled_height) same("settled in block", given.settled_height, own.settled_height);
    else out.push({ what: "settled in block", ok: true, note: "the file names none; it was made before the task was settled, or by proofs alone" });
    const roots = new Map(own.states.map((state) => [state.index, state]));
    const wrong = given.states.filter((state) => {
        const isIt = (mine: State | undefined) => mine?.root === state.root && mine.height === state.height;
        return !isIt(roots.get(state.index)) && !isIt(also.get(state.index));
    });
    const ascend = given.states.every((state, i) => i === 0 || state.index > (given.states[i - 1]?.index ?? -1));
    const which = wrong.map((state) => state.index).slice(0, 8).join(", ");
    out.push({
        what: `${given.states.length} states`,
        ok: wrong.length === 0 && given.states.length > 0 && ascend,
        note: wrong.length ? `the root or height of state ${which} is not the ledger's` : ascend ? "" : "a state is listed twice, or out of order",
    });
    const last = own.states.at(-1)?.index;
    const whole = given.states[0]?.index === 0 && given.states.at(-1)?.index === last;
    out.push({ what: "the first state and the model's", ok: whole, note: whole ? "" : `state 0 is not its first or state ${last} not its last` });
    // A receipt whose proofs were checked names no heights of audits: no proof has them.
    const proofs = new Map(own.audits.map((audit) => [audit.segment, audit]));
    const names = (audit: Receipt["audits"][0] | undefined) => [...(audit?.auditors ?? [])].sort().join();
    const unknown = given.audits.filter((audit) => {
        const mine = proofs.get(audit.segment);
        return !mine || names(mine) !== names(audit) || (audit.height !== 0 && audit.height !== mine.height);
    });
    const repeated = given.audits.filter((audit, i) => i > 0 && audit.segment <= (given.audits[i - 1]?.segment ?? -1));
    const named = new Set(given.audits.map((audit) => audit.segment));
    const lacking = own.audits.filter((audit) => !named.has(audit.segment));
    const places = (audits: Receipt["audits"]) => audits.map((audit) => audit.segment).slice(0, 8).join(", ");
    const notes = [
        ...(unknown.length ? [`the audit of segment ${places(unknown)} is not the ledger's`] : []),
        ...(lacking.length ? [`the file lacks the audit of segment ${places(lacking)}`] : []),
        ...(repeated.length ? [`the file lists the audit of segment ${places(repeated)} twice, or out of order`] : []),
    ];
    out.push({ what: `${given.audits.length} audits`, ok: notes.length === 0, note: notes.join("; ") });
    return out;
}

/** Reads a receipt.json; throws a sentence if it is none. */
export function parseReceipt(text: string): Receipt {
    let value: Receipt;
    try {
        value = JSON.parse(text);
    } catch {
        throw new Error("This is no receipt.json: it is not JSON.");
    }
    // JSON.parse rounds a seed above 2^53. A quotation mark within a text is escaped, so that this finds keys only.
    const seeds = [...text.matchAll(/"seed"\s*:\s*(\d{1,20})\s*[,}]/g)].map((match) => match[1] as string);
    const list = <T>(items: T[], fits: (item: T) => boolean) => Array.isArray(items) && items.every(fits);
    const fits =
        value?.format === 1 &&
        seeds.length === 1 && Number(seeds[0]) === Number(value.seed) &&
        [value.chain_id, value.task, value.steps, value.interval, value.posted_height, value.settled_height].every(Number.isSafeInteger) &&
        /^0x[0-9a-f]{40}$/.test(value.solver) &&
        list(value.states, (state) => Number.isSafeInteger(state?.index) && /^0x[0-9a-f]{64}$/.test(state.root)) &&
        list(value.audits, (audit) => Number.isSafeInteger(audit?.segment) && Array.isArray(audit.auditors));
    if (!fits) throw new Error("This is no receipt.json of format 1.");
    return { ...value, seed: BigInt(seeds[0] as string) };
}
