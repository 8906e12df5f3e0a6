// SPDX-License-Identifier: MIT
// The node behind the page: JSON-RPC and subscriptions over one WebSocket, which is opened again when it ends.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A refusal by the node; `code` as in docs/json-rpc.md. */
export class RpcError extends Error {
    constructor(
        readonly code: number,
        message: string,
        readonly data?: Json,
    ) {
        super(message);
    }
}

export interface Head {
    number: string;
    hash: string;
    timestamp: string;
    baseFeePerGas: string;
}

export interface TaskEvent {
    task: string;
    height: string;
    blockHash: string;
    transactionHash: string;
    logIndex: string;
    event: string;
    arguments: { [name: string]: Json };
}

export type Link = "connecting" | "open" | "lost";

interface Waiting {
    message: string;
    resolve: (value: Json) => void;
    reject: (error: Error) => void;
    timer: number;
}

const kTimeoutMs = 20_000;
const kPauseMaxMs = 10_000;
/** A connection over which nothing came for so long is taken for dead; blocks come more often. */
const kSilenceMs = 30_000;

type Listener<T> = (value: T) => void;

class Emitter<T> {
    private listeners = new Set<Listener<T>>();
    on(listener: Listener<T>): () => void {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    }
    emit(value: T): void {
        for (const listener of [...this.listeners]) listener(value);
    }
}

export class NodeLink {
    readonly heads = new Emitter<Head>();
    readonly taskEvents = new Emitter<TaskEvent>();
    readonly links = new Emitter<Link>();
    link: Link = "connecting";
    /** Why the last connection ended or none came about; empty while it is open. */
    trouble = "";

    private socket?: WebSocket;
    private nextId = 1;
    private waiting = new Map<number, Waiting>();
    private subscriptions = new Map<string, (result: Json) => void>();
    private pauseMs = 500;
    private heardAt = 0;

    constructor(private readonly url: string) {
        window.setInterval(() => this.watch(), 5_000);
        this.open();
    }

    /** Rejects with an RpcError when the node refuses, with an Error when no answer comes in time. */
    call<T>(method: string, params: Json[] = []): Promise<T> {
        const id = this.nextId++;
        return new Promise<T>((resolve, reject) => {
            const message = JSON.stringify({ jsonrpc: "2.0", id, method, params });
            const timer = window.setTimeout(() => {
                this.waiting.delete(id);
                reject(new Error(this.link === "open" ? `${method}: no answer in 20 s` : "the node cannot be reached"));
            }, kTimeoutMs);
            this.waiting.set(id, { message, resolve: resolve as (value: Json) => void, reject, timer });
            if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(message);
        });
    }

    private open(): void {
        const socket = new WebSocket(this.url);
        this.socket = socket;
        socket.onopen = () => {
            this.heardAt = Date.now();
            this.pauseMs = 500;
            this.trouble = "";
            this.subscriptions.clear();
            void this.subscribe("newHeads", (head) => this.heads.emit(head as unknown as Head));
            void this.subscribe("taskProgress", (event) => typeof event === "object" && event !== null && this.taskEvents.emit(event as unknown as TaskEvent));
            for (const { message } of this.waiting.values()) if (!message.includes("eth_subscribe")) socket.send(message);
            this.change("open");
        };
        socket.onmessage = ({ data }) => this.take(String(data));
        socket.onclose = () => {
            if (this.socket !== socket) return;
            this.trouble = "The node does not answer; trying again.";
            this.change("lost");
            window.setTimeout(() => this.open(), this.pauseMs);
            this.pauseMs = Math.min(kPauseMaxMs, this.pauseMs * 2);
        };
    }

    private async subscribe(kind: string, take: (result: Json) => void): Promise<void> {
        try {
            const id = await this.call<string>("eth_subscribe", [kind]);
            this.subscriptions.set(id, take);
        } catch (error) {
            this.trouble = `No live updates: ${(error as Error).message}.`;
            this.links.emit(this.link);
        }
    }

    private take(text: string): void {
        this.heardAt = Date.now();
        let message: { id?: number; result?: Json; error?: { code: number; message: string; data?: Json }; params?: Json } | null;
        try {
            message = JSON.parse(text);
        } catch {
            message = null;
        }
        // A node that sends anything but objects is not understood, and calls time out.
        if (typeof message !== "object" || message === null) return;
        if (message.id === undefined) {
            const params = message.params as { subscription?: string; result?: Json } | undefined;
            if (params?.subscription) this.subscriptions.get(params.subscription)?.(params.result ?? null);
            return;
        }
        const waiting = this.waiting.get(message.id);
        if (!waiting) return;
        this.waiting.delete(message.id);
        clearTimeout(waiting.timer);
        if (message.error) waiting.reject(new RpcError(message.error.code, message.error.message, message.error.data));
        else waiting.resolve(message.result ?? null);
    }

    /** Asks something when all is quiet, and gives a connection up that stays quiet. */
    private watch(): void {
        if (this.link !== "open") return;
        const quiet = Date.now() - this.heardAt;
        if (quiet > kSilenceMs) this.socket?.close();
        else if (quiet > kSilenceMs / 3) void this.call("eth_blockNumber").catch(() => undefined);
    }

    private change(link: Link): void {
        this.link = link;
        this.links.emit(link);
    }
}

const scheme = location.protocol === "https:" ? "wss:" : "ws:";
export const node = new NodeLink(import.meta.env.DEV ? "ws://127.0.0.1:8545/" : `${scheme}//${location.host}/`);
