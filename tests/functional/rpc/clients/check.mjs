// SPDX-License-Identifier: MIT
// What ethers and viem do with an endpoint: connect, pay, wait, read logs, subscribe, decode errors.
import assert from "node:assert/strict";
import { ethers } from "ethers";
import * as viem from "viem";
import { mnemonicToAccount } from "viem/accounts";
import WebSocket from "ws";

const url = process.argv[2];
const phrase = "test test test test test test test test test test test junk";
const receiver = "0x00000000000000000000000000000000000000bb";
const staking = "0x0000000000000000000000000000000000001001";

async function withEthers() {
    const provider = new ethers.JsonRpcProvider(url, undefined, { pollingInterval: 100, cacheTimeout: -1 });
    assert.equal((await provider.getNetwork()).chainId, 7298n);
    const path = (i) => `m/44'/60'/0'/0/${i}`;
    const wallet = ethers.HDNodeWallet.fromPhrase(phrase, "", path(0)).connect(provider);
    const before = await provider.getBalance(receiver);
    const sent = await wallet.sendTransaction({ to: receiver, value: ethers.parseEther("1.5") });
    assert.equal(sent.type, 2);
    const receipt = await sent.wait();
    assert.equal(receipt.status, 1);
    assert.equal(receipt.gasUsed, 21000n);
    assert.equal((await provider.getBalance(receiver)) - before, ethers.parseEther("1.5"));
    assert.equal((await provider.getTransaction(sent.hash)).from, wallet.address);
    const block = await provider.getBlock("latest");
    assert.ok(block.baseFeePerGas >= 1n);
    assert.equal(await provider.getCode(staking), "0x60006000fd");
    assert.deepEqual(await provider.getLogs({ address: receiver, fromBlock: 0 }), []);

    const parallel = ethers.HDNodeWallet.fromPhrase(phrase, "", path(1)).connect(provider);
    const first = await parallel.getNonce();
    const many = await Promise.all([...Array(20).keys()].map((i) =>
        parallel.sendTransaction({ to: receiver, value: 1n, nonce: first + 19 - i })));
    for (const tx of many) assert.equal((await tx.wait()).status, 1);

    const poor = ethers.Wallet.createRandom().connect(provider);
    await assert.rejects(poor.sendTransaction({ to: receiver, value: 1n }), { code: "INSUFFICIENT_FUNDS" });
    await assert.rejects(wallet.sendTransaction({ to: receiver, value: 1n, nonce: 0 }), { code: "NONCE_EXPIRED" });
    await assert.rejects(provider.call({ to: staking, data: "0x12345678" }), { code: "CALL_EXCEPTION" });
    await assert.rejects(provider.send("eth_fillTransaction", [{}]), { code: "UNSUPPORTED_OPERATION" });
    provider.destroy();
}

/// A value of an ABI type that no rule can like: zeros and nothing.
function nothing(param) {
    if (param.baseType === "array") return [];
    if (param.baseType === "tuple") return param.components.map(nothing);
    if (param.type === "bool") return false;
    if (param.type === "string") return "";
    if (param.type === "address") return ethers.ZeroAddress;
    if (param.type.startsWith("bytes")) return ethers.zeroPadBytes("0x", Number(param.type.slice(5) || 0));
    return 0n;
}

/// Every method of every native contract, called with nothing: whatever is refused says so by the contracts' custom
/// error, whose data ethers and viem decode to a code and a slug.
async function refusalsCarryTheirSlug() {
    const provider = new ethers.JsonRpcProvider(url, undefined, { cacheTimeout: -1 });
    const contracts = await provider.send("retrace_contracts", []);
    assert.equal(contracts.length, 4);
    const slugs = new Set();
    let refused = 0;
    for (const { name, address, abi } of contracts) {
        const face = new ethers.Interface(abi);
        for (const method of face.fragments.filter((f) => f.type === "function")) {
            const data = face.encodeFunctionData(method, method.inputs.map(nothing));
            const from = "0x00000000000000000000000000000000000000ab";
            const error = await provider.call({ to: address, data, from }).then(() => null, (e) => e);
            if (error === null) continue;
            assert.equal(error.code, "CALL_EXCEPTION", `${name}.${method.name}`);
            const parsed = face.parseError(error.data);
            assert.equal(parsed.name, "Refused", `${name}.${method.name}`);
            assert.match(parsed.args.slug, /^[a-z0-9_-]+$/);
            assert.ok(parsed.args.code > 100n);
            const twin = viem.decodeErrorResult({ abi, data: error.data });
            assert.deepEqual(twin.args.map(String), [...parsed.args].map(String));
            slugs.add(parsed.args.slug);
            ++refused;
        }
    }
    assert.ok(refused > 25 && slugs.size > 8, `${refused} refusals, slugs ${[...slugs]}`);
    provider.destroy();
}

async function withEthersOverWebSocket() {
    const provider = new ethers.WebSocketProvider(new WebSocket(url.replace("http", "ws")));
    const heads = await new Promise((resolve) => {
        const seen = [];
        provider.on("block", (number) => { if (seen.push(number) === 3) resolve(seen); });
    });
    assert.equal(heads[2], heads[0] + 2);
    await provider.destroy();
}

async function withViem() {
    const chain = viem.defineChain({
        id: 7298, name: "Retrace", nativeCurrency: { name: "coin", symbol: "RTR", decimals: 18 },
        rpcUrls: { default: { http: [url] } },
    });
    const account = mnemonicToAccount(phrase, { addressIndex: 2 });
    const open = viem.createPublicClient({ chain, transport: viem.http(url), pollingInterval: 100 });
    const wallet = viem.createWalletClient({ account, chain, transport: viem.http(url) });
    assert.equal(await open.getChainId(), 7298);
    const hash = await wallet.sendTransaction({ to: receiver, value: viem.parseEther("0.5") });
    const receipt = await open.waitForTransactionReceipt({ hash });
    assert.equal(receipt.status, "success");
    assert.equal(receipt.type, "eip1559");
    const fees = await open.getFeeHistory({ blockCount: 4, rewardPercentiles: [20] });
    assert.equal(fees.baseFeePerGas.length, fees.gasUsedRatio.length + 1);
    const filter = await open.createBlockFilter();
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.ok((await open.getFilterChanges({ filter })).length > 0);
    await assert.rejects(wallet.sendTransaction({ to: receiver, value: 1n, nonce: 0 }),
        (error) => error.walk((e) => e instanceof viem.NonceTooLowError) !== null);
    await assert.rejects(wallet.sendTransaction({ to: receiver, value: viem.parseEther("99000000") }),
        (error) => error.walk((e) => e instanceof viem.InsufficientFundsError) !== null);
}

await withEthers();
await refusalsCarryTheirSlug();
await withEthersOverWebSocket();
await withViem();
console.log("ethers and viem agree");
process.exit(0);
