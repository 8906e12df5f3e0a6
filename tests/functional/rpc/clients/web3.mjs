// SPDX-License-Identifier: MIT
// What web3.js does with an endpoint. Accounts 8 and 9 are its own, so that nonces stay apart from the others'.
import assert from "node:assert/strict";
import { TransactionNotFound, Web3, WebSocketProvider } from "web3";
import { account, chainId, contractOf, receiver, sleep, url, webSocketUrl, within } from "./common.mjs";

/// A client that signs with developer account `index`.
function clientOf(index, provider = url) {
    const web3 = new Web3(provider);
    web3.eth.transactionPollingInterval = 100;
    const party = web3.eth.accounts.wallet.add(account(index).privateKey)[0].address;
    return { web3, party };
}
const staking = async (web3) => {
    const send = (method, params) => web3.requestManager.send({ method, params });
    const { address, abi } = await contractOf({ send }, "IStaking");
    return new web3.eth.Contract(abi, address);
};

export async function web3PaysAndWaits() {
    const { web3, party } = clientOf(8);
    assert.equal(await web3.eth.getChainId(), BigInt(chainId));
    const before = await web3.eth.getBalance(receiver);
    const gasPrice = await web3.eth.getGasPrice();
    let paid = 0n;
    for (const more of [{}, { type: 2 }, { type: 1, gasPrice, accessList: [] }, { type: 0, gasPrice }]) {
        const receipt = await web3.eth.sendTransaction({ from: party, to: receiver, value: 5n, ...more });
        paid += 5n;
        assert.equal(receipt.status, 1n);
        assert.equal(receipt.gasUsed, 21000n);
        const tx = await web3.eth.getTransaction(receipt.transactionHash);
        assert.equal(tx.type, BigInt(more.type ?? 2));
        assert.equal(tx.from, party.toLowerCase());
    }
    assert.ok(await web3.eth.getBalance(receiver) >= before + paid);
    assert.equal(await web3.eth.estimateGas({ from: party, to: receiver, value: 1n }), 21000n);
    const fees = await web3.eth.getFeeHistory(4, "latest", [20]);
    assert.equal(fees.baseFeePerGas.length, fees.gasUsedRatio.length + 1);
    const block = await web3.eth.getBlock("latest", true);
    assert.equal((await web3.eth.getBlock(block.hash)).number, block.number);
    assert.equal((await web3.eth.getCode(receiver)), "0x");
}

export async function web3NamesItsErrors() {
    const { web3, party } = clientOf(8);
    const refused = (words) => (error) => {
        // What a call before the sending finds is in `reason`.
        const said = [error.message, error.reason, error.cause?.message, error.innerError?.message].join(" ");
        assert.match(said, words);
        return true;
    };
    const pay = (more) => web3.eth.sendTransaction({ from: party, to: receiver, value: 1n, gas: 21000n, ...more });
    await pay({});
    await assert.rejects(pay({ nonce: 0n }), refused(/nonce too low/));
    await assert.rejects(pay({ nonce: 100_000n }), refused(/nonce too high/));
    await assert.rejects(pay({ value: 10n ** 26n }), refused(/insufficient funds/));
    await assert.rejects(pay({ gas: 20_000n }), refused(/intrinsic gas too low/));
    await assert.rejects(web3.eth.getTransaction("0x" + "00".repeat(32)), TransactionNotFound);
}

/// Calls, sends, finds the event by its arguments, and decodes what a refused call says.
export async function web3UsesAContract() {
    const { web3, party } = clientOf(9);
    const contract = await staking(web3);
    const bonded = async (block) => (await contract.methods.stakeOf(party).call({}, block)).bonded;
    const before = await bonded("latest");
    const value = 10n ** 18n;
    const receipt = await contract.methods.deposit().send({ from: party, value: value.toString() });
    assert.equal(receipt.status, 1n);
    const changed = receipt.events.StakeChanged.returnValues;
    assert.deepEqual([changed.party, changed.bonded], [party, before + value]);
    assert.equal(await bonded("latest"), before + value);
    assert.equal(await bonded(receipt.blockNumber - 1n), before);
    const events = await contract.getPastEvents("StakeChanged",
        { filter: { party }, fromBlock: receipt.blockNumber, toBlock: "latest" });
    assert.deepEqual(events.map((e) => e.transactionHash), [receipt.transactionHash]);

    contract.handleRevert = true;
    const greedy = contract.methods.beginUnbond(10n ** 24n);
    await assert.rejects(greedy.call({ from: party }), ({ cause }) => {
        assert.deepEqual([cause.errorName, cause.errorArgs.slug], ["Refused", "stake_too_low"]);
        return true;
    });
    // Of an estimate web3.js decodes nothing, but hands on what it would decode.
    await assert.rejects(greedy.estimateGas({ from: party }), ({ cause }) => {
        const refused = web3.eth.abi.encodeFunctionSignature("Refused(uint16,string)");
        assert.equal(cause.data.slice(0, 10), refused);
        return true;
    });
}

/// Blocks, pending transactions and a contract's events over one WebSocket.
export async function web3Subscribes() {
    const { web3, party } = clientOf(9, new WebSocketProvider(webSocketUrl));
    const heads = [], pending = [], events = [];
    const listen = async (name, into, ...more) =>
        (await web3.eth.subscribe(name, ...more)).on("data", (event) => into.push(event));
    await listen("newHeads", heads);
    await listen("pendingTransactions", pending);
    const contract = await staking(web3);
    const watched = contract.events.StakeChanged({ filter: { party } });
    watched.on("data", (event) => events.push(event));
    await sleep(200);
    const { transactionHash } = await contract.methods.deposit().send({ from: party, value: "7" });
    const all = async () => {
        while (heads.length < 3 || !pending.includes(transactionHash) ||
               !events.some((e) => e.transactionHash === transactionHash)) await sleep(20);
    };
    await within(10, "blocks, pending transactions, events", all());
    assert.equal(BigInt(heads[1].number), BigInt(heads[0].number) + 1n);
    assert.equal(heads[1].parentHash, heads[0].hash);
    web3.currentProvider.disconnect();
}
