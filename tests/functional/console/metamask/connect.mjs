// SPDX-License-Identifier: MIT
// Puts MetaMask's provider into the browser's pages; a page's script and the background speak through the test's driver.
import { Duplex } from "node:stream";
import { build } from "esbuild";
import { openWallet } from "./background.mjs";
import { connectPage } from "./methods.mjs";

/// The wallet in `browser`, and what its person does and has seen.
export async function addMetaMask(browser, phrase, account) {
    const person = { account, connected: false, seen: new Set(), asked: [], refuse: false };
    person.answer = async (request) => {
        person.asked.push(request);
        const value = await person.look?.(request);
        return { refuse: person.refuse, value };
    };
    const wallet = await openWallet(phrase, account + 1, person);
    const ports = new Map();
    await browser.exposeBinding("toMetaMask", ({ frame }, text) => {
        const url = frame.url();
        let port = ports.get(frame);
        if (!port) {
            port = new Duplex({
                objectMode: true,
                read() {},
                // A page that is left hears nothing more.
                write(message, _, done) {
                    frame.evaluate((said) => window.fromMetaMask(said), JSON.stringify(message)).then(() => done(), () => done());
                },
            });
            ports.set(frame, port);
            connectPage(wallet, person, new URL(url).origin, port);
        }
        port.push(JSON.parse(text));
    });
    const { outputFiles } = await build({ entryPoints: ["inpage.mjs"], bundle: true, write: false, format: "iife", platform: "browser",
        define: { global: "globalThis", "process.env.NODE_ENV": '"production"' }, inject: ["shim.mjs"], logLevel: "error" });
    await browser.addInitScript(outputFiles[0].text);
    return { wallet, person };
}
