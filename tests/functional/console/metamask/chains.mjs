// SPDX-License-Identifier: MIT
// Refusals of the node as MetaMask passes them on, other chains, and transactions that MetaMask replaces.
import assert from "node:assert/strict";
import { openPage, rpc, until } from "./common.mjs";
import { ask, connectButton, kCoin, onPage, party, startChain } from "./shared.mjs";

/// MetaMask's estimate of a call that a rule refuses fails; who sends it all the same sees it fail.
export async function passesOnRefusals({ page, wallet, person, url }) {
    const { address: to } = (await rpc(url, "retrace_contracts")).find(({ name }) => name === "IStaking");
    const data = "0x3ccfd60b"; // withdraw()
    let shown;
    person.look = ({ id }) => void (shown = wallet.transactions.state.transactions.find((one) => one.id === id).simulationFails);
    const hash = await ask(page, "eth_sendTransaction", { from: wallet.address, to, data });
    person.look = undefined;
    assert.equal(shown.reason, "Internal JSON-RPC error.");
    await until(20, "the failure", () => wallet.transactions.state.transactions.find((one) => one.hash === hash && one.status === "failed"));
    assert.equal((await rpc(url, "eth_getTransactionReceipt", hash)).status, "0x0");
    assert.equal((await rpc(url, "retrace_explainTransaction", hash)).refusal.slug, "nothing_unbonded");
    for (const method of ["eth_call", "eth_estimateGas"])
        await assert.rejects(ask(page, method, { from: wallet.address, to, data }), ({ data: given }) => given.code === 3 && /^execution reverted: nothing_unbonded: /.test(given.message));

    // Of a fee that the node refuses MetaMask does not tell the reason; the console says what can be done.
    const fee = "0x1";
    person.look = ({ id }) => void wallet.transactions.updateTransactionGasFees(id, { maxFeePerGas: fee, maxPriorityFeePerGas: fee });
    await onPage(page, wallet.address);
    await page.getByLabel("coins").fill("1");
    await page.getByRole("button", { name: "Stake", exact: true }).click();
    await page.locator("main .error").getByText("take the fees and the gas that the wallet proposes").waitFor();
    person.look = undefined;
}

/// A chain with the same number and another first block is noticed; MetaMask takes this node's address beside the other's.
export async function noticesATwin({ browser, wallet, page, url, examples }) {
    const twin = await startChain(examples, wallet.address, 7298, 200);
    const other = await openPage(browser, twin.url + "/");
    await connectButton(other).click();
    await other.getByText("another first block").waitFor();
    const chain = { chainId: "0x1c82", chainName: "twin", rpcUrls: [twin.url], nativeCurrency: { name: "Coin", symbol: "COIN", decimals: 18 } };
    await ask(other, "wallet_addEthereumChain", chain);
    await connectButton(other).click();
    await other.locator(".wallet a").waitFor();
    // The first page is still connected: its chain has the same number.
    await onPage(page, wallet.address);
    await page.getByLabel("coins").fill("1");
    await page.getByRole("button", { name: "Stake", exact: true }).click();
    await page.getByText("another first block").waitFor();
    await ask(page, "wallet_addEthereumChain", { ...chain, rpcUrls: [url] });
    await page.getByRole("button", { name: "Stake", exact: true }).click();
    await page.getByText("Staked:").waitFor({ timeout: 20_000 });
    assert.equal(wallet.network.getNetworkConfigurationByChainId("0x1c82").rpcEndpoints.length, 2);
    await other.close();
    await twin.node.end();
}

/// On another chain, whose blocks are slow: stake, unbond and withdraw, and what MetaMask replaces.
export async function worksOnAnotherChain({ browser, wallet, person, examples }) {
    const slow = await startChain(examples, wallet.address, 7300, 4000);
    const page = await openPage(browser, slow.url + "/");
    await connectButton(page).click();
    await page.locator(".wallet a").waitFor();
    assert.equal(Number(wallet.network.getSelectedChainId()), 7300);
    await onPage(page, wallet.address);
    await page.getByLabel("coins").fill("3");
    for (const [button, done] of [["Stake", "Staked:"], ["Begin to unbond", "Unbonding:"]]) {
        await page.getByRole("button", { name: button, exact: true }).click();
        await page.getByText(done).waitFor({ timeout: 30_000 });
    }
    const withdraw = page.getByRole("button", { name: "Withdraw what is unbonded" });
    await withdraw.click();
    await page.getByText(/A rule refuses this: .* \(still_unbonding, rule \d+\)/).waitFor();
    await until(30, "the end of unbonding", async () => Number(await rpc(slow.url, "eth_blockNumber")) >= Number((await party(slow.url, wallet.address)).unbondHeight));
    await withdraw.click();
    await page.getByText("Withdrawn:").waitFor({ timeout: 30_000 });
    assert.equal(BigInt((await party(slow.url, wallet.address)).unbonding), 0n);
    await replacesWhatWaits(page, wallet, slow.url);
    await freesAStuckNonce(page, wallet, person, slow.url);
    assert.deepEqual(page.wrong, []);
    await page.close();
    await slow.node.end();
}

/// The page follows a transaction that was sped up, and says that one was cancelled.
async function replacesWhatWaits(page, wallet, url) {
    const { transactions } = wallet;
    const fees = { maxFeePerGas: "0xb2d05e00", maxPriorityFeePerGas: "0xb2d05e00" };
    const bonded = async () => BigInt((await party(url, wallet.address)).bonded);
    for (const [replace, shown, more] of [["speedUpTransaction", /Staked:/, 3n], ["stopTransaction", /it was cancelled/, 0n]]) {
        const before = await bonded();
        const height = await rpc(url, "eth_blockNumber");
        await until(10, "a new block", async () => (await rpc(url, "eth_blockNumber")) !== height);
        await page.getByRole("button", { name: "Stake", exact: true }).click();
        const first = await until(10, "the transaction", () => transactions.state.transactions.find(({ status, chainId }) => status === "submitted" && chainId === "0x1c84"));
        await transactions[replace](first.id, fees);
        await page.locator("main").getByText(shown).waitFor({ timeout: 30_000 });
        assert.equal(await bonded(), before + more * kCoin);
        assert.equal(await rpc(url, "eth_getTransactionReceipt", first.hash), null, "it was replaced");
        await until(30, "what MetaMask says", () => transactions.state.transactions.find(({ id }) => id === first.id).status === "dropped");
    }
}

/// A transaction whose nonce the person set too high waits until the one before it is there.
async function freesAStuckNonce(page, wallet, person, url) {
    const { transactions } = wallet;
    const next = Number(await rpc(url, "eth_getTransactionCount", wallet.address, "latest"));
    const pay = { from: wallet.address, to: wallet.address, value: "0x1" };
    person.look = ({ id }) => ({ txMeta: { ...transactions.state.transactions.find((one) => one.id === id), customNonceValue: String(next + 1) } });
    const stuck = await ask(page, "eth_sendTransaction", pay);
    person.look = undefined;
    assert.equal(Number((await rpc(url, "eth_getTransactionByHash", stuck)).nonce), next + 1);
    const height = Number(await rpc(url, "eth_blockNumber"));
    await until(20, "two blocks", async () => Number(await rpc(url, "eth_blockNumber")) >= height + 2);
    assert.equal(await rpc(url, "eth_getTransactionReceipt", stuck), null);
    const between = await ask(page, "eth_sendTransaction", pay);
    assert.equal(Number((await rpc(url, "eth_getTransactionByHash", between)).nonce), next);
    await until(30, "both", () => [stuck, between].every((hash) => transactions.state.transactions.find((one) => one.hash === hash).status === "confirmed"));
}
