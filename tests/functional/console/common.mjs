// SPDX-License-Identifier: MIT
// Processes, the browser, and what every page is asked.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const [, , program, folder] = process.argv;
const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const chromiumFlags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"];
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const children = new Set();
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));

/// A retrace process; `err` and `out` grow as it writes.
export const start = (...args) => startProgram(program, ...args);
export function startProgram(file, ...args) {
    const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
    children.add(child);
    const ended = new Promise((resolve) => child.on("close", (code) => (children.delete(child), resolve(code))));
    const process_ = { child, out: "", err: "", ended, end: (signal = "SIGTERM") => (child.kill(signal), ended) };
    child.stdout.on("data", (text) => (process_.out += text));
    child.stderr.on("data", (text) => (process_.err += text));
    return process_;
}

/// Prints a row of a benchmark, if one asks for it: what was measured and the most that is allowed.
export function figure(name, unit, value, most) {
    if (process.env.RETRACE_FIGURES) console.log([name, unit, "the most that is allowed", value, most].join("\t"));
}

/// Runs a command to its end; its output. An assertion fails if it does.
export async function run(...args) {
    const done = start(...args);
    assert.equal(await done.ended, 0, `${args.join(" ")}: ${done.err}`);
    return done;
}

/// Compiles a training on 200 rows, which any machine fetches and trains at once; returns its folder.
export async function compileSmall(name, ...more) {
    const csv = path.join(folder, `${name}.csv`);
    fs.writeFileSync(csv, `a,b,label\n${Array.from({ length: 200 }, (_, i) => `${i % 7},${i % 5},${i % 2}`).join("\n")}\n`);
    const out = path.join(folder, name);
    await run("task", "compile", "mlp", "--data", csv, "-o", out, "--hidden", "4", "--batch", "16", "--price-ceiling", "1", "--name", name, ...more);
    return out;
}

/// Writes rows whose label is whether the first two columns add up to more than one.
export function writeTable(file) {
    let seed = 1;
    const random = () => ((seed = (seed * 48271) % 2147483647) / 2147483647);
    const rows = Array.from({ length: 2000 }, () => {
        const x = Array.from({ length: 8 }, () => random().toFixed(3));
        return `${x.join(",")},${Number(x[0]) + Number(x[1]) > 1 ? 1 : 0}`;
    });
    fs.writeFileSync(file, `a,b,c,d,e,f,g,h,label\n${rows.join("\n")}\n`);
}

/// The result of `look` once it is neither undefined nor false.
export async function until(seconds, what, look) {
    const end = Date.now() + 1000 * seconds;
    for (;;) {
        const found = await look();
        if (found !== undefined && found !== false && found !== null) return found;
        if (Date.now() > end) throw new Error(`${what}: not in ${seconds} s`);
        await sleep(100);
    }
}

export async function rpc(url, method, ...params) {
    const reply = await fetch(url, { method: "POST", headers: { "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) });
    const { result, error } = await reply.json();
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
}

/// `flags` and `options` are Chromium's and Playwright's beside those of every check.
export async function openBrowser(flags = [], options = {}) {
    return chromium.launchPersistentContext(fs.mkdtempSync(path.join(folder, "browser-")),
        { executablePath: "/usr/bin/chromium", headless: true, args: [...chromiumFlags, ...flags], viewport: { width: 1280, height: 900 }, ...options });
}

/// A page that remembers what went wrong in it and what it asked of others.
export async function openPage(browser, url) {
    const page = await browser.newPage();
    const wrong = [];
    page.on("pageerror", (error) => wrong.push(`exception: ${error}`));
    page.on("console", (message) => {
        // A connection that a test cuts is reported by the browser itself.
        if (message.type() === "error" && !/WebSocket|ERR_CONNECTION/.test(message.text())) wrong.push(message.text());
    });
    page.on("request", (request) => {
        if (new URL(request.url()).origin !== new URL(url).origin && !request.url().startsWith("data:"))
            wrong.push(`asked another origin: ${request.url()}`);
    });
    page.wrong = wrong;
    await page.goto(url, { waitUntil: "load" });
    return page;
}

/// Goes to a page of the console and waits for its heading.
export async function go(page, hash, heading) {
    await page.evaluate((to) => { location.hash = to; }, hash);
    await page.locator("h1", { hasText: heading }).first().waitFor({ timeout: 15_000 });
}

export async function passesAxe(page, what) {
    // Playwright evaluates it in a world of its own, which the page's policy does not bind.
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    const text = violations.map((v) => `${v.id}: ${v.help}\n${v.nodes.slice(0, 3).map((n) => `  ${n.html}\n  ${n.failureSummary}`).join("\n")}`);
    assert.equal(violations.length, 0, `${what}: axe finds\n${text.join("\n")}`);
}

/// The page itself must not scroll sideways; tables do by themselves.
export async function fitsWidth(page, what) {
    const { wide, inner } = await page.evaluate(() => ({ wide: document.scrollingElement.scrollWidth, inner: window.innerWidth }));
    assert.ok(wide <= inner, `${what} is ${wide} pixels wide in a window of ${inner}`);
}

/// Of a page, or of a part of one.
export async function picture(page, name, options = {}) {
    const target = process.env.RETRACE_SCREENSHOTS ?? folder;
    fs.mkdirSync(target, { recursive: true });
    await page.screenshot({ path: path.join(target, `${name}.png`), ...options });
}
