// SPDX-License-Identifier: MIT
// What the ledger says of the model of a training in rounds: on whose messages it rests, and who checked their segments.
// The same counts as those of `retrace receipt verify` (node/agents/group_receipt.cpp).
import { hex, num } from "./format";
import { each } from "./parallel";
import type { Dispute, Group, GroupSpec, Page, Rollback, Round, Run, Segment, Task } from "./records";
import { node } from "./rpc";

const kSegments = 1000; // in one answer of the node

export interface MemberFacts {
    run: Run;
    /** Messages that are in the model. */
    recorded: number;
    verified: number;
    notDrawn: number;
    /** Drawn, and nobody confirmed it. */
    unaudited: number;
    /** In a private group, on data of the member's own: checked by whom it gave them to, or by nobody. */
    consented: number;
    unverified: number;
    /** The first segment that the terms promise to audit and that nobody confirmed. */
    missed?: number;
}

/** A message in the model whose member lost its run before the message was final. */
export interface Unanswered {
    run: number;
    round: number;
    weight: number;
    total: number;
    convicted: boolean;
}

export interface GroupFacts {
    isPrivate: boolean;
    rounds: number;
    emptyRounds: number;
    members: MemberFacts[];
    rollbacks: Rollback[];
    unanswered: Unanswered[];
}

export async function segmentsOf(task: Task, run: Run): Promise<Segment[]> {
    const out: Segment[] = [];
    const last = Math.min(num(task.segments), num(run.nextState));
    for (let first = 0; first < last; first += kSegments)
        out.push(...((await node.call<Segment[] | null>("retrace_segments", [task.task.id, hex(run.index), hex(first), hex(kSegments)])) ?? []));
    return out;
}

/** Adds a final segment, if the ledger has it, to what is counted of its member. */
function countSegment(one: Segment | undefined, index: number, spec: GroupSpec, out: MemberFacts): void {
    if (one?.undone) return;
    const isVerified = one?.segment.state === "verified";
    if (spec.privateSets !== 0 && one?.member && one.member.steps !== 0) {
        if (isVerified) out.consented++;
        else out.unverified++;
        return;
    }
    if (isVerified) {
        out.verified++;
        return;
    }
    const drawn = !one || num(one.segment.audit) !== 0 || one.segment.state !== "unaudited";
    if (drawn) out.unaudited++;
    else out.notDrawn++;
    const promised = drawn || index === 0 || !one?.member || one.member.base === spec.rounds;
    if (promised) out.missed ??= index;
}

/** The record of a round without what rollbacks have undone (market/rollbacks.cpp). */
function readAgain(record: Round, rollbacks: Rollback[]): { entries: Round["entries"]; total: number } {
    const round = record.index;
    const isUndone = (run: number) =>
        rollbacks.some(({ run: lost, first, last }) => (first < round && round <= last) || (first === round && lost === run));
    const entries = record.entries.filter(({ run }) => !isUndone(run));
    return { entries, total: entries.reduce((sum, { weight }) => sum + weight, 0) };
}

async function convictions(task: string): Promise<{ run: number; segment: number }[]> {
    const out: { run: number; segment: number }[] = [];
    for (let before: string | null = null; ; ) {
        const page: Page<Dispute> = await node.call<Page<Dispute>>("retrace_disputes", [{ task, limit: 100, ...(before ? { before } : {}) }]);
        for (const one of page.items) if (one.state === "solver_lost") out.push({ run: one.run, segment: num(one.segment) });
        before = page.next;
        if (before === null) return out;
    }
}

/** Reads the state of the ledger; an Error says what is missing there. */
export async function groupFacts(task: Task, group: Group): Promise<GroupFacts> {
    const { spec, rollbacks } = group;
    const segments = await each(task.runs.length, (i) => segmentsOf(task, task.runs[i] as Run));
    const members = task.runs.map((run, i): MemberFacts => {
        const out: MemberFacts = { run, recorded: 0, verified: 0, notDrawn: 0, unaudited: 0, consented: 0, unverified: 0 };
        const byIndex = new Map(segments[i]?.map((one) => [num(one.index), one]));
        for (let index = 0; index < num(run.clear); index++) countSegment(byIndex.get(index), index, spec, out);
        return out;
    });
    const rounds = Math.min(group.group.round, spec.rounds);
    const [records, lost] = await Promise.all([
        each(rounds, async (i) => (await node.call<{ record: Round | null } | null>("retrace_round", [task.task.id, hex(i)]))?.record),
        convictions(task.task.id),
    ]);
    const unanswered: Unanswered[] = [];
    let emptyRounds = 0;
    for (const [round, record] of records.entries()) {
        if (!record) throw new Error(`The ledger's record of round ${round} is missing.`);
        const { entries, total } = readAgain(record, rollbacks);
        if (entries.length === 0) emptyRounds++;
        for (const { run: index, weight } of entries) {
            const member = members[index];
            const sent = segments[index]?.find((one) => one.member && one.member.steps > 0 && !one.undone && one.member.base + one.member.age === round);
            if (!member || !sent) throw new Error(`The ledger's segment of run ${index} in round ${round} is missing.`);
            member.recorded++;
            const segment = num(sent.index);
            if (segment < num(member.run.clear) || !["settled", "forfeited", "left"].includes(member.run.state)) continue;
            const convicted = lost.some((one) => one.run === index && one.segment <= segment);
            unanswered.push({ run: index, round, weight, total, convicted });
        }
    }
    unanswered.sort((a, b) => a.run - b.run);
    return { isPrivate: spec.privateSets !== 0, rounds, emptyRounds, members, rollbacks, unanswered };
}

/** The member whose last state is the model: it has taken in all records and its segments are final; of `solver`, if one is named. */
export function deliveredMember(task: Task, group: Group, solver?: string): Run | undefined {
    const bases = new Map(group.members.map(({ run, member }) => [run, member.base]));
    return task.runs.find(
        (run) =>
            run.state !== "forfeited" && run.state !== "left" && (solver === undefined || run.solver === solver) &&
            bases.get(run.index) === group.spec.rounds && num(run.clear) + 1 === num(run.nextState),
    );
}
