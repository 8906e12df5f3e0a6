// SPDX-License-Identifier: MIT
// A node with a self-signed certificate: ethers and viem over https and wss, told to trust that certificate alone.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { X509Certificate } from "node:crypto";
import https from "node:https";
import { ethers } from "ethers";
import WebSocket from "ws";
import { account, chainId, folder, program, receiver, retrace, within } from "./common.mjs";

async function start() {
    const node = spawn(program, ["node", "--dev", "--tls", "--data-dir", path.join(folder, "tls"), "--rpc-port", "0",
        "--block-ms", "200", "--json"], { stdio: ["ignore", "pipe", "ignore"] });
    const line = await within(30, "the node", new Promise((resolve) => node.stdout.once("data", resolve)));
    return { node, said: JSON.parse(line) };
}

export async function clientsTrustThePrintedFingerprint() {
    const { node, said } = await start();
    try {
        const ca = fs.readFileSync(path.join(folder, "tls", "tls-cert.pem"));
        const printed = new X509Certificate(ca).fingerprint256.replaceAll(":", "").toLowerCase();
        assert.equal(said.tls_fingerprint, printed);
        await assert.rejects(new ethers.JsonRpcProvider(said.rpc, chainId, { staticNetwork: true })
            .getBlockNumber(), /self-signed|certificate/);

        const request = new ethers.FetchRequest(said.rpc);
        request.getUrlFunc = ethers.FetchRequest.createGetUrlFunc({ agent: new https.Agent({ ca }) });
        const provider = new ethers.JsonRpcProvider(request, chainId, { staticNetwork: true, pollingInterval: 100 });
        const sent = await account(0).connect(provider).sendTransaction({ to: receiver, value: 9n });
        assert.equal((await sent.wait()).status, 1);
        provider.destroy();

        const socket = new ethers.WebSocketProvider(new WebSocket(said.rpc.replace("https", "wss"), { ca }));
        const head = await within(10, "heads", new Promise((resolve) => socket.on("block", resolve)));
        assert.ok(head > 0);
        await socket.destroy();
        const refused = new WebSocket(said.rpc.replace("https", "wss"));
        await within(10, "refusal", new Promise((resolve, reject) => {
            refused.on("open", () => reject(new Error("an unknown certificate was trusted")));
            refused.on("error", resolve);
        }));
        const balance = retrace("wallet", "balance", receiver, "--json", "--node", said.rpc, "--tls-fingerprint",
            printed);
        assert.equal(JSON.parse(balance).balance, "9");
    } finally {
        node.kill();
    }
}
