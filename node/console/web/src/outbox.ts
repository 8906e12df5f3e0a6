// SPDX-License-Identifier: MIT
// Calls that the wallet has sent and whose outcome is not known, so that none is sent twice by mistake: not after two minutes
// without a block, not by another page, not after a reload of the tab.
import { MayStillCome, settled } from "./sent";
import { type Call, currentAccount, submit } from "./wallet";

export interface Entry {
    /** What is not to be sent twice. */
    key: string;
    label: string;
    hash: string;
    /** How it ended; empty while that is not known. */
    outcome: string;
}

const kStored = "retrace-sent";
const kEntriesMax = 20;

const entries = new Map<string, Entry>();
const listeners = new Set<() => void>();
/** Keys whose outcome a button on the page shows. */
const shown = new Map<string, number>();

function changed(): void {
    const open = [...entries.values()].filter(({ outcome }) => outcome === "").slice(-kEntriesMax);
    sessionStorage.setItem(kStored, JSON.stringify(open));
    for (const listener of [...listeners]) listener();
}

const isEntry = (one: Partial<Entry> | null): one is Entry =>
    [one?.key, one?.label].every((text) => typeof text === "string") && /^0x[0-9a-f]{64}$/i.test(String(one?.hash)) && one?.outcome === "";

try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(kStored) ?? "[]");
    for (const one of Array.isArray(stored) ? stored : []) if (isEntry(one)) entries.set(one.key, one);
} catch {
    // other content than this page's
}

export function onOutbox(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

/** Those that no button on the page shows. */
export const leftOver = (): Entry[] => [...entries.values()].filter(({ key }) => !shown.has(key));

/** Forgets one that has ended. */
export function dismiss(key: string): void {
    entries.delete(key);
    changed();
}

/** Says that a button shows what becomes of a call until the result is called. */
export function show(key: string): () => void {
    shown.set(key, (shown.get(key) ?? 0) + 1);
    changed();
    return () => {
        const left = (shown.get(key) ?? 1) - 1;
        if (left > 0) shown.set(key, left);
        else shown.delete(key);
        changed();
    };
}

/** Postings with other numbers, and stakes of other amounts, are the same call; those about another record are not. */
export function keyOf(call: Call): string {
    const names = call.value === undefined ? call.args.filter((one) => typeof one === "bigint").map(String) : [];
    return [currentAccount()?.address ?? "", call.contract, call.method, ...names].join(" ");
}

async function follow(entry: Entry, waits?: number): Promise<string> {
    try {
        const hash = await settled(entry.hash, waits);
        if (shown.has(entry.key)) entries.delete(entry.key);
        else entries.set(entry.key, { ...entry, outcome: "is in a block" });
        changed();
        return hash;
    } catch (error) {
        if (!(error instanceof MayStillCome)) {
            if (shown.has(entry.key)) entries.delete(entry.key);
            else entries.set(entry.key, { ...entry, outcome: (error as Error).message });
            changed();
        }
        throw error;
    }
}

for (const restored of [...entries.values()]) follow(restored).catch(() => undefined);

/**
 * Sends a call and resolves to the hash under which it is in a block. If one of its key was sent whose outcome is not known, that
 * one is looked for instead, and MayStillCome is thrown as long as it is in no block; `again` sends a second one.
 */
export async function send(label: string, call: Call, tell: (progress: string) => void, again = false): Promise<string> {
    const key = keyOf(call);
    const earlier = entries.get(key);
    if (earlier?.outcome === "" && !again) {
        tell("looking for the earlier transaction …");
        return follow(earlier, 1);
    }
    const hash = await submit(call, tell);
    const entry = { key, label, hash, outcome: "" };
    entries.set(key, entry);
    changed();
    tell("waiting for a block …");
    return follow(entry);
}
