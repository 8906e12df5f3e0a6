// SPDX-License-Identifier: MIT
// Accounts and tasks whose events are older than what is read at once, and lists that are longer than what can be seen.
import assert from "node:assert/strict";
import path from "node:path";
import { ethers } from "ethers";
import { phrase } from "./wallet.mjs";
import { compileSmall, fitsWidth, folder, go, openBrowser, openPage, passesAxe, rpc, run, start, until } from "./common.mjs";

const kAtOnce = 100; // Blocks of which the page is told.

export async function anAccountsOlderEventsAreReadWhenAsked() {
    const node = start("node", "--dev", "--data-dir", path.join(folder, "older-node"), "--rpc-port", "0", "--block-ms", "20", "--json");
    const url = await until(20, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    await run("stake", "deposit", "3", "--node", url, "--dev-account", "5");
    const { address } = JSON.parse((await run("wallet", "balance", "--node", url, "--dev-account", "5", "--json")).out);
    const height = async () => Number(await rpc(url, "eth_blockNumber"));
    const began = await height();
    await until(120, "a few hundred blocks", async () => (await height()) > began + 4 * kAtOnce);

    const browser = await openBrowser();
    // The node itself answers; what it would tell of more blocks is refused with its words for too many events.
    await browser.routeWebSocket(/^ws:/, (page) => {
        const server = page.connectToServer();
        page.onMessage((text) => {
            const { id, method, params } = JSON.parse(String(text));
            const range = method === "eth_getLogs" ? Number(params[0].toBlock) - Number(params[0].fromBlock) : 0;
            if (range < kAtOnce) server.send(text);
            else page.send(JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32000, message: "query returned more than 10000 results" } }));
        });
    });
    const page = await openPage(browser, `${url}/`);
    await go(page, `#/account/${address}`, "Account");
    const panel = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Newest events" }) });
    await panel.getByText("None.").waitFor({ timeout: 15_000 });
    const first = async () => Number(/from block (\d+) on/.exec((await panel.innerText()).replaceAll(/(\d)\D(?=\d{3})/g, "$1"))?.[1]);
    const button = panel.getByRole("button", { name: /older blocks/ });
    await passesAxe(page, "an account with older events");
    let pages = 0;
    for (let from = await first(); (await button.count()) > 0; pages++) {
        assert.ok(pages < 50, `still at block ${from}`);
        await button.click();
        const before = from;
        from = await until(15, "an older page", async () => ((await first()) < before ? await first() : undefined));
    }
    assert.ok(pages > 2, `${pages} pages`);
    assert.ok((await first()) <= 1, await panel.innerText());
    await panel.getByText("StakeChanged").waitFor({ timeout: 15_000 });
    assert.deepEqual(page.wrong, []);
    await browser.close();
    await node.end();
}

/// A task whose events lie more than a million blocks back: the node answers itself, and says that so many blocks were made since.
export async function aTasksOlderEventsAreReadWhenAsked() {
    const kSince = 2_345_000;
    const node = start("node", "--dev", "--data-dir", path.join(folder, "older-task-node"), "--rpc-port", "0", "--block-ms", "100", "--json");
    const url = await until(20, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const task = await compileSmall("long ago");
    await run("task", "submit", task, "--node", url, "--dev-account", "0", "--data-dir", path.join(folder, "older-requester"), "--allow-unaudited");
    await run("task", "cancel", "1", "--node", url, "--dev-account", "0");
    const tip = Number(await rpc(url, "eth_blockNumber"));
    const { postedHeight } = (await rpc(url, "retrace_task", "0x1")).task;

    const browser = await openBrowser();
    await browser.routeWebSocket(/^ws:/, (page) => {
        const server = page.connectToServer();
        page.onMessage((text) => {
            const call = JSON.parse(String(text));
            const answer = (result) => page.send(JSON.stringify({ jsonrpc: "2.0", id: call.id, result }));
            if (call.method === "eth_blockNumber") return answer(`0x${(tip + kSince).toString(16)}`);
            if (call.method !== "retrace_taskEvents") return server.send(text);
            const [id, from, to] = call.params;
            if (Number(to) - Number(from) >= 10_000) throw new Error("the page asks for more blocks than a node answers");
            if (Number(from) > tip) return answer([]);
            return server.send(JSON.stringify({ ...call, params: [id, from, `0x${Math.min(tip, Number(to)).toString(16)}`] }));
        });
    });
    const page = await openPage(browser, `${url}/`);
    await go(page, "#/task/1", "long ago");
    const panel = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Events" }) });
    const first = async () => Number(/before block (\d+) is not read yet/.exec((await panel.innerText()).replaceAll(/(\d)\D(?=\d{3})/g, "$1"))?.[1]);
    const button = panel.getByRole("button", { name: /older blocks/ });
    await until(30, "the newest million blocks", async () => (await first()) === tip + kSince - 999_999);
    await passesAxe(page, "a task with older events");
    await button.click();
    await until(60, "another million", async () => (await first()) === tip + kSince - 1_999_999);
    assert.equal(await panel.getByText(/posted by/).count(), 0);
    await button.click();
    await panel.getByText(/posted by/).waitFor({ timeout: 60_000 });
    await panel.getByText("is cancelled").waitFor();
    await until(30, "all is read", async () => (await button.count()) === 0);
    assert.equal(await panel.getByText("is not read yet").count(), 0);
    assert.ok(Number(postedHeight) > 0);
    assert.deepEqual(page.wrong, []);
    await browser.close();
    await node.end();
}

/// A list of any length is a table of which only the rows that can be seen are elements: a block of many transactions, and the
/// events of the account that sent them.
export async function longListsAreWindowed() {
    const kMany = 240;
    const node = start("node", "--dev", "--data-dir", path.join(folder, "long-node"), "--rpc-port", "0", "--block-ms", "4000", "--json");
    const url = await until(20, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const provider = new ethers.JsonRpcProvider(url);
    const wallet = ethers.HDNodeWallet.fromPhrase(phrase, "", "m/44'/60'/0'/0/6").connect(provider);
    const { chainId } = await provider.getNetwork();
    const staking = (await rpc(url, "retrace_contracts")).find(({ name }) => name === "IStaking");
    const data = new ethers.Interface(staking.abi).encodeFunctionData("deposit");
    const fields = { to: staking.address, data, value: 1n, gasLimit: 200_000n, maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 0n, type: 2, chainId };
    for (let nonce = 0; nonce < kMany; nonce++) await rpc(url, "eth_sendRawTransaction", await wallet.signTransaction({ ...fields, nonce }));
    await until(60, "all are in blocks", async () => Number(await rpc(url, "eth_getTransactionCount", wallet.address, "latest")) === kMany);
    const tip = Number(await rpc(url, "eth_blockNumber"));
    const blocks = await Promise.all(Array.from({ length: tip }, (_, i) => rpc(url, "eth_getBlockByNumber", `0x${(i + 1).toString(16)}`, false)));
    const block = blocks.reduce((a, b) => (b.transactions.length > a.transactions.length ? b : a));
    assert.ok(block.transactions.length > 100, `${block.transactions.length} transactions`);

    const browser = await openBrowser();
    const page = await openPage(browser, `${url}/`);
    const isWindowed = async (label, rows, last) => {
        const table = page.getByRole("group", { name: label });
        await table.locator("tbody tr td").first().waitFor({ timeout: 15_000 });
        await until(15, `${rows} rows`, async () => (await table.locator("table").getAttribute("aria-rowcount")) === String(rows + 1));
        const shown = await table.locator("tbody tr[aria-rowindex]").count();
        assert.ok(shown < rows / 2 && shown >= 20, `${shown} of ${rows} rows are elements`);
        assert.equal(await table.getByText(last).count(), 0);
        await table.evaluate((element) => { element.scrollTop = element.scrollHeight; });
        await table.getByText(last).waitFor({ timeout: 10_000 });
        assert.ok((await table.locator("tbody tr[aria-rowindex]").count()) < rows / 2);
        await passesAxe(page, label);
        await page.setViewportSize({ width: 360, height: 740 });
        await fitsWidth(page, `${label} on a phone`);
        await page.setViewportSize({ width: 1280, height: 900 });
    };
    const short = (hash) => `${hash.slice(0, 10)}…${hash.slice(-4)}`;
    await go(page, `#/block/${Number(block.number)}`, "Block");
    await isWindowed("Transactions", block.transactions.length, short(block.transactions[block.transactions.length - 1]));
    await go(page, `#/account/${wallet.address}`, "Account");
    const oldest = blocks.find(({ transactions }) => transactions.length > 0);
    await isWindowed("Newest events", kMany, short(oldest.transactions[0]));
    assert.deepEqual(page.wrong, []);
    provider.destroy();
    await browser.close();
    await node.end();
}
