// SPDX-License-Identifier: MIT
// Usage: node embed.mjs OUT. Writes the built page (build/) as C++: the definition of embedded_console().
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";

const types = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
};
const files = [["/", "build/index.html"], ["/machine", "build/machine.html"]];
for (const name of readdirSync("build/console").sort()) files.push([`/console/${name}`, `build/console/${name}`]);

const arrays = [];
const rows = [];
for (const [served, place] of files) {
    const type = types[path.extname(place)];
    if (!type) throw new Error(`${place}: no content type is known for it`);
    const plain = readFileSync(place);
    // A page itself is sent as it is, so that a person with curl can read it.
    const compressed = !place.endsWith(".html");
    const content = compressed ? gzipSync(plain, { level: 9 }) : plain;
    const etag = createHash("sha256").update(plain).digest("hex").slice(0, 32);
    const bytes = [];
    for (let at = 0; at < content.length; at += 24) bytes.push([...content.subarray(at, at + 24)].join(","));
    arrays.push(`constexpr std::uint8_t kFile${arrays.length}[] = {\n${bytes.join(",\n")}};`);
    rows.push(`    {"${served}", "${type}", "\\"${etag}\\"", ${compressed}, kFile${arrays.length - 1}},`);
}
writeFileSync(process.argv[2], `// Written by node/console/web/embed.mjs.
#include "node/console/console.hpp"
namespace retrace::node {
namespace {
${arrays.join("\n")}
constexpr ConsoleFile kFiles[] = {
${rows.join("\n")}
};
}  // namespace
EmbeddedConsole embedded_console() noexcept { return {kFiles, {}}; }
}  // namespace retrace::node
`);
