// SPDX-License-Identifier: MIT
// Records of the market as the state of the ledger has them: the key of each one's slot (contracts 6.2), and its bytes read
// (market 2). The fields and their order are those of market/types.hpp, groups.hpp, rollbacks.hpp, price_curve.hpp and
// contracts/records/store.hpp.
import { Fault, joined, toHex } from "./commit";
import { Reader } from "./program";

const kListMax = 4096;

/** Reads a value of the canonical codec. */
export type Read<T> = (from: Reader) => T;

const u8: Read<number> = (from) => from.number(1);
const u16: Read<number> = (from) => from.number(2);
const u32: Read<number> = (from) => from.number(4);
/** Exact below 2^53, as heights, numbers of records and counts are. */
const u64: Read<number> = (from) => from.number(8);
const bool: Read<boolean> = (from) => {
    const value = from.number(1);
    if (value > 1) throw new Fault("the record has a flag that is neither set nor clear");
    return value === 1;
};
const named = (bytes: Uint8Array) => `0x${toHex(bytes)}`;
const exact: Read<bigint> = (from) => from.raw(8).reduceRight((value, byte) => value * 256n + BigInt(byte), 0n);
const hash: Read<string> = (from) => named(from.raw(32));
const address: Read<string> = (from) => named(from.raw(20));
const u256: Read<bigint> = (from) => BigInt(named(from.raw(32)));
const text: Read<string> = (from) => new TextDecoder().decode(from.bytes());
const list = <T>(of: Read<T>): Read<T[]> => (from) => {
    const count = from.number(4);
    if (count > kListMax) throw new Fault("the record has too long a list");
    return Array.from({ length: count }, () => of(from));
};
/** Fields one after another, in the order in which they are named here. */
const record = <T extends object>(fields: { [K in keyof T]: Read<T[K]> }): Read<T> => (from) =>
    Object.fromEntries(Object.entries<Read<unknown>>(fields).map(([name, read]) => [name, read(from)])) as T;
type Of<R> = R extends Read<infer T> ? T : never;

/** The whole of a record; a Fault if the bytes are of another one. */
export function decode<T>(read: Read<T>, bytes: Uint8Array): T {
    const from = new Reader(bytes, "record");
    const out = read(from);
    if (!from.ended) throw new Fault("the record is longer than what it holds");
    return out;
}

/** Values of enums. */
export const kTask = { bidding: 2, assigned: 3, running: 4, delivering: 5, settled: 6 };
export const kRun = { delivering: 3, settled: 4, forfeited: 5, left: 6 };
export const kSegment = { unaudited: 2, verified: 4 };
export const kSeatMatched = 3;

export const readSpec = record({
    name: text, program: hash, programBytes: u64, init: hash, initialState: hash, data: list(hash), steps: u64, interval: u64, seed: exact,
    contract: hash, ceiling: u256, auditBp: u16, auditors: u8, replicas: u8, hardwareClass: u8, checkpointBlocks: u64, replayBlocks: u64,
    finishBlocks: u64, stepCost: u64, allowUnaudited: bool, spot: bool, lastCeiling: u256, auctions: u8, pauseBlocks: u64,
});
export const readTask = record({
    id: u64, requester: address, state: u8, postedHeight: u64, round: u32, bidEnd: u64, revealEnd: u64, escrow: u256, auditBudget: u256,
    firstState: u64, resumeRoot: hash, runs: u32, active: list(u32), bidders: list(address), excluded: list(address), deliverEnd: u64,
    wanted: u8, joiningState: u64, joiningRoot: hash,
});
export const readRun = record({
    task: u64, index: u32, solver: address, state: u8, price: u256, assignedHeight: u64, finishHeight: u64, locked: u256, firstState: u64,
    nextState: u64, deadline: u64, finalised: u64, paid: u64, retained: list(u64), openDisputes: u32, earned: u256, firstRoot: hash,
    notAwaitedBelow: u64, reports: u32, openReports: u32, waitsUntil: u64, waited: u64, finishWaitsUntil: u64, workCounted: u64,
    challenges: u32, heardUntil: u64, joined: bool, unauditedSince: u64, unauditedFrom: u64, paysUnaudited: bool,
});
export const readCheckpoint = record({
    commitment: hash, height: u64, opened: bool, openHeight: u64, openDeadline: u64, salt: hash, root: hash, keepers: list(address),
    keptSince: list(u64),
});
export const readSegment = record({
    state: u8, commitHeight: u64, drawEpoch: u64, audits: u32, postponed: u32, audit: u64, windowEnd: u64, openDisputes: u32,
    challenges: u32, auditDispute: u64, notAwaited: bool, notPaid: u64,
});
const readSeat = record({
    auditor: address, state: u8, bond: u256, commitment: hash, root: hash, paid: bool, reports: u32, moves: u32, due: u64,
});
export const readAudit = record({
    id: u64, task: u64, run: u32, segment: u64, phase: u8, deadline: u64, redraws: u64, seats: list(readSeat), waiting: list(u32),
});
/** Of a run that has stopped (contracts 13.7.1). */
export const readStop = record({ height: u64, wasLate: bool });
export const readAuctions = record({ first: u256, least: u256, failed: u32, left: u32 });

export const readGroupSpec = record({
    rounds: u32, stepsMax: u32, shared: u32, publicTensors: list(u32), phases: list(record({ phase: u8, memberSeed: bool, program: hash })),
    least: u8, roundBlocks: u64, graceBlocks: u64, fetchBlocks: u64, revealBlocks: u64, absenceLimit: u32, keepRounds: u32, catchUpMax: u32,
    maskBits: u8, maskBlocks: u64, maxAge: u32, rollbacks: u8, ahead: u32, privateSets: u8, regions: u8, mergeBlocks: u64,
});
export const readGroup = record({
    task: u64, phase: u8, round: u32, deadline: u64, extended: bool, committed: list(u32), listed: list(u32), revealed: list(u32),
    committedBefore: u32, price: u256, senders: u32,
});
export const readMember = record({
    base: u32, entered: u32, anchor: list(hash), messages: u64, lastRound: u32, absent: u32, leaving: bool, data: list(hash),
    start: list(hash),
});
export const readMemberSegment = record({
    from: u32, base: u32, steps: u32, omitted: exact, positions: exact, shared: list(hash), age: u32, masks: u32,
});
const masks = list(record({ seed: hash, added: bool }));
export const readRound = record({
    index: u32, height: u64, committed: u32, entries: list(record({ run: u32, steps: u32, age: u32, weight: u32, region: u32, place: u32 })), total: u32,
    holds: list(u32), masks, terms: hash,
});
export const readRoundMessage = record({
    segment: u64, steps: u32, tensors: list(hash), recorded: bool, age: u32, unpaid: bool, standby: bool, maskRoot: hash, dealers: hash, masks,
});
export const readRollbacks = record({
    noted: list(record({ run: u32, first: u32, last: u32, ended: bool })), finalRounds: u32, opened: u64,
});
export const readAttempts = record({ items: list(record({ segment: u64, start: u64, attempt: u8 })) });
export const readConvictions = record({ items: list(record({ run: u32, segment: u64 })) });
export type Spec = Of<typeof readSpec>;
export type Task = Of<typeof readTask>;
export type Run = Of<typeof readRun>;
export type Checkpoint = Of<typeof readCheckpoint>;
export type Segment = Of<typeof readSegment>;
export type GroupSpec = Of<typeof readGroupSpec>;
export type Rollback = Of<typeof readRollbacks>["noted"][0];
export type Attempts = Of<typeof readAttempts>;

/** A slot of a contract: its address and key, both "0x…". */
export interface Slot {
    contract: string;
    key: string;
}

function bigEndian(value: number): Uint8Array {
    const out = new Uint8Array(8);
    new DataView(out.buffer).setBigUint64(0, BigInt(value));
    return out;
}
const slot = (contract: number, tag: string, numbers: number[]): Slot => ({
    contract: `0x${(0x1000 + contract).toString(16).padStart(40, "0")}`,
    key: named(joined(new TextEncoder().encode(tag), ...numbers.map(bigEndian))),
});
const market = (tag: string) => (...numbers: number[]) => slot(2, tag, numbers);
const audits = (tag: string) => (...numbers: number[]) => slot(3, tag, numbers);
const groups = (tag: string) => (...numbers: number[]) => slot(7, tag, numbers);

/** Of a task, then a run, then an index; of `audit`: its number; of `round`, `roundMessage`: a task, a round, a run. */
export const keys = {
    spec: market("s"), task: market("t"), run: market("r"), checkpoint: market("c"), segment: market("g"), auctions: market("T"), stopped: market("H"),
    audit: audits("a"), convictions: audits("C"),
    groupSpec: groups("s"), group: groups("g"), member: groups("m"), memberSegment: groups("c"), round: groups("r"), roundMessage: groups("t"),
    rollbacks: groups("b"), attempts: groups("a"),
};
