// SPDX-License-Identifier: MIT
// The auctions that fill the time until a deadline, as the chain goes on.
import { useEffect, useState } from "preact/hooks";
import { auctionsBy, deadlineOf, isTime } from "../deadline";
import { big, count, hex, num } from "../format";
import { useHead, useQuery } from "../hooks";
import type { MarketParams } from "../odds";
import { node } from "../rpc";

const kPaceBlocks = 100;

/** Seconds between two blocks, over the last hundred; null: the node does not say, or there are too few. */
async function blockTime(height: number): Promise<number | null> {
    const from = height > kPaceBlocks ? height - kPaceBlocks : 1; // block 0 has the time of the genesis
    if (height <= from) return null;
    const time = async (at: number) => num((await node.call<{ timestamp: string } | null>("eth_getBlockByNumber", [hex(at), false]))?.timestamp);
    const [first, last] = await Promise.all([time(from), time(height)]);
    return last > first ? (last - first) / (height - from) : null;
}

/** `by`: a block or a time, empty if none is given. An answer is neither as long as the pace of the chain is not known. */
export function useAuctionsBy(by: string, params: MarketParams | undefined): { auctions?: bigint; pause?: bigint; wrong: string } {
    const head = useHead();
    const tip = useQuery<string>("eth_blockNumber", []);
    const height = num(head?.number ?? tip.data);
    const timed = isTime(by);
    const [pace, setPace] = useState<number | null>();
    const known = Number.isFinite(height);
    useEffect(() => {
        if (timed && known) blockTime(height).then(setPace, () => setPace(null));
    }, [timed, known && Math.floor(height / kPaceBlocks)]);
    if (!by || !params) return { wrong: "" };
    if (!known || (timed && pace === undefined)) return { wrong: "The pace of the chain is being asked for." };
    if (timed && pace === null) return { wrong: "The node does not tell how long a block takes yet; give the deadline as a block." };
    const deadline = deadlineOf(by, BigInt(height), pace ?? 1);
    if (deadline === null) return { wrong: "The deadline is a block, or a time such as 90m, 6h or 2d." };
    const blocks = big(params.bidBlocks) + big(params.revealBlocks);
    const fit = auctionsBy(blocks, big(params.rounds), BigInt(height), deadline);
    if (fit.auctions === 0n) return { wrong: `No auction of ${blocks} blocks is over by block ${deadline}: block ${count(height)} is the newest.` };
    return { ...fit, wrong: "" };
}
