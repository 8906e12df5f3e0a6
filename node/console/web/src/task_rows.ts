// SPDX-License-Identifier: MIT
// All tasks, the newest first, read as their rows are wanted.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { hex, num } from "./format";
import { useQuery } from "./hooks";
import type { Page, TaskSummary } from "./records";
import { node } from "./rpc";

const kPage = 100; // tasks in one answer
const kPagesMax = 200; // that are remembered

export interface Rows {
    /** undefined: not known yet. */
    total: number | undefined;
    at: (row: number) => TaskSummary | undefined;
    look: (first: number, last: number) => void;
    error: string;
}

/** Pages by number: page p has the tasks from p · kPage + 1 to (p + 1) · kPage, so a new task moves none. */
export function useAllTasks(on: boolean): Rows {
    const newest = useQuery<Page<TaskSummary>>(on ? "retrace_tasks" : null, [{ limit: 1 }], { task: 0 });
    const told = newest.data?.items ? num(newest.data.items[0]?.id ?? 0) : undefined;
    const total = told === undefined || Number.isSafeInteger(told) ? told : 0;
    const pages = useRef(new Map<number, Map<number, TaskSummary>>());
    const asked = useRef(new Set<number>());
    const wanted = useRef<[number, number]>([0, 0]);
    const [, setTurn] = useState(0);
    const [error, setError] = useState("");
    const read = (page: number) => {
        if (asked.current.has(page)) return;
        asked.current.add(page);
        node.call<Page<TaskSummary>>("retrace_tasks", [{ limit: kPage, before: hex((page + 1) * kPage + 1) }])
            .then(({ items }) => {
                if (pages.current.size >= kPagesMax) pages.current.clear();
                pages.current.set(page, new Map(items.filter(({ id }) => Math.floor((num(id) - 1) / kPage) === page).map((one) => [num(one.id), one])));
                setError("");
                setTurn((turn) => turn + 1);
            })
            .catch((e: Error) => setError(e.message))
            .finally(() => asked.current.delete(page));
    };
    const pageOf = (row: number) => Math.floor(((total ?? 0) - row - 1) / kPage);
    const look = useCallback((first: number, last: number) => {
        wanted.current = [first, last];
        if (!total) return;
        for (let page = pageOf(Math.min(last, total) - 1); page <= pageOf(first); page++) if (page >= 0 && !pages.current.has(page)) read(page);
    }, [total]);
    // What happened may have changed the tasks that are seen.
    useEffect(() => {
        if (!total) return;
        const [first, last] = wanted.current;
        for (let page = Math.max(0, pageOf(Math.max(first, last - 1))); page <= pageOf(first); page++) read(page);
    }, [newest.data]);
    const at = (row: number) => pages.current.get(pageOf(row))?.get((total ?? 0) - row);
    return { total, at, look, error: newest.error || error };
}

/** Those in a state: their number is not known, so they are read one page after another. */
export function useTasksIn(state: string): Rows {
    const first = useQuery<Page<TaskSummary>>(state ? "retrace_tasks" : null, [{ limit: kPage, state }], { task: 0 });
    const [older, setOlder] = useState<{ state: string; items: TaskSummary[]; next: string | null }>({ state: "", items: [], next: null });
    const [error, setError] = useState("");
    const busy = useRef(false);
    const head = Array.isArray(first.data?.items) ? first.data.items : [];
    const known = older.state === state ? older : undefined;
    const least = head.length ? num(head[head.length - 1]?.id) : Infinity;
    const items = [...head, ...(known?.items ?? []).filter(({ id }) => num(id) < least)];
    const next = known ? known.next : (first.data?.next ?? null);
    const look = useCallback((_: number, last: number) => {
        if (busy.current || next === null || last < items.length) return;
        busy.current = true;
        node.call<Page<TaskSummary>>("retrace_tasks", [{ limit: kPage, state, before: next }])
            .then((page) => setOlder({ state, items: [...(known?.items ?? []), ...page.items], next: page.next }))
            .catch((e: Error) => setError(e.message))
            .finally(() => {
                busy.current = false;
            });
    }, [state, next, items.length]);
    return { total: first.data ? items.length : undefined, at: (row) => items[row], look, error: first.error || error };
}
