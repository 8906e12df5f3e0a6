// SPDX-License-Identifier: MIT
// A task that nobody audits, of a program that keeps no loss: what page and command line say. Its checkpoints are more than one
// look asks for first.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { compileSmall, folder, go, openBrowser, openPage, passesAxe, rpc, run, start, until } from "./common.mjs";

const kCheckpoints = 240;

/// Programs whose number has another name than the loss, so it is no metric.
function renameTheLoss(task) {
    for (const name of ["program.rtp", "init.rtp"]) {
        const file = path.join(task, name);
        const bytes = fs.readFileSync(file);
        const at = bytes.indexOf("metrics.loss");
        assert.ok(at > 0 && bytes.indexOf("metrics.loss", at + 1) < 0, name);
        bytes.write("<b>mean</b> ", at);
        fs.writeFileSync(file, bytes);
    }
}

/// Segments without an audit, as the ledger has them.
const notDrawn = async (url) => (await rpc(url, "retrace_segments", "0x1", "0x0", "0x0", "0x3e8")).filter(({ segment }) => Number(segment.audit) === 0).length;

/// A node that tells of audits that did not happen, in all that it says.
async function toldAuditsDoNotCount(browser, url, own) {
    const page = await browser.newPage();
    await page.routeWebSocket(/.*/, (socket) => {
        const node = socket.connectToServer();
        node.onMessage((text) => socket.send(String(text).replaceAll('"state":"unaudited"', '"state":"verified"')));
    });
    await page.goto(`${url}/#/task/1`);
    const receipt = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Model and receipt" }) });
    await receipt.locator("input[type=file]").setInputFiles(own);
    await receipt.getByText("unaudited.json agrees with the ledger. NOT AUDITED: no segment was replayed by others.").waitFor({ timeout: 60_000 });
    await page.close();
}

export async function whatNobodyAuditedIsSaid() {
    const node = start("node", "--dev", "--data-dir", path.join(folder, "unaudited-node"), "--rpc-port", "0", "--block-ms", "100", "--json");
    const url = await until(20, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const solver = start("solver", "--node", url, "--dev-account", "5", "--data-dir", path.join(folder, "unaudited-solver"), "--threads", "1",
        "--price", "0.01", "--stake", "2000", "--port", "0");
    await until(30, "the solver", () => solver.err.includes("event=registered"));
    const task = await compileSmall("no audits", "--steps", String(kCheckpoints), "--checkpoint-every", "1");
    renameTheLoss(task);
    await run("task", "submit", task, "--node", url, "--dev-account", "0", "--data-dir", path.join(folder, "unaudited-requester"), "--allow-unaudited");
    const state = async () => (await rpc(url, "retrace_task", "0x1"))?.task.state;
    await until(240, "the delivery", async () => (await state()) === "delivering")
        .catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify(await rpc(url, "retrace_explainTask", "0x1"))}\n${solver.err.slice(-2000)}`); });

    const browser = await openBrowser();
    const page = await openPage(browser, `${url}/`);
    await go(page, "#/task/1", "no audits");
    const panel = (name) => page.locator("section.panel").filter({ has: page.locator("h2", { hasText: name }) });
    const metrics = panel("Loss and metrics");
    await metrics.getByRole("button", { name: "Fetch the metrics" }).click();
    await metrics.getByText("This task's program keeps no loss in its state, so none is committed to: replay it with retrace task fetch --losses.").waitFor({ timeout: 15_000 });
    // Its accuracy is a metric; the other number is fetched when its reader asks, and its name stays a text.
    await metrics.getByText("1 other number of the state").click();
    await metrics.getByLabel("<b>mean</b>").check();
    await until(60, "all points", async () => (await metrics.textContent()).includes(`0 points are verified, ${kCheckpoints} are committed, 0 are disputed`))
        .catch(async (error) => { throw new Error(`${error.message}: ${await metrics.textContent()}`); });
    await until(20, "both curves", async () => (await metrics.locator(".chart").count()) === 2);
    const [file] = await Promise.all([page.waitForEvent("download"), metrics.getByRole("button", { name: "Save them as CSV" }).click()]);
    const table = fs.readFileSync(await file.path(), "utf8").trim().split("\n").map((line) => line.split(","));
    assert.deepEqual(table[0], ["step", "checkpoint", "accuracy", "_b_mean__b_ ", "standing"]);
    assert.deepEqual(table.slice(1).map(([step]) => Number(step)), Array.from({ length: kCheckpoints }, (_, i) => i + 1));
    assert.ok(table.slice(1).every(([, , accuracy, mean, standing]) => accuracy >= 0 && accuracy <= 1 && mean > 0 && standing === "committed"));

    const receipt = panel("Model and receipt");
    const [saved] = await Promise.all([page.waitForEvent("download"), receipt.getByRole("button", { name: "Save receipt.json" }).click()]);
    await receipt.getByText("NOT AUDITED: no segment was replayed by others.").waitFor({ timeout: 15_000 });
    const own = path.join(folder, "unaudited.json");
    fs.copyFileSync(await saved.path(), own);
    await receipt.locator("input[type=file]").setInputFiles(own);
    await receipt.getByText("unaudited.json agrees with the ledger. NOT AUDITED: no segment was replayed by others.").waitFor({ timeout: 30_000 });
    await receipt.getByText(/^Proved by [\d\u202f]+ records in the state of block/).waitFor();
    await receipt.getByText(`0 segments audited, ${await notDrawn(url)} not drawn`).waitFor();
    await passesAxe(page, "a task that nobody audited");
    await toldAuditsDoNotCount(browser, url, own);
    const fetched = await run("task", "fetch", "1", "--node", url, "-o", path.join(folder, "unaudited-model"), "--data-dir", path.join(folder, "unaudited-requester"));
    assert.match(fetched.out, /NOT AUDITED: nobody has checked any segment; the model rests on its solver's word/);
    const checked = await run("receipt", "verify", own, "--node", url);
    assert.match(checked.out, /NOT AUDITED: nobody has checked any segment/);
    assert.deepEqual(page.wrong.filter((one) => one.startsWith("exception")), []);
    assert.equal(await page.locator("main b").count(), 0);
    await browser.close();
    await solver.end("SIGKILL");
    await node.end();
}
