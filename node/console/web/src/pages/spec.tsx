// SPDX-License-Identifier: MIT
// All terms of a task, for who is about to answer for them, and what they ask of a machine.
import { big, bytes, count, exactCoins, figure, num } from "../format";
import { Facts, Hash } from "../parts";
import type { Spec } from "../records";

/** Multiply-adds a block that a solver needs to be in time for each checkpoint and for the end. */
export function speedOf(spec: Spec): number {
    const step = num(spec.stepCost);
    return Math.max((step * num(spec.interval)) / num(spec.checkpointBlocks), (step * num(spec.steps)) / num(spec.finishBlocks));
}

export const speedText = (of: number) => `${figure(of / 1e9)} · 10⁹ multiply-adds a block`;

/** Each field of the terms but the name. */
export const SpecFacts = ({ spec }: { spec: Spec }) => (
    <Facts
        rows={[
            ["program", <><Hash of={spec.programRoot} /> {bytes(num(spec.programBytes))}</>],
            ["initialiser", <Hash of={spec.initRoot} />],
            ["first state", <Hash of={spec.initialStateRoot} />],
            ["data", spec.dataRoots.map((root) => <div key={root}><Hash of={root} /></div>)],
            ["numeric contract", <Hash of={spec.contractHash} />],
            ["seed", big(spec.seed).toString()],
            ["steps", `${count(spec.steps)}, ${count(spec.interval)} a segment, ${count(spec.stepCost)} multiply-adds each`],
            ["needs at least", speedText(speedOf(spec))],
            ["a checkpoint is due within", `${count(spec.checkpointBlocks)} blocks`],
            ["a replay is given", `${count(spec.replayBlocks)} blocks`],
            ["the task ends within", `${count(spec.finishBlocks)} blocks`],
            ["audited", `${figure(spec.auditBp / 100)} % of segments, by ${count(spec.auditors)} auditors each`],
            ["drawn segments that nobody audited", spec.allowUnaudited ? "are paid" : "are not paid"],
            ["may be given back at a checkpoint", spec.spot ? "yes" : "no"],
            ["hardware class", count(spec.hardwareClass)],
            ["replicas", count(spec.replicas)],
            ["at most", `${exactCoins(spec.priceCeiling)} coins a segment`],
        ]}
    />
);
