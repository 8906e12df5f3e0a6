// SPDX-License-Identifier: MIT
// Trainings in rounds: the file of a plan (kernels/plan/SPEC.md 1) and the terms of its group (contracts 21.2).
import { Fault, hash, toHex } from "./commit";
import { hex } from "./format";
import { parseProgram, Reader, type Program } from "./program";
import type { GroupSpec } from "./records";

const kPhase = { init: 1, inner: 6 };

export interface Plan {
    root: Uint8Array;
    stepsMax: number;
    shared: number;
    publicTensors: number[];
    phases: { phase: number; memberSeed: boolean; programRoot: string }[];
    init: { program: Program; file: Uint8Array };
    inner: Program;
}

/** The plan of a file; a Fault if it is none, or one without a phase that a page needs. */
export function parsePlan(file: Uint8Array): Plan {
    const in_ = new Reader(file);
    if (new TextDecoder().decode(in_.raw(4)) !== "RTG1") throw new Fault("the plan does not begin with RTG1");
    let stepsMax = 0;
    let shared = 0;
    let publicTensors: number[] = [];
    let count = 0;
    const head = in_.slice(() => {
        if (in_.number(4) !== 1 || in_.number(1) !== 1) throw new Fault("the plan is of another version");
        stepsMax = in_.number(4);
        shared = in_.number(4);
        const tensors = in_.number(4);
        if (tensors > 8) throw new Fault("the plan has more than 8 public tensors");
        publicTensors = Array.from({ length: tensors }, () => in_.number(4));
        count = in_.number(4);
    });
    if (count > 8) throw new Fault("the plan has more than 8 phases");
    const read = Array.from({ length: count }, () => {
        const [phase, seed] = [in_.number(1), in_.number(1)];
        const bytes = in_.bytes();
        return { phase, memberSeed: seed === 1, file: bytes, program: parseProgram(bytes) };
    });
    if (!in_.ended) throw new Fault("the plan is longer than what it holds");
    const find = (wanted: number) => read.find(({ phase }) => phase === wanted);
    const [init, inner] = [find(kPhase.init), find(kPhase.inner)];
    if (!init || !inner) throw new Fault("the plan has no phase that begins, or none that trains");
    const leaves = read.flatMap(({ phase, memberSeed, program }) => [Uint8Array.of(phase, memberSeed ? 1 : 0), program.root]);
    return {
        root: hash(Uint8Array.of(10), head, ...leaves),
        stepsMax,
        shared,
        publicTensors,
        phases: read.map(({ phase, memberSeed, program }) => ({ phase, memberSeed, programRoot: `0x${toHex(program.root)}` })),
        init,
        inner: inner.program,
    };
}

/** Numbers of a training in rounds that its requester chooses. */
export interface RoundTerms {
    rounds: number;
    members: number;
    inner: number;
    least: number;
    roundBlocks: number;
    graceBlocks: number;
    fetchBlocks: number;
    revealBlocks: number;
    absenceLimit: number;
    keepRounds: number;
    /** null: what a member has missed that was away as long as it may. */
    catchUpMax: number | null;
    maxAge: number;
    rollbacks: number;
    ahead: number;
}

/** The group's terms; a Fault about the first number that the market does not take (node/tasks/group_task.cpp). */
export function groupOf(terms: RoundTerms, plan: Pick<Plan, "stepsMax" | "shared" | "publicTensors" | "phases">): GroupSpec {
    const { members, least, absenceLimit, keepRounds, maxAge } = terms;
    const refuse = (sentence: string) => {
        throw new Fault(sentence);
    };
    if (terms.inner !== plan.stepsMax) refuse(`The plan has ${plan.stepsMax} inner steps, and task.toml names ${terms.inner}.`);
    if (members < 2 || members > 255) refuse("The members are from 2 to 255, because a message is recorded when other members have it.");
    if (least < 2 || least > members) refuse("The least number of members is from 2 to the members.");
    if (keepRounds > 256) refuse("Messages are kept for at most 256 rounds.");
    if (absenceLimit < 1 || absenceLimit >= keepRounds) refuse("The limit of absences is at least 1 and below the rounds for which messages are kept.");
    if (maxAge >= absenceLimit || maxAge + absenceLimit > keepRounds)
        refuse("The age of a message is below the limit of absences, and both together at most the rounds for which messages are kept.");
    if (plan.stepsMax * (maxAge + 1) * members >= 2 ** 24) refuse("Inner steps, members and the age of a message plus one have a product below 16 777 216.");
    const most = 2 ** 20 - 1;
    const catchUpMax = terms.catchUpMax ?? Math.min(most, members * (absenceLimit + maxAge + 1));
    if (catchUpMax < members || catchUpMax > most) refuse(`The messages that a member takes in at once are from ${members}, the members, to ${most}.`);
    return {
        rounds: terms.rounds,
        stepsMax: plan.stepsMax,
        shared: plan.shared,
        publicTensors: plan.publicTensors,
        phases: plan.phases,
        least,
        roundBlocks: hex(terms.roundBlocks),
        graceBlocks: hex(terms.graceBlocks),
        fetchBlocks: hex(terms.fetchBlocks),
        revealBlocks: hex(terms.revealBlocks),
        absenceLimit,
        keepRounds,
        catchUpMax,
        rollbacks: terms.rollbacks,
        ahead: terms.ahead,
        privateSets: 0,
        maskBits: 0,
        maskBlocks: "0x0",
        maxAge,
        regions: 0,
        mergeBlocks: "0x0",
    };
}
