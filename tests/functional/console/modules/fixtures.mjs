// SPDX-License-Identifier: MIT
// Records as a node tells them.

export const hash = (digit) => `0x${digit.repeat(64)}`;
/// Terms of a task.
export const spec = {
    name: "task", programRoot: hash("1"), programBytes: "0x10", initRoot: hash("2"), initialStateRoot: hash("0"), dataRoots: [hash("3")],
    steps: "0x14", interval: "0xa", seed: "0x1", contractHash: hash("4"), priceCeiling: "0xde0b6b3a7640001", auditBp: 5000, auditors: 2, replicas: 1,
    hardwareClass: 0, checkpointBlocks: "0xa", replayBlocks: "0xa", finishBlocks: "0x64", stepCost: "0x3e8", allowUnaudited: false, spot: false,
};
