// SPDX-License-Identifier: MIT
// A model that two solvers have trained, one after the other: its receipt is made and checked in the page, by proofs.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { compileSmall, folder, go, openBrowser, openPage, passesAxe, rpc, run, start, until } from "./common.mjs";

export async function aModelOfSeveralRunsHasAReceipt() {
    const node = start("node", "--dev", "--data-dir", path.join(folder, "runs-node"), "--rpc-port", "0", "--block-ms", "100", "--json");
    const url = await until(20, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const solverOf = (account) => start("solver", "--node", url, "--dev-account", String(account), "--data-dir", path.join(folder, `runs-solver-${account}`), "--threads", "1",
        "--price", "0.01", "--stake", "2000", "--port", "0");
    const verifier = start("verifier", "--node", url, "--dev-account", "6", "--data-dir", path.join(folder, "runs-verifier"), "--threads", "1", "--stake", "200", "--port", "0");
    const first = solverOf(5);
    for (const agent of [verifier, first]) await until(60, "the agent", () => agent.err.includes("event=registered"));
    const task = await compileSmall("two solvers", "--steps", "60", "--checkpoint-every", "2", "--spot", "--auditors", "1", "--audit-percent", "20");
    const terms = path.join(task, "task.toml");
    fs.writeFileSync(terms, fs.readFileSync(terms, "utf8").replace("replay_blocks = 300", "replay_blocks = 50"));
    const requester = ["--node", url, "--data-dir", path.join(folder, "runs-requester")];
    await run("task", "submit", task, ...requester, "--dev-account", "0", "--auctions", "16");
    const told = () => rpc(url, "retrace_task", "0x1");
    await until(60, "some checkpoints", async () => Number((await told())?.runs[0]?.nextState ?? 0) > 2);
    first.child.kill("SIGTERM"); // it gives its run back at the next checkpoint
    const second = solverOf(4);
    assert.equal(await first.ended, 0, first.err);
    await until(240, "the delivery", async () => (await told()).task.state === "delivering").catch((error) => { throw new Error(`${error.message}\n${second.err.slice(-2000)}`); });
    const { runs } = await told();
    assert.equal(runs.length, 2);
    assert.ok(Number(runs[1].firstState) > 0, "the second went on from a state of the first");
    const out = path.join(folder, "runs-model");
    await run("task", "fetch", "1", "-o", out, ...requester);

    const browser = await openBrowser();
    const page = await openPage(browser, `${url}/`);
    await go(page, "#/task/1", "two solvers");
    // What the first run made is not shown as work of the second that waits for its draw.
    const strip = page.locator(".run").first().locator(".strip");
    await until(15, "the segments before", async () => (await strip.locator(".before").count()) === Number(runs[1].firstState));
    assert.match(await strip.getAttribute("aria-label"), new RegExp(`^Segments of run 1: ${Number(runs[1].firstState)} before, `));
    const panel = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Model and receipt" }) });
    const check = (file) => panel.locator("input[type=file]").setInputFiles(file);
    const own = path.join(out, "receipt.json");
    await check(own);
    await panel.getByText("receipt.json agrees with the ledger.").waitFor({ timeout: 60_000 });
    await panel.getByText("the model comes from runs 0, 1, each from the state where the one before ended").waitFor();
    const said = JSON.parse((await run("receipt", "verify", own, "--node", url, "--json")).out);
    assert.match((await panel.textContent()).replace(/\u202f/g, ""), new RegExp(`${said.verified_segments} segments? audited, ${said.not_drawn_segments} not drawn, ${said.unaudited_segments} drawn and`));
    const [saved] = await Promise.all([page.waitForEvent("download"), panel.getByRole("button", { name: "Save receipt.json" }).click()]);
    const text = fs.readFileSync(own, "utf8");
    const heightless = (json) => ({ ...json, settled_height: 0, audits: json.audits.map((one) => ({ ...one, height: 0 })) });
    assert.deepEqual(heightless(JSON.parse(fs.readFileSync(await saved.path(), "utf8"))), heightless(JSON.parse(text)));
    // A state of the first run that it does not have.
    const changed = path.join(folder, "runs-changed.json");
    fs.writeFileSync(changed, text.replace(/("index":2,"height":\d+,"root":"0x)(.)/, (_, before, digit) => before + (digit === "0" ? "1" : "0")));
    await check(changed);
    await panel.getByText("the root or height of state 2 is not the ledger's").waitFor({ timeout: 60_000 });
    await passesAxe(page, "a receipt of several runs");
    assert.deepEqual(page.wrong, []);
    await browser.close();
    await second.end("SIGKILL");
    await verifier.end("SIGKILL");
    await node.end();
}
