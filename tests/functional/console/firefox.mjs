// SPDX-License-Identifier: MIT
// Usage: node firefox.mjs PROGRAM FOLDER FIREFOX. The console works in Firefox, which is driven by WebDriver BiDi alone.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import WebSocket from "ws";
import { folder, start, until } from "./common.mjs";

const firefox = process.argv[4];

/// A headless Firefox with an empty profile.
async function openFirefox() {
    const profile = path.join(folder, "firefox");
    fs.mkdirSync(profile, { recursive: true });
    const child = spawn(firefox, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0", "about:blank"],
        { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: folder, MOZ_DISABLE_CONTENT_SANDBOX: "1" } });
    process.on("exit", () => child.kill("SIGKILL"));
    let text = "";
    child.stderr.on("data", (more) => (text += more));
    const url = await until(60, "Firefox", () => /WebDriver BiDi listening on (ws:\S+)/.exec(text)?.[1]).catch((error) => { throw new Error(`${error.message}\n${text}`); });
    const socket = new WebSocket(`${url}/session`);
    await new Promise((resolve, reject) => socket.on("open", resolve).on("error", reject));
    const waiting = new Map();
    const wrong = [];
    socket.on("message", (data) => {
        const message = JSON.parse(data);
        if (message.method === "log.entryAdded" && message.params.level === "error") wrong.push(message.params.text);
        waiting.get(message.id)?.(message);
    });
    let next = 1;
    const call = (method, params) => new Promise((resolve, reject) => {
        const id = next++;
        waiting.set(id, (message) => (message.type === "success" ? resolve(message.result) : reject(new Error(`${method}: ${message.message}`))));
        socket.send(JSON.stringify({ id, method, params }));
    });
    await call("session.new", { capabilities: {} });
    await call("session.subscribe", { events: ["log.entryAdded"] });
    const [{ context }] = (await call("browsingContext.getTree", {})).contexts;
    const ask = async (expression) => {
        const { result, exceptionDetails } = await call("script.evaluate", { expression, target: { context }, awaitPromise: true });
        assert.equal(exceptionDetails, undefined, `${expression}: ${exceptionDetails?.text}`);
        return result.value;
    };
    return { call, ask, wrong, context, end: () => child.kill("SIGTERM") };
}

const node = start("node", "--dev", "--data-dir", path.join(folder, "firefox-node"), "--rpc-port", "0", "--block-ms", "200", "--json");
const url = await until(20, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
const { call, ask, wrong, context, end } = await openFirefox();
await call("browsingContext.navigate", { context, url: url + "/", wait: "complete" });
const height = () => ask(`Number((document.querySelector(".link.open .num")?.textContent ?? "").replace(/\\D/g, ""))`);
const first = await until(20, "a height", async () => (await height()) || undefined);
await until(20, "a newer block", async () => (await height()) > first);
for (const [hash, heading] of [["#/", "Network"], ["#/tasks", "Tasks"], ["#/blocks", "Blocks"], ["#/post/", "Post a task"], ["#/disputes", "Disputes"]]) {
    await ask(`void (location.hash = ${JSON.stringify(hash)})`);
    await until(15, heading, async () => (await ask(`document.querySelector("h1")?.textContent ?? ""`)).includes(heading));
}
await ask(`void (location.hash = "#/post/")`);
assert.equal(await until(15, "the field", () => ask(`document.querySelector("main input[type=file]")?.webkitdirectory`)), true, "a folder can be chosen");
assert.equal(await ask(`document.scrollingElement.scrollWidth <= window.innerWidth`), true);
assert.deepEqual(wrong, []);
end();
await node.end();
console.log(`firefox: passed, height ${first} and later`);
process.exit(0);
