// SPDX-License-Identifier: MIT
// Usage: node main.mjs PROGRAM FOLDER FOLDER_OF_GENESIS. The console with MetaMask's own code as the browser's wallet. Prints the
// methods that MetaMask called; none may be unknown to the node.
import assert from "node:assert/strict";
import { noticesATwin, passesOnRefusals, worksOnAnotherChain } from "./chains.mjs";
import { openBrowser, openPage } from "./common.mjs";
import { addMetaMask } from "./connect.mjs";
import { connectsAndAddsTheChain, postsATaskAndAcceptsIt, signs, stakes, startSolver, startVerifiers } from "./purchase.mjs";
import { startNode } from "./shared.mjs";

const phrase = "test test test test test test test test test test test junk";
const kAccount = 8;
const kMethodNotFound = -32601;

const begun = Date.now();
const { node, url } = await startNode("chain", "--dev", "--block-ms", "100");
const agents = [await startSolver(url), ...(await startVerifiers(url))];
const browser = await openBrowser();
const { wallet, person } = await addMetaMask(browser, phrase, kAccount);
const page = await openPage(browser, url + "/");
const all = { browser, page, wallet, person, url, examples: process.argv[4] };
for (const step of [connectsAndAddsTheChain, stakes, postsATaskAndAcceptsIt, signs, passesOnRefusals, noticesATwin, worksOnAnotherChain]) {
    const from = Date.now();
    await step(all);
    console.log(`${step.name}: passed (${Date.now() - from} ms)`);
}
assert.deepEqual(page.wrong, []);
const times = new Map();
for (const { method, error } of wallet.calls) {
    assert.notEqual(error?.code, kMethodNotFound, method);
    times.set(method, (times.get(method) ?? 0) + 1);
}
console.log(`MetaMask called ${[...times].sort().map(([method, n]) => `${method} ${n}`).join(", ")} (${Date.now() - begun} ms)`);
await browser.close();
for (const agent of agents) await agent.end();
await node.end();
process.exit(0);
