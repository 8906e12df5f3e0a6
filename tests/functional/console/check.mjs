// SPDX-License-Identifier: MIT
// Usage: node check.mjs PROGRAM FOLDER [NAME]. Runs every check but those of trainings in rounds, or those whose names hold
// NAME; with the names rounds and private those.
import * as account from "./account.mjs";
import * as auctions from "./auctions.mjs";
import * as machine from "./machine.mjs";
import * as market from "./market.mjs";
import * as older from "./older.mjs";
import * as private_ from "./private.mjs";
import * as pruned from "./pruned.mjs";
import * as reserving from "./reserving.mjs";
import * as rounds from "./rounds.mjs";
import * as server from "./server.mjs";
import * as successors from "./successors.mjs";
import * as unaudited from "./unaudited.mjs";

const wanted = process.argv[4] ?? "";
let checks = 0;
const alone = { rounds, private: private_ }[wanted];
for (const part of alone ? [alone] : [server, account, older, machine, pruned, unaudited, successors, reserving, auctions, market]) {
    for (const [name, check] of Object.entries(part)) {
        if (!alone && !name.includes(wanted)) continue;
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
