// SPDX-License-Identifier: MIT
// What the page's modules find in a browser, with a node of the test's own behind the WebSocket. Imported before them.

/// The node's answer to each method: a value, or a function of the parameters that returns one or throws an Error.
export const answers = {};
/// The calls that the node was asked, in their order.
export const asked = [];

let newest;
/// Ends the connection to the node; the page opens another.
export const cut = () => newest.close();

class Socket {
    static OPEN = 1;
    readyState = 0;
    constructor() {
        newest = this;
        setTimeout(() => {
            this.readyState = Socket.OPEN;
            this.onopen();
        });
    }
    async send(text) {
        const { id, method, params } = JSON.parse(text);
        asked.push({ method, params });
        const reply = { jsonrpc: "2.0", id };
        try {
            const answer = answers[method];
            reply.result = (await (typeof answer === "function" ? answer(...params) : answer)) ?? null;
        } catch (error) {
            reply.error = { code: error.code ?? -32000, message: error.message, data: error.data };
        }
        this.onmessage({ data: JSON.stringify(reply) });
    }
    close() {
        this.readyState = 3;
        this.onclose?.();
    }
}

const stored = new Map();
globalThis.sessionStorage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => void stored.set(key, String(value)),
    removeItem: (key) => void stored.delete(key),
};
const events = new EventTarget();
globalThis.WebSocket = Socket;
globalThis.location = new URL("http://127.0.0.1:8545/");
globalThis.window = {
    setTimeout: (...of) => setTimeout(...of),
    setInterval: (...of) => setInterval(...of).unref(), // a test ends although the page never does
    addEventListener: events.addEventListener.bind(events),
    removeEventListener: events.removeEventListener.bind(events),
    dispatchEvent: events.dispatchEvent.bind(events),
    isSecureContext: true,
};
