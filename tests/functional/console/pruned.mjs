// SPDX-License-Identifier: MIT
// A node that erases old blocks: what the page and the command line still tell of a task that was posted in one of them.
import assert from "node:assert/strict";
import path from "node:path";
import { compileSmall, folder, go, openBrowser, openPage, passesAxe, rpc, run, start, until } from "./common.mjs";

export async function aNodeThatForgetsSaysFromWhenOnItKnows() {
    const node = start("node", "--dev", "--data-dir", path.join(folder, "pruned-node"), "--rpc-port", "0", "--block-ms", "100", "--keep-states", "128",
        "--keep-blocks", "200", "--json");
    const url = await until(20, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const task = await compileSmall("small", "--steps", "40", "--checkpoint-every", "10");
    const solver = start("solver", "--node", url, "--dev-account", "5", "--data-dir", path.join(folder, "pruned-solver"), "--threads", "1",
        "--price", "0.5", "--stake", "60", "--port", "0");
    await until(30, "the solver", () => solver.err.includes("event=registered"));
    const requester = ["--node", url, "--dev-account", "0"];
    await run("task", "submit", task, ...requester, "--data-dir", path.join(folder, "pruned-requester"), "--allow-unaudited");
    const state = async () => (await rpc(url, "retrace_task", "0x1"))?.task.state;
    await until(120, "the delivery", async () => (await state()) === "delivering").catch((error) => { throw new Error(`${error.message}\n${solver.err}`); });
    const { runs: [first], task: record } = await rpc(url, "retrace_task", "0x1");
    const oldest = async () => (await rpc(url, "retrace_status")).oldest_block;
    await until(60, "the assignment is erased", async () => (await oldest()) > Number(first.assignedHeight));
    assert.equal(await state(), "delivering");
    // First, because what the acceptance pays is erased after 200 blocks too.
    const browser = await openBrowser();
    const page = await openPage(browser, `${url}/`);
    await go(page, `#/account/${first.solver}`, "Account");
    await page.getByText(/run 0 of .*, all checkpoints are committed/).waitFor({ timeout: 15_000 });
    await run("task", "accept", "1", ...requester);

    // The books go on from what was held before, and say that nothing checks that.
    const statement = await run("task", "statement", "1", "--node", url, "--json");
    const books = JSON.parse(statement.out);
    assert.equal(books.whole, false);
    assert.ok(books.from > Number(record.postedHeight), statement.out);
    assert.ok(BigInt(books.brought_forward) > 0n, statement.out);
    assert.equal(BigInt(books.brought_forward) + BigInt(books.paid_in), BigInt(books.paid_out) + BigInt(books.held));
    assert.ok(books.lines.some(({ kind }) => kind === "segments"), statement.out);
    assert.match(statement.err, /the node keeps no block before \d+/);
    const history = await run("wallet", "history", first.solver, "--node", url, "--blocks", "100000", "--csv");
    assert.match(history.out, /,segments,/);
    assert.match(history.err, /the node keeps no block before \d+/);
    const whole = await run("wallet", "history", first.solver, "--node", url, "--blocks", "10", "--csv");
    assert.equal(whole.err, "");

    await go(page, "#/", "Network");
    const panel = (name) => page.locator("section.panel").filter({ has: page.locator("h2", { hasText: name }) });
    await panel("Price of work").getByText(/No task was assigned from block \d/).waitFor({ timeout: 15_000 });
    await panel("Solvers").locator(`a[title="${first.solver}"]`).waitFor({ timeout: 15_000 });
    assert.equal(await page.locator("p.error").count(), 0, await page.locator("main").innerText());
    await go(page, "#/task/1", "small");
    await panel("Money").getByText(/What moved before block .* is not known: this node keeps no older blocks/).waitFor({ timeout: 15_000 });
    await panel("Money").getByText("4 segments of run 0").waitFor();
    await panel("Events").getByText(/This node keeps no blocks before/).waitFor();
    await panel("Events").getByText("is settled").waitFor();
    assert.equal(await panel("Money").getByText("Nothing was paid yet").count(), 0);
    await passesAxe(page, "a task of a node that forgets");
    await go(page, `#/account/${first.solver}`, "Account");
    await panel("Newest events").getByText(/from block .* on: this node keeps no older ones/).waitFor({ timeout: 15_000 });
    await panel("Income").getByText("4 segments").first().waitFor({ timeout: 15_000 });
    assert.deepEqual(page.wrong, []);
    await browser.close();
    await solver.end("SIGKILL");
    await node.end();
}
