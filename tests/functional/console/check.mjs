// SPDX-License-Identifier: MIT
// Usage: node check.mjs PROGRAM FOLDER [NAME]. Runs every check, or those whose names hold NAME.
import * as machine from "./machine.mjs";
import * as market from "./market.mjs";
import * as server from "./server.mjs";

for (const part of [server, machine, market]) {
    for (const [name, check] of Object.entries(part)) {
        if (!name.includes(process.argv[4] ?? "")) continue;
        const start = Date.now();
        try {
            const note = await check();
            console.log(`${name}: ${note ?? "passed"} (${Date.now() - start} ms)`);
        } catch (error) {
            console.error(`FAILED ${name}:`, error);
            process.exit(1);
        }
    }
}
process.exit(0);
