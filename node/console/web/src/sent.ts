// SPDX-License-Identifier: MIT
// What became of a transaction that the wallet has sent. Its person may put another one in its place, of the same nonce and with
// higher fees: the same call (speed up) or nothing (cancel).
import { hex, num } from "./format";
import type { Tx, TxExplanation, TxReceipt } from "./records";
import { node } from "./rpc";

const kWaits = 240;
const kWaitMs = 500;
const kBlocksBack = 500;

const receiptOf = (hash: string) => node.call<TxReceipt | null>("eth_getTransactionReceipt", [hash]).catch(() => null);
const height = async () => num(await node.call<string>("eth_blockNumber", []));

/** The transaction of `from` with this nonce in the blocks after `since`. */
async function withNonce(from: string, nonce: string, since: number): Promise<Tx | undefined> {
    const tip = await height();
    for (let n = tip; n > Math.max(since, tip - kBlocksBack); n--) {
        const block = await node.call<{ transactions: Tx[] } | null>("eth_getBlockByNumber", [hex(n), true]);
        const found = block?.transactions.find((tx) => tx.from === from && num(tx.nonce) === num(nonce));
        if (found) return found;
    }
    return undefined;
}

const sameCall = (a: Tx, b: Tx) => a.to === b.to && a.input === b.input && a.value === b.value;

/** Nothing is known of a transaction that was sent, so the same call sent again might be made twice. */
export class MayStillCome extends Error {
    constructor(readonly hash: string) {
        super(`The transaction ${hash} is in no block yet; it may still come.`);
    }
}

/**
 * The hash under which the call is in a block: `hash`, or that of a transaction with the same call in its place. An Error if it
 * was refused there, or if something else is in its place; MayStillCome after `waits` looks, by default those of two minutes.
 */
export async function settled(hash: string, waits = kWaits): Promise<string> {
    let sent: Tx | null = null;
    let since = 0;
    for (let i = 0; i < waits; i++) {
        // In this order, so that the block that used the nonce is above `since`, or the receipt is found.
        const tip = await height().catch(() => since);
        if (!sent) since = tip - 1;
        // The wallet may have sent it by another node, from which it comes later.
        sent ??= await node.call<Tx | null>("eth_getTransactionByHash", [hash]).catch(() => null);
        const next = sent && num(await node.call<string>("eth_getTransactionCount", [sent.from, "latest"]).catch(() => "0x0"));
        const receipt = await receiptOf(hash);
        if (receipt) return accepted(hash, receipt);
        if (sent && next !== null && next > num(sent.nonce)) {
            const other = await withNonce(sent.from, sent.nonce, since);
            if (!other) throw new Error("The account used another transaction in its place: look at what the wallet shows.");
            if (!sameCall(sent, other)) throw new Error("The wallet has put another transaction in its place: it was cancelled.");
            const replaced = await receiptOf(other.hash);
            if (replaced) return accepted(other.hash, replaced);
        } else {
            since = tip;
        }
        await new Promise((resolve) => setTimeout(resolve, kWaitMs));
    }
    throw new MayStillCome(hash);
}

async function accepted(hash: string, receipt: TxReceipt): Promise<string> {
    if (num(receipt.status) === 1) return hash;
    const why = await node.call<TxExplanation | null>("retrace_explainTransaction", [hash]).catch(() => null);
    throw new Error(`It was refused in its block: ${why?.refusal?.sentence ?? why?.why ?? receipt.error ?? "no reason was given"}`);
}
