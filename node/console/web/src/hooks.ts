// SPDX-License-Identifier: MIT
// What components read of the node and of the address bar.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Head, type Json, type Link, type TaskEvent, node } from "./rpc";
import type { Contract } from "./records";

export interface Answer<T> {
    data: T | undefined;
    error: string;
    reload: () => void;
}

/** When a query is asked again: at blocks, at events of a task (0: of any), or never. */
export type Live = "blocks" | { task: number } | undefined;

const kBetweenMs = 700;

/**
 * The node's answer to a call; asked again at what `live` names, not more often than every 700 ms, and when the
 * connection is back. The last answer stays while it is asked again. `method` null: nothing is asked.
 */
export function useQuery<T>(method: string | null, params: Json[], live?: Live): Answer<T> {
    const key = method === null ? "" : JSON.stringify([method, params]);
    const [answer, setAnswer] = useState<{ key: string; data?: T; error: string }>({ key: "", error: "" });
    const [turn, setTurn] = useState(0);
    const reload = useCallback(() => setTurn((n) => n + 1), []);
    // An answer that comes after the question was asked again is shown too: on a slow link all of them do.
    const wanted = useRef({ key: "", since: 0 });
    useEffect(() => {
        wanted.current = { key, since: 0 };
        return () => {
            wanted.current = { key: "", since: 0 };
        };
    }, [key]);
    useEffect(() => {
        if (!key) return;
        const isNewest = () => {
            if (wanted.current.key !== key || wanted.current.since > turn) return false;
            wanted.current.since = turn;
            return true;
        };
        const [name, args] = JSON.parse(key) as [string, Json[]];
        node.call<T>(name, args).then(
            (data) => isNewest() && setAnswer({ key, data, error: "" }),
            (error: Error) => isNewest() && setAnswer((old) => ({ ...(old.key === key ? old : {}), key, error: error.message })),
        );
    }, [key, turn]);
    const on = live === undefined ? "" : typeof live === "string" ? live : `task ${live.task}`;
    useEffect(() => {
        if (!key) return undefined;
        let timer = 0;
        const soon = () => {
            if (!timer)
                timer = window.setTimeout(() => {
                    timer = 0;
                    reload();
                }, kBetweenMs);
        };
        const ends = [node.links.on((link) => link === "open" && reload())];
        if (on === "blocks") ends.push(node.heads.on(soon));
        else if (on) ends.push(node.taskEvents.on((event) => (on === "task 0" || on === `task ${Number(event.task)}`) && soon()));
        return () => {
            clearTimeout(timer);
            for (const end of ends) end();
        };
    }, [key, on, reload]);
    const known = answer.key === key;
    return { data: known ? answer.data : undefined, error: known ? answer.error : "", reload };
}

export function useLink(): Link {
    const [link, setLink] = useState(node.link);
    useEffect(() => {
        setLink(node.link);
        return node.links.on(setLink);
    }, []);
    return link;
}

export function useHead(): Head | undefined {
    const [head, setHead] = useState<Head>();
    useEffect(() => node.heads.on(setHead), []);
    return head;
}

const isSame = (a: TaskEvent, b: TaskEvent) => a.blockHash === b.blockHash && a.logIndex === b.logIndex;

/** The newest events of all tasks, the newest first: those of `recent`, a method's answer, and what comes. */
export function useEvents(most: number, recent: TaskEvent[] | undefined): TaskEvent[] {
    const [events, setEvents] = useState<TaskEvent[]>([]);
    useEffect(() => node.taskEvents.on((event) => setEvents((old) => [event, ...old].slice(0, most))), [most]);
    const older = (recent ?? []).filter((one) => !events.some((other) => isSame(one, other))).reverse();
    return [...events, ...older].slice(0, most);
}

let contracts: Promise<Contract[]> | undefined;
export function contractList(): Promise<Contract[]> {
    contracts ??= node.call<Contract[]>("retrace_contracts").catch((error: Error) => {
        contracts = undefined;
        throw error;
    });
    return contracts;
}

export function useContracts(): Contract[] {
    const [list, setList] = useState<Contract[]>([]);
    useEffect(() => {
        contractList().then(setList, () => undefined);
    }, []);
    return list;
}

/** The path behind "#/", in parts, decoded. */
export function route(): string[] {
    return location.hash
        .replace(/^#?\/?/, "")
        .split("/")
        .map((part) => {
            try {
                return decodeURIComponent(part);
            } catch {
                return part;
            }
        });
}

export function useRoute(): string[] {
    const [parts, setParts] = useState(route());
    useEffect(() => {
        const change = () => setParts(route());
        window.addEventListener("hashchange", change);
        return () => window.removeEventListener("hashchange", change);
    }, []);
    return parts;
}

export function useTitle(title: string): void {
    useEffect(() => {
        document.title = title ? `${title} – Retrace` : "Retrace console";
    }, [title]);
}

/** Calls `use` again whenever the size of the element changes. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
    const ref = useRef<HTMLDivElement>(null);
    const [width, setWidth] = useState(0);
    useEffect(() => {
        const element = ref.current;
        if (!element) return undefined;
        const observer = new ResizeObserver(() => setWidth(element.clientWidth));
        observer.observe(element);
        setWidth(element.clientWidth);
        return () => observer.disconnect();
    }, []);
    return [ref, width];
}
