// SPDX-License-Identifier: MIT
// With MetaMask's extension: connect, stake, post, cancel, accept, sign; each looked up in the ledger afterwards.
import assert from "node:assert/strict";
import { go, picture, rpc, sleep, until } from "./common.mjs";
import { compile } from "./purchase.mjs";
import { ask, command, connectButton, kCoin, onPage, party, refused } from "./shared.mjs";
import { agrees, locks, refuses, unlocks } from "./windows.mjs";

const balanceOf = async (url, address) => BigInt(await rpc(url, "eth_getBalance", address, "latest"));
const kChain = "Retrace 7298";

/// What the newest transaction of the account moved and cost.
async function spentBy(url, address) {
    for (let n = Number(await rpc(url, "eth_blockNumber")); ; n--) {
        const { transactions } = await rpc(url, "eth_getBlockByNumber", `0x${n.toString(16)}`, true);
        const sent = transactions.findLast(({ from }) => from === address);
        if (!sent) continue;
        const { gasUsed, effectiveGasPrice } = await rpc(url, "eth_getTransactionReceipt", sent.hash);
        return { value: BigInt(sent.value), fee: BigInt(gasUsed) * BigInt(effectiveGasPrice) };
    }
}

const sendOf = (page, label) => page.locator(".send", { has: page.getByRole("button", { name: label, exact: true }) });

export async function connectsAndAddsTheChain({ metamask, page, url }) {
    await connectButton(page).click();
    await refuses(metamask);
    await refused(page).waitFor();
    await connectButton(page).click();
    await agrees(metamask, "connects", "127.0.0.1");
    await refuses(metamask); // the chain
    await refused(page).waitFor();
    await connectButton(page).click();
    await agrees(metamask, "adds-the-chain", kChain, new URL(url).host);
    await page.locator(".wallet a").waitFor({ timeout: 20_000 });
    assert.equal(Number(await ask(page, "eth_chainId")), 7298);
    await remainsConnected(page);
}

/// MetaMask tells of a new chain only after it has answered.
async function remainsConnected(page) {
    await sleep(2000);
    assert.equal(await page.locator(".wallet a").count(), 1, "the page is still connected");
}

export async function stakes({ metamask, page, url, address }) {
    await onPage(page, address);
    const before = await balanceOf(url, address);
    await page.getByLabel("coins").fill("2.5");
    const send = sendOf(page, "Stake");
    await send.getByRole("button").click();
    await refuses(metamask);
    await send.getByText("The wallet refused; nothing was sent.").waitFor();
    assert.equal(await balanceOf(url, address), before);
    await send.getByRole("button").click();
    await agrees(metamask, "stakes", kChain, new URL(url).host, "2.5 COIN");
    await page.getByText("Staked:").waitFor({ timeout: 30_000 });
    const { value, fee } = await spentBy(url, address);
    assert.equal(value, (5n * kCoin) / 2n);
    assert.equal(BigInt((await party(url, address)).bonded), value);
    assert.equal(await balanceOf(url, address), before - value - fee);
}

/// What a locked MetaMask is asked waits for its password.
export async function unlocksToStake({ metamask, page, url, address }) {
    await locks(metamask);
    const send = sendOf(page, "Stake");
    await send.getByRole("button").click();
    await unlocks(metamask);
    await agrees(metamask, "stakes-after-unlocking", "2.5 COIN");
    await page.getByText("Staked:").waitFor({ timeout: 30_000 });
    assert.equal(BigInt((await party(url, address)).bonded), 5n * kCoin);
}

/// Posts the folder; the task's number and what the transaction cost.
async function posts({ metamask, page, url, address }, task, name) {
    await go(page, "#/post/", "Post a task");
    const form = page.locator("section[aria-labelledby=p-a-new-program]");
    await form.locator("input[type=file]").setInputFiles(task);
    const send = form.getByRole("button", { name: "Post the task" });
    await send.waitFor({ timeout: 30_000 });
    const [, escrow] = /Locked as escrow: ([\d.]+) coins/.exec(await form.innerText());
    await send.click();
    await agrees(metamask, name, kChain, new URL(url).host, `${escrow} COIN`);
    await form.getByText("The node has all files of").waitFor({ timeout: 60_000 });
    const [{ id, name: shown }] = (await rpc(url, "retrace_tasks")).items;
    assert.equal(shown, "posted by MetaMask");
    return { id, spent: await spentBy(url, address) };
}

/// Nobody bids yet: the task is posted and cancelled, and its coins come back.
export async function postsATaskAndCancelsIt(all) {
    const { metamask, page, url, address } = all;
    const before = await balanceOf(url, address);
    all.task = await compile();
    const { id, spent } = await posts(all, all.task, "posts");
    assert.equal(await balanceOf(url, address), before - spent.value - spent.fee);
    await go(page, `#/task/${Number(id)}`, "posted by MetaMask");
    await page.getByRole("button", { name: "Cancel the task" }).click();
    await agrees(metamask, "cancels", kChain);
    await until(20, "the task's end", async () => (await rpc(url, "retrace_task", id)).task.state === "cancelled");
    const left = await balanceOf(url, address);
    assert.ok(left > before - kCoin / 100n, `${before} ${left}`);
}

/// A solver wins the same task and delivers; the requester accepts.
export async function postsATaskAndAcceptsIt(all) {
    const { metamask, page, url, address, solver, hireSolver } = all;
    await hireSolver();
    const before = await balanceOf(url, address);
    const { id, spent } = await posts(all, all.task, "posts-again");
    await go(page, `#/task/${Number(id)}`, "posted by MetaMask");
    await until(240, "the delivery", async () => (await rpc(url, "retrace_task", id)).task.state === "delivering")
        .catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify(await rpc(url, "retrace_explainTask", id))}`); });
    const { runs } = await rpc(url, "retrace_task", id);
    assert.equal(runs[0].solver.toLowerCase(), solver);
    await page.getByRole("button", { name: "Accept the model and pay" }).click();
    await agrees(metamask, "accepts", kChain);
    await page.getByText("Accepted:").waitFor({ timeout: 30_000 });
    assert.equal((await rpc(url, "retrace_task", id)).task.state, "settled");
    const paid = before - (await balanceOf(url, address));
    assert.ok(paid > 0n && paid < spent.value + kCoin / 100n, `${paid} of ${spent.value}`);
    await picture(page, "metamask-console", { fullPage: true });
}

export async function signs({ metamask, page, address }) {
    const text = "Retrace: Grüße";
    const message = `0x${Buffer.from(text).toString("hex")}`;
    const signing = ask(page, "personal_sign", message, address);
    await Promise.all([assert.rejects(signing, { code: 4001 }), refuses(metamask)]);
    const [signature] = await Promise.all([ask(page, "personal_sign", message, address), agrees(metamask, "signs", text)]);
    assert.equal(await command("wallet", "verify", "--address", address, "--signature", signature, text), "valid");
}
