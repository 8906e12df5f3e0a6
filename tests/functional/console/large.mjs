// SPDX-License-Identifier: MIT
// Usage: node large.mjs PROGRAM FOLDER. A folder of more than 1 GiB is posted by the browser's wallet and uploaded: it is
// hashed and sent piece by piece, cancelled in between, and goes on where it stopped. Prints times, and the tab's memory.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { addWallet } from "./wallet.mjs";
import { chromiumFlags, folder, go, openBrowser, openPage, rpc, run, start, startProgram, until } from "./common.mjs";
import WebSocket from "ws";

const kRows = 1_200_000;
const kColumns = 1000; // no whole number of tiles
const kBytes = kRows * (kColumns + 1);
const kMiB = 2 ** 20;
const kMemoryMax = 512 * kMiB; // of the tab's process, above what it has before the folder is chosen

/// A NumPy file of bytes that are 0 but for some, so that it takes no room on the disk.
function writeArray(file, shape, place) {
    const head = `{'descr': '|u1', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`;
    const padded = head.padEnd(118 - 1, " ") + "\n";
    const out = fs.openSync(file, "w");
    fs.writeSync(out, Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), Buffer.from([padded.length & 255, padded.length >> 8]), Buffer.from(padded)]));
    const begin = 10 + padded.length;
    fs.ftruncateSync(out, begin + shape.reduce((a, b) => a * b));
    place((at, bytes) => fs.writeSync(out, bytes, 0, bytes.length, begin + at));
    fs.closeSync(out);
}

async function compile() {
    const data = path.join(folder, "arrays");
    fs.mkdirSync(data);
    writeArray(path.join(data, "x.npy"), [kRows, kColumns], (put) => {
        for (let i = 0; i < 40; i++) put(i * 30_000_000 + i, Buffer.from(Array.from({ length: 5000 }, (_, j) => (7 * i + j) % 256)));
    });
    writeArray(path.join(data, "y.npy"), [kRows], (put) => put(0, Buffer.from(Array.from({ length: kRows }, (_, i) => i % 2))));
    const out = path.join(folder, "large-task");
    await run("task", "compile", "mlp", "--data", path.join(data, "x.npy"), "-o", out, "--hidden", "16", "--steps", "100", "--name", "more than 1 GiB");
    fs.rmSync(data, { recursive: true });
    return out;
}

/// A page in a Chromium of its own, by the DevTools protocol.
async function openTab(address) {
    const profile = fs.mkdtempSync(path.join(folder, "tab-"));
    const chromium = startProgram("/usr/bin/chromium", "--headless", "--remote-debugging-port=0", `--user-data-dir=${profile}`, ...chromiumFlags, address);
    const port = await until(60, "Chromium", () => /DevTools listening on ws:\/\/127\.0\.0\.1:(\d+)/.exec(chromium.err)?.[1]);
    const target = await until(60, "the tab", async () => (await (await fetch(`http://127.0.0.1:${port}/json`)).json()).find(({ type }) => type === "page"));
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await new Promise((resolve) => socket.on("open", resolve));
    const waiting = new Map();
    socket.on("message", (text) => {
        const { id, result, error } = JSON.parse(text);
        const { resolve, reject } = waiting.get(id) ?? {};
        if (error) reject?.(new Error(error.message));
        else resolve?.(result);
    });
    let last = 0;
    const ask = (method, params = {}) => new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject });
        socket.send(JSON.stringify({ id: last, method, params }));
    });
    return {
        text: async () => (await ask("Runtime.evaluate", { expression: "document.body.innerText" })).result.value,
        press: (name) => ask("Runtime.evaluate", { expression: `[...document.querySelectorAll("main button")].find((one) => one.textContent === ${JSON.stringify(name)}).click()` }),
        choose: async (selector, directory) => {
            const { root } = await ask("DOM.getDocument");
            const { nodeId } = await ask("DOM.querySelector", { nodeId: root.nodeId, selector });
            await ask("DOM.setFileInputFiles", { nodeId, files: [directory] });
        },
    };
}

/// Resident bytes of the pages' processes of this test's browser.
function tabs() {
    const all = new Map();
    for (const id of fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
        try {
            const status = fs.readFileSync(`/proc/${id}/status`, "utf8");
            const [, parent] = /PPid:\s+(\d+)/.exec(status);
            const [, kib] = /VmRSS:\s+(\d+)/.exec(status) ?? [0, 0];
            all.set(id, { parent, bytes: 1024 * Number(kib), words: fs.readFileSync(`/proc/${id}/cmdline`, "latin1") });
        } catch {
            // it has ended
        }
    }
    const isOurs = (id) => id !== "0" && all.has(id) && (id === String(process.pid) || isOurs(all.get(id).parent));
    return [...all].filter(([id, { words }]) => words.includes("--type=renderer") && isOurs(id)).reduce((sum, [, { bytes }]) => sum + bytes, 0);
}

// Nobody bids here, so the task lives for three auctions: 60 blocks.
const node = start("node", "--dev", "--data-dir", path.join(folder, "large-node"), "--rpc-port", "0", "--block-ms", "60000", "--json");
const url = await until(30, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
const right = await compile();
assert.ok(fs.statSync(path.join(right, "data/x.bin")).size > 2 ** 30);
const browser = await openBrowser();
const wallet = await addWallet(browser, url, 8, { chain: "0x1", known: false, refuse: false });
const page = await openPage(browser, `${url}/`);
await page.getByRole("button", { name: "Connect Test <b>wallet</b>" }).click();
await page.locator(".wallet a").waitFor();
await go(page, "#/post/", "Post a task");
const before = tabs();
assert.ok(before > 0, "the tab's process was found");
let most = before;
const watch = setInterval(() => (most = Math.max(most, tabs())), 200);

const panel = page.locator("section[aria-labelledby=p-a-new-program]");
const field = panel.locator("input[type=file]");
await field.setInputFiles(right);
await panel.getByText(/reading and hashing: \d+ %/).waitFor();
await panel.getByRole("button", { name: "Cancel" }).click();
await panel.locator(".error", { hasText: "Cancelled." }).waitFor();
const hashing = Date.now();
await field.setInputFiles(right);
// The page answers while it hashes.
await until(60, "some of it", async () => /hashing: [1-9]/.test(await panel.textContent()));
const asked = Date.now();
await page.evaluate(() => 1);
const answered = Date.now() - asked;
assert.ok(answered < 1000, `the page answered after ${answered} ms`);
const send = panel.getByRole("button", { name: "Post the task" });
await send.waitFor({ timeout: 600_000 });
const hashed = (Date.now() - hashing) / 1000;
await panel.getByLabel("pay also for segments that were drawn").check();
await send.click();
await page.getByText(/Sending .* for task 1: \d+ %/).waitFor({ timeout: 120_000 });
assert.deepEqual(page.wrong.filter((one) => one.startsWith("exception")), []);
wallet.close();
await browser.close();

// The rest in another browser, which Playwright does not watch: it is sent a copy of every body.
const tab = await openTab(`${url}/#/upload/1`);
await until(60, "the page", async () => /folder of the compiled task/.test(await tab.text()));
await tab.choose("main input[type=file]", right);
await until(1200, "a part of it", async () => Number(/Sending .*: (\d+) %/.exec(await tab.text())?.[1]) >= 2);
await tab.press("Cancel");
await until(60, "the end", async () => /Cancelled\. What has arrived stays/.test(await tab.text()));
await tab.press("Go on");
const sending = Date.now();
await until(1200, "the end of the upload", async () => /The node has all files of/.test(await tab.text()))
    .catch(async (error) => { throw new Error(`${error.message}: ${await tab.text()}`); });
const sent = (Date.now() - sending) / 1000;
clearInterval(watch);
const { spec } = await rpc(url, "retrace_task", "0x1");
for (const root of spec.dataRoots) {
    const reply = await fetch(`${url}/artifact/${root.slice(2)}/tiles?first=0&count=1`);
    assert.equal(reply.status, 200, "the node serves the data");
}
const grown = most - before;
assert.ok(grown <= kMemoryMax, `the tab grew by ${Math.round(grown / kMiB)} MiB`);
console.log(`${Math.round(kBytes / kMiB)} MiB hashed in ${hashed.toFixed(0)} s, sent in ${sent.toFixed(0)} s; the tab grew by ${Math.round(grown / kMiB)} MiB at most`);
process.exit(0);
