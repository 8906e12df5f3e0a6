// SPDX-License-Identifier: MIT
// The terms that a person posts: those of a compiled task or of one on the chain, with the numbers of a form.
import type { SegmentCosts } from "./compiled";
import { big, exactCoins, hex, parseCoins } from "./format";
import type { GroupSpec, Spec } from "./records";
import { groupOf } from "./rounds";

/** What is posted. `costs`: of a member's segment; without them the number of members stays. */
export interface Posting {
    spec: Spec;
    rounds?: { group: GroupSpec; costs?: SegmentCosts };
}

export interface Field {
    key: string;
    label: string;
    meaning?: string;
}
export type Values = { [key: string]: string };

const kCommon: Field[] = [
    { key: "audit", label: "audited segments, %", meaning: "Drawn at random after the solver has committed to them." },
    { key: "auditors", label: "auditors of a segment (1–5)", meaning: "Each replays the segment and is paid from the escrow." },
];
const kAuctions: Field[] = [
    { key: "auctions", label: "auctions (1–64)", meaning: "That the task has while too few solvers bid." },
    { key: "pauseBlocks", label: "blocks between two auctions", meaning: "Nobody bids meanwhile, and no stake is locked." },
    { key: "by", label: "or until", meaning: "A block, or a time such as 90m, 6h or 2d: as many auctions as fit and the chain allows, spread over it. Empty: as above." },
    { key: "lastPrice", label: "in the last auction at most, coins", meaning: "Empty: as in the first. The ceiling rises from one auction to the next, in equal steps; the escrow covers the last." },
];
const kSingle: Field[] = [
    { key: "name", label: "name" },
    { key: "steps", label: "steps" },
    { key: "interval", label: "steps of a segment", meaning: "Each segment ends in a checkpoint, is drawn or not, and paid by itself." },
    { key: "seed", label: "seed" },
    { key: "price", label: "at most, coins a segment" },
    ...kAuctions,
    ...kCommon,
    { key: "replicas", label: "replicas (1–5)", meaning: "Solvers that all compute the whole task." },
];
const kRounds: Field[] = [
    { key: "name", label: "name" },
    { key: "rounds", label: "rounds", meaning: "In each, a member trains by itself and sends one message of its changes, which all take in." },
    { key: "members", label: "members, at most (2–255)", meaning: "One auction sells all seats." },
    { key: "least", label: "members, at least", meaning: "With fewer bids the next auction follows; after the last the escrow comes back." },
    { key: "seed", label: "seed" },
    { key: "price", label: "at most, coins a round and member", meaning: "For all steps of a round; fewer are paid in proportion." },
    ...kAuctions,
    ...kCommon,
    { key: "roundBlocks", label: "blocks to train in a round", meaning: "A round ends sooner when all have sent." },
    { key: "graceBlocks", label: "blocks left to the others", meaning: "Once 80 % of the members of the round before have sent." },
    { key: "fetchBlocks", label: "blocks to fetch the messages" },
    { key: "revealBlocks", label: "blocks to say which came", meaning: "A message counts if two thirds of the others have it." },
    { key: "absenceLimit", label: "absences, at most", meaning: "A round without a message adds one, one with a message takes one off; at this number a member leaves." },
    { key: "keepRounds", label: "rounds for which messages are kept", meaning: "A member that was away takes in what it missed." },
    { key: "catchUpMax", label: "messages taken in at once", meaning: "Empty: what a member has missed that was away as long as it may." },
    { key: "maxAge", label: "rounds that a slow member trains on", meaning: "Its message counts less for each." },
];
export const fieldsOf = ({ rounds }: Posting): Field[] =>
    !rounds ? kSingle : rounds.costs ? kRounds : kRounds.filter(({ key }) => key !== "members");

const defaultCatchUp = (members: number, of: GroupSpec) => Math.min(2 ** 20 - 1, members * (of.absenceLimit + of.maxAge + 1));

/** What the form begins with. */
export function valuesOf({ spec, rounds }: Posting): Values {
    const out: Values = {
        name: spec.name,
        steps: big(spec.steps).toString(),
        interval: big(spec.interval).toString(),
        seed: big(spec.seed).toString(),
        price: exactCoins(spec.priceCeiling),
        auctions: String(spec.auctions),
        pauseBlocks: big(spec.pauseBlocks).toString(),
        by: "",
        lastPrice: big(spec.lastCeiling) > big(spec.priceCeiling) ? exactCoins(spec.lastCeiling) : "",
        audit: String(spec.auditBp / 100),
        auditors: String(spec.auditors),
        replicas: String(spec.replicas),
    };
    if (!rounds) return out;
    const { group } = rounds;
    for (const key of ["roundBlocks", "graceBlocks", "fetchBlocks", "revealBlocks"] as const) out[key] = big(group[key]).toString();
    for (const key of ["rounds", "least", "absenceLimit", "keepRounds", "maxAge"] as const) out[key] = String(group[key]);
    out.members = String(spec.replicas);
    out.catchUpMax = group.catchUpMax === defaultCatchUp(spec.replicas, group) ? "" : String(group.catchUpMax);
    return out;
}

function whole(text: string | undefined, what: string, low: bigint, high: bigint): bigint {
    const value = (text ?? "").trim();
    if (!/^\d{1,20}$/.test(value) || BigInt(value) < low || BigInt(value) > high) throw new Error(`${what} is a whole number from ${low} to ${high}.`);
    return BigInt(value);
}

/** What both kinds of tasks have. */
function commonOf(old: Spec, values: Values, flags: Flags): Spec {
    const name = values.name ?? "";
    if (new TextEncoder().encode(name).length > 64) throw new Error("The name has at most 64 bytes.");
    const price = parseCoins(values.price ?? "");
    if (!price) throw new Error("The price is a number of coins above zero, such as 1.5.");
    const auctions = Number(whole(values.auctions, "The number of auctions", 1n, 64n));
    const last = values.lastPrice?.trim() ? parseCoins(values.lastPrice) : 0n;
    if (last === null || (last !== 0n && last < price)) throw new Error("The price in the last auction is a number of coins, at least that in the first.");
    if (last > price && auctions === 1) throw new Error("The price rises from one auction to the next, so it needs two auctions.");
    const percent = Number(values.audit);
    if (!(percent >= 0.01 && percent <= 100)) throw new Error("The share of audited segments is from 0.01 to 100 %.");
    return {
        ...old,
        name,
        seed: hex(whole(values.seed, "The seed", 0n, 2n ** 64n - 1n)),
        priceCeiling: hex(price),
        lastCeiling: hex(last),
        auctions,
        pauseBlocks: hex(whole(values.pauseBlocks, "The blocks between two auctions", 0n, 1_000_000_000n)),
        auditBp: Math.round(percent * 100),
        auditors: Number(whole(values.auditors, "The number of auditors", 1n, 5n)),
        ...flags,
    };
}

export interface Flags {
    allowUnaudited: boolean;
    spot: boolean;
}

/** The terms with the form's numbers; throws a sentence about the first that is wrong. */
export function postingOf(old: Posting, values: Values, flags: Flags): Posting {
    if (old.rounds) return roundsOf(old.spec, old.rounds, values, flags);
    const steps = whole(values.steps, "The number of steps", 1n, 2n ** 40n);
    const spec = commonOf(old.spec, values, flags);
    return {
        spec: {
            ...spec,
            steps: hex(steps),
            interval: hex(whole(values.interval, "The number of steps of a segment", 1n, steps)),
            replicas: Number(whole(values.replicas, "The number of replicas", 1n, 5n)),
        },
    };
}

function roundsOf(old: Spec, of: NonNullable<Posting["rounds"]>, values: Values, flags: Flags): Posting {
    const number = (key: string, what: string, low: number, high: number) => Number(whole(values[key], what, BigInt(low), BigInt(high)));
    const blocks = (key: string, what: string) => number(key, `The number of blocks ${what}`, 1, 1_000_000_000);
    const rounds = number("rounds", "The number of rounds", 1, 2 ** 20);
    const members = of.costs ? number("members", "The number of members", 2, 255) : old.replicas;
    const group = groupOf({
        rounds,
        members,
        inner: of.group.stepsMax,
        least: number("least", "The least number of members", 2, members),
        roundBlocks: blocks("roundBlocks", "to train"),
        graceBlocks: blocks("graceBlocks", "left to the others"),
        fetchBlocks: blocks("fetchBlocks", "to fetch the messages"),
        revealBlocks: blocks("revealBlocks", "to say which came"),
        absenceLimit: number("absenceLimit", "The number of absences", 1, 256),
        keepRounds: number("keepRounds", "The number of rounds for which messages are kept", 1, 256),
        catchUpMax: values.catchUpMax?.trim() ? number("catchUpMax", "The number of messages taken in at once", 1, 2 ** 20 - 1) : null,
        maxAge: number("maxAge", "The number of rounds that a slow member trains on", 0, 255),
        rollbacks: of.group.rollbacks,
        ahead: of.group.ahead,
    }, of.group);
    const stepCost = of.costs ? hex(of.costs.alone + BigInt(members) * of.costs.message) : old.stepCost;
    const spec = { ...commonOf(old, values, { ...flags, spot: false }), steps: hex(rounds + 1), interval: "0x1", replicas: members, stepCost };
    return { spec, rounds: { ...of, group } };
}

const kWide = ["programBytes", "steps", "interval", "seed", "priceCeiling", "lastCeiling", "checkpointBlocks", "replayBlocks", "finishBlocks", "stepCost", "pauseBlocks",
    "roundBlocks", "graceBlocks", "fetchBlocks", "revealBlocks", "maskBlocks"];
/** As the ABI's encoder takes it: quantities as bigint. */
export const encodable = (record: object): { [name: string]: unknown } =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, kWide.includes(name) ? big(value) : value]));
