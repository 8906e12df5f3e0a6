// SPDX-License-Identifier: MIT
// The receipt of a task, as `retrace task fetch` writes it (receipt.json), from what the ledger holds; and whether a
// given one agrees with that.
import { hex, num } from "./format";
import type { Audit, Page, Run, Segment, Status, Task } from "./records";
import { node, type TaskEvent } from "./rpc";

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
    seed: number | bigint;
    steps: number;
    interval: number;
    posted_height: number;
    settled_height: number;
    states: { index: number; height: number; root: string }[];
    audits: { segment: number; height: number; auditors: string[] }[];
}

const kSegments = 1000;

/** The run whose model is delivered: the one that has most, the first of equals. */
export function deliveredRun(task: Task): Run | undefined {
    const whole = task.runs.filter((run) => run.state === "settled" || run.state === "delivering");
    return whole.sort((a, b) => num(b.nextState) - num(a.nextState))[0];
}

/** Reads the chain; an Error says why there is no receipt. */
export async function receiptOf(id: number, solver?: string): Promise<Receipt> {
    const task = await node.call<Task | null>("retrace_task", [hex(id)]);
    if (!task) throw new Error(`There is no task ${id}.`);
    const run = solver === undefined ? deliveredRun(task) : task.runs.filter((one) => one.solver === solver).pop();
    if (!run) throw new Error(solver === undefined ? "No run has delivered a model." : `No run of task ${id} is by ${solver}.`);
    const [status, events] = await Promise.all([
        node.call<Status>("retrace_status"),
        node.call<TaskEvent[]>("retrace_taskEvents", [hex(id)]),
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
    for (const { index, segment, start, end } of segments) {
        for (const [place, checkpoint] of [[num(index), start], [num(index) + 1, end]] as const)
            if (checkpoint?.opened) states.set(place, { index: place, height: num(checkpoint.openHeight), root: checkpoint.root });
        const audit = audits.get(num(segment.audit));
        if (segment.state !== "verified" || !audit) continue;
        const auditors = audit.seats.filter((seat) => seat.state === "matched").map((seat) => seat.auditor);
        proofs.push({ segment: num(index), height: verified.get(num(segment.audit)) ?? 0, auditors });
    }
    return {
        format: 1,
        chain_id: status.chain_id,
        task: id,
        requester: task.task.requester,
        solver: run.solver,
        contract: task.spec.contractHash,
        program: task.spec.programRoot,
        init: task.spec.initRoot,
        data: task.spec.dataRoots,
        seed: num(task.spec.seed),
        steps: num(task.spec.steps),
        interval: num(task.spec.interval),
        posted_height: num(task.task.postedHeight),
        settled_height: settled ? num(settled.height) : 0,
        states: [...states.values()].sort((a, b) => a.index - b.index),
        audits: proofs,
    };
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
    same("seed", Number(given.seed), Number(own.seed));
    same("steps and interval", [given.steps, given.interval], [own.steps, own.interval]);
    same("posted in block", given.posted_height, own.posted_height);
    // A receipt of a model that was fetched before it was accepted has no such height.
    if (given.settled_height) same("settled in block", given.settled_height, own.settled_height);
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
    out.push({ what: "the model's state", ok: given.states.at(-1)?.index === last, note: given.states.at(-1)?.index === last ? "" : `the last state is not state ${last}` });
    // A receipt whose proofs were checked names no heights of audits: no proof has them.
    const proofs = new Map(own.audits.map((audit) => [audit.segment, audit]));
    const names = (audit: Receipt["audits"][0] | undefined) => [...(audit?.auditors ?? [])].sort().join();
    const unknown = given.audits.filter((audit) => {
        const mine = proofs.get(audit.segment);
        return !mine || names(mine) !== names(audit) || (audit.height !== 0 && audit.height !== mine.height);
    });
    out.push({
        what: `${given.audits.length} audits`,
        ok: unknown.length === 0,
        note: unknown.length
            ? `the audit of segment ${unknown.map((audit) => audit.segment).slice(0, 8).join(", ")} is not the ledger's`
            : given.audits.length === 0
              ? "NOT AUDITED: no segment was replayed by others"
              : "",
    });
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
    const list = <T>(items: T[], fits: (item: T) => boolean) => Array.isArray(items) && items.every(fits);
    const fits =
        value?.format === 1 &&
        [value.chain_id, value.task, value.steps, value.interval, value.posted_height, value.settled_height].every(Number.isSafeInteger) &&
        /^0x[0-9a-f]{40}$/.test(value.solver) &&
        list(value.states, (state) => Number.isSafeInteger(state?.index) && /^0x[0-9a-f]{64}$/.test(state.root)) &&
        list(value.audits, (audit) => Number.isSafeInteger(audit?.segment) && Array.isArray(audit.auditors));
    if (!fits) throw new Error("This is no receipt.json of format 1.");
    return value;
}
