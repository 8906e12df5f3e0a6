// SPDX-License-Identifier: MIT
// Records as a node tells them.

export const hash = (digit) => `0x${digit.repeat(64)}`;
/// Terms of a task.
export const spec = {
    name: "task", programRoot: hash("1"), programBytes: "0x10", initRoot: hash("2"), initialStateRoot: hash("0"), dataRoots: [hash("3")],
    steps: "0x14", interval: "0xa", seed: "0x1", contractHash: hash("4"), priceCeiling: "0xde0b6b3a7640001", lastCeiling: "0x0", auctions: 1, pauseBlocks: "0x0", auditBp: 5000, auditors: 2, replicas: 1,
    hardwareClass: 0, checkpointBlocks: "0xa", replayBlocks: "0xa", finishBlocks: "0x64", stepCost: "0x3e8", allowUnaudited: false, spot: false,
};

/// Terms of a training in rounds whose convicted members are taken back.
export const group = {
    rounds: 40, stepsMax: 2, shared: 1, publicTensors: [0], phases: [], least: 2, roundBlocks: "0x3c", graceBlocks: "0x5", fetchBlocks: "0xf",
    revealBlocks: "0xf", absenceLimit: 2, keepRounds: 64, catchUpMax: 12, maxAge: 0, rollbacks: 2, ahead: 4, privateSets: 0, maskBits: 0, maskBlocks: "0x0", regions: 0,
    mergeBlocks: "0x0",
};

/// The market's parameters, as retrace_params tells a developer's.
export const params = {
    contractHash: hash("4"), auditFee: "0x16345785d8a0000", auditFeeBp: "0x7d0", auditBond: "0xde0b6b3a7640000", challengerShareBp: "0x1388", safetyBp: "0x2ee0",
    collusionBp: "0x3e8", redraws: "0x2", bidDeposit: "0x16345785d8a0000", checkpointBlocks: "0x64", rounds: "0x3", bidBlocks: "0xa", revealBlocks: "0xa",
    acceptBlocks: "0xa", deliverBlocks: "0x64", unbondBlocks: "0x3e8",
};
