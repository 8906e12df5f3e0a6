// SPDX-License-Identifier: MIT
// The receipt of a task, as `retrace task fetch` writes it (receipt.json), from what the ledger holds; and whether a
// given one agrees with that.
import { big, hex, num, words } from "./format";
import { allTaskEvents } from "./kept";
import type { Audit, Page, Run, Segment, Status, Task } from "./records";
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

/** What the ledger holds of a task's delivered model. */
export interface Held {
    receipt: Receipt;
    /** Segments that the terms promise to audit and that nobody confirmed. */
    missing: number[];
}

const kSegments = 1000;
const kSeveralRuns = "The model comes from several runs, which this page cannot check: use retrace receipt verify.";

const stands = (run: Run) => run.state !== "forfeited" && run.state !== "left";

/** The run whose model is delivered: the one that has most, the first of equals. */
export function deliveredRun(task: Task): Run | undefined {
    const whole = task.runs.filter((run) => run.state === "settled" || run.state === "delivering");
    return whole.sort((a, b) => num(b.nextState) - num(a.nextState))[0];
}

/** Reads the chain; an Error says why there is no receipt. `solver`: whose run it is, else the delivered one's. */
export async function receiptOf(id: number, solver?: string): Promise<Held> {
    const task = await node.call<Task | null>("retrace_task", [hex(id)]);
    if (!task) throw new Error(`There is no task ${id}.`);
    if (task.task.state !== "settled" && task.task.state !== "delivering")
        throw new Error(`Task ${id} is ${words(task.task.state)}: it has delivered no model, so no receipt of it holds.`);
    const last = num(task.segments);
    const ended = (run: Run) => stands(run) && num(run.nextState) > last;
    const run = solver === undefined ? deliveredRun(task) : task.runs.filter((one) => one.solver === solver && ended(one)).pop();
    if (!run) throw new Error(solver === undefined ? "No run has delivered a model." : `No run of task ${id} by ${solver} stands that trained it to the end.`);
    if (num(run.firstState) !== 0) throw new Error(kSeveralRuns);
    const [status, events] = await Promise.all([
        node.call<Status>("retrace_status"),
        allTaskEvents(id, num(task.task.postedHeight)),
    ]);
    const segments: Segment[] = [];
    for (let first = 0; first < num(task.segments); first += kSegments)
        segments.push(...((await node.call<Segment[] | null>("retrace_segments", [hex(id), hex(run.index), hex(first), hex(kSegments)])) ?? []));
    const audits = new Map<number, Audit>();
    for (let before: string | null = null; ; ) {
        const page: Page<Audit> = await node.call<Page<Audit>>("retrace_audits", [{ task: hex(id), limit: 100, ...(before ? { before } : {}) }]);
        for (const audit of page.items) audits.set(num(audit.id), audit);
        before = page.next;
        if (before === null) break;
    }
    const verified = new Map(events.filter((one) => one.event === "SegmentVerified").map((one) => [num(one.arguments.audit), num(one.height)]));
    const settled = events.find((one) => one.event === "TaskStateChanged" && num(one.arguments.to) === 6);
    const states = new Map<number, Receipt["states"][0]>();
    const proofs: Receipt["audits"] = [];
    const missing: number[] = [];
    const found = new Set(segments.filter(({ segment }) => segment.state === "verified").map(({ index }) => num(index)));
    const notDrawn = new Set(segments.filter(({ segment }) => segment.state === "unaudited" && num(segment.audit) === 0).map(({ index }) => num(index)));
    // The first and the last segment are always drawn.
    for (let index = 0; index < last; index++)
        if (!found.has(index) && (!notDrawn.has(index) || index === 0 || index === last - 1)) missing.push(index);
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
    return { receipt, missing };
}

/** As a file. */
export const textOf = (receipt: Receipt): string => JSON.stringify({ ...receipt, seed: 0 }).replace('"seed":0,', `"seed":${receipt.seed},`);

/** What nobody has confirmed, in capitals for the headline; empty if the terms' audits were made. */
export function unaudited({ receipt, missing }: Held): string {
    if (receipt.audits.length === 0) return "NOT AUDITED: no segment was replayed by others.";
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
    const last = Math.ceil(own.steps / own.interval);
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
