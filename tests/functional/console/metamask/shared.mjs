// SPDX-License-Identifier: MIT
// What the steps share: processes, chains, and what a page and its provider are asked.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { folder, go, rpc, start, until } from "./common.mjs";

export const kCoin = 10n ** 18n;

export async function command(...args) {
    const done = start(...args);
    assert.equal(await done.ended, 0, done.err);
    return done.out.trim();
}

export async function startNode(name, ...more) {
    const node = start("node", "--data-dir", path.join(folder, name), "--rpc-port", "0", "--json", ...more);
    const url = await until(20, "the node's first line", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]).catch((error) => { throw new Error(`${error.message}: ${node.err}`); });
    return { node, url };
}

/// A chain of its own, whose stake is free after a few blocks.
export async function startChain(examples, address, chainId, blockMs) {
    const genesis = JSON.parse(fs.readFileSync(path.join(examples, "genesis.json"), "utf8"));
    genesis.chainId = chainId;
    genesis.timestamp = Math.floor(Date.now() / 1000) - 60;
    genesis.alloc = { [address]: { balance: String(10_000_000n * kCoin) } };
    genesis.contracts.unbond_blocks = 2;
    const file = path.join(folder, `genesis-${chainId}.json`);
    fs.writeFileSync(file, JSON.stringify(genesis));
    return startNode(`chain-${chainId}`, "--genesis", file, "--block-ms", String(blockMs));
}

/// A call of the page's provider; rejects with {code, message, data}.
export async function ask(page, method, ...params) {
    const { result, error } = await page.evaluate((call) => window.ethereum.request(call).then((result) => ({ result }),
        ({ code, message, data }) => ({ error: { code, message, data } })), { method, params });
    if (error) throw Object.assign(new Error(error.message), error);
    return result;
}

export const connectButton = (page) => page.getByRole("button", { name: "Connect MetaMask" });
export const refused = (page) => page.getByText("The wallet refused; nothing was sent.");

export const onPage = (page, address) => go(page, `#/account/${address}`, "Account");
export const party = async (url, address) => (await rpc(url, "retrace_party", address)).stake;
