// SPDX-License-Identifier: MIT
// What terms mean for both sides: escrow (market 6.1), rent (market 12.4), the stake of a bid (market 5.2 to 5.5), the odds of a fraud.
import { big } from "./format";
import type { GroupSpec, Spec } from "./records";
import type { Posting } from "./terms";

export interface MarketParams {
    contractHash: string;
    auditFee: string;
    auditFeeBp: string;
    auditBond: string;
    challengerShareBp: string;
    safetyBp: string;
    collusionBp: string;
    redraws: string;
    bidDeposit: string;
    checkpointBlocks: string;
    rounds: string;
    bidBlocks: string;
    revealBlocks: string;
    acceptBlocks: string;
    deliverBlocks: string;
    unbondBlocks: string;
}

/** The market's places(): taken, most, and the rent of the next one for a block (contracts 12.8). */
export const kPlaces = { to: "0x0000000000000000000000000000000000001002", data: "0x579ff7a2" };

const kWhole = 10_000n; // basis points
const kOne = 10n ** 18n;
/** Audited segments whose fees every lock covers (market 5.5). */
const kAuditsAtRisk = 8n;
/** Places that others may take before this task. */
const kTasksAhead = 64n;

const greatest = (...values: bigint[]) => values.reduce((a, b) => (a > b ? a : b));

const auditFee = (ceiling: bigint, params: MarketParams) => greatest((ceiling * big(params.auditFeeBp)) / kWhole, big(params.auditFee));

/** The ceiling of a segment in each of the auctions that follow one another without winners (market 14.1). */
export function ceilingsOf(spec: Spec): bigint[] {
    const first = big(spec.priceCeiling);
    const rise = greatest(first, big(spec.lastCeiling)) - first;
    return Array.from({ length: spec.auctions }, (_, k) => first + (k === 0 ? 0n : (rise * BigInt(k)) / BigInt(spec.auctions - 1)));
}

export const segmentsOf = (spec: Spec) => (big(spec.steps) + big(spec.interval) - 1n) / big(spec.interval);

/** The price of a segment at a ceiling, and the fees of its auditors. */
export const escrowAt = (ceiling: bigint, auditors: number, params: MarketParams) => ceiling + auditFee(ceiling, params) * BigInt(auditors);

/** The price of all segments and the fees of their auditors, at the highest ceiling. */
export function escrowOf(spec: Spec, params: MarketParams): bigint {
    const ceiling = greatest(big(spec.priceCeiling), big(spec.lastCeiling));
    return escrowAt(ceiling, spec.auditors, params) * segmentsOf(spec) * BigInt(spec.replicas);
}

/** A deposit for the rent of the place, twice as high as needed now; what is not used comes back. */
export function rentDepositOf({ spec, rounds }: Posting, places: string, params: MarketParams): bigint {
    const word = (index: number) => big(`0x${places.slice(2 + 64 * index, 66 + 64 * index)}`);
    if (word(0) + kTasksAhead < word(1) / 2n) return 0n;
    const rent = greatest(big(params.bidDeposit) / 1_000_000n, word(2));
    const pauses = BigInt(spec.auctions - 1) * big(spec.pauseBlocks);
    const auctions = big(params.rounds) * (big(params.bidBlocks) + big(params.revealBlocks) + big(params.acceptBlocks)) + pauses;
    const first = greatest(big(params.checkpointBlocks), big(spec.checkpointBlocks));
    const work = rounds ? first + big(spec.steps) * longestRound(rounds.group) : big(spec.finishBlocks);
    return 2n * rent * (auctions + work + big(params.deliverBlocks) + big(params.unbondBlocks));
}

/** Blocks of a round of which nothing is doubled (contracts 21.10.21), without masks. */
const longestRound = (of: GroupSpec) => big(of.roundBlocks) + 2n * (big(of.fetchBlocks) + big(of.revealBlocks)) + 5n;

/** p · (1-f) · (1 - f^v) as a fraction: a bad segment is drawn, by an honest member, for an honest auditor. */
function found(spec: Spec, params: MarketParams): [numerator: bigint, denominator: bigint] {
    const collusion = big(params.collusionBp);
    const all = kWhole ** BigInt(spec.auditors);
    const seats = all - collusion ** BigInt(spec.auditors);
    return [BigInt(spec.auditBp) * (kWhole - collusion) * seats, kWhole * kWhole * all];
}

/** The least that a bid on these terms locks, in the first auction or at another ceiling; null: no stake is enough. */
export function stakeFloor(spec: Spec, params: MarketParams, gain = big(spec.priceCeiling)): bigint | null {
    const auditors = BigInt(spec.auditors);
    const [hit, of] = found(spec, params);
    let honest = kOne;
    for (let i = 0n; i < 1n + auditors * (1n + big(params.redraws)); i++) honest = (honest * (kWhole - big(params.collusionBp))) / kWhole;
    const unserved = BigInt(spec.auditBp) * honest;
    if (hit === 0n || unserved === 0n) return null;
    const kept = kWhole - big(params.challengerShareBp);
    const against = ((of - hit) * kWhole * gain) / (hit * kept) + 1n;
    const starving = (gain * (kWhole * kOne - unserved)) / unserved + 1n;
    const floor = (greatest(against, starving, gain) * big(params.safetyBp)) / kWhole;
    const burned = auditFee(gain, params) * (kAuditsAtRisk * auditors + 1n);
    return greatest(floor, big(params.auditBond) * auditors, (burned * kWhole) / kept + 1n);
}

/** What a member locks beside the floor for rounds that its fraud makes void (market 11.6). */
function rollbackStake({ spec, rounds }: Posting, price: bigint): bigint {
    if (!rounds || rounds.group.rollbacks === 0) return 0n;
    const segments = BigInt(rounds.group.ahead) * BigInt(spec.replicas - 1);
    return (price * 5n * segments + 3n) / 4n;
}

/** The least that a bid on a task, or on a seat of a training in rounds, locks where the ceiling is `price`; null: no stake is enough. */
export function stakeOf(of: Posting, params: MarketParams, price = big(of.spec.priceCeiling)): bigint | null {
    const floor = stakeFloor(of.spec, params, price);
    return floor === null ? null : floor + rollbackStake(of, price);
}

/** The probability that one of `bad` bad segments, neither the first nor the last, is found. */
export function detection(spec: Spec, params: MarketParams, bad: number): number {
    const [hit, of] = found(spec, params);
    return 1 - (1 - Number((hit * kOne) / of) / Number(kOne)) ** bad;
}
