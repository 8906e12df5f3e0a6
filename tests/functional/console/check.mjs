// SPDX-License-Identifier: MIT
// Usage: node check.mjs PROGRAM FOLDER [NAME]. Runs every check, or those whose names hold NAME.
import * as account from "./account.mjs";
import * as machine from "./machine.mjs";
import * as market from "./market.mjs";
import * as pruned from "./pruned.mjs";
import * as server from "./server.mjs";

for (const part of [server, account, machine, pruned, market]) {
    for (const [name, check] of Object.entries(part)) {
        if (!name.includes(process.argv[4] ?? "")) continue;
        const start = Date.now();
        try {
            const note = await check();
            (process.env.RETRACE_FIGURES ? console.error : console.log)(`${name}: ${note ?? "passed"} (${Date.now() - start} ms)`);
        } catch (error) {
            console.error(`FAILED ${name}:`, error);
            process.exit(1);
        }
    }
}
process.exit(0);
