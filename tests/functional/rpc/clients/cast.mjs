// SPDX-License-Identifier: MIT
// Foundry's cast, where npm has it for this machine.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { ethers } from "ethers";
import { account, chainId, contractOf, receiver, url } from "./common.mjs";

const binary = path.resolve("node_modules/.bin/cast");
function cast(...args) {
    const env = { ...process.env, ETH_RPC_URL: url, NO_COLOR: "1", FOUNDRY_DISABLE_NIGHTLY_WARNING: "1" };
    return execFileSync(binary, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"] }).trim();
}

export async function castPaysCallsAndReads() {
    if (!fs.existsSync(binary)) return "not to be had for this machine";
    const provider = new ethers.JsonRpcProvider(url, undefined, { cacheTimeout: -1 });
    const { address, abi } = await contractOf(provider, "IStaking");
    const wallet = account(7);
    const key = ["--private-key", wallet.privateKey];
    assert.equal(cast("chain-id"), String(chainId));
    const before = BigInt(cast("balance", receiver));
    for (const kind of [[], ["--legacy"]]) {
        const receipt = JSON.parse(cast("send", receiver, "--value", "1ether", "--json", ...kind, ...key));
        assert.equal(receipt.status, "0x1");
        assert.equal(JSON.parse(cast("receipt", receipt.transactionHash, "--json")).gasUsed, "0x5208");
        assert.equal(JSON.parse(cast("tx", receipt.transactionHash, "--json")).nonce !== undefined, true);
    }
    assert.equal(BigInt(cast("balance", receiver)), before + 2n * 10n ** 18n);
    assert.equal(cast("code", address), "0x60006000fd");
    assert.ok(Number(cast("block-number")) > 0);
    const sent = JSON.parse(cast("send", address, "deposit()", "--value", "5", "--json", ...key));
    assert.equal(sent.logs.length, 1);
    const topic = new ethers.Interface(abi).getEvent("StakeChanged").topicHash;
    const logs = JSON.parse(cast("logs", "--from-block", sent.blockNumber, "--address", address, topic, "--json"));
    assert.ok(logs.some((log) => log.transactionHash === sent.transactionHash));
    const stake = cast("call", address, "stakeOf(address)((uint256,uint256,uint256,uint64))", wallet.address);
    assert.match(stake, /^\(5, 0, 0, 0\)$/);
    const refusal = { status: 1, stderr: /Refused|stake_too_low|execution reverted/ };
    assert.throws(() => cast("call", address, "beginUnbond(uint256)", "1000", "--from", wallet.address), refusal);
    assert.throws(() => cast("send", receiver, "--value", "1", "--nonce", "0", ...key), { stderr: /nonce too low/ });
    provider.destroy();
}
