// SPDX-License-Identifier: MIT
// Reading the past from a node that may have erased it (--keep-blocks), or that began at a snapshot: what it still has, and from
// which block on.
import { useEffect, useRef, useState } from "preact/hooks";
import { hex, num } from "./format";
import type { Log, Status } from "./records";
import { node, type TaskEvent } from "./rpc";

const kLogBlocks = 100_000; // in one answer of the node
const kEventBlocks = 10_000; // likewise
export const kAtOnce = 1_000_000; // blocks of a task's events that are read without being asked for
const kAttempts = 4;
const kBlocksAhead = 5;
const kBetweenMs = 700;

export interface Kept<T> {
    items: T[];
    /** First block that was read. */
    from: number;
    /** The node keeps all the blocks that were wanted. */
    whole: boolean;
}

/** Calls `read` with the first block from `wanted` on that the node keeps; again, some blocks later, if it erases that one meanwhile. */
async function reading<T>(wanted: number, read: (from: number) => Promise<T[]>): Promise<Kept<T>> {
    for (let attempt = 1; ; attempt++) {
        const { oldest_block: oldest } = await node.call<Status>("retrace_status");
        const from = Math.max(wanted, Number.isSafeInteger(oldest) ? oldest + kBlocksAhead * (attempt - 1) : 0);
        try {
            const items = await read(from);
            return { items: Array.isArray(items) ? items : [], from, whole: from <= Math.max(wanted, 1) };
        } catch (error) {
            if (attempt === kAttempts || !/pruned history|is not kept/.test((error as Error).message)) throw error;
        }
    }
}

/** The logs that fit in the `blocks` blocks up to `head`, at most 100 000 blocks and 10 000 logs. */
export async function keptLogs(filter: { address?: string; topics: (string | null)[] }, head: number, blocks = kLogBlocks): Promise<Kept<Log>> {
    let wanted = Math.max(0, head - Math.min(blocks, kLogBlocks) + 1);
    for (;;) {
        try {
            return await reading(wanted, (from) =>
                from > head ? Promise.resolve([]) : node.call<Log[]>("eth_getLogs", [{ ...filter, fromBlock: hex(from), toBlock: hex(head) }]),
            );
        } catch (error) {
            // Of too many logs the newer half.
            if (!/more than \d+ results/.test((error as Error).message) || head - wanted < 2) throw error;
            wanted += Math.ceil((head - wanted) / 2);
        }
    }
}

/** What was read of a task's events. */
interface Read {
    events: TaskEvent[];
    /** First block that was read; the node no longer keeps the one before if `pruned`. */
    first: number;
    pruned: boolean;
    /** Block to go on with. */
    next: number;
}

const taskEvents = (id: number, first: number, last: number) =>
    reading(first, (from) => (from > last ? Promise.resolve([]) : node.call<TaskEvent[]>("retrace_taskEvents", [hex(id), hex(from), hex(last)])));

/** Reads a task's events from block `done.next` on to the newest, in ranges; `tell` is called after each. */
async function readOn(id: number, done: Read, tell: () => boolean): Promise<void> {
    const tip = num(await node.call<string>("eth_blockNumber"));
    while (done.next <= tip) {
        const last = Math.min(tip, done.next + kEventBlocks - 1);
        const { items, from, whole } = await taskEvents(id, done.next, last);
        if (!whole) {
            done.first = from;
            done.pruned = true;
        }
        done.events = [...done.events, ...items];
        done.next = Math.max(from, last + 1);
        if (!tell()) return;
    }
}

/** Reads the events of the blocks before `done.first`, down to block `least`, the newest first. */
async function readBack(id: number, done: Read, least: number, tell: () => boolean): Promise<void> {
    while (done.first > least && !done.pruned) {
        const { items, from, whole } = await taskEvents(id, Math.max(least, done.first - kEventBlocks), done.first - 1);
        done.pruned = !whole;
        done.first = Math.min(done.first, from);
        done.events = [...items, ...done.events];
        if (!tell()) return;
    }
}

/** All events of a task that was posted in block `posted`; an Error if the node no longer keeps them all. */
export async function allTaskEvents(id: number, posted: number, stop?: AbortSignal): Promise<TaskEvent[]> {
    const done: Read = { events: [], first: posted, pruned: false, next: posted };
    await readOn(id, done, () => !stop?.aborted);
    stop?.throwIfAborted();
    if (done.pruned) throw new Error(`This node keeps no blocks before ${done.first}, and earlier events of the task are needed: ask a node that keeps all.`);
    return done.events;
}

export interface TaskEvents {
    events: TaskEvent[] | undefined;
    /** First block that was read, if earlier events of the task are missing; else 0. */
    from: number;
    error: string;
    /** Reads the blocks before; none if there is nothing to read, or the node keeps no older ones. */
    readOlder: (() => void) | undefined;
    reading: boolean;
}

const kNothing = { events: undefined, from: 0, pruned: false, error: "" };

/** The events of a task from block `posted` on, NaN as long as that is not known; the newest million blocks, and on as they happen. */
export function useTaskEvents(id: number, posted: number): TaskEvents {
    const [answer, setAnswer] = useState<{ events: TaskEvent[] | undefined; from: number; pruned: boolean; error: string }>(kNothing);
    const [older, setOlder] = useState(false);
    const read = useRef<Read>();
    const tellOf = (done: Read) =>
        setAnswer({ events: done.events, from: done.first > posted || done.pruned ? done.first : 0, pruned: done.pruned, error: "" });
    useEffect(() => {
        read.current = undefined;
        setAnswer(kNothing);
        if (!Number.isFinite(posted)) return undefined;
        let current = true;
        let timer = 0;
        let busy = false;
        let again = false;
        const go = async () => {
            if (!read.current) {
                const first = Math.max(posted, num(await node.call<string>("eth_blockNumber")) - kAtOnce + 1);
                if (!current) return;
                read.current = { events: [], first, pruned: false, next: first };
            }
            const done = read.current;
            await readOn(id, done, () => {
                if (current) tellOf(done);
                return current;
            });
        };
        const start = () => {
            if (busy) {
                again = true;
                return;
            }
            busy = true;
            go()
                .catch((error: Error) => current && setAnswer((old) => ({ ...old, error: error.message })))
                .finally(() => {
                    busy = false;
                    if (again && current) soon();
                    again = false;
                });
        };
        const soon = () => {
            if (!timer)
                timer = window.setTimeout(() => {
                    timer = 0;
                    start();
                }, kBetweenMs);
        };
        start();
        const ends = [node.links.on((link) => link === "open" && soon()), node.taskEvents.on((event) => num(event.task) === id && soon())];
        return () => {
            current = false;
            clearTimeout(timer);
            for (const end of ends) end();
        };
    }, [id, posted]);
    const readOlder = () => {
        const done = read.current;
        if (!done || older) return;
        setOlder(true);
        readBack(id, done, Math.max(posted, done.first - kAtOnce), () => {
            if (read.current === done) tellOf(done);
            return read.current === done;
        })
            .catch((error: Error) => read.current === done && setAnswer((old) => ({ ...old, error: error.message })))
            .finally(() => setOlder(false));
    };
    const { events, from, pruned, error } = answer;
    return { events, from, error, readOlder: from > 0 && !pruned ? readOlder : undefined, reading: older };
}
