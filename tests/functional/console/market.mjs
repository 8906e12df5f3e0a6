// SPDX-License-Identifier: MIT
// The console beside the demo: a task is trained and audited, a second solver cheats and is convicted.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { ethers } from "ethers";
import { postsANewProgram } from "./posting.mjs";
import { addWallet } from "./wallet.mjs";
import { fitsWidth, folder, go, openBrowser, openPage, passesAxe, picture, rpc, start, until } from "./common.mjs";

const phrase = "test test test test test test test test test test test junk";
const hostileName = "<img src=x onerror=\"document.title='owned'\">\u202e\u0000 task";
const phone = { width: 360, height: 740 };
const desk = { width: 1280, height: 900 };

/// Posts the first task's terms again under a name that is no good.
async function postHostileTask(url) {
    const provider = new ethers.JsonRpcProvider(url);
    const wallet = ethers.HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/0'/0/7").connect(provider);
    const { address, abi } = (await provider.send("retrace_contracts", [])).find(({ name }) => name === "IMarket");
    const market = new ethers.Contract(address, abi, wallet);
    const spec = (await market.specOf(1)).toObject(true);
    const { auditFee, auditFeeBp } = await market.params();
    const share = (spec.priceCeiling * auditFeeBp) / 10_000n;
    const fee = share > auditFee ? share : auditFee;
    const value = ((spec.steps + spec.interval - 1n) / spec.interval) * (spec.priceCeiling + fee * spec.auditors);
    const receipt = await (await market.postTask({ ...spec, name: hostileName }, { value })).wait();
    const posted = receipt.logs.map((log) => market.interface.parseLog(log)).find((log) => log?.name === "TaskPosted");
    provider.destroy();
    return Number(posted.args.task);
}

async function looksRight(page, what) {
    await passesAxe(page, what);
    await page.emulateMedia({ colorScheme: "dark" });
    await passesAxe(page, `${what}, dark`);
    await page.setViewportSize(phone);
    await fitsWidth(page, `${what} on a phone`);
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize(desk);
}

export async function theDemoIsWatched() {
    const demo = start("demo", "--open", "--json", "--folder", path.join(folder, "demo"));
    const url = await until(60, "the demo's address", () => /console at (http:\S+)\//.exec(demo.err)?.[1]);
    const browser = await openBrowser();
    const page = await openPage(browser, url + "/");
    const notEnded = () => assert.equal(demo.child.exitCode, null, demo.err);
    const task = (id) => rpc(url, "retrace_task", `0x${id.toString(16)}`);

    // The first task, live: what the strip shows follows the chain without a reload.
    await until(60, "task 1", async () => (notEnded(), (await rpc(url, "retrace_tasks")).items.length > 0));
    await go(page, "#/task/1", "Fashion-MNIST");
    await page.locator(".strip span").first().waitFor({ timeout: 60_000 });
    assert.equal(await page.locator(".strip span").count(), 9);
    await page.locator(".strip .verified, .strip .final, .strip .paid").first().waitFor({ timeout: 60_000 });
    await looksRight(page, "a task");

    // The dispute of the second task, while it narrows and when it is decided.
    await until(120, "the dispute", async () => (notEnded(), (await rpc(url, "retrace_disputes")).items.length > 0));
    await go(page, "#/dispute/1", "Dispute 1");
    await page.locator(".levels .narrowing, .levels .found").first().waitFor({ timeout: 20_000 });
    await until(60, "an op", async () => (notEnded(), (await page.locator(".levels .found").count()) >= 3));
    await page.getByText("the ledger computed").waitFor({ timeout: 60_000 });
    assert.equal(await page.locator(".levels .found").count(), 6);
    assert.match(await page.locator("h1").textContent(), /solver lost/);
    assert.match(await page.locator(".verdict").textContent(), /1 of 32 bits differ/);
    const moves = await page.locator("table").filter({ hasText: "evidence" }).locator("tbody tr").count();
    assert.ok(moves >= 10, `${moves} moves`);
    await looksRight(page, "a dispute");
    await picture(page, "dispute", { clip: { x: 0, y: 0, width: 1280, height: 860 } });

    await until(180, "the second task's end", async () => (notEnded(), (await task(2))?.task.state === "settled"));
    await go(page, "#/task/2", "task 2");
    await page.locator(".strip .paid").first().waitFor({ timeout: 20_000 });
    assert.equal(await page.locator(".strip").count(), 2);
    await page.getByText("place 1 of 1").waitFor({ timeout: 10_000 });
    await looksRight(page, "a settled task");
    await picture(page, "task");

    await go(page, "#/", "Network");
    await page.locator("section", { hasText: "Solvers" }).locator("tbody a").first().waitFor();
    await page.locator(".uplot canvas").first().waitFor();
    await looksRight(page, "the network");
    await picture(page, "network");
    await exploresTheChain(page, url);
    await drawsMetrics(page);
    await checksAReceipt(page);
    await fetchesTheModel(browser, url);
    await takesHostileNames(page, url);
    assert.deepEqual(page.wrong, []);
    await usesAWallet(browser, url);
    await browser.close();
    await demo.end("SIGINT");
    assert.match(demo.out, /"outcome":"convicted"/);
}

async function exploresTheChain(page, url) {
    await go(page, "#/blocks", "Blocks");
    await page.locator("tbody tr").nth(10).waitFor();
    await looksRight(page, "blocks");
    const [event] = (await rpc(url, "retrace_taskEvents", "0x1")).filter((one) => one.event === "TaskPosted");
    await go(page, `#/search/${event.transactionHash}`, "Transaction");
    await page.getByText("postTask").first().waitFor();
    await looksRight(page, "a transaction");
    await go(page, `#/search/${event.blockHash}`, "Block");
    await looksRight(page, "a block");
    await go(page, `#/search/${event.arguments.requester}`, "Account");
    await page.locator("td", { hasText: "TaskPosted" }).first().waitFor();
    await looksRight(page, "an account");
    const solver = (await rpc(url, "retrace_task", "0x1")).runs[0].solver;
    await go(page, `#/account/${solver}`, "Account");
    await page.locator("section", { hasText: "Income" }).locator("canvas").waitFor();
    await page.getByText("9 segments").first().waitFor();
    await looksRight(page, "a solver");
    await picture(page, "solver");
    await go(page, "#/search/fashion", "Search");
    await page.getByText("task 1: Fashion-MNIST").waitFor();
    await go(page, "#/disputes", "Disputes");
    await looksRight(page, "disputes");
    await go(page, "#/tasks", "Tasks");
    await page.getByLabel("state").selectOption("settled");
    await page.locator("tbody tr").nth(1).waitFor();
    await looksRight(page, "tasks");
    await go(page, "#/audit/1", "Audit 1");
    await looksRight(page, "an audit");
}

/// NaN, infinity, gaps and a million points are drawn; a file of something else is refused with a sentence.
async function drawsMetrics(page) {
    await go(page, "#/task/1", "Fashion-MNIST");
    const choose = async (name, text) => {
        fs.writeFileSync(path.join(folder, name), text);
        await page.locator("input[type=file]").first().setInputFiles(path.join(folder, name));
    };
    const odd = ["nan", "inf", "-inf", "NaN", "Infinity", "", "1e300", "-0", "4e-45"];
    const rows = ["step,loss,rate"];
    for (let i = 0; i < 1_000_000; i++) rows.push(`${i + 1},${i % 1000 === 7 ? odd[(i / 1000 | 0) % odd.length] : Math.exp(-i / 3e5)},0.1`);
    await choose("metrics.csv", rows.join("\n") + "\n");
    await page.locator("section", { hasText: "Loss and metrics" }).locator("canvas").waitFor({ timeout: 20_000 });
    await page.getByText(/1\D000\D000 steps; loss: \d+ without a finite value/).waitFor();
    await page.getByLabel("logarithmic").check();
    await choose("other.csv", "a,b\n1,2\n");
    await page.getByText("this is no metrics.csv").waitFor();
    await choose("back.csv", "step,loss\n2,1\n1,1\n");
    await page.getByText("the steps do not ascend").waitFor();
}

/// Connects, on a chain that the wallet has to learn first; stakes; posts a task; what is refused is said.
async function usesAWallet(browser, url) {
    const state = { chain: "0x1", known: false, refuse: true };
    const wallet = await addWallet(browser, url, 8, state);
    const page = await openPage(browser, url + "/");
    const button = page.getByRole("button", { name: "Connect Test <b>wallet</b>" });
    await button.click();
    await page.getByText("The wallet refused; nothing was sent.").waitFor();
    state.refuse = false;
    state.otherChain = true;
    await button.click();
    await page.getByText("another first block").waitFor();
    state.otherChain = false;
    await button.click();
    await page.locator(".wallet a").waitFor();
    assert.equal(Number(state.chain), 7298);

    await go(page, `#/account/${wallet.address}`, "Account");
    await page.getByLabel("coins").fill("lots");
    await page.getByRole("button", { name: "Stake", exact: true }).click();
    await page.getByText("Give a number of coins").waitFor();
    await page.getByLabel("coins").fill("2.5");
    state.failure = { code: -32603, message: "Internal JSON-RPC error.", data: { code: -32000, message: "nonce too low: 1" } };
    await page.getByRole("button", { name: "Stake", exact: true }).click();
    await page.getByText("The wallet's node refused: nonce too low: 1").waitFor();
    state.failure = undefined;
    await page.getByRole("button", { name: "Stake", exact: true }).click();
    await page.getByText("Staked:").waitFor({ timeout: 20_000 });
    assert.equal(BigInt((await rpc(url, "retrace_party", wallet.address)).stake.bonded), 25n * 10n ** 17n);
    await page.getByLabel("coins").fill("1000");
    await page.getByRole("button", { name: "Begin to unbond" }).click();
    await page.getByText("A rule refuses this").waitFor();
    await looksRight(page, "an own account");

    await go(page, "#/post/1", "Post a task");
    await page.getByLabel("name").fill("posted from a browser");
    await page.getByLabel("steps", { exact: true }).fill("0");
    await page.getByText("The number of steps is a whole number").waitFor();
    await page.getByLabel("steps", { exact: true }).fill("300");
    await looksRight(page, "posting");
    state.refuse = true;
    await page.getByRole("button", { name: "Post the task" }).click();
    await page.getByText("The wallet refused; nothing was sent.").waitFor();
    state.refuse = false;
    await page.getByRole("button", { name: "Post the task" }).click();
    await page.getByText("Posted:").waitFor({ timeout: 20_000 });
    const [newest] = (await rpc(url, "retrace_tasks")).items;
    assert.equal(newest.name, "posted from a browser");
    assert.equal(newest.requester, wallet.address);
    // The market goes on: a solver of the demo trains it, and it is accepted here.
    await go(page, `#/task/${Number(newest.id)}`, "posted from a browser");
    await page.getByRole("button", { name: "Accept the model and pay" }).click({ timeout: 90_000 });
    await page.getByText("Accepted:").waitFor({ timeout: 20_000 });
    await page.locator("h1 .state", { hasText: "settled" }).waitFor({ timeout: 20_000 });
    assert.deepEqual(page.wrong, []);
    await postsANewProgram(browser, url, state);
    wallet.close();
}

/// One that the page saved agrees, and so does the demo's own; one that was changed does not.
async function checksAReceipt(page) {
    await go(page, "#/task/1", "Fashion-MNIST");
    const panel = page.locator("section", { hasText: "Model and receipt" });
    const [saved] = await Promise.all([page.waitForEvent("download"), panel.getByRole("button", { name: "Save receipt.json" }).click()]);
    const text = fs.readFileSync(await saved.path(), "utf8");
    const check = async (name, content) => {
        const file = path.join(folder, name);
        fs.writeFileSync(file, content);
        await panel.locator("input[type=file]").setInputFiles(file);
    };
    await check("saved.json", text);
    await panel.getByText("saved.json agrees with the ledger").waitFor();
    const own = fs.readFileSync(path.join(folder, "demo", "receipt-1.json"), "utf8");
    await check("own.json", own);
    await panel.getByText("own.json agrees with the ledger").waitFor();
    await check("changed.json", own.replace(/("index":3,"height":\d+,"root":"0x)(.)/, (_, before, digit) => before + (digit === "0" ? "1" : "0")));
    await panel.getByText("changed.json: 1 of 13 parts differ from the ledger").waitFor();
    await panel.getByText("the root or height of state 3 is not the ledger's").waitFor();
    await check("fewer.json", own.replace(/"audits":\[.*\]/s, '"audits":[]'));
    await panel.getByText("fewer.json: 1 of 13 parts differ from the ledger").waitFor();
    await panel.getByText("the file lacks the audit of segment").waitFor();
    await check("seed.json", own.replace(/"seed":\s*\d+/, '"seed":9007199254740993'));
    await panel.getByText("the file says \"9007199254740993\"").waitFor();
    await check("empty.json", "{}");
    await panel.getByText("This is no receipt.json").waitFor();
}

/// The page saves the bytes that `retrace task fetch` writes.
async function fetchesTheModel(browser, url) {
    const page = await openPage(browser, url + "/");  // which asks other origins, and whose requests fail on purpose
    await go(page, "#/task/2", "task 2");
    const panel = page.locator("section", { hasText: "Model and receipt" });
    const button = panel.getByRole("button", { name: "Fetch the model" });
    const [saved] = await Promise.all([page.waitForEvent("download"), button.click()]);
    await panel.getByText(/saved: 4 tensors, .* compared with the root/).waitFor();
    const out = path.join(folder, "model");
    const fetched = start("task", "fetch", "2", "--node", url, "-o", out, "--data-dir", path.join(folder, "requester"));
    assert.equal(await fetched.ended, 0, fetched.err);
    assert.ok(fs.readFileSync(path.join(out, "model.safetensors")).equals(fs.readFileSync(await saved.path())));
    // A party that lies is found out, one that is silent is named.
    await page.route("**/tiles?*", async (route) => {
        const reply = await route.fetch();
        const body = await reply.body();
        body[body.length - 5000] ^= 1;
        await route.fulfill({ response: reply, body });
    });
    await button.click();
    await panel.getByText(/Nobody sent it.*(wrong tiles|something else)/).waitFor();
    await page.unroute("**/tiles?*");
    await page.route("**/state", (route) => route.abort());
    await button.click();
    await panel.getByText(/Nobody sent it.*no answer/).waitFor();
    await page.close();
}

async function takesHostileNames(page, url) {
    const id = await postHostileTask(url);
    await go(page, "#/tasks", "Tasks");
    await page.locator("td.name", { hasText: "<img" }).waitFor();
    await go(page, `#/task/${id}`, "<img src=x");
    assert.equal(await page.locator("main img").count(), 0);
    assert.match(await page.title(), /^<img src=x/);
    assert.doesNotMatch(await page.locator("h1").textContent(), /[\u0000\u202e]/);
}
