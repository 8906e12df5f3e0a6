// SPDX-License-Identifier: MIT
// Usage: node extension.mjs PROGRAM FOLDER FOLDER_OF_GENESIS EXTENSION. The console with MetaMask's own extension, unpacked in the
// folder EXTENSION, as the browser's wallet. Run it where only loopback is, because the extension asks many services.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { ethers } from "ethers";
import { folder, openPage } from "./common.mjs";
import { comesBackFromAnotherChain, noticesATwin, replacesWhatWaits, withdraws } from "./other_chains.mjs";
import { startSolver, startVerifiers } from "./purchase.mjs";
import { kCoin, startNode } from "./shared.mjs";
import { connectsAndAddsTheChain, postsATaskAndAcceptsIt, postsATaskAndCancelsIt, signs, stakes, unlocksToStake } from "./steps.mjs";
import { phrase } from "./wallet.mjs";
import { beginsWithWords, openExtension } from "./windows.mjs";

const addressOf = (index) => ethers.HDNodeWallet.fromPhrase(phrase, "", `m/44'/60'/0'/0/${index}`).address.toLowerCase();

/// A developer chain whose auctions outlast a person's answers to MetaMask.
async function startMarketChain() {
    const genesis = path.join(folder, "genesis.json");
    const alloc = Object.fromEntries([0, 1, 4, 5].map((index) => [addressOf(index), { balance: String(1_000_000n * kCoin) }]));
    fs.writeFileSync(genesis, JSON.stringify({ chainId: 7298, timestamp: Math.floor(Date.now() / 1000) - 60, alloc, contracts: { developer_chain: true, bid_blocks: 120 } }));
    return startNode("chain", "--genesis", genesis, "--block-ms", "200");
}

const begun = Date.now();
const { node, url } = await startMarketChain();
const agents = await startVerifiers(url);
const extension = await openExtension(process.argv[5]);
const { browser, version } = extension;
console.log(`MetaMask ${version} in Chromium ${browser.browser().version()}`);
const metamask = await beginsWithWords(extension, phrase);
const page = await openPage(browser, `${url}/`);
const hireSolver = async () => agents.push(await startSolver(url));
const all = { browser, metamask, page, url, address: addressOf(0), solver: addressOf(1), hireSolver, examples: process.argv[4] };
for (const step of [connectsAndAddsTheChain, stakes, unlocksToStake, postsATaskAndCancelsIt, postsATaskAndAcceptsIt, signs,
    comesBackFromAnotherChain, noticesATwin, withdraws, replacesWhatWaits]) {
    const from = Date.now();
    await step(all).catch(async (error) => {
        throw new Error(`${step.name}: ${error.stack}\nthe page: ${await page.locator("main").innerText()}\nMetaMask: ${metamask.url()} ${await metamask.locator("body").innerText()}`);
    });
    console.log(`${step.name}: passed (${Date.now() - from} ms)`);
}
assert.deepEqual(page.wrong, []);
console.log(`the console passes with MetaMask ${version} (${Date.now() - begun} ms)`);
await browser.close();
for (const agent of agents) await agent.end();
await node.end();
process.exit(0);
