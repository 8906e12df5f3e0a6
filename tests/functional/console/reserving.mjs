// SPDX-License-Identifier: MIT
// A requester asks a solver for its time in the browser, the solver accepts there, and the task begins and runs.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { addWallet } from "./wallet.mjs";
import { fitsWidth, folder, go, openBrowser, openPage, passesAxe, rpc, run, start, until, writeTable } from "./common.mjs";

const kSolver = 3;

async function compile() {
    const csv = path.join(folder, "reserved.csv");
    writeTable(csv);
    const out = path.join(folder, "reserved-task");
    await run("task", "compile", "mlp", "--data", csv, "-o", out, "--hidden", "16", "--batch", "16", "--steps", "40", "--checkpoint-every", "20",
        "--price-ceiling", "1", "--audit-percent", "100", "--allow-unaudited", "--name", "reserved");
    const terms = path.join(out, "task.toml");
    fs.writeFileSync(terms, fs.readFileSync(terms, "utf8").replace("replay_blocks = 300", "replay_blocks = 50"));
    return out;
}

async function connected(url, account) {
    const browser = await openBrowser();
    const wallet = await addWallet(browser, url, account, { chain: "0x1", known: false, refuse: false });
    const page = await openPage(browser, `${url}/`);
    await page.getByRole("button", { name: "Connect Test <b>wallet</b>" }).click();
    await page.locator(".wallet a").waitFor();
    return { browser, wallet, page };
}

const height = async (url) => Number(await rpc(url, "eth_blockNumber"));
const reservation = async (url, id) => (await rpc(url, "retrace_explainReservation", `0x${id.toString(16)}`)).reservation;

/// Offers through the form; returns the number of the reservation.
async function offers(page, fields) {
    const form = page.locator("details");
    for (const [label, value] of Object.entries(fields)) await form.getByLabel(label, { exact: true }).fill(value);
    await form.getByRole("button", { name: "Offer the deposit" }).click();
    const link = form.locator("a", { hasText: /^reservation \d+$/ });
    await link.waitFor({ timeout: 30_000 });
    return Number(/\d+/.exec(await link.innerText())[0]);
}

async function refusesWhatIsWrong(page, right) {
    const form = page.locator("details");
    const offer = form.getByRole("button", { name: "Offer the deposit" });
    for (const [label, value] of Object.entries(right)) await form.getByLabel(label, { exact: true }).fill(value);
    for (const [label, wrong, sentence] of [["solver's address", "somebody", "has 0x and 40 hex digits"], ["coins a segment", "7", "at most 1"],
        ["and before block", "1", "the second above the first"], ["deposit, coins", "0", "a number of coins above zero and at most"],
        ["deposit, coins", "100000", "the stake that the solver locks"], ["may begin from block", "1", /A rule refuses this: .* \(too_late, rule \d+\)/],
        ["solver's address", `0x${"9".repeat(40)}`, /A rule refuses this: .* \(not_registered, rule \d+\)/]]) {
        await form.getByLabel(label, { exact: true }).fill(wrong);
        await offer.click();
        await form.locator(".error", { hasText: sentence }).waitFor({ timeout: 15_000 }).catch(async (error) => {
            throw new Error(`${error.message}\n${await form.textContent()}`);
        });
        await form.getByLabel(label, { exact: true }).fill(right[label]);
    }
}

export async function aSolversTimeIsReserved() {
    const node = start("node", "--dev", "--data-dir", path.join(folder, "reserved-node"), "--rpc-port", "0", "--block-ms", "200", "--json");
    const url = await until(30, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const solver = start("solver", "--node", url, "--dev-account", String(kSolver), "--data-dir", path.join(folder, "reserved-solver"), "--port", "0", "--threads", "1",
        "--price", "0.5", "--stake", "200");
    const compiled = await compile();
    await until(60, "the solver", () => solver.err.includes("event=registered")).catch((error) => { throw new Error(`${error.message}: ${solver.err}`); });

    const theirs = await connected(url, kSolver);
    const ours = await connected(url, 8);
    const { page } = ours;
    await go(page, "#/post/", "Post a task");
    await page.locator("section[aria-labelledby=p-a-new-program] input[type=file]").setInputFiles(compiled);
    await page.getByText("Ask one solver to keep its time for it").click({ timeout: 30_000 });
    const from = (await height(url)) + 2000;
    const fields = { "solver's address": theirs.wallet.address, "coins a segment": "0.75", "may begin from block": String(from),
        "and before block": String(from + 3000), "deposit, coins": "2" };
    await refusesWhatIsWrong(page, fields);
    await passesAxe(page, "offering a reservation");

    // One is taken back.
    const first = await offers(page, fields);
    await go(page, `#/reservation/${first}`, `Reservation ${first}`);
    await page.getByText("it waits for the solver to accept it").waitFor();
    await page.getByRole("button", { name: "Take the offer back" }).click();
    await page.locator("h1 .state", { hasText: "withdrawn" }).waitFor({ timeout: 20_000 });
    assert.equal((await reservation(url, first)).state, "withdrawn");

    // One is accepted by the solver, in its own browser.
    await go(page, "#/post/", "Post a task");
    await page.locator("section[aria-labelledby=p-a-new-program] input[type=file]").setInputFiles(compiled);
    await page.getByText("Ask one solver to keep its time for it").click({ timeout: 30_000 });
    const later = (await height(url)) + 500;
    const id = await offers(page, { ...fields, "may begin from block": String(later), "and before block": String(later + 3000) });
    await go(theirs.page, `#/account/${theirs.wallet.address}`, "Account");
    await theirs.page.getByRole("group", { name: "Reservations" }).getByRole("link", { name: String(id), exact: true }).click();
    // All that the stake would stand for is beside the button.
    await theirs.page.getByRole("button", { name: "Accept and keep my time" }).waitFor();
    await theirs.page.getByText(/The ledger (measured|has not measured)/).waitFor({ timeout: 15_000 });
    const promised = (await theirs.page.locator("section[aria-labelledby=p-why]").textContent()).replaceAll("\u202f", "");
    const { spec } = await rpc(url, "retrace_explainReservation", `0x${id.toString(16)}`);
    for (const shown of [spec.programRoot, spec.initRoot, spec.contractHash, ...spec.dataRoots, `${Number(spec.stepCost)} multiply-adds each`, "needs at least",
        `due within${Number(spec.checkpointBlocks)} blocks`, `given${Number(spec.replayBlocks)} blocks`, `within${Number(spec.finishBlocks)} blocks`, "audited100 %"])
        assert.ok(promised.includes(shown), `${shown}: ${promised}`);
    await passesAxe(theirs.page, "a reservation that its solver may accept");
    await theirs.page.getByRole("button", { name: "Accept and keep my time" }).click();
    await theirs.page.locator("h1 .state", { hasText: "accepted" }).waitFor({ timeout: 20_000 });
    const { locked } = await reservation(url, id);
    assert.ok(BigInt(locked) > 0n, "its stake is locked");

    await go(page, `#/reservation/${id}`, `Reservation ${id}`);
    const begin = page.getByRole("button", { name: "Begin the task" });
    await begin.click();
    await page.getByText(/A rule refuses this: .* \(too_early, rule \d+\)/).waitFor({ timeout: 15_000 });
    await passesAxe(page, "a reservation");
    await page.setViewportSize({ width: 360, height: 740 });
    await fitsWidth(page, "a reservation on a phone");
    await page.setViewportSize({ width: 1280, height: 900 });
    await until(300, "its time", async () => (await height(url)) >= later);
    await begin.click();
    await page.getByRole("link", { name: /Upload the files of task \d+/ }).click({ timeout: 30_000 });
    await page.locator("main input[type=file]").setInputFiles(compiled);
    await page.getByText("The node has all files of").waitFor({ timeout: 60_000 });
    await go(page, `#/reservation/${id}`, `Reservation ${id}`);
    await page.locator("h1 .state", { hasText: "honoured" }).waitFor({ timeout: 120_000 });
    const { runs } = await rpc(url, "retrace_task", (await reservation(url, id)).task);
    assert.equal(runs[0].solver.toLowerCase(), theirs.wallet.address);
    assert.equal(BigInt(runs[0].price), 75n * 10n ** 16n);
    for (const { browser, wallet } of [ours, theirs]) {
        wallet.close();
        await browser.close();
    }
    assert.deepEqual([...page.wrong, ...theirs.page.wrong], []);
    await Promise.all([solver.end("SIGKILL"), node.end("SIGKILL")]);
}
