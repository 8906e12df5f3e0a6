// SPDX-License-Identifier: MIT
// What the page has a wallet sign: the calls that it knows, on its chain, of the account that was asked, and once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFunctionData } from "viem";
import { answers } from "./world.mjs";
import { group, hash, params, spec } from "./fixtures.mjs";

const calls = (await import("console/calls.json")).default;
const { encodable } = await import("console/terms");
const { connect, currentAccount, disconnect, submit } = await import("console/wallet");
const { MayStillCome } = await import("console/sent");

const kAccount = `0x${"ab".repeat(20)}`;
const kGenesis = hash("e");
const kTx = (n) => `0x${n.toString(16).padStart(64, "0")}`;

/// What the node says of the contracts: one is elsewhere, and two fields of another have changed places.
const contracts = Object.entries(calls).map(([name, { address, abi }]) => ({ name, address, abi: structuredClone(abi) }));
contracts.find(({ name }) => name === "IGroups").address = `0x${"66".repeat(20)}`;
const fields = contracts.find(({ name }) => name === "IMarket").abi.find(({ name }) => name === "postTask").inputs[0].components;
const [steps, interval] = ["steps", "interval"].map((wanted) => fields.find(({ name }) => name === wanted));
[steps.name, interval.name] = [interval.name, steps.name];

/// A wallet that remembers what it was asked to send and tells its listeners what a test emits.
class Wallet {
    listeners = { accountsChanged: new Set(), chainChanged: new Set() };
    chain = "0x1c82";
    sent = [];
    on = (event, listener) => this.listeners[event].add(listener);
    removeListener = (event, listener) => this.listeners[event].delete(listener);
    emit = (event, value) => this.listeners[event].forEach((listener) => listener(value));
    request = async ({ method, params }) => {
        if (method === "eth_requestAccounts") return [kAccount];
        if (method === "eth_chainId") return this.chain;
        if (method === "eth_getBlockByNumber") return { hash: kGenesis };
        if (method === "wallet_switchEthereumChain") {
            this.chain = params[0].chainId;
            setTimeout(() => this.emit("chainChanged", this.chain), 20);
            return null;
        }
        if (method !== "eth_sendTransaction") throw Object.assign(new Error(method), { code: 4200 });
        assert.equal(params[0].from, kAccount);
        this.sent.push(params[0]);
        return kTx(this.sent.length);
    };
}

function honestNode() {
    Object.assign(answers, {
        eth_chainId: "0x1c82", eth_blockNumber: "0x10", eth_getBlockByNumber: { hash: kGenesis, transactions: [] }, eth_call: "0x", retrace_contracts: contracts,
        eth_getTransactionByHash: null, eth_getTransactionReceipt: null, eth_getTransactionCount: "0x0", retrace_params: params,
    });
}

async function connected() {
    honestNode();
    disconnect();
    const wallet = new Wallet();
    await connect({ name: "test", provider: wallet });
    return wallet;
}

const post = () => ({ contract: "IMarket", method: "postTask", args: [encodable(spec)], value: 5n });
const quiet = () => undefined;

test("a node that lies about the interface does not choose what is signed", async () => {
    const wallet = await connected();
    await submit(post(), quiet);
    assert.equal(wallet.sent[0].data, encodeFunctionData({ abi: calls.IMarket.abi, functionName: "postTask", args: [encodable(spec)] }));
    assert.equal(wallet.sent[0].to, "0x0000000000000000000000000000000000001002");
    assert.equal(wallet.sent[0].chainId, "0x1c82");
});

test("nothing is sent to an address that the page does not know", async () => {
    const wallet = await connected();
    await assert.rejects(submit({ contract: "IGroups", method: "postGroup", args: [encodable(spec), encodable(group)], value: 1n }, quiet), /another address than this page knows/);
    assert.equal(wallet.sent.length, 0);
});

test("nothing is sent on a chain whose coins are worth money elsewhere", async () => {
    const wallet = await connected();
    for (const chain of ["0x1", "0x89", "0x2105"]) {
        answers.eth_chainId = chain;
        await assert.rejects(submit(post(), quiet), /the number of another chain than Retrace's/);
        await assert.rejects(connect({ name: "test", provider: new Wallet() }), /the number of another chain than Retrace's/);
    }
    answers.eth_chainId = "0x1c83";
    await assert.rejects(submit(post(), quiet), /follows another chain than when the wallet was connected/);
    assert.equal(wallet.sent.length, 0);
});

test("a page that came without TLS connects no wallet, but this machine's does", async () => {
    honestNode();
    window.isSecureContext = false;
    location.href = "http://console.example/";
    await assert.rejects(connect({ name: "test", provider: new Wallet() }), /came without TLS/);
    location.href = "http://127.0.0.1:8545/";
    await connected();
    window.isSecureContext = true;
});

test("an account that is changed while the node is asked sends nothing", async () => {
    for (const [event, value] of [["accountsChanged", [`0x${"cd".repeat(20)}`]], ["accountsChanged", []], ["chainChanged", "0x1"]]) {
        const wallet = await connected();
        answers.eth_call = () => (wallet.emit(event, value), "0x");
        await assert.rejects(submit(post(), quiet), /was changed meanwhile; nothing was sent/);
        assert.equal(wallet.sent.length, 0);
        assert.equal(currentAccount(), undefined);
    }
});

test("the switch to its own chain does not disconnect, nor does the same account", async () => {
    honestNode();
    disconnect();
    const wallet = new Wallet();
    wallet.chain = "0x1";
    await connect({ name: "test", provider: wallet });
    await new Promise((resolve) => setTimeout(resolve, 50)); // the wallet tells of it later
    wallet.emit("accountsChanged", [kAccount.toUpperCase().replace("0X", "0x")]);
    assert.equal(currentAccount()?.address, kAccount);
    wallet.emit("chainChanged", "0x1");
    assert.equal(currentAccount(), undefined);
});

test("a call whose outcome is not known is not sent twice unless it is asked for, also after a reload", async () => {
    const stored = { key: `${kAccount} IStaking deposit`, label: "Stake", hash: kTx(99), outcome: "" };
    sessionStorage.setItem("retrace-sent", JSON.stringify([stored, { key: 1 }, null, { ...stored, hash: "0x" }]));
    const wallet = await connected();
    const { leftOver, send } = await import("console/outbox");
    assert.deepEqual(leftOver().map(({ hash: of }) => of), [kTx(99)]);
    const stake = { contract: "IStaking", method: "deposit", args: [], value: 7n };
    await assert.rejects(send("Stake", stake, quiet, quiet), (error) => error instanceof MayStillCome && error.message.includes(kTx(99)));
    assert.equal(wallet.sent.length, 0);

    const first = send("Post the task", post(), quiet, quiet);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const other = { ...post(), args: [encodable({ ...spec, name: "other" })], value: 6n };
    await assert.rejects(send("Post the task", other, quiet, quiet), MayStillCome);
    assert.equal(wallet.sent.length, 1);
    const second = send("Post the task", other, quiet, quiet, true);
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(wallet.sent.length, 2);
    assert.deepEqual(leftOver().map(({ hash: of }) => of), [99, 1, 2].map(kTx), "of both the outcome is waited for");
    answers.eth_getTransactionReceipt = (of) => (of === kTx(99) ? null : { status: "0x1" });
    assert.deepEqual(await Promise.all([first, second]), [kTx(1), kTx(2)]);

    // Its outcome is there for a button that comes later, and then the next call is a new one.
    answers.eth_getTransactionReceipt = { status: "0x1" };
    assert.equal(await send("Stake", stake, quiet, quiet), kTx(99));
    assert.equal(wallet.sent.length, 2);
    await send("Stake", stake, quiet, quiet);
    assert.equal(wallet.sent.length, 3);
});

test("payable calls about another record, or with another party, are other calls", async () => {
    const { keyOf } = await import("console/outbox");
    const begin = (id, value = 5n) => keyOf({ contract: "IMarket", method: "beginReserved", args: [id], value });
    assert.equal(begin(1n), begin(1n, 6n));
    assert.notEqual(begin(1n), begin(2n), "the second reservation would be said to have begun, and its deposit be lost");
    const reserve = (solver, until) => keyOf({ contract: "IMarket", method: "reserve", args: [spec, solver, 1n, 2n, until], value: 5n });
    assert.equal(reserve(kAccount, 9n), reserve(kAccount.toUpperCase(), 10n));
    assert.notEqual(reserve(kAccount, 9n), reserve(`0x${"11".repeat(20)}`, 9n));
    assert.equal(keyOf({ contract: "IStaking", method: "deposit", args: [], value: 1n }), keyOf({ contract: "IStaking", method: "deposit", args: [], value: 2n }));
});
