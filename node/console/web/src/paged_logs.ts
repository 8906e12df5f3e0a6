// SPDX-License-Identifier: MIT
// The logs of many blocks: the newest at once and as they come, older ones when a person asks for them.
import { useEffect, useRef, useState } from "preact/hooks";
import { num } from "./format";
import { type Kept, keptLogs } from "./kept";
import type { Log } from "./records";

export interface LogTopics {
    topics: (string | null)[];
}

export interface PagedLogs {
    /** The newest first. */
    logs: Kept<Log> | undefined;
    error: string;
    /** Reads the blocks before; none if the first block was read, or the node keeps no older ones. */
    readOlder: (() => void) | undefined;
    reading: boolean;
}

const kEpochBlocks = 20;
const keyOf = (log: Log) => `${log.blockNumber} ${log.logIndex}`;

/** What fits any of the filters in a page of at most `blocks` blocks that ends at `last`. */
async function readPage(filters: LogTopics[], last: number, blocks: number): Promise<Kept<Log>> {
    const lists = await Promise.all(filters.map((filter) => keptLogs(filter, last, blocks)));
    return { items: lists.flatMap((one) => one.items), from: Math.max(...lists.map((one) => one.from)), whole: lists.every((one) => one.whole) };
}

/** Each log once, the newest first. */
function merged(a: Log[], b: Log[]): Log[] {
    return [...new Map([...a, ...b].map((log) => [keyOf(log), log])).values()].sort(
        (x, y) => num(y.blockNumber) - num(x.blockNumber) || num(y.logIndex) - num(x.logIndex),
    );
}

/** `key` stands for the filters, which are none until it is known; `height` is that of the newest block. */
export function usePagedLogs(key: string, filters: LogTopics[], height: number, blocks: number): PagedLogs {
    const [logs, setLogs] = useState<Kept<Log>>();
    const [error, setError] = useState("");
    const [reading, setReading] = useState(false);
    const read = useRef({ key: "", to: 0 });
    const epoch = Number.isFinite(height) ? Math.floor(height / kEpochBlocks) : -1;
    useEffect(() => {
        setLogs(undefined);
        setError("");
        read.current = { key, to: 0 };
    }, [key]);
    useEffect(() => {
        if (!key || epoch < 0) return;
        const { to } = read.current;
        // Only what is new; after a pause of more than a page the older ones are asked for again.
        const goesOn = to > 0 && height - to < blocks;
        readPage(filters, height, goesOn ? Math.max(1, height - to) : blocks).then(
            (page) => {
                if (read.current.key !== key) return;
                read.current.to = Math.max(read.current.to, height);
                setLogs((old) => (goesOn && old ? { ...old, items: merged(old.items, page.items) } : { ...page, items: merged(page.items, []) }));
                setError("");
            },
            (e: Error) => read.current.key === key && setError(e.message),
        );
    }, [key, epoch]);
    const readOlder = () => {
        if (!logs || reading) return;
        setReading(true);
        readPage(filters, logs.from - 1, blocks)
            .then(
                (page) => {
                    if (read.current.key !== key) return;
                    setLogs((old) => old && { items: merged(old.items, page.items), from: Math.min(old.from, page.from), whole: page.whole });
                    setError("");
                },
                (e: Error) => read.current.key === key && setError(e.message),
            )
            .finally(() => setReading(false));
    };
    return { logs, error, readOlder: logs && logs.whole && logs.from > 1 ? readOlder : undefined, reading };
}
