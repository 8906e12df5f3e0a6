// SPDX-License-Identifier: MIT
// MetaMask's extension on other chains: switched away, a chain of the same number, one with its own.
import assert from "node:assert/strict";
import WebSocket from "ws";
import { openPage, rpc, until } from "./common.mjs";
import { ask, connectButton, kCoin, onPage, party, startChain } from "./shared.mjs";
import { agrees, cancels, speedsUp } from "./windows.mjs";

/// The person switches to another chain: the page is left, and connects again on its own chain.
export async function comesBackFromAnotherChain({ page }) {
    await ask(page, "wallet_switchEthereumChain", { chainId: "0x1" });
    await connectButton(page).waitFor();
    await connectButton(page).click();
    await page.locator(".wallet a").waitFor({ timeout: 20_000 });
    await page.waitForTimeout(2000);
    assert.equal(await page.locator(".wallet a").count(), 1, "the page is still connected");
    assert.equal(Number(await ask(page, "eth_chainId")), 7298);
}

/// MetaMask has another node for this number of a chain.
export async function noticesATwin({ browser, metamask, address, examples }) {
    const twin = await startChain(examples, address, 7298, 200);
    const page = await openPage(browser, `${twin.url}/`);
    await connectButton(page).click();
    await agrees(metamask, "connects-to-a-twin", "127.0.0.1");
    await page.getByText("another first block").waitFor();
    assert.equal(await page.locator(".wallet a").count(), 0);
    await page.close();
    await twin.node.end();
}

/// On a chain whose stake is free after a few blocks: stake, unbond, withdraw.
export async function withdraws({ browser, metamask, address, examples }) {
    const chain = await startChain(examples, address, 7300, 500);
    const page = await openPage(browser, `${chain.url}/`);
    await connectButton(page).click();
    await agrees(metamask, "connects-elsewhere", "127.0.0.1");
    await agrees(metamask, "adds-another-chain", "Retrace 7300");
    await page.locator(".wallet a").waitFor({ timeout: 20_000 });
    await onPage(page, address);
    await page.getByLabel("coins").fill("3");
    for (const [button, done, shown] of [["Stake", "Staked:", "3 COIN"], ["Begin to unbond", "Unbonding:", "Network fee"]]) {
        await page.getByRole("button", { name: button, exact: true }).click();
        await agrees(metamask, button.toLowerCase().replaceAll(" ", "-"), "Retrace 7300", shown);
        await page.getByText(done).waitFor({ timeout: 30_000 });
    }
    const stake = await party(chain.url, address);
    assert.deepEqual([BigInt(stake.bonded), BigInt(stake.unbonding)], [0n, 3n * kCoin]);
    const balance = async () => BigInt(await rpc(chain.url, "eth_getBalance", address, "latest"));
    const before = await balance();
    await until(30, "the end of unbonding", async () => Number(await rpc(chain.url, "eth_blockNumber")) >= Number(stake.unbondHeight));
    await page.getByRole("button", { name: "Withdraw what is unbonded" }).click();
    await agrees(metamask, "withdraws", "Retrace 7300");
    await page.getByText("Withdrawn:").waitFor({ timeout: 30_000 });
    assert.equal(BigInt((await party(chain.url, address)).unbonding), 0n);
    const gained = (await balance()) - before;
    assert.ok(gained > 3n * kCoin - kCoin / 100n && gained < 3n * kCoin, `${gained}`);
    assert.deepEqual(page.wrong, []);
    await page.close();
    await chain.node.end();
}

/// The hashes of transactions as they come to the node's pool.
async function watchesThePool(url) {
    const hashes = [];
    const socket = new WebSocket(url.replace("http", "ws"));
    socket.on("message", (text) => {
        const { params } = JSON.parse(text);
        if (params) hashes.push(params.result);
    });
    await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newPendingTransactions"] }));
    return { hashes, socket };
}

/// On a chain whose blocks are far apart: what waits is sped up and is staked, or cancelled and is not; the page says which.
export async function replacesWhatWaits({ browser, metamask, address, examples }) {
    const slow = await startChain(examples, address, 7301, 20_000);
    const page = await openPage(browser, `${slow.url}/`);
    await connectButton(page).click();
    await agrees(metamask, "connects-to-slow-blocks", "127.0.0.1");
    await agrees(metamask, "adds-slow-blocks", "Retrace 7301");
    await page.locator(".wallet a").waitFor({ timeout: 20_000 });
    await onPage(page, address);
    await page.getByLabel("coins").fill("3");
    const { hashes, socket } = await watchesThePool(slow.url);
    for (const [replaces, shown, bonded] of [[speedsUp, /Staked:/, 3n], [cancels, /it was cancelled/, 3n]]) {
        const height = await rpc(slow.url, "eth_blockNumber");
        await until(40, "a new block", async () => (await rpc(slow.url, "eth_blockNumber")) !== height);
        await page.getByRole("button", { name: "Stake", exact: true }).click();
        await agrees(metamask, "stakes-in-slow-blocks", "3 COIN");
        const first = await until(10, "the transaction", () => hashes.at(-1));
        await replaces(metamask);
        await page.locator("main").getByText(shown).waitFor({ timeout: 60_000 });
        assert.equal(await rpc(slow.url, "eth_getTransactionReceipt", first), null, "it was replaced");
        assert.equal(BigInt((await party(slow.url, address)).bonded), bonded * kCoin);
        hashes.length = 0;
    }
    assert.deepEqual(page.wrong, []);
    socket.close();
    await page.close();
    await slow.node.end();
}
