// SPDX-License-Identifier: MIT
// Calls that the wallet has sent and whose outcome is not known, so that none is sent twice by mistake: not after two minutes
// without a block, not by another page, not after a reload of the tab.
import { MayStillCome, settled } from "./sent";
import { type Call, currentAccount, submit } from "./wallet";

export interface Entry {
    hash: string;
    /** Calls of one key are not to be made twice. */
    key: string;
    label: string;
    /** How it ended; empty while that is not known. */
    outcome: string;
}

const kStored = "retrace-sent";
const kEntriesMax = 20;

/** By hash. */
const entries = new Map<string, Entry>();
const listeners = new Set<() => void>();
/** Hashes whose outcome a button on the page shows. */
const shown = new Set<string>();

function changed(): void {
    const open = [...entries.values()].filter(({ outcome }) => outcome === "").slice(-kEntriesMax);
    sessionStorage.setItem(kStored, JSON.stringify(open));
    for (const listener of [...listeners]) listener();
}

const isEntry = (one: Partial<Entry> | null): one is Entry =>
    [one?.key, one?.label].every((text) => typeof text === "string") && /^0x[0-9a-f]{64}$/i.test(String(one?.hash)) && one?.outcome === "";

try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(kStored) ?? "[]");
    for (const one of Array.isArray(stored) ? stored : []) if (isEntry(one)) entries.set(one.hash, one);
} catch {
    // other content than this page's
}

export function onOutbox(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

/** Those that no button on the page shows. */
export const leftOver = (): Entry[] => [...entries.values()].filter(({ hash }) => !shown.has(hash));

/** Forgets one. */
export function dismiss(hash: string): void {
    entries.delete(hash);
    changed();
}

/** Says that a button shows what becomes of a transaction until the result is called. */
export function show(hash: string): () => void {
    shown.add(hash);
    changed();
    return () => {
        shown.delete(hash);
        changed();
    };
}

/**
 * Postings with other terms, and stakes of other amounts, are the same call; those about another record, or with another party, are not.
 * What a payable call names so stands here, by its place among the arguments.
 */
const kNamed: Record<string, number[]> = { beginReserved: [0], reserve: [1], raiseReplicas: [0], topUpTask: [0], commitBid: [0] };

export function keyOf(call: Call): string {
    const names =
        call.value === undefined
            ? call.args.filter((one) => typeof one === "bigint").map(String)
            : (kNamed[call.method] ?? []).map((at) => String(call.args[at]).toLowerCase());
    return [currentAccount()?.address ?? "", call.contract, call.method, ...names].join(" ");
}

/** Notes how one ended; a button that shows it leaves nothing to be told. */
function ended(hash: string, outcome: string): void {
    const entry = entries.get(hash);
    if (entry && shown.has(hash)) entries.delete(hash);
    else if (entry) entries.set(hash, { ...entry, outcome });
    changed();
}

async function follow(sent: string, waits?: number): Promise<string> {
    try {
        const hash = await settled(sent, waits);
        ended(sent, "is in a block");
        return hash;
    } catch (error) {
        if (!(error instanceof MayStillCome)) ended(sent, (error as Error).message);
        throw error;
    }
}

for (const restored of [...entries.keys()]) follow(restored).catch(() => undefined);

/**
 * Sends a call and resolves to the hash under which it is in a block; `begun` is told under which it was sent. If one of its key was
 * sent whose outcome is not known, that one is looked for instead, and MayStillCome is thrown as long as it is in no block; `again`
 * sends a second one.
 */
export async function send(label: string, call: Call, tell: (progress: string) => void, begun: (hash: string) => void, again = false): Promise<string> {
    const key = keyOf(call);
    const earlier = [...entries.values()].find((one) => one.key === key && one.outcome === "");
    if (earlier && !again) {
        tell("looking for the earlier transaction …");
        begun(earlier.hash);
        return follow(earlier.hash, 1);
    }
    const hash = await submit(call, tell);
    entries.set(hash, { hash, key, label, outcome: "" });
    begun(hash);
    changed();
    tell("waiting for a block …");
    return follow(hash);
}
