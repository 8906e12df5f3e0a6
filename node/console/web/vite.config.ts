// SPDX-License-Identifier: MIT
// How the console is built: one page, one script, one style sheet; no file is loaded from anywhere else.
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
    },
    // `npm run dev` serves the sources; the page calls a developer's node on its usual port (src/rpc.ts).
    server: { proxy: { "/artifact": "http://127.0.0.1:8545" } },
});
