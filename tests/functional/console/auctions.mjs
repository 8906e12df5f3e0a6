// SPDX-License-Identifier: MIT
// A requester has as many auctions as a deadline leaves time for, raises the price of its open task, and adds a solver to a running
// one: in the browser as on the command line.
import assert from "node:assert/strict";
import path from "node:path";
import { addWallet } from "./wallet.mjs";
import { compileSmall, fitsWidth, folder, go, openBrowser, openPage, passesAxe, rpc, run, start, until } from "./common.mjs";

const kCoin = 10n ** 18n;
const hex = (value) => `0x${value.toString(16)}`;
const shownCoins = (wei) => String(Number(wei) / 1e18);

/// Posts one like task 1 with auctions up to a deadline and a higher ceiling in the last of them; the task's number.
async function postsWithADeadline(page, url, state, folderOfTask) {
    const { bidBlocks, revealBlocks, rounds } = await rpc(url, "retrace_params");
    const auction = Number(bidBlocks) + Number(revealBlocks);
    await go(page, "#/post/1", "Post a task");
    const form = page.locator("section[aria-labelledby=p-like-another-task]");
    const [by, auctions] = [form.getByLabel("or until", { exact: true }), form.getByLabel("auctions (1–64)")];
    await form.getByLabel("name").fill("with a deadline");
    await form.getByLabel("in the last auction at most, coins").fill("2");
    for (const [wrong, sentence] of [["soon", "The deadline is a block, or a time such as 90m, 6h or 2d."], ["1.5h", "The deadline is a block"],
        ["1", new RegExp(`No auction of ${auction} blocks is over by block 1: block .* is the newest`)], ["1s", /No auction of \d+ blocks is over/]]) {
        await by.fill(wrong);
        await form.locator(".error", { hasText: sentence }).waitFor({ timeout: 15_000 });
        assert.equal(await auctions.isEnabled(), true);
    }
    await by.fill("1000d");
    await until(10, "all auctions", async () => (await auctions.inputValue()) === String(Math.min(64, Number(rounds))));
    assert.equal(await auctions.isEnabled(), false);
    await passesAxe(page, "posting with a deadline");
    const deadline = Number(await rpc(url, "eth_blockNumber")) + 2 + 2 * auction + auction - 4;
    await by.fill(String(deadline));
    await until(10, "two auctions", async () => (await auctions.inputValue()) === "2");
    await form.getByText("for at most 1, 2 coins a segment").waitFor();
    await form.getByLabel("pay also for segments that were drawn").check();
    await form.getByRole("button", { name: "Post the task" }).click();
    await form.getByText("Posted:").waitFor({ timeout: 20_000 });
    const [newest] = (await rpc(url, "retrace_tasks")).items;
    const id = Number(newest.id);
    // The command line makes the same terms of the same deadline.
    await run("task", "submit", folderOfTask, "--node", url, "--dev-account", "0", "--data-dir", path.join(folder, "auctions-requester"), "--by", String(deadline),
        "--raise-to", "2", "--allow-unaudited");
    const [own, twin] = await Promise.all([id, id + 1].map((one) => rpc(url, "retrace_task", hex(one))));
    assert.deepEqual([own.spec.auctions, BigInt(own.spec.lastCeiling), BigInt(own.spec.priceCeiling)], [2, 2n * kCoin, kCoin]);
    assert.deepEqual([twin.spec.auctions, twin.spec.lastCeiling], [own.spec.auctions, own.spec.lastCeiling]);
    assert.equal(own.task.escrow, twin.task.escrow);
    return id;
}

const requesters = (page) => page.locator("details").filter({ has: page.locator("summary", { hasText: "Raise the price" }) });

async function raisesThePrice(page, url, state, id) {
    await go(page, `#/task/${id}`, "with a deadline");
    const form = requesters(page);
    await form.locator("summary").click();
    const [ceiling, more, send] = [form.getByLabel("at most, coins a segment"), form.getByLabel("more auctions"), form.getByRole("button", { name: "Raise the ceiling" })];
    await ceiling.waitFor({ timeout: 15_000 });
    for (const [price, auctions, sentence] of [["0.5", "1", "The ceiling of the next auction is 1 coins already, and only rises."], ["much", "1", "The ceiling is a number of coins"],
        ["3", "100", /The task may have \d+ more auctions: it has had 1 of \d+, and \d+ may follow/], ["", "0", "Give a higher ceiling or a number of auctions."]]) {
        await ceiling.fill(price);
        await more.fill(auctions);
        await form.locator(".error", { hasText: sentence }).first().waitFor({ timeout: 10_000 });
        await send.click();
        await form.locator(".send .error", { hasText: sentence }).waitFor({ timeout: 10_000 });
    }
    // What it costs is said before the wallet is asked, and is what the command line puts into its twin.
    await ceiling.fill("3");
    await more.fill("1");
    await form.getByText("a segment costs at most 3 coins").waitFor();
    const before = await rpc(url, "retrace_explainBids", hex(id));
    const { escrow } = JSON.parse((await run("task", "top-up", String(id + 1), "--ceiling", "3", "--auctions", "1", "--node", url, "--dev-account", "0", "--json")).out);
    assert.ok((await form.innerText()).replace(/\u202f/g, "").includes(`Locked as escrow: ${shownCoins(escrow)} coins more.`), await form.innerText());
    await passesAxe(page, "a task whose price is raised");
    await page.setViewportSize({ width: 360, height: 740 });
    await fitsWidth(page, "a task whose price is raised on a phone");
    await page.setViewportSize({ width: 1280, height: 900 });
    state.refuse = true;
    await send.click();
    await form.getByText("The wallet refused; nothing was sent.").waitFor({ timeout: 15_000 });
    state.refuse = false;
    await send.click();
    await form.getByText("Raised:").waitFor({ timeout: 20_000 });
    assert.equal(BigInt(state.sent.value), BigInt(escrow));
    const events = (await rpc(url, "retrace_taskEvents", hex(id))).filter(({ event }) => event === "TaskToppedUp");
    assert.deepEqual(events.map(({ arguments: a }) => [BigInt(a.ceiling), BigInt(a.amount)]), [[3n * kCoin, BigInt(escrow)]]);
    assert.ok((await rpc(url, "retrace_explainBids", hex(id))).auctionsLeft > before.auctionsLeft - 1);
}

/// A second solver for a task that runs. The rule takes the exact price only.
async function addsASolver(page, url, state) {
    await go(page, "#/task/1", "small auctions");
    await page.locator("h1 .state", { hasText: "running" }).waitFor({ timeout: 60_000 });
    const form = requesters(page);
    await form.locator("summary").click();
    const [field, send] = [form.getByLabel("solvers in all"), form.getByRole("button", { name: "Add solvers" })];
    await field.waitFor({ timeout: 15_000 });
    await field.fill("1");
    await form.locator(".error", { hasText: "The number of replicas is a whole number from 2 to 5: the task has 1." }).first().waitFor({ timeout: 10_000 });
    await field.fill("2");
    await send.click();
    await form.getByText("Added:").waitFor({ timeout: 20_000 });
    const events = await rpc(url, "retrace_taskEvents", "0x1");
    assert.equal(events.filter(({ event, arguments: a }) => event === "ReplicasWanted" && Number(a.wanted) === 1).length, 1);
    assert.ok(BigInt(state.sent.value) > 0n);
    await form.locator(".error", { hasText: "An auction for more replicas is open." }).first().waitFor({ timeout: 15_000 });
    await send.click();
    await form.locator(".send .error", { hasText: "An auction for more replicas is open." }).waitFor({ timeout: 15_000 });
}

export async function aRequesterHoldsAuctionsAndRaisesItsOffer() {
    const node = start("node", "--dev", "--data-dir", path.join(folder, "auctions-node"), "--rpc-port", "0", "--block-ms", "1000", "--json");
    const url = await until(20, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const task = await compileSmall("small auctions", "--steps", "300", "--checkpoint-every", "3");
    await run("task", "submit", task, "--node", url, "--dev-account", "0", "--data-dir", path.join(folder, "auctions-requester"), "--allow-unaudited",
        "--auctions", "16");
    const browser = await openBrowser();
    const state = { chain: "0x1", known: false, refuse: false };
    const wallet = await addWallet(browser, url, 0, state);
    const page = await openPage(browser, `${url}/`);
    await page.getByRole("button", { name: "Connect Test <b>wallet</b>" }).click();
    await page.locator(".wallet a").waitFor();
    const id = await postsWithADeadline(page, url, state, task);
    await raisesThePrice(page, url, state, id);
    const solver = start("solver", "--node", url, "--dev-account", "5", "--data-dir", path.join(folder, "auctions-solver"), "--threads", "1", "--price", "0.01",
        "--stake", "6000", "--port", "0");
    await addsASolver(page, url, state).catch((error) => { throw new Error(`${error.message}\n${solver.err.slice(-2000)}`); });
    assert.deepEqual(page.wrong, []);
    wallet.close();
    await browser.close();
    await solver.end("SIGKILL");
    await node.end();
}
