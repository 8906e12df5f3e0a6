// SPDX-License-Identifier: MIT
// Usage: node check.mjs PROGRAM FOLDER [NAME]. Runs every check but that of trainings in rounds, or those whose names hold
// NAME; with the name rounds that one.
import * as account from "./account.mjs";
import * as machine from "./machine.mjs";
import * as market from "./market.mjs";
import * as pruned from "./pruned.mjs";
import * as reserving from "./reserving.mjs";
import * as rounds from "./rounds.mjs";
import * as server from "./server.mjs";

const wanted = process.argv[4] ?? "";
let checks = 0;
for (const part of wanted === "rounds" ? [rounds] : [server, account, machine, pruned, reserving, market]) {
    for (const [name, check] of Object.entries(part)) {
        if (part !== rounds && !name.includes(wanted)) continue;
        checks++;
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
if (checks === 0) console.error(`FAILED: no check is called ${wanted}`);
process.exit(checks === 0 ? 1 : 0);
