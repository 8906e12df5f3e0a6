// SPDX-License-Identifier: MIT
// A node that comes back with another chain.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers, cut } from "./world.mjs";

const { watchChain } = await import("console/chain");

test("the page is loaded again when the chain behind it is another", async () => {
    let others = 0;
    const back = async () => {
        const before = asked;
        cut();
        while (asked === before) await new Promise((resolve) => setTimeout(resolve, 20));
        await new Promise((resolve) => setTimeout(resolve, 50));
    };
    let asked = 0;
    let genesis = "0xaa";
    Object.assign(answers, { retrace_status: () => (asked++, { genesis_hash: genesis }), eth_blockNumber: "0x7", eth_getBlockByNumber: (height) => ({ hash: `${genesis}${height}` }) });
    watchChain(() => others++);
    while (asked === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await back();
    assert.equal(others, 0);
    answers.eth_getBlockByNumber = null; // the node has erased it, or is behind
    await back();
    assert.equal(others, 0);
    answers.eth_getBlockByNumber = { hash: "0xbb" }; // a chain of the same first block
    await back();
    assert.equal(others, 1);
    answers.eth_getBlockByNumber = null;
    genesis = "0xbb";
    await back();
    assert.equal(others, 2);
});
