// SPDX-License-Identifier: MIT
// The receipt of a task, as `retrace task fetch` writes it (receipt.json), from what the ledger holds; and whether a
// given one agrees with that.
import { big, hex, num, words } from "./format";
import { deliveredMember, type GroupFacts, groupFacts, segmentsOf } from "./group_receipt";
import { allTaskEvents } from "./kept";
import { proveStates } from "./proof";
import type { Audit, Group, Page, Run, Segment, Status, Task } from "./records";
import { node } from "./rpc";

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

const kProvedMax = 100;

/** What the ledger holds of a task's delivered model. */
export interface Held {
    receipt: Receipt;
    /** Of the run that delivered it. */
    run: number;
    /** Segments that the terms promise to audit and that nobody confirmed, by name. */
    missing: string[];
    /** Some segment was replayed by others. */
    audited: boolean;
    /** Of a training in rounds. */
    group?: GroupFacts;
}

const kSeveralRuns = "The model comes from several runs, which this page cannot check: use retrace receipt verify.";

const stands = (run: Run) => run.state !== "forfeited" && run.state !== "left";

/** The run whose model is delivered: the one that has most, the first of equals. */
export function deliveredRun(task: Task): Run | undefined {
    const whole = task.runs.filter((run) => run.state === "settled" || run.state === "delivering");
    return whole.sort((a, b) => num(b.nextState) - num(a.nextState))[0];
}

function runOf(task: Task, group: Group | null, solver: string | undefined): Run {
    const ended = (run: Run) => stands(run) && num(run.nextState) > num(task.segments);
    const run = group
        ? deliveredMember(task, group, solver)
        : solver === undefined ? deliveredRun(task) : task.runs.filter((one) => one.solver === solver && ended(one)).pop();
    if (!run) throw new Error(solver === undefined ? "No run has delivered a model." : `No run of task ${num(task.task.id)} by ${solver} stands that trained it to the end.`);
    if (num(run.firstState) !== 0) throw new Error(kSeveralRuns);
    return run;
}

async function auditsOf(task: string): Promise<Map<number, Audit>> {
    const out = new Map<number, Audit>();
    for (let before: string | null = null; ; ) {
        const page: Page<Audit> = await node.call<Page<Audit>>("retrace_audits", [{ task, limit: 100, ...(before ? { before } : {}) }]);
        for (const audit of page.items) out.set(num(audit.id), audit);
        before = page.next;
        if (before === null) return out;
    }
}

/** Segments of a training by one solver that its terms promise to audit; the first and the last are always drawn. */
function notConfirmed(segments: Segment[], last: number): string[] {
    const found = new Set(segments.filter(({ segment }) => segment.state === "verified").map(({ index }) => num(index)));
    const notDrawn = new Set(segments.filter(({ segment }) => segment.state === "unaudited" && num(segment.audit) === 0).map(({ index }) => num(index)));
    const all = Array.from({ length: last }, (_, index) => index);
    return all.filter((index) => !found.has(index) && (!notDrawn.has(index) || index === 0 || index === last - 1)).map(String);
}

/** Reads the chain; an Error says why there is no receipt. `solver`: whose run it is, else the delivered one's. */
export async function receiptOf(id: number, solver?: string): Promise<Held> {
    const [task, answer] = await Promise.all([
        node.call<Task | null>("retrace_task", [hex(id)]),
        node.call<Group | null>("retrace_group", [hex(id)]),
    ]);
    if (!task) throw new Error(`There is no task ${id}.`);
    if (task.task.state !== "settled" && task.task.state !== "delivering")
        throw new Error(`Task ${id} is ${words(task.task.state)}: it has delivered no model, so no receipt of it holds.`);
    const group = answer?.group ? answer : null;
    const run = runOf(task, group, solver);
    const last = num(run.nextState) - 1;
    const [status, events, segments, audits, facts] = await Promise.all([
        node.call<Status>("retrace_status"),
        allTaskEvents(id, num(task.task.postedHeight)),
        segmentsOf(task, run),
        auditsOf(task.task.id),
        group ? groupFacts(task, group) : undefined,
    ]);
    const verified = new Map(events.filter((one) => one.event === "SegmentVerified").map((one) => [num(one.arguments.audit), num(one.height)]));
    const settled = events.find((one) => one.event === "TaskStateChanged" && num(one.arguments.to) === 6);
    const states = new Map<number, Receipt["states"][0]>();
    const proofs: Receipt["audits"] = [];
    for (const { index, segment, start, end } of segments) {
        for (const [place, checkpoint] of [[num(index), start], [num(index) + 1, end]] as const)
            if (checkpoint?.opened) states.set(place, { index: place, height: num(checkpoint.openHeight), root: checkpoint.root });
        const audit = audits.get(num(segment.audit));
        if (segment.state !== "verified" || !audit) continue;
        const auditors = audit.seats.filter((seat) => seat.state === "matched").map((seat) => seat.auditor);
        proofs.push({ segment: num(index), height: verified.get(num(segment.audit)) ?? 0, auditors });
    }
    const receipt: Receipt = {
        format: 1,
        chain_id: status.chain_id,
        task: id,
        requester: task.task.requester,
        solver: run.solver,
        contract: task.spec.contractHash,
        program: task.spec.programRoot,
        init: task.spec.initRoot,
        data: task.spec.dataRoots,
        seed: big(task.spec.seed),
        steps: num(task.spec.steps),
        interval: num(task.spec.interval),
        posted_height: num(task.task.postedHeight),
        settled_height: settled ? num(settled.height) : 0,
        states: [...states.values()].sort((a, b) => a.index - b.index),
        audits: proofs,
    };
    if (!states.has(0) || !states.has(last)) throw new Error("The ledger has not opened the first and the last state.");
    if (!facts) return { receipt, run: run.index, missing: notConfirmed(segments, last), audited: proofs.length > 0 };
    const missing = facts.members.flatMap(({ run: { index }, missed }) => (missed === undefined ? [] : [`${missed} of run ${index}`]));
    return { receipt, run: run.index, missing, audited: facts.members.some((member) => member.verified > 0), group: facts };
}

/** As a file. */
export const textOf = (receipt: Receipt): string => JSON.stringify({ ...receipt, seed: 0 }).replace('"seed":0,', `"seed":${receipt.seed},`);

/** What nobody has confirmed, in capitals for the headline; empty if the terms' audits were made. */
export function unaudited({ audited, missing }: Pick<Held, "audited" | "missing">): string {
    if (!audited) return "NOT AUDITED: no segment was replayed by others.";
    if (missing.length === 0) return "";
    const shown = missing.slice(0, 8).join(", ") + (missing.length > 8 ? ", …" : "");
    return `NOT AUDITED in segment ${shown}, which the terms promise.`;
}

export interface Line {
    what: string;
    ok: boolean;
    note: string;
}

/** Compares a file with the ledger, part by part. */
export function compare(given: Receipt, own: Receipt): Line[] {
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
        const mine = roots.get(state.index);
        return !mine || mine.root !== state.root || mine.height !== state.height;
    });
    out.push({
        what: `${given.states.length} states`,
        ok: wrong.length === 0 && given.states.length > 0,
        note: wrong.length ? `the root or height of state ${wrong.map((state) => state.index).slice(0, 8).join(", ")} is not the ledger's` : "",
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
    const named = new Set(given.audits.map((audit) => audit.segment));
    const lacking = own.audits.filter((audit) => !named.has(audit.segment));
    const places = (audits: Receipt["audits"]) => audits.map((audit) => audit.segment).slice(0, 8).join(", ");
    const notes = [
        ...(unknown.length ? [`the audit of segment ${places(unknown)} is not the ledger's`] : []),
        ...(lacking.length ? [`the file lacks the audit of segment ${places(lacking)}`] : []),
    ];
    out.push({ what: `${given.audits.length} audits`, ok: notes.length === 0, note: notes.join("; ") });
    return out;
}

/** Compares the roots that the node tells of the states, at most `kProvedMax` of them, with its proofs under its newest header. */
export async function proveRoots({ receipt, run }: Held): Promise<Line> {
    const { states, task } = receipt;
    const stride = Math.ceil(states.length / kProvedMax);
    const chosen = states.filter((_, i) => i % stride === 0 || i === states.length - 1);
    const proved = await proveStates(task, run, chosen.map((state) => state.index));
    const wrong = chosen.filter((state, i) => state.root !== proved.value[i]).map((state) => state.index);
    const where = `the state of block ${proved.height}, ${proved.block}`;
    return {
        what: `${chosen.length} of the ledger's ${states.length} roots, by proofs`,
        ok: wrong.length === 0,
        note: wrong.length ? `${where}, has another root of state ${wrong.slice(0, 8).join(", ")} than the node tells` : `they are in ${where}`,
    };
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
