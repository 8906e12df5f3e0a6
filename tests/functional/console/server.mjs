// SPDX-License-Identifier: MIT
// How the node serves the console: size, headers, a restart, bad input. The chain is a developer's without a market.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import http from "node:http";
import path from "node:path";
import WebSocket, { WebSocketServer } from "ws";
import { compileSmall, figure, fitsWidth, folder, go, openBrowser, openPage, passesAxe, rpc, run, start, until } from "./common.mjs";

const kBytesMax = 300_000;

async function startNode(name, port, ...more) {
    const node = start("node", "--dev", "--data-dir", path.join(folder, name), "--rpc-port", String(port), "--block-ms", "200", "--json", ...more);
    const line = await until(20, "the node's first line", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    return { ...node, url: line, node };
}

export async function thePageIsSmallAndStrict() {
    const { url, node } = await startNode("size", 0);
    const first = await fetch(url + "/");
    const html = await first.text();
    assert.equal(first.status, 200, html);
    assert.equal(first.headers.get("content-security-policy"), "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
        "connect-src 'self' http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types retrace");
    assert.equal(first.headers.get("x-content-type-options"), "nosniff");
    let sum = html.length;
    const files = [...html.matchAll(/(?:src|href)="\.?(\/console\/[^"]+)"/g)].map((match) => match[1]);
    assert.ok(files.length >= 2, html);
    for (const file of files) {
        const reply = await fetch(url + file, { headers: { "accept-encoding": "gzip" } });
        assert.equal(reply.status, 200, file);
        assert.equal(reply.headers.get("content-encoding"), "gzip");
        sum += Number(reply.headers.get("content-length"));
        const again = await fetch(url + file, { headers: { "if-none-match": reply.headers.get("etag") } });
        assert.equal(again.status, 304, file);
    }
    assert.ok(sum <= kBytesMax, `${sum} bytes are sent`);
    await node.end();
    figure("transferred", "bytes", sum, kBytesMax);
    return `${sum} bytes`;
}

/// Prints figures, because how quick a page is depends on what else the machine does; `bench_market` has the bounds.
export async function thePageIsQuick() {
    const { url, node } = await startNode("quick", 0);
    const heard = new Map();
    const socket = new WebSocket(url.replace("http", "ws"));
    socket.on("open", () => socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] })));
    socket.on("message", (text) => {
        const head = JSON.parse(text).params?.result;
        if (head) heard.set(Number(head.number), Date.now());
    });
    const browser = await openBrowser();
    const page = await openPage(browser, url + "/");
    await page.locator(".link.open .num").waitFor();
    // The element may be there before the browser has painted it.
    const painted = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    const paint = await (await page.waitForFunction(painted)).jsonValue();
    const shown = await page.evaluate(() => new Promise((resolve) => {
        const times = [];
        const field = document.querySelector(".link.open");
        new MutationObserver(() => {
            times.push([Number(field.textContent.replace(/\D/g, "")), Date.now()]);
            if (times.length >= 20) resolve(times);
        }).observe(field, { subtree: true, childList: true, characterData: true });
    }));
    const delays = shown.filter(([height]) => heard.has(height)).map(([height, at]) => at - heard.get(height));
    assert.ok(delays.length >= 10, `${delays.length} blocks were seen by both`);
    socket.close();
    await browser.close();
    await node.end();
    figure("first_paint", "ms", paint, 1000);
    figure("live_delay", "ms", Math.max(...delays), 1000);
    return `first_paint ${paint.toFixed(0)} ms, live_delay at most ${Math.max(...delays)} ms behind another subscriber`;
}

const kTasks = 10_000;
const kStates = ["bidding", "assigned", "running", "delivering", "settled", "cancelled", "expired", "forfeited"];

/// Answers of `retrace_tasks` as a market of `kTasks` gives them, made from what the node says of a real one.
function manyTasks(real, { limit = 50, before }) {
    const first = Math.min(kTasks, before === undefined ? kTasks : Number(before) - 1);
    const items = Array.from({ length: Math.min(limit, first) }, (_, i) => {
        const id = first - i;
        const hex = (value) => `0x${value.toString(16)}`;
        return { ...real, id: hex(id), name: `${real.name} ${id}`, state: kStates[id % kStates.length], segments: hex(100), paid: hex(id % 101),
            requester: `0x${id.toString(16).padStart(40, "0")}`, postedHeight: hex(7 * id) };
    });
    return { items, next: first > limit ? `0x${(first - limit + 1).toString(16)}` : null };
}

/// A list of 10,000 tasks: few of its rows are elements, all are reached, and it scrolls. The page and the browser are real;
/// the rows are answers that this test makes from the node's answer about one posted task.
export async function thePageIsSmoothWithManyRows() {
    const { url, node } = await startNode("many", 0);
    await run("task", "submit", await compileSmall("a task"), "--node", url, "--dev-account", "0", "--data-dir", path.join(folder, "many-requester"), "--allow-unaudited");
    const [real] = (await rpc(url, "retrace_tasks")).items;
    const browser = await openBrowser();
    const page = await browser.newPage();
    const wrong = [];
    page.on("pageerror", (error) => wrong.push(String(error)));
    await page.routeWebSocket(/.*/, (socket) => {
        const link = socket.connectToServer();
        socket.onMessage((text) => {
            const { id, method, params } = JSON.parse(text);
            if (method === "retrace_tasks") socket.send(JSON.stringify({ jsonrpc: "2.0", id, result: manyTasks(real, params[0] ?? {}) }));
            else link.send(text);
        });
    });
    await page.goto(`${url}/#/tasks`);
    const box = page.getByRole("group", { name: "Tasks" });
    await box.getByText(`a task ${kTasks}`, { exact: true }).waitFor({ timeout: 15_000 });
    assert.equal(await box.locator("table").getAttribute("aria-rowcount"), String(kTasks + 1));
    const height = await box.locator("tbody tr:not([aria-hidden])").nth(3).evaluate((row) => row.getBoundingClientRect().height);
    assert.equal(height, 28, "the height that the window counts with");
    await page.evaluate(() => {
        window.frameTimes = [];
        const tick = (at) => (window.frameTimes.push(at), requestAnimationFrame(tick));
        requestAnimationFrame(tick);
    });
    const area = await box.boundingBox();
    const devtools = await browser.newCDPSession(page);
    await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
    const worked = async () => (await devtools.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value;
    const before = await worked();
    const begin = await page.evaluate(() => (window.frameTimes.length = 0, performance.now()));
    await devtools.send("Input.synthesizeScrollGesture", { x: area.x + area.width / 2, y: area.y + area.height / 2, yDistance: -40_000, speed: 5000, gestureSourceType: "mouse" });
    const { times, end, top } = await page.evaluate(() => ({ times: window.frameTimes, end: performance.now(), top: document.querySelector(".windowed").scrollTop }));
    const work = (1000 * ((await worked()) - before)) / times.length;
    assert.ok(top > 30_000, `it was scrolled by ${top} pixels in ${end - begin} ms`);
    const deltas = times.slice(1).map((at, i) => at - times[i]).sort((a, b) => a - b);
    const slow = deltas[Math.floor(0.95 * deltas.length)];
    const second = (1000 * deltas.length) / deltas.reduce((sum, one) => sum + one, 0);
    const elements = await box.locator("tbody tr").count();
    assert.ok(elements < 120, `${elements} rows are elements`);
    await until(10, "the rows at the new place", async () => (await box.locator("td", { hasText: /^…$/ }).count()) === 0);
    // With the keyboard, to the oldest.
    await box.focus();
    await page.keyboard.press("End");
    await box.getByText("a task 1", { exact: true }).waitFor({ timeout: 15_000 });
    assert.equal(await box.locator("tbody tr:not([aria-hidden])").last().getAttribute("aria-rowindex"), String(kTasks + 1));
    await passesAxe(page, "ten thousand tasks");
    await page.setViewportSize({ width: 360, height: 740 });
    await fitsWidth(page, "ten thousand tasks on a phone");
    assert.deepEqual(wrong, []);
    await browser.close();
    await node.end();
    figure("scroll_frame", "ms", slow, 17);
    figure("scroll_work", "ms", work, 1000 / 60);
    return `${second.toFixed(1)} frames a second, 95 % within ${slow.toFixed(1)} ms, ${work.toFixed(1)} ms of work each; ${elements} of ${kTasks} rows are elements`;
}

/// What a liar answers. Each method gets each of these in turn.
const kNonsense = [null, {}, [], [null], "", "0x", "0xzz", -1, 1e308, true, { items: null, next: {} }, { items: [{}], next: "0x1" },
    { task: {}, spec: {}, runs: [{}], segments: "0xffffffffffffffff" }, { dispute: {}, decision: { arguments: null } },
    { task: { id: "0x1", requester: 7, state: null }, spec: { name: {}, steps: "0x0", interval: "0x0", dataRoots: 1 }, segments: "0x989680", runs: [] },
    [{ address: null, abi: [{ type: "event" }] }], { number: "1", transactions: [{}] }, [{ index: "0x0", segment: null }]];

/// The page of a node that sends nonsense stays, says so, and does not fail.
export async function aNodeThatSendsNonsenseBreaksNothing() {
    const { url, node } = await startNode("honest", 0);
    let turn = 0;
    let unshown = 0;
    const liar = http.createServer(async (request, reply) => {
        const honest = await fetch(url + request.url);
        reply.writeHead(honest.status, { "content-type": honest.headers.get("content-type"),
            "content-security-policy": honest.headers.get("content-security-policy") ?? "" });
        reply.end(Buffer.from(await honest.arrayBuffer()));
    });
    new WebSocketServer({ server: liar }).on("connection", (socket) => {
        socket.on("message", (text) => {
            const { id, method } = JSON.parse(text);
            const result = method === "eth_subscribe" ? `0x${id}` : kNonsense[turn++ % kNonsense.length];
            socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
            if (method !== "eth_subscribe") return;
            for (const said of ["{", "[]", "null", "7", '{"id":999,"result":1}', '{"method":"eth_subscription"}'])
                socket.send(said);
            for (const nonsense of kNonsense)
                socket.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params: { subscription: `0x${id}`, result: nonsense } }));
        });
    });
    await new Promise((resolve) => liar.listen(0, "127.0.0.1", resolve));
    const own = `http://127.0.0.1:${liar.address().port}`;
    const browser = await openBrowser();
    const page = await openPage(browser, own + "/");
    const pages = ["#/", "#/tasks", "#/task/1", "#/disputes", "#/dispute/1", "#/audit/1", "#/blocks", "#/block/1", `#/tx/0x${"1".repeat(64)}`,
        `#/account/0x${"2".repeat(40)}`, "#/post/1", "#/reservation/1", "#/search/1", "#/search/name"];
    for (let round = 0; round < kNonsense.length; round++) {
        turn = round;
        for (const hash of pages) {
            await page.evaluate((to) => { location.hash = to; }, hash);
            await page.waitForTimeout(50);
            assert.ok(await page.locator("header.top a.name").isVisible(), `${hash}, from nonsense ${round}`);
            const said = (await page.locator("main").innerText()).trim();
            assert.ok(said.length > 0, `${hash}, from nonsense ${round}: nothing is shown`);
            if (said.startsWith("This page cannot be shown")) unshown++;
        }
    }
    assert.ok(unshown > 0, "none of it was so wrong that the page named it");
    assert.deepEqual(page.wrong.filter((one) => one.startsWith("exception")), []);
    await browser.close();
    liar.closeAllConnections();
    liar.close();
    await node.end();
    return `${kNonsense.length * pages.length} pages`;
}

const kSum = { earned: "0x1", lost: "0x0", segments: 1, audits: 0, last: 1 };
const kAgent = { role: "verifier", node: "http://127.0.0.1:1", address: "", endpoint: "", height: 1, draining: false, work: [], duties: [], waiting: [], reserved: [],
    choices: [], earlier: [], problems: 0, pending_calls: 0, fees_since_start: "0x0", self_test: { running: false },
    ledger: { chain_id: 1, height: 1, block_time: 1, pace_s: 1, balance: "0x0", bonded: "0x0", locked: "0x0", unbonding: "0x0", unbond_height: 0, income_first: 0,
        income_last: 1, income_complete: true, total: kSum, tasks: [], audits: [], days: [], trouble: "" } };

/// An agent that knows the token, as node/cmd/machine/page_sessions.hpp describes it.
function codesOf(token) {
    const code = (...parts) => crypto.createHmac("sha256", token).update(parts.join("\n")).digest("hex");
    const session = "cd".repeat(32);
    return {
        greeting: (nonce) => ({ session, code: code("retrace/agent/1", nonce, session) }),
        knows: ({ method, url, headers }) => {
            const [scheme, own, number, shown] = String(headers.authorization).split(" ");
            return scheme === "Retrace" && own === session && shown === code("retrace/page/1", own, number, method, url);
        },
        proof: ({ headers }, status, body) => code("retrace/answer/1", session, headers.authorization.split(" ")[2], status, body),
    };
}

/// An agent's page keeps its stop button whatever the agent tells, and shows its token to nobody.
export async function anAgentsPageIsWaryOfItsPort() {
    const { url, node } = await startNode("agent", 0);
    // Its files are those of a real agent.
    const real = start("solver", "--node", url, "--dev-account", "4", "--data-dir", path.join(folder, "agent-solver"), "--port", "0", "--console-port", "0");
    const own = await until(30, "the link", () => /its own page, for you alone: (http:[^#\s]+)/.exec(real.out)?.[1]).catch((error) => { throw new Error(`${error.message}: ${real.err}`); });
    const token = "ab".repeat(32);
    const state = { told: kAgent, stops: 0, shown: [], knows: true };
    const codes = codesOf(token);
    const server = () => http.createServer(async (request, reply) => {
        state.shown.push(`${request.url} ${JSON.stringify(request.headers)}`);
        const json = (value) => {
            const body = JSON.stringify(value);
            const proof = request.headers.authorization ? { "retrace-proof": state.knows ? codes.proof(request, 200, body) : "00".repeat(32) } : {};
            reply.writeHead(200, { "content-type": "application/json", ...proof }).end(body);
        };
        if (request.url.startsWith("/machine/hello")) {
            const greeting = codes.greeting(request.url.split("nonce=")[1]);
            return json(state.knows ? greeting : { ...greeting, code: "00".repeat(32) });
        }
        if (request.url.startsWith("/machine/")) assert.ok(!state.knows || codes.knows(request), "the page shows that it knows the token");
        if (request.url === "/machine/stop") return state.stops++, json({ stopping: true });
        if (request.url.startsWith("/machine/log")) return json({ first: 0, lines: ["a line"] });
        if (request.url === "/machine/state") return json(state.told);
        const file = await fetch(new URL(request.url, own));
        const policy = file.headers.get("content-security-policy");
        reply.writeHead(file.status, { "content-type": file.headers.get("content-type"), ...(policy ? { "content-security-policy": policy } : {}) });
        reply.end(Buffer.from(await file.arrayBuffer()));
    });
    const listening = (one, port) => new Promise((resolve, reject) => one.on("error", reject).listen(port, "127.0.0.1", () => resolve(one.address().port)));
    assert.match((await fetch(own)).headers.get("content-security-policy"), /connect-src 'self'; .*; require-trusted-types-for 'script'; trusted-types 'none'$/);
    const agent = server();
    const port = await listening(agent, 0);
    const browser = await openBrowser();
    const page = await openPage(browser, `http://127.0.0.1:${port}/`);
    await page.getByText("The token is missing or wrong").waitFor();
    assert.ok(!state.shown.some((one) => one.startsWith("/machine/")), "nothing is asked without a token");
    // A link that is pasted into the open tab.
    await page.evaluate((to) => { location.hash = to; }, token);
    await page.getByText("this machine as a verifier").waitFor();
    assert.equal(page.url(), `http://127.0.0.1:${port}/`, "the token is out of the address bar");
    for (const [told, sentence] of [
        [{ self_test: { running: false, made: 1, result: { error: "the disk is gone" } } }, "The self-test failed: the disk is gone"],
        [{ ledger: { ...kAgent.ledger, block_time: 1e300, days: [{ ...kSum, day: 1e200 }] } }, "by the chain's clock in UTC"],
        [{ duties: 7 }, "A part of this page cannot be shown"],
        [{ ledger: { ...kAgent.ledger, days: null, total: null } }, "A part of this page cannot be shown"],
        [{ self_test: { running: false, result: { checks: 7 } } }, "A part of this page cannot be shown"],
    ]) {
        state.told = { ...kAgent, ...told };
        await page.getByText(sentence).first().waitFor({ timeout: 10_000 });
        await page.getByRole("button", { name: "End the agent" }).waitFor({ timeout: 5_000 });
    }
    state.told = kAgent;
    await page.getByText("A part of this page cannot be shown").waitFor({ state: "detached", timeout: 10_000 });
    await passesAxe(page, "an agent's page after nonsense");
    await page.getByRole("button", { name: "End the agent" }).click();
    await page.getByRole("button", { name: "End", exact: true }).click();
    await page.getByText("It ends now.").waitFor();
    assert.equal(state.stops, 1);
    assert.ok(state.shown.some((one) => one.includes('"authorization"')));

    // Another program has the port at once, so that the page sees it closed at no time; then after that.
    state.knows = false;
    await page.getByText("Something else than the agent answers").waitFor({ timeout: 15_000 });
    await page.evaluate((to) => { location.hash = to; }, token);
    await page.getByText("The token is missing or wrong").waitFor({ timeout: 15_000 });
    assert.ok(!state.shown.some((one) => one.includes(token)), "the token is sent to nobody");
    state.knows = true;
    await page.evaluate((to) => { location.hash = to; }, token);
    await page.getByText("not connected").waitFor({ state: "detached", timeout: 15_000 });
    agent.closeAllConnections();
    await new Promise((resolve) => agent.close(resolve));
    await page.getByText("The agent does not answer: it has ended, or was started again.").waitFor({ timeout: 15_000 });
    state.shown.length = 0;
    const other = server();
    await listening(other, port);
    await page.waitForTimeout(5_000);
    await page.reload();
    await page.getByText("The token is missing or wrong").waitFor();
    assert.ok(!state.shown.some((one) => one.startsWith("/machine/") || one.includes(token)), "whoever takes the port is asked nothing");
    assert.deepEqual(page.wrong.filter((one) => one.startsWith("exception")), []);
    await browser.close();
    other.closeAllConnections();
    other.close();
    await real.end("SIGKILL");
    await node.end();
}

/// Each answer comes after the next block, when the page has asked again.
export async function aSlowLinkShowsWhatItBrings() {
    const { url, node } = await startNode("slow", 0);
    const browser = await openBrowser();
    const page = await browser.newPage();
    await page.routeWebSocket(/.*/, (socket) => {
        const link = socket.connectToServer();
        link.onMessage((text) => setTimeout(() => socket.send(text), 1500));
    });
    const receiver = "0x00000000000000000000000000000000000000ff";
    await page.goto(`${url}/#/account/${receiver}`);
    const balance = page.locator("dl.tiles div", { hasText: "balance" });
    await balance.getByText("0", { exact: true }).waitFor({ timeout: 15_000 });
    await run("wallet", "send", "--dev-account", "0", "--to", receiver, "--value", "1.25", "--node", url);
    await balance.getByText("1.25").waitFor({ timeout: 15_000 });
    await browser.close();
    await node.end();
}

export async function noConsoleMeansNone() {
    const { url, node } = await startNode("off", 0, "--no-console");
    const reply = await fetch(url + "/");
    assert.equal(reply.status, 405);
    assert.match(await reply.text(), /JSON-RPC is served here/);
    await node.end();
}

export async function aNodeThatRestartsIsFoundAgain() {
    const first = await startNode("restart", 0);
    const browser = await openBrowser();
    const page = await openPage(browser, first.url + "/");
    await page.locator(".link.open").waitFor();
    await first.node.end("SIGKILL");
    await page.locator(".banner").waitFor({ timeout: 10_000 });
    await passesAxe(page, "without a node");
    const second = await startNode("restart", new URL(first.url).port);
    await page.locator(".link.open").waitFor({ timeout: 30_000 });
    const height = async () => Number((await page.locator(".link.open .num").textContent()).replace(/\D/g, ""));
    const before = await height();
    await until(10, "a new block", async () => (await height()) > before);
    assert.equal(await page.locator(".banner").count(), 0);
    assert.deepEqual(page.wrong, []);
    await browser.close();
    await second.node.end();
}

export async function whatIsNotThereIsSaid() {
    const { url, node } = await startNode("bad", 0);
    const browser = await openBrowser();
    const page = await openPage(browser, url + "/");
    for (const [hash, text] of [["#/task/99", "There is no such task 99"], ["#/task/x", "A task has a number"],
        ["#/block/soon", "A block has a number"], ["#/block/999999", "There is no such block"], ["#/tx/0x1", "64 hex digits"],
        ["#/account/none", "40 hex digits"], ["#/dispute/7", "There is no such dispute"], ["#/reservation/7", "There is no such reservation 7"], ["#/reservation/x", "A reservation has a number"], ["#/nothing", "There is no such page"],
        ["#/search/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E", "Nothing is called that"]]) {
        await page.evaluate((to) => { location.hash = to; }, hash);
        await page.getByText(text).first().waitFor({ timeout: 10_000 });
    }
    assert.equal(await page.locator("main img").count(), 0);
    await go(page, "#/", "Network");
    await page.keyboard.press("/");
    await page.keyboard.type("1");
    await page.keyboard.press("Enter");
    await page.locator("h1", { hasText: "Block 1" }).waitFor({ timeout: 10_000 });
    assert.deepEqual(page.wrong, []);
    await browser.close();
    await node.end();
}

/// What a node refuses is named where it would be missed, and what is due first is shown although much is due.
export async function whatFailsIsSaid() {
    const { url, node } = await startNode("refusing", 0);
    const browser = await openBrowser();
    const page = await browser.newPage();
    const many = 100;
    const address = `0x${"3".repeat(40)}`;
    const stake = { bonded: "0x0", locked: "0x0", unbonding: "0x0", unbondHeight: "0x0" };
    const party = { address, nonce: "0x0", balance: "0x0", stake, solver: null, verifier: null, challenge: null, openRuns: [],
        openAudits: Array.from({ length: many }, (_, i) => `0x${(i + 1).toString(16)}`), openDisputes: [] };
    const audit = (id) => ({ id, task: "0x1", run: 0, segment: "0x0", phase: "collecting", deadline: `0x${(9000 - Number(id)).toString(16)}`, seats: [] });
    let refused = ["retrace_dispute"];
    await page.routeWebSocket(/.*/, (socket) => {
        const link = socket.connectToServer();
        link.onMessage((text) => socket.send(text));
        socket.onMessage((text) => {
            const { id, method, params } = JSON.parse(text);
            const reply = (answer) => socket.send(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
            if (refused.includes(method)) reply({ error: { code: -32000, message: "the node is tired" } });
            else if (method === "retrace_party") reply({ result: party });
            else if (method === "retrace_audit") reply({ result: audit(params[0]) });
            else link.send(text);
        });
    });
    await page.goto(`${url}/#/search/1`);
    await page.getByText("Not all was searched: retrace_dispute: the node is tired").waitFor({ timeout: 15_000 });
    await page.locator("main a", { hasText: "block 1" }).waitFor();
    await page.goto(`${url}/#/account/${address}`);
    const due = page.getByRole("group", { name: "To do now" }).locator("tbody tr");
    await due.first().getByText(`audit ${many}`).waitFor({ timeout: 15_000 });
    await page.getByText("The 60 that are due first are shown.").waitFor();
    refused = ["retrace_audit"];
    await page.getByText("What is due is not known, or old: the node is tired").waitFor({ timeout: 15_000 });
    await browser.close();
    await node.end();
}
