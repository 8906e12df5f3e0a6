// SPDX-License-Identifier: MIT
// A training whose members keep their data to themselves: its receipt says which segments nobody could check.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { ethers } from "ethers";
import { checksItsReceipt } from "./receipts.mjs";
import { folder, go, openBrowser, openPage, rpc, run, start, until, writeTable } from "./common.mjs";
import { phrase } from "./wallet.mjs";

const kMembers = 3;
const kRounds = 2;
const addressOf = (index) => ethers.HDNodeWallet.fromPhrase(phrase, "", `m/44'/60'/0'/0/${index}`).address;

export async function aPrivateTrainingSaysWhatNobodyChecked() {
    const csv = path.join(folder, "private.csv");
    writeTable(csv);
    const task = path.join(folder, "private-task");
    await run("task", "compile", "mlp", "--data", csv, "-o", task, "--hidden", "8", "--batch", "16", "--lr", "0.02", "--name", "private", "--price-ceiling", "1",
        "--audit-percent", "50", "--auditors", "1", "--rounds", String(kRounds), "--members", String(kMembers), "--least-members", String(kMembers), "--inner", "2",
        "--round-blocks", "200", "--grace-blocks", "100", "--fetch-blocks", "40", "--reveal-blocks", "40", "--absence-limit", "4", "--private");
    const terms = path.join(task, "task.toml");
    fs.writeFileSync(terms, fs.readFileSync(terms, "utf8").replace("replay_blocks = 300", "replay_blocks = 20"));
    const node = start("node", "--dev", "--data-dir", path.join(folder, "private-node"), "--rpc-port", "0", "--block-ms", "200", "--json");
    const url = await until(30, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const own = path.join(task, "data");
    const data = ["--data", own, "--data-for", addressOf(0)];
    const party = (kind, account, ...more) =>
        start(kind, "--node", url, "--dev-account", String(account), "--data-dir", path.join(folder, `private-${kind}-${account}`), "--port", "0", "--threads", "1",
            "--stake", "200", ...more);
    // One member lets a verifier check what it does with its data.
    const parties = [party("verifier", 5, "--data", `1:${addressOf(2)}=${own}`), party("verifier", 6),
        ...[1, 2, 3].map((account) => party("solver", account, "--price", "0.5", "--groups", ...data, ...(account === 2 ? ["--consent", addressOf(5)] : [])))];
    await until(60, "the solvers", () => parties.slice(2).every(({ err }) => err.includes("event=registered")))
        .catch((error) => { throw new Error(`${error.message}: ${parties.map(({ err }) => err).join("\n")}`); });
    await until(120, "the verifiers", async () => (await rpc(url, "retrace_verifiers")).filter(({ info }) => info.member).length === 2);
    const requester = path.join(folder, "private-requester");
    await run("task", "submit", task, "--node", url, "--dev-account", "0", "--data-dir", requester, "--admit", ...[1, 2, 3].map(addressOf));
    await until(400, "the delivery", async () => (await rpc(url, "retrace_task", "0x1")).task.state === "delivering")
        .catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify(await rpc(url, "retrace_explainTask", "0x1"))}\n${parties.map(({ err }) => err.slice(-1500)).join("\n")}`); });
    await run("task", "fetch", "1", "--node", url, "-o", path.join(folder, "private-model"), "--data-dir", requester);

    const browser = await openBrowser();
    const page = await openPage(browser, `${url}/`);
    await go(page, "#/task/1", "private");
    const said = await checksItsReceipt(page, url, 1, path.join(folder, "private-model", "receipt.json"));
    assert.equal(said.private_data, true);
    assert.equal(said.consented_segments + said.unverified_segments, kMembers * kRounds);
    assert.ok(said.consented_segments > 0, "the first of them is always audited");
    await page.getByText(`${said.unverified_segments} segments that train on members' own data are unverified`).waitFor();
    await page.getByText(`${said.consented_segments} were checked only by accounts to which the member gave the data`).waitFor();
    assert.deepEqual(page.wrong, []);
    await browser.close();
    await Promise.all([...parties, node].map((one) => one.end("SIGKILL")));
}
