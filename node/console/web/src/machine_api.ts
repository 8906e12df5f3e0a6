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

/** A token is that of one process. Once it has ended, there is nobody to whom it opens anything. */
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
const kOther = "Something else than the agent answers. Open the link that the agent prints at its start.";

const bytes = (text: string) => new TextEncoder().encode(text);
const digits = (of: ArrayBuffer | Uint8Array) => [...new Uint8Array(of)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
    const out = new Uint8Array(a.length + b.length);
    out.set(a);
    out.set(b, a.length);
    return out;
}

/**
 * The agent behind the link. It shows first that it knows the token, and each of its answers too; the page shows it with each request,
 * and sends it to nobody (node/cmd/machine/page_sessions.hpp).
 */
export class Agent {
    private session?: string;
    private requests = 0;
    private turn: Promise<unknown> = Promise.resolve();
    private readonly key: Promise<CryptoKey>;

    constructor(token: string) {
        this.key = crypto.subtle.importKey("raw", bytes(token), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    }

    /** An Ended is the last answer: nothing is to be asked again. One request after another, because their numbers have to grow. */
    ask<T>(path: string, method = "GET"): Promise<T> {
        const answer = this.turn.then(() => this.send<T>(path, method));
        this.turn = answer.catch(() => undefined);
        return answer;
    }

    /** Of lines, the last of which may be bytes. */
    private async code(lines: (string | number)[], body = new Uint8Array()): Promise<string> {
        return digits(await crypto.subtle.sign("HMAC", await this.key, joined(bytes(lines.join("\n")), body) as BufferSource));
    }

    private async begin(): Promise<string> {
        const nonce = digits(crypto.getRandomValues(new Uint8Array(32)));
        const reply = await fetched(`/machine/hello?nonce=${nonce}`, { method: "GET" });
        const told = (await reply.json().catch(() => null)) as { session?: unknown; code?: unknown } | null;
        const session = String(told?.session);
        if (!/^[0-9a-f]{64}$/.test(session)) throw new Ended(kOther);
        // Another token: this page's link is of an earlier start, or somebody else has the port.
        if (told?.code !== (await this.code(["retrace/agent/1", nonce, session]))) throw new Ended(kMissing);
        return session;
    }

    private async send<T>(path: string, method: string): Promise<T> {
        const session = (this.session ??= await this.begin());
        const number = ++this.requests;
        const code = await this.code(["retrace/page/1", session, number, method, path]);
        const reply = await fetched(path, { method, headers: { authorization: `Retrace ${session} ${number} ${code}` } });
        const body = new Uint8Array(await reply.arrayBuffer().catch(() => new ArrayBuffer(0)));
        if (reply.headers.get("retrace-proof") !== (await this.code(["retrace/answer/1", session, number, reply.status, ""], body))) throw new Ended(kOther);
        const answer = JSON.parse(new TextDecoder().decode(body)) as T & { error?: unknown };
        if (!reply.ok) throw new Refused(reply.status, typeof answer.error === "string" ? answer.error : `status ${reply.status}`);
        return answer;
    }
}

/** An Ended if nobody listens. */
function fetched(path: string, request: RequestInit): Promise<Response> {
    return fetch(path, { ...request, cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(kTimeoutMs) }).catch((failed: Error) => {
        if (failed.name === "TimeoutError") throw new Error("The agent does not answer in time.");
        throw new Ended("The agent does not answer: it has ended, or was started again. Open the link that it prints at its start.");
    });
}
