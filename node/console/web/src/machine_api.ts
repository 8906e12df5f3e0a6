// SPDX-License-Identifier: MIT
// What an agent's own page asks of its agent, with the token of the link that the agent printed.

export interface Sum {
    earned: string;
    lost: string;
    segments: number;
    audits: number;
    last: number;
}
export interface Check {
    name: string;
    grade: string;
    found: string;
    required: string;
    why: string;
    remedy: string;
}
export interface Choice {
    task: number;
    taken: boolean;
    per_hour: string | null;
    reason: string;
}

export interface Machine {
    role: string;
    node: string;
    address: string;
    endpoint: string;
    height: number;
    draining: boolean;
    work: string[];
    duties: { what: string; task: number; due: number }[];
    waiting: { task: number; what: string; why: string; attempts: number; next: number; due: number }[];
    /** Time that is kept for tasks of others; `load` and `left` are shares of the machine's time. */
    reserved: { reservation: number; from: number; until: number; load: number; left: number }[];
    choices: Choice[];
    /** Of tasks that take no more of its bids, the newest first, each with the last block at which it held. */
    earlier: (Choice & { height: number })[];
    problems: number;
    pending_calls: number;
    fees_since_start: string;
    ledger: {
        chain_id: number;
        height: number;
        block_time: number;
        pace_s: number;
        balance: string;
        bonded: string;
        locked: string;
        unbonding: string;
        unbond_height: number;
        income_first: number;
        income_last: number;
        income_complete: boolean;
        total: Sum;
        tasks: (Sum & { task: number })[];
        audits: (Sum & { audit: number })[];
        days: (Sum & { day: number })[];
        trouble: string;
    };
    /** A test that failed itself says why in `error`. */
    self_test: { running: boolean; made?: number; result?: { grade?: string; checks?: Check[]; error?: string } };
}
export interface LogPage {
    first: number;
    lines: string[];
}

const kStored = "retrace-agent-token";

/**
 * The token behind "#" of the link; a reload of the tab finds it in the tab's own storage. It is taken out of the address bar, so
 * that no screenshot has it; what the browser has written into its history before, a page cannot change.
 */
export function takeToken(): string {
    const given = location.hash.slice(1);
    if (/^[0-9a-f]{64}$/.test(given)) {
        sessionStorage.setItem(kStored, given);
        history.replaceState(null, "", location.pathname);
        return given;
    }
    return sessionStorage.getItem(kStored) ?? "";
}

/** A token is that of one process. Once nobody answers, whoever takes the port next must not be shown it. */
export const forgetToken = () => sessionStorage.removeItem(kStored);

/** The agent answered with a status other than 200 and 202. */
export class Refused extends Error {
    constructor(
        readonly status: number,
        why: string,
    ) {
        super(why);
    }
}

/** Nobody listens at the port, or somebody who is not the agent. */
export class Ended extends Error {}

const kTimeoutMs = 8_000;
export const kMissing = "The token is missing or wrong; open the link that the agent printed when it was started last.";

/** An Ended is the last answer: the token is not to be shown again. */
export async function ask<T>(token: string, path: string, method = "GET"): Promise<T> {
    if (!token) throw new Refused(401, kMissing);
    const reply = await fetch(path, {
        method,
        headers: { authorization: `Bearer ${token}` },
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        signal: AbortSignal.timeout(kTimeoutMs),
    }).catch((failed: Error) => {
        if (failed.name === "TimeoutError") throw new Error("The agent does not answer in time.");
        throw new Ended("The agent does not answer: it has ended, or was started again. Open the link that it prints at its start.");
    });
    if (reply.status === 401) throw new Ended(kMissing);
    const answer = (await reply.json().catch(() => null)) as (T & { error?: unknown }) | null;
    if (!answer) throw new Ended("Something else than the agent answers. Open the link that the agent prints at its start.");
    if (!reply.ok) throw new Refused(reply.status, typeof answer.error === "string" ? answer.error : `status ${reply.status}`);
    return answer;
}
