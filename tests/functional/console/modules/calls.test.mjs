// SPDX-License-Identifier: MIT
// The calls that the page proposes are those of contracts/abi. After a change there, renew src/calls.json with
//   RETRACE_WRITE_ABI=1 tests/functional/console/modules/run build/release/node/console calls
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { toFunctionSelector } from "viem";

const root = process.env.RETRACE_ROOT;
const file = path.join(root, "node/console/web/src/calls.json");
const kCalls = {
    IStaking: [1, ["deposit", "beginUnbond", "withdraw"]],
    IMarket: [2, ["postTask", "cancelTask", "acceptModel", "raiseReplicas", "topUpTask", "reserve", "acceptReservation", "beginReserved", "withdrawReservation"]],
    IGroups: [7, ["postGroup"]],
};

function wanted() {
    const out = {};
    for (const [name, [number, methods]] of Object.entries(kCalls)) {
        const abi = JSON.parse(fs.readFileSync(path.join(root, "contracts/abi", `${name}.json`), "utf8"));
        out[name] = { address: `0x${(0x1000 + number).toString(16).padStart(40, "0")}`, abi: abi.filter((one) => one.type === "function" && methods.includes(one.name)) };
        assert.equal(out[name].abi.length, methods.length);
    }
    return out;
}

test("its calls are those of the contracts", () => {
    const lines = Object.entries(wanted()).map(([name, { address, abi }]) =>
        `  ${JSON.stringify(name)}: {"address": "${address}", "abi": [\n${abi.map((one) => `    ${JSON.stringify(one)}`).join(",\n")}\n  ]}`);
    const text = `{\n${lines.join(",\n")}\n}\n`;
    if (process.env.RETRACE_WRITE_ABI) fs.writeFileSync(file, text);
    assert.equal(fs.readFileSync(file, "utf8"), text);
    const selectors = Object.values(wanted()).flatMap(({ abi }) => abi.map((one) => toFunctionSelector(one)));
    assert.equal(new Set(selectors).size, 13);
});

test("their addresses are the chain's", () => {
    const header = fs.readFileSync(path.join(root, "contracts/calls/addresses.hpp"), "utf8");
    for (const [name, [number]] of Object.entries(kCalls))
        assert.match(header, new RegExp(`\\b${name.slice(1).toLowerCase()} = ${number}\\b`), name);
});
