// SPDX-License-Identifier: MIT
// Whether the node still follows the chain that the page has shown. What the page has learned of another one (contracts, prices,
// losses, blocks) must not be shown as this one's.
import { hex, num } from "./format";
import type { Status } from "./records";
import { node } from "./rpc";

let seen: { genesis: string; height: number; hash: string } | undefined;

async function look(other: () => void): Promise<void> {
    const { genesis_hash: genesis } = await node.call<Status>("retrace_status");
    const height = seen?.height ?? num(await node.call<string>("eth_blockNumber"));
    const block = await node.call<{ hash?: string } | null>("eth_getBlockByNumber", [hex(height), false]).catch(() => null); // or it is erased
    if (!seen && typeof genesis === "string" && typeof block?.hash === "string") seen = { genesis, height, hash: block.hash };
    else if (seen && (genesis !== seen.genesis || (block && block.hash !== seen.hash))) other();
}

/** Calls `other` when the connection is back and leads to another chain. */
export const watchChain = (other: () => void) => node.links.on((link) => link === "open" && void look(other).catch(() => undefined));
