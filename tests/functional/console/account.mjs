// SPDX-License-Identifier: MIT
// What a person does with an account on a chain without agents: watches, connects a wallet of the older kind, stakes, unbonds,
// withdraws, cancels a task, checks a balance by a proof.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { ethers } from "ethers";
import { addWallet, phrase } from "./wallet.mjs";
import { compileSmall, folder, go, openBrowser, openPage, passesAxe, rpc, run, start, until } from "./common.mjs";

const coin = 10n ** 18n;
const wallet = 8;

/// A chain whose stake unbonds in 400 blocks, more than its disputes would take, and whose auctions outlast the test.
async function startChain() {
    const alloc = {};
    for (const index of [0, wallet]) {
        const { address } = ethers.HDNodeWallet.fromPhrase(phrase, "", `m/44'/60'/0'/0/${index}`);
        alloc[address] = { balance: String(1_000_000n * coin) };
    }
    const contracts = { developer_chain: true, unbond_blocks: 400, moves: 20, move_blocks: 1, bid_blocks: 5000, reveal_blocks: 50 };
    const genesis = path.join(folder, "account-genesis.json");
    fs.writeFileSync(genesis, JSON.stringify({ chainId: 7298, timestamp: 1767225600, alloc, contracts }));
    const node = start("node", "--data-dir", path.join(folder, "account-node"), "--genesis", genesis, "--rpc-port", "0", "--block-ms", "100", "--json");
    const url = await until(20, "the node", () => {
        assert.equal(node.child.exitCode, null, node.err);
        return /"rpc":"([^"]+)"/.exec(node.out)?.[1];
    });
    return { node, url };
}

/// Terms that nobody bids on, posted by the command line as the wallet's account.
async function postTask(url) {
    const task = await compileSmall("nobody bids", "--steps", "20", "--checkpoint-every", "10");
    const terms = path.join(task, "task.toml");
    fs.writeFileSync(terms, fs.readFileSync(terms, "utf8").replace("replay_blocks = 300", "replay_blocks = 10"));
    await run("task", "submit", task, "--node", url, "--dev-account", String(wallet), "--data-dir", path.join(folder, "account-requester"), "--allow-unaudited");
}

export async function anAccountStakesUnbondsWithdrawsAndCancels() {
    const { node, url } = await startChain();
    // A reader without a wallet only watches, and is told of a clock that is wrong.
    const watching = await openBrowser();
    await watching.addInitScript(() => {
        const now = Date.now;
        Date.now = () => now() - 100_000;
    });
    const reader = await openPage(watching, `${url}/`);
    await reader.getByText("watching only").waitFor();
    await reader.getByText(/the newest block was made 1 min \d+ s in the future: one of the two clocks is wrong/).waitFor({ timeout: 15_000 });
    await watching.close();

    await postTask(url);
    const browser = await openBrowser();
    const state = { chain: "0x1c82", known: true, refuse: false, injected: true };
    const { address, close } = await addWallet(browser, url, wallet, state);
    const page = await openPage(browser, `${url}/`);
    await page.getByRole("button", { name: "Connect the browser's wallet" }).click();
    await page.locator(".wallet a").waitFor();

    await go(page, `#/account/${address}`, "Account");
    const stake = async () => (await rpc(url, "retrace_party", address)).stake;
    const press = async (name, coins, done) => {
        if (coins) await page.getByLabel("coins", { exact: true }).fill(coins);
        await page.getByRole("button", { name, exact: true }).click();
        await page.getByText(done).waitFor({ timeout: 20_000 });
    };
    // A stake that this tab has sent before, and of which nothing is known, is asked about.
    const stored = [{ key: `${address} IStaking deposit`, label: "Stake", hash: `0x${"7".repeat(64)}`, outcome: "" }];
    await page.evaluate((text) => sessionStorage.setItem("retrace-sent", text), JSON.stringify(stored));
    await page.reload();
    await page.locator(".outbox").getByText("whether it is in a block is not known yet").waitFor();
    await page.getByRole("button", { name: "Connect the browser's wallet" }).click();
    await press("Stake", "2.5", "is in no block yet; it may still come");
    assert.equal(BigInt((await stake()).bonded), 0n);
    await passesAxe(page, "a call that may still come");
    await press("Send a second one, beside the first", "", "Staked:");
    await press("Begin to unbond", "1000", /A rule refuses this: .*stake.* \(stake_too_low, rule \d+\)\./);
    await press("Begin to unbond", "1", "Unbonding:");
    const { bonded, unbonding, unbondHeight } = await stake();
    assert.deepEqual([BigInt(bonded), BigInt(unbonding)], [(3n * coin) / 2n, coin]);
    await press("Withdraw what is unbonded", "", /\(still_unbonding, rule \d+\)/);
    await until(180, "the stake is unbonded", async () => Number(await rpc(url, "eth_blockNumber")) >= Number(unbondHeight));
    await press("Withdraw what is unbonded", "", "Withdrawn:");
    assert.equal(BigInt((await stake()).unbonding), 0n);

    // The balance as a header of the node proves it; one that does not fit is named.
    const button = page.getByRole("button", { name: "Check the balance by a proof" });
    await button.click();
    const said = page.getByText(/coins and nonce \d+ are in the state of block .*the node says: compare its hash with another node's/);
    await said.waitFor({ timeout: 15_000 });
    const balance = BigInt(await rpc(url, "eth_getBalance", address, "latest"));
    const shown = (await said.textContent()).replace(/\u202f/g, "");
    assert.ok(shown.includes(`${balance / coin}.`), `${shown}: the balance is ${balance}`);
    const block = /block (\d+), (0x[0-9a-f]{64})/.exec(shown);
    assert.equal((await rpc(url, "eth_getBlockByNumber", `0x${Number(block[1]).toString(16)}`, false)).hash, block[2]);
    await passesAxe(page, "an account with a proof");

    await go(page, "#/task/1", "nobody bids");
    await page.getByRole("button", { name: "Cancel the task" }).click();
    await page.locator("h1 .state", { hasText: "cancelled" }).waitFor({ timeout: 20_000 });
    const money = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Money" }) });
    await money.getByText("put into escrow", { exact: true }).waitFor();
    await money.getByText("escrow returned").waitFor({ timeout: 15_000 });
    await money.getByText(/Put in .*, paid out/).waitFor({ timeout: 15_000 });
    assert.deepEqual(page.wrong, []);
    await browser.close();
    close();
    await node.end();
}
