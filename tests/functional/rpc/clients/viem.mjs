// SPDX-License-Identifier: MIT
// What viem does with an endpoint. Accounts 2 and 6 are its own, so that nonces stay apart from ethers'.
import assert from "node:assert/strict";
import * as viem from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { chainId, contractOf, phrase, receiver, sleep, url, webSocketUrl, within } from "./common.mjs";

const chain = viem.defineChain({
    id: chainId, name: "Retrace", nativeCurrency: { name: "coin", symbol: "RTR", decimals: 18 },
    rpcUrls: { default: { http: [url], webSocket: [webSocketUrl] } },
});
const open = viem.createPublicClient({ chain, transport: viem.http(url), pollingInterval: 100 });
const walletOf = (addressIndex) => viem.createWalletClient({
    account: mnemonicToAccount(phrase, { addressIndex }), chain, transport: viem.http(url) });
const staking = () => contractOf({ send: (method, params) => open.request({ method, params }) }, "IStaking");

export async function viemPaysAndWaits() {
    const wallet = walletOf(2);
    assert.equal(await open.getChainId(), chainId);
    for (const [type, more] of [["eip1559", {}], ["eip2930", { type: "eip2930", accessList: [] }],
                                ["legacy", { type: "legacy" }]]) {
        const gasPrice = type === "eip1559" ? undefined : await open.getGasPrice();
        const hash = await wallet.sendTransaction({ to: receiver, value: 5n, gasPrice, ...more });
        const receipt = await open.waitForTransactionReceipt({ hash, confirmations: 2 });
        assert.equal(receipt.status, "success");
        assert.equal(receipt.type, type);
        assert.equal((await open.getTransaction({ hash })).type, type);
    }
    const fees = await open.getFeeHistory({ blockCount: 4, rewardPercentiles: [20] });
    assert.equal(fees.baseFeePerGas.length, fees.gasUsedRatio.length + 1);
    assert.equal(await open.estimateGas({ account: wallet.account, to: receiver, value: 1n }), 21000n);
    const block = await open.getBlock({ includeTransactions: true });
    assert.equal((await open.getBlock({ blockHash: block.hash })).number, block.number);
    await assert.rejects(open.getTransaction({ hash: viem.keccak256("0x00") }), viem.TransactionNotFoundError);
}

export async function viemNamesItsErrors() {
    const wallet = walletOf(2);
    const walks = (kind) => (error) => error.walk((e) => e instanceof kind) !== null;
    const pay = (more) => wallet.sendTransaction({ to: receiver, value: 1n, ...more });
    await open.waitForTransactionReceipt({ hash: await pay() });
    await assert.rejects(pay({ nonce: 0 }), walks(viem.NonceTooLowError));
    await assert.rejects(pay({ nonce: 100_000 }), walks(viem.NonceTooHighError));
    await assert.rejects(pay({ value: viem.parseEther("99000000") }), walks(viem.InsufficientFundsError));
    await assert.rejects(pay({ gas: 20_000n }), walks(viem.IntrinsicGasTooLowError));
    await assert.rejects(pay({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, gas: 21_000n }),
        walks(viem.FeeCapTooLowError));
    await assert.rejects(wallet.request({ method: "eth_sendRawTransaction",
        params: [await wallet.account.signTransaction({ chainId, to: receiver, gas: 21_000n, nonce: 9,
            maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n, type: "eip1559" })
            .then((raw) => raw + "00")] }), viem.BaseError);
}

/// Simulates, sends, finds the event by its arguments, and decodes what a refused call says.
export async function viemUsesAContract() {
    const wallet = walletOf(6);
    const party = wallet.account.address;
    const { address, abi } = await staking();
    const stake = (more) => open.readContract({ address, abi, functionName: "stakeOf", args: [party], ...more });
    const before = (await stake()).bonded;
    const value = viem.parseEther("3");
    const call = { account: wallet.account, address, abi };
    const { request } = await open.simulateContract({ ...call, functionName: "deposit", value });
    const hash = await wallet.writeContract(request);
    const receipt = await open.waitForTransactionReceipt({ hash });
    const [log] = viem.parseEventLogs({ abi, logs: receipt.logs, eventName: "StakeChanged" });
    assert.deepEqual([log.args.party, log.args.bonded], [party, before + value]);
    assert.equal((await stake()).bonded, before + value);
    assert.equal((await stake({ blockNumber: receipt.blockNumber - 1n })).bonded, before);
    const range = { fromBlock: receipt.blockNumber, toBlock: "latest" };
    const events = await open.getContractEvents({ address, abi, eventName: "StakeChanged", args: { party }, ...range });
    assert.deepEqual(events.map((e) => e.transactionHash), [hash]);
    const filter = await open.createContractEventFilter({ address, abi, eventName: "StakeChanged", ...range });
    assert.ok((await open.getFilterLogs({ filter })).some((e) => e.transactionHash === hash));
    assert.equal(await open.uninstallFilter({ filter }), true);

    const greedy = { ...call, functionName: "beginUnbond", args: [viem.parseEther("1000000")] };
    const refused = (error) => {
        const { data } = error.walk((e) => e instanceof viem.ContractFunctionRevertedError);
        assert.deepEqual([data.errorName, data.args[1]], ["Refused", "stake_too_low"]);
        return true;
    };
    await assert.rejects(open.simulateContract(greedy), refused);
    await assert.rejects(open.estimateContractGas(greedy), refused);
    const sunk = await wallet.writeContract({ ...greedy, gas: 1_000_000n });
    assert.equal((await open.waitForTransactionReceipt({ hash: sunk })).status, "reverted");
}

export async function viemFindsWhatBeganABlock() {
    const began = async () => {
        for (;;) {
            const log = (await open.getLogs({ fromBlock: 0n })).find((one) => one.transactionHash === one.blockHash);
            if (log) return log;
            await sleep(200);
        }
    };
    const log = await within(30, "a log that begins a block", began());
    const hash = log.transactionHash;
    const [tx, receipt] = [await open.getTransaction({ hash }), await open.getTransactionReceipt({ hash })];
    assert.deepEqual([tx.type, tx.from, tx.to, tx.gas], ["legacy", viem.zeroAddress, viem.zeroAddress, 0n]);
    assert.deepEqual([receipt.status, receipt.transactionIndex], ["success", tx.transactionIndex]);
    assert.ok(receipt.logs.some(({ logIndex }) => logIndex === log.logIndex));
}

export async function viemPollsFilters() {
    const filter = await open.createBlockFilter();
    const pending = await open.createPendingTransactionFilter();
    const hash = await walletOf(2).sendTransaction({ to: receiver, value: 1n });
    await open.waitForTransactionReceipt({ hash });
    assert.ok((await open.getFilterChanges({ filter })).length > 0);
    assert.ok((await open.getFilterChanges({ filter: pending })).includes(hash));
    const batched = viem.createPublicClient({ chain, transport: viem.http(url, { batch: true }) });
    const answers = await Promise.all([...Array(50).keys()].map(() => batched.getBalance({ address: receiver })));
    assert.equal(new Set(answers).size, 1);
}

/// Blocks, pending transactions and a contract's events over one WebSocket.
export async function viemSubscribes() {
    const transport = viem.webSocket(webSocketUrl);
    const client = viem.createPublicClient({ chain, transport });
    const { address, abi } = await staking();
    const wallet = walletOf(6);
    const blocks = [], pending = [], events = [];
    const ends = [
        client.watchBlocks({ onBlock: (block) => blocks.push(block), includeTransactions: true }),
        client.watchPendingTransactions({ onTransactions: (hashes) => pending.push(...hashes) }),
        client.watchContractEvent({ address, abi, eventName: "StakeChanged", args: { party: wallet.account.address },
            onLogs: (logs) => events.push(...logs) }),
    ];
    await sleep(200);
    const hash = await wallet.writeContract({ address, abi, functionName: "deposit", value: 7n });
    const all = async () => {
        while (blocks.length < 3 || !pending.includes(hash) || !events.some((e) => e.transactionHash === hash))
            await sleep(20);
    };
    await within(10, "blocks, pending transactions, events", all());
    assert.equal(blocks[2].number, blocks[0].number + 2n);
    assert.equal(blocks[1].parentHash, blocks[0].hash);
    for (const end of ends) end();
    (await client.transport.getRpcClient()).close();
}
