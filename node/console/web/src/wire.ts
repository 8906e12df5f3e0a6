// SPDX-License-Identifier: MIT
// The artifact transfer: its Protobuf messages (node/wire/artifact.proto) and its requests (node/artifacts/server.hpp).
import { concat, Fault, joined, type Shape } from "./commit";

export interface Field {
    number: number;
    value: number;
    bytes: Uint8Array;
}

/** Reads a varint at `at`; a Fault if there is none. */
function varintAt(message: Uint8Array, at: number): [value: number, next: number] {
    let value = 0;
    for (let shift = 1; ; shift *= 128) {
        const byte = message[at++];
        if (byte === undefined || shift > 2 ** 56) throw new Fault("it sends no message of the artifact transfer");
        value += (byte & 127) * shift;
        if (byte < 128) return [value, at];
    }
}

const kNone = new Uint8Array();
/** The messages here have fields 1 to 5, of which one is repeated. */
const kHighest = 5;
const kFieldsMax = 1024;

/** The fields of a message: numbers of varints, bytes of the others. A Fault if there are other or more fields than a message has. */
export function fields(message: Uint8Array): Field[] {
    const out: Field[] = [];
    for (let at = 0; at < message.length; ) {
        let key: number;
        let size: number;
        [key, at] = varintAt(message, at);
        [size, at] = varintAt(message, at);
        const number = Math.floor(key / 8);
        if (number < 1 || number > kHighest || out.length === kFieldsMax) throw new Fault("it sends no message of the artifact transfer");
        if (key % 8 === 0) out.push({ number, value: size, bytes: kNone });
        else if (key % 8 === 2) {
            if (at + size > message.length) throw new Fault("it sends a message that is cut off");
            out.push({ number, value: 0, bytes: message.subarray(at, at + size) });
            at += size;
        } else throw new Fault("it sends no message of the artifact transfer");
    }
    return out;
}

export const bytesOf = (all: Field[], number: number) => all.find((one) => one.number === number)?.bytes ?? kNone;
export const numberOf = (all: Field[], number: number) => all.find((one) => one.number === number)?.value ?? 0;

/** Values of a repeated field of varints, packed or not, and at most some more than `most`. */
export function numbers(all: Field[], number: number, most: number): number[] {
    return all.filter((one) => one.number === number).flatMap((one) => {
        if (one.bytes.length === 0) return [one.value];
        const out: number[] = [];
        for (let at = 0; at < one.bytes.length && out.length <= most; ) {
            let value: number;
            [value, at] = varintAt(one.bytes, at);
            out.push(value);
        }
        return out;
    });
}

function varint(value: number): Uint8Array {
    const out: number[] = [];
    for (; value >= 128; value = Math.floor(value / 128)) out.push((value % 128) + 128);
    return Uint8Array.of(...out, value);
}
const whole = (number: number, value: number) => joined(varint(8 * number), varint(value));
const block = (number: number, content: Uint8Array) => joined(varint(8 * number + 2), varint(content.length), content);

export function tileRange(shape: Shape, tree: Uint8Array, first: number, tiles: Uint8Array, siblings: Uint8Array): Uint8Array {
    const header = joined(whole(1, shape.dtype), block(2, joined(...shape.dims.map(varint))), block(3, tree));
    return joined(block(1, header), whole(2, first), block(3, tiles), block(4, siblings));
}

export function stateManifest(contract: Uint8Array, program: Uint8Array, step: number, tensors: Uint8Array[]): Uint8Array {
    return joined(block(1, contract), block(2, program), whole(3, step), block(4, joined(...tensors)));
}

export interface Place {
    /** "" for this node. */
    base: string;
    root: string;
}

export const kTilesMax = 1024; // in one message
export const kPieceMax = 4 << 20; // of a program
/** Tiles in a message that this page sends: 1 MiB of them pass a slow link in time. */
export const sentTiles = (size: number) => Math.floor(1024 / size);
const kEnvelope = 64 << 10; // what a message has beside its tiles or its piece of a program
const kTimeoutMs = 30_000;

export const messageMax = (content: number) => content + kEnvelope;

const target = (place: Place, what: string) => `${place.base}/artifact/${place.root.replace(/^0x/, "")}/${what}`;

/** Runs a request that ends with `stop`, the person's, or after 30 seconds. */
async function timed<T>(stop: AbortSignal, request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const end = new AbortController();
    const late = setTimeout(() => end.abort(), kTimeoutMs);
    const cancel = () => end.abort();
    stop.addEventListener("abort", cancel);
    try {
        return await request(end.signal);
    } finally {
        clearTimeout(late);
        stop.removeEventListener("abort", cancel);
        end.abort(); // ends what is still being received
    }
}

/** Reads a reply of at most `most` bytes; whoever sends more is cut off. A Fault says what the party did, also if it does not answer. */
export function get(place: Place, what: string, most: number, stop: AbortSignal): Promise<Uint8Array> {
    return timed(stop, async (signal) => {
        const reply = await fetch(target(place, what), { signal, referrerPolicy: "no-referrer", credentials: "omit", redirect: "error" });
        if (!reply.ok) throw new Fault(`it answers ${reply.status}`);
        const reader = reply.body?.getReader();
        const parts: Uint8Array[] = [];
        for (let size = 0; reader; ) {
            const { done, value } = await reader.read();
            if (done) break;
            size += value.length;
            if (size > most) throw new Fault("it sends more than was asked for");
            parts.push(value);
        }
        return concat(parts);
    }).catch((error) => {
        throw error instanceof Fault ? error : new Fault("no answer to this page");
    });
}

const kPauses = [500, 1000, 2000, 4000, 8000]; // ms before another attempt
const isBusy = (status: number) => status === 429 || status === 503;

/** Sends a piece to this node, again while the node is busy or away; a Fault says why it is refused. */
export async function put(root: string, what: string, body: Uint8Array, stop: AbortSignal): Promise<void> {
    for (let attempt = 0; ; attempt++) {
        const reply = await timed(stop, async (signal) => {
            const answer = await fetch(target({ base: "", root }, what), { method: "PUT", body: body as BufferSource, signal });
            return { ok: answer.ok, status: answer.status, body: new Uint8Array(await answer.arrayBuffer()) };
        }).catch(() => undefined);
        if (reply?.ok) return;
        if (stop.aborted) throw new Fault("Cancelled.");
        if (reply && !isBusy(reply.status)) throw new Fault(refusalOf(reply.status, reply.body));
        const pause = kPauses[attempt];
        if (pause === undefined) throw new Fault(reply ? "The node is busy." : "The node does not answer.");
        await new Promise((resolve) => setTimeout(resolve, pause));
    }
}

/** The node's own sentence, if it sent one. */
function refusalOf(status: number, body: Uint8Array): string {
    try {
        const all = fields(body);
        const [slug, message] = [1, 2].map((number) => new TextDecoder().decode(bytesOf(all, number)));
        if (slug) return `The node refuses it (${slug}): ${message}.`;
    } catch {
        // no refusal of the artifact transfer
    }
    return `The node refuses it with status ${status}.`;
}
