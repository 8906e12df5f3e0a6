// SPDX-License-Identifier: MIT
// How the console is built: the page of a node and the page of an agent, with their scripts and one style sheet; no file
// is loaded from anywhere else.
import { defineConfig } from "vite";

export default defineConfig({
    base: "./",
    esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
    build: {
        target: "es2022",
        outDir: "build",
        assetsDir: "console",
        assetsInlineLimit: 0,
        modulePreload: { polyfill: false },
        reportCompressedSize: false,
        cssCodeSplit: false,
        rollupOptions: { input: ["index.html", "machine.html"] },
    },
    // `npm run dev` serves the sources; the page calls a developer's node on its usual port (src/rpc.ts).
    server: { proxy: { "/artifact": "http://127.0.0.1:8545" } },
});
