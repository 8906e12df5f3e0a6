// SPDX-License-Identifier: MIT
// An account whose events are older than a node tells at once.
import assert from "node:assert/strict";
import path from "node:path";
import { folder, go, openBrowser, openPage, passesAxe, rpc, run, start, until } from "./common.mjs";

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
