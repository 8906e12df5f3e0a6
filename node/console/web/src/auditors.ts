// SPDX-License-Identifier: MIT
// The records of verifiers, from the ledger's events in the blocks that the node keeps: how quickly they answered audits, and
// what they did wrong.
import { contractNamed, eventOf, topicOf } from "./abi";
import { hex, num } from "./format";
import { contractList } from "./hooks";
import { keptLogs } from "./kept";
import { each } from "./parallel";
import type { Contract } from "./records";
import { node } from "./rpc";
import { workOf } from "./work";

export interface AuditorRecord {
    /** Verdicts that it committed to. */
    verdicts: number;
    /** Seats without a verdict in time, and verdicts that it did not reveal. */
    late: number;
    /** Disputes that it opened, and those of them that it lost: its result was wrong. */
    disputes: number;
    wrong: number;
    /** Multiply-adds of the segments of those verdicts, and the blocks in which it owed them. */
    work: number;
    blocks: number;
    /** Height of its newest verdict. */
    last: number;
}

/** What was read up to block `next`. */
export interface AuditorRecords {
    records: Map<string, AuditorRecord>;
    from: number;
    next: number;
    /** The work of a segment and the height at which a party was drawn for its audit. */
    drawn: Map<string, { work: number; height: number }>;
    challengers: Map<bigint, string>;
}

export const nothingRead = (): AuditorRecords => ({ records: new Map(), from: 0, next: 0, drawn: new Map(), challengers: new Map() });

const kEvents: [contract: string, event: string][] = [
    ["IAudits", "AuditorsDrawn"], ["IAudits", "VerdictCommitted"], ["IStaking", "Slashed"], ["IDisputes", "DisputeOpened"], ["IDisputes", "DisputeDecided"],
];

interface Happened {
    name: string;
    height: number;
    index: number;
    a: { [name: string]: unknown };
}

/** The events from block `next` on, in their order, as far as the node keeps them. */
async function eventsFrom(next: number, head: number): Promise<{ items: Happened[]; from: number }> {
    const contracts = await contractList();
    const read = await Promise.all(
        kEvents.map(async ([of, event]) => {
            const contract = contractNamed(contracts, of) as Contract | undefined;
            return contract && keptLogs({ address: contract.address, topics: [topicOf(contract, event)] }, head, head - next + 1);
        }),
    );
    // Where one kind was cut because it has too many, the others are cut there too.
    const from = Math.max(next, ...read.map((one) => one?.from ?? 0));
    const items = read.flatMap((one) => one?.items ?? []).flatMap((log): Happened[] => {
        const found = eventOf(contracts, log);
        const height = num(log.blockNumber);
        return found && height >= from ? [{ name: found.name, height, index: num(log.logIndex), a: Object.fromEntries(found.arguments) }] : [];
    });
    return { items: items.sort((a, b) => a.height - b.height || a.index - b.index), from };
}

const lower = (address: unknown) => String(address).toLowerCase();

/** Reads on to block `head`; changes and returns `known`. */
export async function readAuditors(known: AuditorRecords, head: number): Promise<AuditorRecords> {
    if (known.next > head) return known;
    const { items, from } = await eventsFrom(known.next, head);
    // Read before anything is counted, so that a node that fails here makes nothing count twice.
    const tasks = [...new Set(items.filter(({ name }) => name === "AuditorsDrawn").map(({ a }) => hex(a.task as bigint)))];
    const works = new Map(await each(tasks.length, async (i) => [tasks[i] as string, await workOf(tasks[i] as string)] as const));
    if (known.next === 0) known.from = from;
    const of = (party: string) => {
        const found = known.records.get(party) ?? { verdicts: 0, late: 0, disputes: 0, wrong: 0, work: 0, blocks: 0, last: 0 };
        known.records.set(party, found);
        return found;
    };
    for (const { name, height, a } of items) {
        if (name === "AuditorsDrawn")
            for (const party of a.auditors as string[]) known.drawn.set(`${a.audit} ${lower(party)}`, { work: works.get(hex(a.task as bigint)) ?? NaN, height });
        if (name === "VerdictCommitted") {
            const seat = known.drawn.get(`${a.audit} ${lower(a.auditor)}`);
            known.drawn.delete(`${a.audit} ${lower(a.auditor)}`);
            const record = of(lower(a.auditor));
            record.verdicts++;
            // A machine does one thing after another: it began with this audit when it was drawn, or had done the last one.
            if (seat && Number.isFinite(seat.work)) {
                record.work += seat.work;
                record.blocks += Math.max(1, height - Math.max(seat.height, record.last));
            }
            record.last = height;
        }
        if (name === "Slashed" && (a.reason === "verdict_missed" || a.reason === "verdict_hidden")) of(lower(a.party)).late++;
        if (name === "DisputeOpened") {
            known.challengers.set(a.dispute as bigint, lower(a.challenger));
            of(lower(a.challenger)).disputes++;
        }
        if (name === "DisputeDecided") {
            const challenger = known.challengers.get(a.dispute as bigint);
            known.challengers.delete(a.dispute as bigint);
            if (challenger !== undefined && challenger === lower(a.loser)) of(challenger).wrong++;
        }
    }
    known.next = head + 1;
    return known;
}

/** Asks for the head itself, so that a page that was just opened begins at once. */
export const readAuditorsNow = async (known: AuditorRecords): Promise<AuditorRecords> => readAuditors(known, num(await node.call<string>("eth_blockNumber")));
