// SPDX-License-Identifier: MIT
// With MetaMask on a developer chain: connect, stake, buy a training, sign.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { folder, go, rpc, start, until } from "./common.mjs";
import { ask, command, connectButton, kCoin, onPage, party, refused } from "./shared.mjs";

const registered = (agent) => until(60, "a registration", () => /event=registered/.test(agent.out + agent.err)).then(() => agent);

export const startSolver = (url) => registered(start("solver", "--dev-account", "1", "--node", url, "--data-dir", path.join(folder, "solver"), "--price", "0.5", "--stake", "400"));

export const startVerifiers = (url) => Promise.all(["4", "5"].map((account) =>
    registered(start("verifier", "--dev-account", account, "--node", url, "--data-dir", path.join(folder, `verifier-${account}`)))));

/// A task of a new program, in the folder that the page is given.
export async function compile() {
    const csv = path.join(folder, "points.csv");
    const rows = Array.from({ length: 512 }, (_, i) => [(i * 37) % 101, (i * 53) % 97].map((x) => x / 100)).map(([x, y]) => `${x},${y},${x + y > 1 ? 1 : 0}`);
    fs.writeFileSync(csv, `x,y,label\n${rows.join("\n")}\n`);
    const task = path.join(folder, "task");
    await command("task", "compile", "mlp", "--data", csv, "-o", task, "--hidden", "8", "--batch", "32", "--steps", "20", "--checkpoint-every", "10",
        "--price-ceiling", "1", "--name", "posted by MetaMask");
    const terms = path.join(task, "task.toml");
    fs.writeFileSync(terms, fs.readFileSync(terms, "utf8").replace("replay_blocks = 300", "replay_blocks = 60"));
    return task;
}

export async function connectsAndAddsTheChain({ page, wallet, person, url }) {
    person.refuse = true;
    await connectButton(page).click();
    await refused(page).waitFor();
    person.refuse = false;
    assert.equal(wallet.network.getSelectedChainId(), "0x1");
    await connectButton(page).click();
    await page.locator(".wallet a").waitFor();
    assert.equal(Number(wallet.network.getSelectedChainId()), 7298);
    assert.deepEqual(person.asked.map(({ type }) => type), ["wallet_requestPermissions", "wallet_requestPermissions", "wallet_addEthereumChain"]);
    const { rpcEndpoints } = wallet.network.getNetworkConfigurationByChainId("0x1c82");
    assert.deepEqual(rpcEndpoints.map((one) => one.url), [url]);
    assert.equal(await wallet.network.getEIP1559Compatibility(), true);
}

export async function stakes({ page, wallet, person, url }) {
    await onPage(page, wallet.address);
    await page.getByLabel("coins").fill("2.5");
    await page.getByRole("button", { name: "Stake", exact: true }).click();
    await page.getByText("Staked:").waitFor({ timeout: 20_000 });
    assert.equal(BigInt((await party(url, wallet.address)).bonded), (5n * kCoin) / 2n);
    const [sent] = wallet.transactions.state.transactions;
    await until(10, "MetaMask's own view", () => wallet.transactions.state.transactions[0].status === "confirmed");
    assert.equal(sent.type, "contractInteraction");
    assert.equal(sent.simulationFails, undefined);
    assert.equal(sent.txParams.type, "0x2");
    // Fees by EIP-1559, out of the node's fee history, as nobody tells MetaMask of prices elsewhere.
    const { baseFeePerGas } = await rpc(url, "eth_getBlockByNumber", "latest", false);
    assert.ok(BigInt(sent.txParams.maxFeePerGas) >= BigInt(baseFeePerGas), sent.txParams.maxFeePerGas);
    const asked = person.asked.length;
    await page.getByLabel("coins").fill("1000");
    await page.getByRole("button", { name: "Begin to unbond" }).click();
    await page.getByText("A rule refuses this").waitFor();
    assert.equal(person.asked.length, asked, "MetaMask is not asked about a call that a rule refuses");
}

export async function postsATaskAndAcceptsIt({ page, person, url }) {
    await go(page, "#/post/", "Post a task");
    const panel = page.locator("section[aria-labelledby=p-a-new-program]");
    await panel.locator("input[type=file]").setInputFiles(await compile());
    const send = panel.getByRole("button", { name: "Post the task" });
    await send.waitFor({ timeout: 30_000 });
    person.refuse = true;
    await send.click();
    await refused(panel).waitFor();
    person.refuse = false;
    await send.click();
    await panel.getByText("The node has all files of").waitFor({ timeout: 30_000 });
    const [{ id, name }] = (await rpc(url, "retrace_tasks")).items;
    assert.equal(name, "posted by MetaMask");
    await until(120, "the delivery", async () => (await rpc(url, "retrace_task", id)).task.state === "delivering")
        .catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify(await rpc(url, "retrace_explainTask", id))}`); });
    await go(page, `#/task/${Number(id)}`, name);
    await page.getByRole("button", { name: "Accept the model and pay" }).click();
    await page.getByText("Accepted:").waitFor({ timeout: 20_000 });
    assert.equal((await rpc(url, "retrace_task", id)).task.state, "settled");
}

export async function signs({ page, wallet, person }) {
    const text = "Retrace: Grüße";
    const message = `0x${Buffer.from(text).toString("hex")}`;
    person.refuse = true;
    await assert.rejects(ask(page, "personal_sign", message, wallet.address), { code: 4001 });
    person.refuse = false;
    const signature = await ask(page, "personal_sign", message, wallet.address);
    assert.equal(await command("wallet", "verify", "--address", wallet.address, "--signature", signature, text), "valid");
    const field = (name, type) => ({ name, type });
    const typed = { types: { EIP712Domain: [field("name", "string"), field("chainId", "uint256")], Offer: [field("price", "uint256"), field("to", "address")] },
        primaryType: "Offer", domain: { name: "Retrace", chainId: 7298 }, message: { price: "7", to: wallet.address } };
    const file = path.join(folder, "typed.json");
    fs.writeFileSync(file, JSON.stringify(typed));
    const other = await ask(page, "eth_signTypedData_v4", wallet.address, JSON.stringify(typed));
    assert.equal(await command("wallet", "verify", "--address", wallet.address, "--signature", other, "--typed", file), "valid");
}
