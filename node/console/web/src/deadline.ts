// SPDX-License-Identifier: MIT
// How many auctions of a task are over by a deadline: the rule of `--by` (node/cmd/auction_flags.cpp; tests/vectors/auctions).

/** Blocks from the one that was read to the one with the posting. */
const kPostingBlocks = 2n;
const kBlocksMax = 1e12;
const kU64 = 2n ** 64n;
const kSeconds: { [unit: string]: number } = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** Whether a deadline is told as a time, for which the pace of the chain must be known. */
export const isTime = (by: string) => /[smhd]$/.test(by);

/** A height in decimal digits, or a time from `height` on such as 90s, 45m, 6h or 2d, in blocks of `blockS` seconds; null: it is neither. */
export function deadlineOf(by: string, height: bigint, blockS: number): bigint | null {
    const [, digits, unit] = /^(\d+)([smhd]?)$/.exec(by) ?? [];
    if (digits === undefined || BigInt(digits) >= kU64) return null;
    if (!unit) return BigInt(digits);
    const blocks = ((kSeconds[unit] as number) * Number(digits)) / blockS;
    return blocks < kBlocksMax ? height + BigInt(Math.trunc(blocks)) : null;
}

/** The most auctions of a task (market 14), and the longest pause between two (contracts 12.12.7). */
const kAuctionsMax = 64n;
const kPauseMax = 1_000_000_000n;
const least = (...all: bigint[]) => all.reduce((a, b) => (a < b ? a : b));

/**
 * The most auctions of `blocks` blocks each, at most `rounds`, of a task that is posted after block `height` which are over by block
 * `deadline`, and the blocks between two that spread them over the time until then.
 */
export function auctionsBy(blocks: bigint, rounds: bigint, height: bigint, deadline: bigint): { auctions: bigint; pause: bigint } {
    const posted = height + kPostingBlocks;
    const time = deadline <= posted ? 0n : deadline - posted;
    const auctions = least(time / blocks, rounds, kAuctionsMax);
    return { auctions, pause: auctions < 2n ? 0n : least(kPauseMax, (time - auctions * blocks) / (auctions - 1n)) };
}
