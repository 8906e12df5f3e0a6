// SPDX-License-Identifier: MIT
// Usage: node newcomer.mjs PROGRAM FOLDER TREE. A person on a bare Debian with the package: earns with one command, posts
// a task from the browser, and watches how its cheating solver is convicted. PROGRAM USER ARGUMENT... runs the installed
// retrace in TREE as that user.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { ethers } from "ethers";
import { addWallet } from "./wallet.mjs";
import { go, openBrowser, openPage, picture, program, rpc, run, start, until, writeTable } from "./common.mjs";

const tree = process.argv[4];
const port = "8545";
const url = `http://127.0.0.1:${port}`;
const began = Date.now();
const say = (text) => console.log(`${((Date.now() - began) / 1000).toFixed(0)} s: ${text}`);
const folderOf = (user) => path.join(tree, "home", user);
const inTree = (user, name) => path.join("/home", user, name);

/// Compiles a task of six segments as the user, who changes none of its terms.
async function compile(user, name) {
    writeTable(path.join(folderOf(user), "table.csv"));
    await run(user, "task", "compile", "mlp", "--data", inTree(user, "table.csv"), "-o", inTree(user, name), "--hidden", "16", "--batch", "16",
        "--steps", "120", "--checkpoint-every", "20", "--price-ceiling", "1", "--audit-percent", "100", "--auditors", "2", "--name", name);
}

const task = async (id) => (await rpc(url, "retrace_task", `0x${id.toString(16)}`)).task;
const explained = async (id) => JSON.stringify(await rpc(url, "retrace_explainTask", `0x${id.toString(16)}`));
const untilState = (id, state) =>
    until(240, `task ${id} ${state}`, async () => (await task(id)).state === state)
        .catch(async (error) => { throw new Error(`${error.message}: ${await explained(id)}`); });

/// A chain of strangers: a node, verifiers, and somebody who wants a training.
async function openMarket() {
    const node = start("stranger", "node", "--dev", "--data-dir", inTree("stranger", "chain"), "--rpc-port", port, "--block-ms", "200", "--json");
    await until(60, "the node", () => node.out.includes('"rpc"')).catch((error) => { throw new Error(`${error.message}: ${node.err}`); });
    for (const account of ["3", "4", "5"])
        start("stranger", "verifier", "--node", url, "--dev-account", account, "--data-dir", inTree("stranger", `verifier-${account}`), "--stake", "200",
            "--port", "0", "--threads", "1");
}

/// Quickstart in a terminal of the newcomer's, who writes the twelve words down, gives back the two that are asked for, and
/// types a passphrase.
function quickstart() {
    const command = [program, "newcomer", "solver", "--quickstart", "--node", url, "--stake", "150"].join(" ");
    const child = spawn("script", ["-qefc", command, "/dev/null"], { stdio: ["pipe", "pipe", "pipe"] });
    process.on("exit", () => child.kill("SIGKILL"));
    const solver = { child, out: "", err: "", words: [] };
    let read = 0;
    child.stderr.on("data", (text) => (solver.err += text));
    child.stdout.on("data", (text) => {
        solver.out += text;
        const shown = /shown this once:\s+((?:[a-z]+ ){11}[a-z]+)\s/.exec(solver.out);
        if (shown) solver.words = shown[1].split(" ");
        const asked = /(word number (\d+)|passphrase[^:\n]*|the same again): $/.exec(solver.out.slice(read));
        if (!asked) return;
        read = solver.out.length;
        child.stdin.write(`${asked[2] ? solver.words[Number(asked[2]) - 1] : "a passphrase"}\n`);
    });
    return solver;
}

/// The one command, and the first coins that it earns.
async function earns(browser) {
    const solver = quickstart();
    const said = () => solver.out + solver.err;
    await until(60, "quickstart", () => said().includes("step 5 of 5")).catch((error) => { throw new Error(`${error.message}: ${said()}`); });
    const link = /its own page, for you alone: (http:\S+)/.exec(said())[1];
    say("quickstart made a key, tested the machine and joined");

    await compile("stranger", "work");
    const requester = ["--node", url, "--dev-account", "0", "--data-dir", inTree("stranger", "requester")];
    // Refused until the verifiers may be drawn.
    const posted = await until(120, "a task of a stranger", async () => {
        const submit = start("stranger", "task", "submit", inTree("stranger", "work"), ...requester);
        return (await submit.ended) === 0;
    });
    assert.ok(posted);
    await untilState(1, "delivering").catch((error) => { throw new Error(`${error.message}\n${said()}`); });
    await run("stranger", "task", "accept", "1", ...requester.slice(0, 4));
    const page = await openPage(browser, link);
    const earnings = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Earnings" }) });
    const sum = earnings.getByText("coins for 6 segments").first();
    await sum.waitFor({ timeout: 60_000 });
    say(`it earned: ${(await sum.locator("..").innerText()).replace(/\s+/g, " ")}`);
    await picture(page, "newcomer-earns", { clip: { x: 0, y: 0, width: 1280, height: 860 } });
    await page.close();
    const address = fs.readFileSync(path.join(folderOf("newcomer"), ".retrace/solver/account"), "utf8").trim();
    return { address, said, words: solver.words.join(" ") };
}

const bonded = async (address) => BigInt((await rpc(url, "retrace_party", address)).stake.bonded);

/// A program of the newcomer's disk, posted by the browser's wallet, in front of a solver that asks less and cheats.
async function posts(browser, state, { words }) {
    await compile("newcomer", "mine");
    const cheater = start("stranger", "solver", "--node", url, "--dev-account", "2", "--data-dir", inTree("stranger", "cheater"), "--port", "0",
        "--price", "0.3", "--stake", "150", "--threads", "1", "--cheat", "ulp");
    await until(60, "the cheater", () => cheater.err.includes("event=registered")).catch((error) => { throw new Error(`${error.message}: ${cheater.err}`); });
    // The second account of the newcomer's own words, because a solver's own tasks are not for it; somebody pays coins to it.
    const { address } = ethers.HDNodeWallet.fromPhrase(words, "", "m/44'/60'/0'/0/1");
    await run("stranger", "wallet", "send", "--dev-account", "9", "--to", address, "--value", "100", "--node", url);
    const wallet = await addWallet(browser, url, 1, state, words);
    const page = await openPage(browser, `${url}/`);
    await page.getByRole("button", { name: "Connect Test <b>wallet</b>" }).click();
    await page.locator(".wallet a").waitFor();
    await go(page, "#/post/", "Post a task");
    const panel = page.locator("section[aria-labelledby=p-a-new-program]");
    await panel.locator("input[type=file]").setInputFiles(path.join(folderOf("newcomer"), "mine"));
    const send = panel.getByRole("button", { name: "Post the task" });
    await send.waitFor({ timeout: 30_000 });
    await picture(page, "newcomer-posts", { fullPage: true });
    await send.click();
    await page.getByText("The node has all files of").first().waitFor({ timeout: 60_000 });
    const [newest] = (await rpc(url, "retrace_tasks")).items;
    assert.equal(newest.name, "mine");
    assert.equal(newest.requester.toLowerCase(), wallet.address);
    say("a task was posted from the browser");
    return { page, id: Number(newest.id), wallet };
}

/// The dispute as it narrows, the conviction, and the end of the task by the honest solver.
async function watches({ page, id }, newcomer) {
    await go(page, `#/task/${id}`, "mine");
    await page.locator(".strip span").first().waitFor({ timeout: 120_000 });
    const disputes = async () => (await rpc(url, "retrace_disputes")).items;
    await until(240, "a dispute", async () => (await disputes()).length > 0)
        .catch(async (error) => { throw new Error(`${error.message}: ${await explained(id)}`); });
    const [dispute] = await disputes();
    const number = Number(dispute.id);
    await go(page, `#/dispute/${number}`, `Dispute ${number}`);
    await page.locator(".levels .narrowing, .levels .found").first().waitFor({ timeout: 60_000 });
    await picture(page, "newcomer-dispute", { clip: { x: 0, y: 0, width: 1280, height: 860 } });
    await page.getByText("the ledger computed").waitFor({ timeout: 120_000 });
    assert.match(await page.locator("h1").textContent(), /solver lost/);
    assert.match(await page.locator(".verdict").textContent(), /\d of 32 bits differ/);
    await picture(page, "newcomer-convicts", { clip: { x: 0, y: 0, width: 1280, height: 860 } });
    say("the cheater was convicted");

    const { runs } = await rpc(url, "retrace_task", `0x${id.toString(16)}`);
    const cheater = runs[0].solver;
    assert.notEqual(cheater.toLowerCase(), newcomer.address.toLowerCase());
    assert.equal(runs[0].state, "forfeited");
    const before = await bonded(newcomer.address);
    await untilState(id, "delivering").catch((error) => { throw new Error(`${error.message}\n${newcomer.said()}`); });
    await go(page, `#/task/${id}`, "mine");
    await page.getByRole("button", { name: "Accept the model and pay" }).click({ timeout: 30_000 });
    await page.getByText("Accepted:").waitFor({ timeout: 30_000 });
    await page.locator("h1 .state", { hasText: "settled" }).waitFor({ timeout: 30_000 });
    await page.locator(".strip .paid").first().waitFor({ timeout: 20_000 });
    assert.equal(await page.locator(".strip").count(), 2, "the cheater's run and the honest one");
    await picture(page, "newcomer-task", { fullPage: true });
    const honest = (await rpc(url, "retrace_task", `0x${id.toString(16)}`)).runs[1];
    assert.equal(honest.solver.toLowerCase(), newcomer.address.toLowerCase());
    assert.equal(await bonded(newcomer.address), before, "the honest solver lost nothing");
    assert.ok((await bonded(cheater)) < 150n * 10n ** 18n, "the cheater lost stake");
    say("the honest solver finished the task and was paid");
    assert.deepEqual(page.wrong, []);
}

const browser = await openBrowser();
const state = { chain: "0x1", known: false, refuse: false };
await openMarket();
const newcomer = await earns(browser);
const posted = await posts(browser, state, newcomer);
await watches(posted, newcomer);
posted.wallet.close();
await browser.close();
console.log("a newcomer earned, posted a task and saw a cheater convicted");
process.exit(0);
