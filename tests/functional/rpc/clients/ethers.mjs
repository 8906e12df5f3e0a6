// SPDX-License-Identifier: MIT
// What ethers does with an endpoint: connect, pay, wait, call contracts, read logs, subscribe, decode errors.
import assert from "node:assert/strict";
import { ethers } from "ethers";
import WebSocket from "ws";
import { account, chainId, contractOf, receiver, sleep, url, webSocketUrl, within } from "./common.mjs";

const open = () => new ethers.JsonRpcProvider(url, undefined, { pollingInterval: 100, cacheTimeout: -1 });
const coins = ethers.parseEther;

export async function ethersPaysAndWaits() {
    const provider = open();
    assert.equal((await provider.getNetwork()).chainId, BigInt(chainId));
    const wallet = account(0).connect(provider);
    const before = await provider.getBalance(receiver);
    const own = await provider.getBalance(wallet.address);
    const sent = await wallet.sendTransaction({ to: receiver, value: coins("1.5") });
    assert.equal(sent.type, 2);
    const receipt = await provider.waitForTransaction(sent.hash, 2, 10_000);
    assert.equal(receipt.status, 1);
    assert.equal(receipt.gasUsed, 21000n);
    assert.equal(receipt.contractAddress, null);
    assert.equal((await provider.getBalance(receiver)) - before, coins("1.5"));
    assert.equal(own - (await provider.getBalance(wallet.address)), coins("1.5") + receipt.fee);
    assert.equal((await provider.getTransaction(sent.hash)).from, wallet.address);
    const block = await provider.getBlock(receipt.blockHash, true);
    assert.ok(block.baseFeePerGas >= 1n);
    assert.equal(block.prefetchedTransactions.find(({ hash }) => hash === sent.hash).value, coins("1.5"));
    assert.equal(await provider.getBalance(receiver, receipt.blockNumber - 1), before);
    assert.equal(await provider.getTransactionCount(wallet.address, receipt.blockNumber), sent.nonce + 1);
    const nobody = ethers.id("no such transaction");
    assert.equal(await provider.getTransaction(nobody), null);
    assert.equal(await provider.getTransactionReceipt(nobody), null);
    assert.equal(await provider.getBlock(10 ** 9), null);
    provider.destroy();
}

/// EIP-155, EIP-2930 with an access list that is charged for, EIP-1559; each signed here and read back.
export async function ethersSendsEveryKindOfTransaction() {
    const provider = open();
    const wallet = account(3).connect(provider);
    const accessList = [{ address: ethers.getAddress(receiver), storageKeys: [ethers.ZeroHash] }];
    for (const [type, more, gas] of [[0, {}, 21000n], [1, { accessList }, 25300n], [2, { accessList }, 25300n],
                                     [2, {}, 21000n]]) {
        const request = { type, to: receiver, value: 1n, ...more };
        assert.equal(await provider.estimateGas({ from: wallet.address, ...request }), gas);
        const sent = await wallet.sendTransaction(request);
        const receipt = await sent.wait();
        assert.equal(receipt.type, type);
        assert.equal(receipt.gasUsed, gas);
        const read = await provider.getTransaction(sent.hash);
        assert.equal(read.type, type);
        assert.equal(read.chainId, BigInt(chainId));
        assert.deepEqual(read.accessList ?? [], more.accessList ?? []);
        const { r, s, yParity } = sent.signature;
        assert.deepEqual([read.signature.r, read.signature.s, read.signature.yParity], [r, s, yParity]);
        if (type === 2) assert.equal(receipt.gasPrice, read.gasPrice);
        if (type !== 2) assert.equal(read.maxFeePerGas, null);
    }
    await assert.rejects(wallet.sendTransaction({ data: "0x6000" }), /contract creation is not supported/);
    const blob = "0x03" + "00".repeat(60);
    await assert.rejects(provider.broadcastTransaction(blob), /.*/);
    await assert.rejects(provider.send("eth_sendRawTransaction", [blob]), /transaction type not supported/);
    provider.destroy();
}

export async function ethersSendsInParallelAndReplaces() {
    const provider = open();
    const wallet = account(1).connect(provider);
    const first = await wallet.getNonce();
    const many = await Promise.all([...Array(20).keys()].map((i) =>
        wallet.sendTransaction({ to: receiver, value: 1n, nonce: first + 19 - i })));
    for (const tx of many) assert.equal((await tx.wait()).status, 1);

    // One that waits for the nonce before it is replaced at a higher fee, and then is gone.
    const fees = await provider.getFeeData();
    const waiting = (factor) => wallet.sendTransaction({
        to: receiver, value: 2n, nonce: first + 21, maxFeePerGas: fees.maxFeePerGas * factor / 100n,
        maxPriorityFeePerGas: fees.maxPriorityFeePerGas * factor / 100n });
    const old = await waiting(100n);
    assert.equal((await provider.getTransaction(old.hash)).blockNumber, null);
    await assert.rejects(waiting(105n), { code: "REPLACEMENT_UNDERPRICED" });
    const better = await waiting(120n);
    assert.equal(await provider.getTransaction(old.hash), null);
    await assert.rejects(provider.broadcastTransaction(ethers.Transaction.from(better).serialized), /already known/);
    await wallet.sendTransaction({ to: receiver, value: 1n, nonce: first + 20 });
    assert.equal((await within(10, "the replacement", better.wait())).status, 1);
    assert.equal(await provider.getTransactionReceipt(old.hash), null);
    provider.destroy();
}

export async function ethersNamesItsErrors() {
    const provider = open();
    const wallet = account(0).connect(provider);
    await (await wallet.sendTransaction({ to: receiver, value: 1n })).wait();
    const poor = ethers.Wallet.createRandom().connect(provider);
    await assert.rejects(poor.sendTransaction({ to: receiver, value: 1n }), { code: "INSUFFICIENT_FUNDS" });
    await assert.rejects(wallet.sendTransaction({ to: receiver, value: 1n, nonce: 0 }), { code: "NONCE_EXPIRED" });
    await assert.rejects(provider.send("eth_fillTransaction", [{}]), { code: "UNSUPPORTED_OPERATION" });
    const network = new ethers.Network("another", 1n);
    const other = account(0).connect(new ethers.JsonRpcProvider(url, network, { staticNetwork: network }));
    await assert.rejects(other.sendTransaction({ to: receiver, value: 1n }), /invalid chain id for signer/);
    other.provider.destroy();
    provider.destroy();
}

/// Views, a payable call, its event by receipt, query, filter and topic, at present and past heights.
export async function ethersUsesAContract() {
    const provider = open();
    const wallet = account(4).connect(provider);
    const { address, abi } = await contractOf(provider, "IStaking");
    const staking = new ethers.Contract(address, abi, wallet);
    assert.equal(await provider.getCode(address), "0x60006000fd");
    const bonded = async (blockTag) => (await staking.stakeOf(wallet.address, { blockTag })).bonded;
    const before = await bonded("latest");
    const heard = new Promise((resolve) => staking.on("StakeChanged", (party, now) => resolve([party, now])));
    await sleep(300);  // the filter is there before the event
    const value = coins("2");
    const estimate = await staking.deposit.estimateGas({ value });
    const receipt = await (await staking.deposit({ value })).wait();
    assert.equal(receipt.status, 1);
    assert.ok(receipt.gasUsed <= estimate);
    const [event] = receipt.logs.map((log) => staking.interface.parseLog(log));
    assert.equal(event.name, "StakeChanged");
    assert.deepEqual([event.args.party, event.args.bonded], [wallet.address, before + value]);
    assert.equal(await bonded("latest"), before + value);
    assert.equal(await bonded(receipt.blockNumber), before + value);
    assert.equal(await bonded(receipt.blockNumber - 1), before);
    assert.deepEqual(await within(10, "contract.on", heard), [wallet.address, before + value]);
    await staking.removeAllListeners();

    const mine = staking.filters.StakeChanged(wallet.address);
    const found = await staking.queryFilter(mine, receipt.blockNumber, "latest");
    assert.deepEqual(found.map((log) => log.transactionHash), [receipt.hash]);
    assert.deepEqual(await staking.queryFilter(staking.filters.StakeChanged(receiver), 0), []);
    const topics = [staking.interface.getEvent("StakeChanged").topicHash];
    const logs = await provider.getLogs({ address, topics, blockHash: receipt.blockHash });
    assert.equal(logs[0].index, receipt.logs[0].index);
    provider.destroy();
}

/// Deadlines and draws begin a block. Their logs name a transaction that nobody sent, behind all of the block's.
export async function ethersFindsWhatBeganABlock() {
    const provider = open();
    const began = async () => {
        for (;;) {
            const log = (await provider.getLogs({ fromBlock: 0 })).find((one) => one.transactionHash === one.blockHash);
            if (log) return log;
            await sleep(200);
        }
    };
    const log = await within(30, "a log that begins a block", began());
    const [tx, receipt, block] = [await log.getTransaction(), await log.getTransactionReceipt(), await log.getBlock()];
    assert.deepEqual([tx.hash, tx.from, tx.to], [log.blockHash, ethers.ZeroAddress, ethers.ZeroAddress]);
    assert.deepEqual([tx.type, tx.gasLimit, tx.value, tx.index], [0, 0n, 0n, block.length]);
    assert.deepEqual([receipt.hash, receipt.status, receipt.gasUsed], [tx.hash, 1, 0n]);
    assert.ok(receipt.logs.some(({ index }) => index === log.index));
    assert.ok(!block.transactions.includes(tx.hash));
    const receipts = await provider.send("eth_getBlockReceipts", [ethers.toQuantity(log.blockNumber)]);
    assert.deepEqual([receipts.length, receipts.at(-1).transactionHash], [block.length + 1, tx.hash]);
    provider.destroy();
}

/// A refusal is known by its slug before it is sent, in the estimate, and after it was mined.
export async function ethersDecodesACustomError() {
    const provider = open();
    const wallet = account(4).connect(provider);
    const { address, abi } = await contractOf(provider, "IStaking");
    const staking = new ethers.Contract(address, abi, wallet);
    const greedy = coins("1000000");
    const refused = (error) => {
        assert.equal(error.code, "CALL_EXCEPTION");
        const { name, args } = error.revert ?? staking.interface.parseError(error.data);
        assert.deepEqual([name, args.slug], ["Refused", "stake_too_low"]);
        return true;
    };
    await assert.rejects(staking.beginUnbond.staticCall(greedy), refused);
    await assert.rejects(staking.beginUnbond.estimateGas(greedy), refused);
    await assert.rejects(staking.beginUnbond(greedy), refused);
    await assert.rejects(provider.call({ to: address, data: "0x12345678" }), { code: "CALL_EXCEPTION" });
    const sent = await staking.beginUnbond(greedy, { gasLimit: 1_000_000 });
    await assert.rejects(sent.wait(), { code: "CALL_EXCEPTION" });
    const receipt = await provider.getTransactionReceipt(sent.hash);
    assert.deepEqual([receipt.status, receipt.logs.length], [0, 0]);
    assert.ok(receipt.gasUsed < 1_000_000n, "only what was used is charged");
    provider.destroy();
}

export async function ethersSubscribes() {
    const provider = new ethers.WebSocketProvider(new WebSocket(webSocketUrl));
    const heads = await within(10, "heads", new Promise((resolve) => {
        const seen = [];
        provider.on("block", (number) => { if (seen.push(number) === 3) resolve(seen); });
    }));
    assert.equal(heads[2], heads[0] + 2);
    const wallet = account(5).connect(provider);
    const pending = new Promise((resolve) => provider.on("pending", resolve));
    const { address, abi } = await contractOf(provider, "IStaking");
    const staking = new ethers.Contract(address, abi, wallet);
    const event = new Promise((resolve) => staking.on(staking.filters.StakeChanged(wallet.address),
        (found) => resolve(found.log.transactionHash)));
    await sleep(100);
    const sent = await staking.deposit({ value: 1n });
    assert.equal(await within(10, "pending", pending), sent.hash);
    assert.equal(await within(10, "log", event), sent.hash);
    await within(10, "receipt", sent.wait());
    await provider.destroy();
}

/// ethers puts what is asked at once into one batch.
export async function ethersAsksInBatches() {
    const provider = open();
    const balances = await Promise.all([...Array(250).keys()].map((i) => provider.getBalance(account(i % 10).address)));
    assert.equal(balances.length, 250);
    assert.equal(balances[9], balances[19]);
    provider.destroy();
}
