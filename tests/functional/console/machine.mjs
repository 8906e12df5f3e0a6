// SPDX-License-Identifier: MIT
// The page of a solver that trains and earns, on a developer's chain of its own.
import assert from "node:assert/strict";
import path from "node:path";
import { fitsWidth, folder, openBrowser, openPage, passesAxe, picture, rpc, run, start, until } from "./common.mjs";

const data = "/usr/share/datasets/fashion-mnist";

export async function anAgentShowsItselfToItsOperator() {
    const node = start("node", "--dev", "--data-dir", path.join(folder, "machine-node"), "--rpc-port", "0", "--block-ms", "100", "--json");
    const url = await until(20, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const task = path.join(folder, "machine-task");
    await run("task", "compile", "mlp", "--data", data, "-o", task, "--hidden", "16", "--batch", "16", "--steps", "120",
        "--checkpoint-every", "10", "--price-ceiling", "1");
    const solver = start("solver", "--node", url, "--dev-account", "5", "--data-dir", path.join(folder, "machine-solver"), "--threads", "1",
        "--min-price", "0.1", "--stake", "60", "--console-port", "0");
    const link = await until(30, "the link", () => /its own page, for you alone: (http:\S+)/.exec(solver.out)?.[1]);
    const own = new URL(link).origin;
    const requester = ["--node", url, "--dev-account", "0", "--data-dir", path.join(folder, "machine-requester")];
    await until(30, "the solver", () => solver.err.includes("event=registered"));
    await run("task", "submit", task, ...requester, "--allow-unaudited");
    await until(60, "a bid that wins", () => /event=checkpoint task=1/.test(solver.err)).catch((error) => {
        throw new Error(`${error.message}\n${solver.err}`);
    });

    const browser = await openBrowser();
    const page = await openPage(browser, link);
    await page.getByText("this machine as a solver").waitFor();
    assert.equal(page.url(), `${own}/`, "the token is out of the address bar");
    assert.ok(!page.wrong.some((one) => one.includes("other origin")), page.wrong.join());
    const panelOf = (at, name) => at.locator("section.panel").filter({ has: at.locator("h2", { hasText: name }) });
    const panel = (name) => panelOf(page, name);
    await panel("Now and next").getByText(/checkpoint \d+ of 12|all states up to 12|accept the data/).first().waitFor({ timeout: 30_000 });
    await panel("Log").getByText(/event=checkpoint task=1/).waitFor({ timeout: 30_000 });
    await panel("Choices").waitFor();
    await panel("Self-test").getByRole("button").click();
    await panel("Self-test").getByText("disk speed").waitFor({ timeout: 60_000 });
    assert.ok((await panel("Self-test").locator(".why").first().textContent()).length > 0, "why a check is made is a text");
    await panel("Self-test").getByRole("button").click();
    await panel("Self-test").getByText("wait a minute").waitFor();

    await until(120, "the delivery", async () => (await rpc(url, "retrace_task", "0x1"))?.task.state === "delivering");
    await run("task", "accept", "1", "--node", url, "--dev-account", "0");
    await panel("Earnings").getByText("coins for 12 segments").waitFor({ timeout: 30_000 });
    await panel("Earnings").locator("td", { hasText: "task 1" }).waitFor();
    await page.reload();
    await panel("Earnings").getByText("coins for 12 segments").waitFor({ timeout: 15_000 });
    await passesAxe(page, "an agent's page");
    await picture(page, "machine", { clip: { x: 0, y: 0, width: 1280, height: 860 } });

    // Time that is reserved is on the network's page and on that of its solver.
    assert.equal(await panel("Reserved time").count(), 0);
    const from = Number(await rpc(url, "eth_blockNumber")) + 5000;
    const account = await page.locator("a.mono").first().innerText();
    await run("reservation", "offer", task, ...requester, "--solver", account, "--price", "0.5", "--deposit", "1", "--from", String(from), "--until", String(from + 500));
    const network = await openPage(browser, `${url}/`);
    await panelOf(network, "Reserved time").locator("td", { hasText: "offered" }).waitFor({ timeout: 15_000 });
    await run("reservation", "accept", "1", "--node", url, "--dev-account", "5");
    await panelOf(network, "Reserved time").locator("td", { hasText: "accepted" }).waitFor({ timeout: 15_000 });
    await passesAxe(network, "the network with reserved time");
    assert.deepEqual(network.wrong, []);
    await network.close();
    await panel("Reserved time").locator(`span[title^="block ${from}"]`).waitFor({ timeout: 15_000 });
    await passesAxe(page, "an agent's page with reserved time");
    await page.emulateMedia({ colorScheme: "dark" });
    await passesAxe(page, "an agent's page, dark");
    await page.setViewportSize({ width: 360, height: 740 });
    await fitsWidth(page, "an agent's page on a phone");

    // Nobody without the token, which a new tab lacks.
    const other = await openPage(browser, `${own}/`);
    await other.getByText("the token is missing or wrong").waitFor();
    await other.close();

    await page.getByRole("button", { name: "Drain and end the agent" }).click();
    await page.getByRole("button", { name: "Go on" }).click();
    assert.equal(solver.child.exitCode, null);
    await page.getByRole("button", { name: "Drain and end the agent" }).click();
    await passesAxe(page, "an agent's page that asks");
    await page.getByRole("button", { name: "Drain", exact: true }).click();
    assert.equal(await solver.ended, 0, solver.err);
    assert.match(solver.err, /event=drained runs=0/);
    await page.getByText("The agent does not answer").waitFor({ timeout: 15_000 });
    assert.ok(!(solver.err + node.err).includes(link.split("#")[1]), "no log has the token");
    assert.deepEqual(page.wrong.filter((one) => !/429|Failed to load/.test(one)), []);
    await browser.close();
    await node.end();
}
