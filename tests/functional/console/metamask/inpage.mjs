// SPDX-License-Identifier: MIT
// Runs in each page before its own scripts, as the inpage script of MetaMask's extension does.
import { initializeProvider } from "@metamask/providers";
import { Duplex } from "readable-stream";

const connectionStream = new Duplex({
    objectMode: true,
    read() {},
    write(message, _, done) {
        window.toMetaMask(JSON.stringify(message)).then(() => done(), done);
    },
});
window.fromMetaMask = (text) => connectionStream.push(JSON.parse(text));

initializeProvider({
    connectionStream,
    logger: { ...console, warn() {} }, // of a page that is left
    providerInfo: { uuid: crypto.randomUUID(), name: "MetaMask", icon: "data:image/svg+xml,<svg/>", rdns: "io.metamask" },
});
