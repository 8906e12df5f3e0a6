// SPDX-License-Identifier: MIT
// Reading the past from a node that may have erased it (--keep-blocks), or that began at a snapshot: what it still has, and from
// which block on.
import { useEffect, useRef, useState } from "preact/hooks";
import { hex, num } from "./format";
import type { Log, Status } from "./records";
import { node, type TaskEvent } from "./rpc";

const kLogBlocks = 100_000; // in one answer of the node
const kEventBlocks = 10_000; // likewise
const kRangesMax = 100; // of a task's events
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
    /** First block that was read, if the node no longer keeps the task's first; else 0. */
    from: number;
    /** Block to go on with. */
    next: number;
}

/** Reads a task's events from block `done.next` on to the newest, in ranges; `tell` is called after each. */
async function readOn(id: number, done: Read, tell: () => boolean): Promise<void> {
    const tip = num(await node.call<string>("eth_blockNumber"));
    for (let ranges = 0; done.next <= tip; ranges++) {
        if (ranges === kRangesMax) throw new Error(`events from block ${done.next} on are not read: the task was posted too long ago`);
        const last = Math.min(tip, done.next + kEventBlocks - 1);
        const { items, from, whole } = await reading(done.next, (first) =>
            first > last ? Promise.resolve([]) : node.call<TaskEvent[]>("retrace_taskEvents", [hex(id), hex(first), hex(last)]),
        );
        if (!whole) done.from = from;
        done.events = [...done.events, ...items];
        done.next = Math.max(from, last + 1);
        if (!tell()) return;
    }
}

/** All events of a task that was posted in block `posted`; an Error if the node no longer keeps them all. */
export async function allTaskEvents(id: number, posted: number): Promise<TaskEvent[]> {
    const done: Read = { events: [], from: 0, next: posted };
    await readOn(id, done, () => true);
    if (done.from > 0) throw new Error(`This node keeps no blocks before ${done.from}, and earlier events of the task are needed: ask a node that keeps all.`);
    return done.events;
}

export interface TaskEvents {
    events: TaskEvent[] | undefined;
    /** First block that was read, if the node no longer keeps the task's first; else 0. */
    from: number;
    error: string;
}

/** The events of a task from block `posted` on, NaN as long as that is not known; read on as they happen. */
export function useTaskEvents(id: number, posted: number): TaskEvents {
    const [answer, setAnswer] = useState<TaskEvents>({ events: undefined, from: 0, error: "" });
    const read = useRef<Read>();
    useEffect(() => {
        read.current = undefined;
        setAnswer({ events: undefined, from: 0, error: "" });
        if (!Number.isFinite(posted)) return undefined;
        let current = true;
        let timer = 0;
        let busy = false;
        let again = false;
        const go = () => {
            const done = (read.current ??= { events: [], from: 0, next: posted });
            return readOn(id, done, () => {
                if (current) setAnswer({ events: done.events, from: done.from, error: "" });
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
    return answer;
}
