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
    await until(30, "the demo's node", () => rpc(url, "eth_blockNumber").catch(() => undefined)); // its address is told before it listens
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
    await choosesASegment(page);
    await looksRight(page, "a settled task");
    await picture(page, "task");

    await go(page, "#/", "Network");
    await page.locator("section", { hasText: "Solvers" }).locator("tbody a").first().waitFor();
    await page.locator(".uplot canvas").first().waitFor();
    const measured = (await rpc(url, "retrace_solvers")).filter(({ info }) => Number(info.capability) > 0);
    assert.ok(measured.length > 0, "the ledger measured a solver");
    for (const { solver, info } of measured)
        await page.locator("tr", { has: page.locator(`a[title="${solver}"]`) }).getByText(`${(Number(info.capability) / 1e9).toPrecision(3)} G/block`).waitFor();
    await knowsTheVerifiers(page, url);
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

/// Verdicts, disputes and speed of each verifier, by the events of both tasks.
async function knowsTheVerifiers(page, url) {
    const panel = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Verifiers" }) });
    await panel.getByText(/The rest is counted from block/).waitFor({ timeout: 15_000 });
    const [events, tasks] = [[], []];
    for (const id of ["0x1", "0x2"]) {
        tasks.push((await rpc(url, "retrace_task", id)).spec);
        events.push(...(await rpc(url, "retrace_taskEvents", id)));
    }
    const named = (event, fits) => events.filter((one) => one.event === event && fits(one.arguments));
    for (const { verifier } of await rpc(url, "retrace_verifiers")) {
        const verdicts = named("VerdictCommitted", (a) => a.auditor === verifier).sort((a, b) => Number(a.height) - Number(b.height));
        const disputes = named("DisputeOpened", (a) => a.challenger === verifier).length;
        let [work, blocks, last] = [0, 0, 0];
        for (const { height, arguments: { audit } } of verdicts) {
            const [draw] = named("AuditorsDrawn", (a) => a.audit === audit && a.auditors.includes(verifier));
            const { stepCost, interval } = tasks[Number(draw.arguments.task) - 1];
            work += Number(stepCost) * Number(interval);
            blocks += Math.max(1, Number(height) - Math.max(Number(draw.height), last));
            last = Number(height);
        }
        const row = panel.locator("tr", { has: page.locator(`a[title="${verifier}"]`) });
        const wanted = [verdicts.length ? `${(work / blocks / 1e9).toPrecision(3)} G/block` : "–", String(verdicts.length), "0", String(disputes), "0"];
        await until(20, `the record of ${verifier}`, async () => {
            const cells = await row.locator("td").allTextContents();
            return [cells[1], ...cells.slice(6)].join() === wanted.join();
        }).catch(async (error) => { throw new Error(`${error.message}: ${await row.textContent()}, wanted ${wanted}`); });
    }
    assert.ok(named("DisputeOpened", () => true).length > 0);
}

/// With the keyboard, the way of a reader who sees neither colours nor titles: the last segment is always audited.
async function choosesASegment(page) {
    const run = page.locator(".run").first();
    await run.getByRole("listbox").focus();
    await page.keyboard.press("ArrowRight");
    await run.getByText(/^Segment 0, steps 1 to \d+: /).waitFor();
    await page.keyboard.press("End");
    const chosen = run.locator(".chosen");
    await chosen.getByText(/^Segment 8, /).waitFor();
    assert.equal(await run.getByRole("option", { selected: true }).getAttribute("aria-label"), "segment 8: paid");
    assert.match(await chosen.textContent(), /committed in block [\d\u202f]+ · ends in state 0x[0-9a-f]{64}/);
    await chosen.getByRole("link", { name: /audit \d+/ }).waitFor();
    // What loads above the strip may move it under the mouse.
    await until(30, "a segment is chosen with the mouse", async () => {
        await run.locator(".strip span").nth(3).click();
        return (await chosen.textContent()).startsWith("Segment 3, ");
    });
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
    await page.getByText(/^[1-9] segments$/).first().waitFor(); // paid at once or in parts
    await looksRight(page, "a solver");
    await picture(page, "solver");
    await go(page, "#/search/fashion", "Search");
    await page.getByText("task 1: Fashion-MNIST").waitFor();
    await page.getByText(/The newest \d tasks were searched/).waitFor();
    await findsRoots(page, url);
    await go(page, "#/disputes", "Disputes");
    await looksRight(page, "disputes");
    await go(page, "#/tasks", "Tasks");
    await page.getByLabel("state").selectOption("settled");
    await page.locator("tbody tr").nth(1).waitFor();
    await looksRight(page, "tasks");
    await go(page, "#/audit/1", "Audit 1");
    await looksRight(page, "an audit");
}

/// By a root of the terms, of a state that a receipt names, and by a number that an audit has too.
async function findsRoots(page, url) {
    const { spec, runs } = await rpc(url, "retrace_task", "0x1");
    for (const root of [spec.programRoot, spec.contractHash]) {
        await go(page, `#/search/${root}`, "Search");
        await page.getByText("task 1: Fashion-MNIST").waitFor();
    }
    const last = await rpc(url, "retrace_segments", "0x1", "0x0", "0x8", "0x1");
    assert.equal(runs.length, 1);
    await go(page, `#/search/${last[0].end.root.toUpperCase().replace("0X", "0x")}`, "Fashion-MNIST");
    await go(page, "#/search/1", "Search");
    await page.locator("main a", { hasText: /^audit 1$/ }).waitFor();
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
    await page.waitForTimeout(300);
    assert.equal(await page.locator(".wallet a").count(), 1, "the switch that the page asked for does not disconnect");
    await page.evaluate(() => window.walletEmit("accountsChanged", [`0x${"1".repeat(40)}`]));
    await button.waitFor();
    await button.click();
    await page.locator(".wallet a").waitFor();

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

    // The price of its assignment comes to a page that is open.
    const network = await openPage(browser, url + "/");
    const prices = network.locator(".chart[aria-label^='Price of work']");
    const points = async () => Number(/: (\d+) points/.exec(await prices.getAttribute("aria-label"))[1]);
    await prices.waitFor();
    const known = await points();

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
    assert.ok((await points()) > known, "the price of its assignment is drawn");
    assert.deepEqual(network.wrong, []);
    await network.close();
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
    const proved = await panel.getByText(/saved: 4 tensors, .* compared with the root /).textContent();
    // Whole, so that nobody grinds another that looks the same.
    const [, root, index, height, block] = /root (0x[0-9a-f]{64})\D.*as its last, state (\d+), says the state of block ([\d\u202f]+), (0x[0-9a-f]{64})\D/.exec(proved) ?? assert.fail(proved);
    const { segments, runs } = await rpc(url, "retrace_task", "0x2");
    const delivered = runs.find(({ state }) => state === "settled").index;
    const [segment] = await rpc(url, "retrace_segments", "0x2", `0x${delivered.toString(16)}`, `0x${(Number(segments) - 1).toString(16)}`, "0x1");
    assert.deepEqual([root, Number(index)], [segment.end.root, Number(segments)]);
    assert.match(proved, new RegExp(`Run ${delivered} of .* stands and opened`));
    assert.equal((await rpc(url, "eth_getBlockByNumber", `0x${Number(height.replaceAll("\u202f", "")).toString(16)}`, false)).hash, block);
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
    await aProofThatDoesNotHoldIsFoundOut(browser, url);
    await page.route("**/state", (route) => route.abort());
    await button.click();
    await panel.getByText(/Nobody sent it.*no answer/).waitFor();
    await page.close();
}

/// A node that proves another balance and another model than its header.
async function aProofThatDoesNotHoldIsFoundOut(browser, url) {
    const page = await browser.newPage();
    const flipped = (_, before, digit) => before + (digit === "0" ? "1" : "0");
    await page.routeWebSocket(/.*/, (socket) => {
        const node = socket.connectToServer();
        node.onMessage((text) => socket.send(String(text).replace(/("siblings":\["0x)(.)/, flipped)));
    });
    const { task } = await rpc(url, "retrace_task", "0x2");
    await page.goto(`${url}/#/task/2`);
    const panel = page.locator("section", { hasText: "Model and receipt" });
    await panel.getByRole("button", { name: "Fetch the model" }).click();
    await panel.getByText("The node's proof does not hold: it leads to another state root than the header's.").waitFor({ timeout: 15_000 });
    await panel.getByRole("button", { name: "Save receipt.json" }).click();
    await until(15, "both are refused", async () => (await panel.getByText("The node's proof does not hold: it leads to another state root").count()) === 2);
    await page.goto(`${url}/#/account/${task.requester}`);
    await page.getByRole("button", { name: "Check the balance by a proof" }).click();
    await page.getByText("The node's proof does not hold: it leads to another state root than the header's.").waitFor({ timeout: 15_000 });
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
