// SPDX-License-Identifier: MIT
// What the state of the ledger says of the model of a training in rounds: on whose messages it rests, and who checked their
// segments. The same counts as those of `retrace receipt verify` (node/agents/group_receipt.cpp).
import { runsOf } from "./delivered";
import { each } from "./parallel";
import type { ProvenState } from "./proof";
import {
    type Attempts, type GroupSpec, keys, kRun, kSegment, readAttempts, readConvictions, readGroup, readMemberSegment, readRollbacks, readRound, readRoundMessage,
    readSegment, type Rollback, type Run, type Task,
} from "./slots";

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

const memberSegment = (state: ProvenState, run: Run, index: number) => state.record(keys.memberSegment(run.task, run.index, index), readMemberSegment);

/** Whether a segment trains on data of the member's own. */
export async function isPrivate(state: ProvenState, terms: GroupSpec | undefined, run: Run, index: number): Promise<boolean> {
    if (!terms?.privateSets) return false;
    return ((await memberSegment(state, run, index))?.steps ?? 0) !== 0;
}

/** Whether a rollback has undone a segment of this base (market/rollbacks.cpp). */
function isVoid(noted: Rollback[], { items }: Attempts, segment: number, base: number): boolean {
    const attempt = items.filter((one) => one.segment <= segment).pop()?.attempt ?? 0;
    return noted.slice(attempt).some(({ first }) => base > first);
}

/** What is counted of the final segments of a member. */
async function countSegments(state: ProvenState, run: Run, terms: GroupSpec, noted: Rollback[]): Promise<MemberFacts> {
    const out: MemberFacts = { run, recorded: 0, verified: 0, notDrawn: 0, unaudited: 0, consented: 0, unverified: 0 };
    const attempts = noted.length ? await state.record(keys.attempts(run.task, run.index), readAttempts) : undefined;
    const start = (await isPrivate(state, terms, run, 0)) ? 1 : 0; // the segment with which the first state is disputed
    const most = terms.privateSets ? 2 * (terms.rounds + 1) : terms.rounds + 1 + noted.length;
    const found = await each(Math.min(run.finalised, most), (index) =>
        Promise.all([state.record(keys.segment(run.task, run.index, index), readSegment), memberSegment(state, run, index)]),
    );
    for (const [index, [segment, span]] of found.entries()) {
        if (span && isVoid(noted, attempts ?? { items: [] }, index, span.base)) continue;
        const isVerified = segment?.state === kSegment.verified;
        if (terms.privateSets && span && span.steps !== 0) {
            out[isVerified ? "consented" : "unverified"]++;
            continue;
        }
        if (isVerified) {
            out.verified++;
            continue;
        }
        const drawn = !segment || segment.audit !== 0 || segment.state !== kSegment.unaudited;
        out[drawn ? "unaudited" : "notDrawn"]++;
        if (drawn || index === start || !span || span.base === terms.rounds) out.missed ??= index;
    }
    return out;
}

/** The record of a round without what rollbacks have undone. */
function readAgain<R extends { index: number; entries: { run: number; weight: number }[] }>({ index: round, entries }: R, noted: Rollback[]) {
    const isUndone = (run: number) => noted.some(({ run: lost, first, last }) => (first < round && round <= last) || (first === round && lost === run));
    const left = entries.filter(({ run }) => !isUndone(run));
    return { entries: left, total: left.reduce((sum, { weight }) => sum + weight, 0) };
}

/** An Error says what is missing in the state. */
export async function groupFacts(state: ProvenState, task: Task, terms: GroupSpec): Promise<GroupFacts> {
    const [group, rollbacks, convictions, runs] = await Promise.all([
        state.record(keys.group(task.id), readGroup),
        state.record(keys.rollbacks(task.id), readRollbacks),
        state.record(keys.convictions(task.id), readConvictions),
        runsOf(state, task),
    ]);
    if (!group) throw new Error("The ledger's record of the group is missing.");
    const noted = rollbacks?.noted ?? [];
    const members = await each(runs.length, (i) => countSegments(state, runs[i] as Run, terms, noted));
    const rounds = Math.min(group.round, terms.rounds);
    const records = await each(rounds, (round) => state.record(keys.round(task.id, round), readRound));
    const unanswered: Unanswered[] = [];
    let emptyRounds = 0;
    for (const [round, record] of records.entries()) {
        if (!record) throw new Error(`The ledger's record of round ${round} is missing.`);
        const { entries, total } = readAgain(record, noted);
        if (entries.length === 0) emptyRounds++;
        const messages = await each(entries.length, (i) => state.record(keys.roundMessage(task.id, round, entries[i]?.run ?? 0), readRoundMessage));
        for (const [i, { run: index, weight }] of entries.entries()) {
            const [message, member] = [messages[i], members[index]];
            if (!message || !member) throw new Error(`The ledger's message of run ${index} in round ${round} is missing.`);
            member.recorded++;
            const { segment } = message;
            if (segment < member.run.finalised || ![kRun.settled, kRun.forfeited, kRun.left].includes(member.run.state)) continue;
            const convicted = (convictions?.items ?? []).some((one) => one.run === index && one.segment <= segment);
            unanswered.push({ run: index, round, weight, total, convicted });
        }
    }
    unanswered.sort((a, b) => a.run - b.run);
    return { isPrivate: terms.privateSets !== 0, rounds, emptyRounds, members, rollbacks: noted, unanswered };
}
