// SPDX-License-Identifier: MIT
// Usage: node check.mjs URL PROGRAM FOLDER [NAME]. Runs every check, or those whose names hold NAME, against the node
// at URL.
import * as cast from "./cast.mjs";
import * as withEthers from "./ethers.mjs";
import * as refusals from "./refusals.mjs";
import * as tls from "./tls.mjs";
import * as withViem from "./viem.mjs";
import * as wallet from "./wallet.mjs";
import * as withWeb3 from "./web3.mjs";

for (const part of [withEthers, withViem, withWeb3, refusals, wallet, tls, cast]) {
    for (const [name, check] of Object.entries(part)) {
        if (!name.includes(process.argv[5] ?? "")) continue;
        const start = Date.now();
        try {
            const note = await check();
            console.log(`${name}: ${note ?? "agrees"} (${Date.now() - start} ms)`);
        } catch (error) {
            console.error(`FAILED ${name}:`, error);
            process.exit(1);
        }
    }
}
console.log("other people's clients agree");
process.exit(0);
