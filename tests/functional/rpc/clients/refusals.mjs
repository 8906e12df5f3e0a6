// SPDX-License-Identifier: MIT
// Refusals of the native contracts as ethers and viem decode them.
import assert from "node:assert/strict";
import { ethers } from "ethers";
import * as viem from "viem";
import { url } from "./common.mjs";

/// A value of an ABI type that no rule can like: zeros and nothing.
function nothing(param) {
    if (param.baseType === "array") return [];
    if (param.baseType === "tuple") return param.components.map(nothing);
    if (param.type === "bool") return false;
    if (param.type === "string") return "";
    if (param.type === "address") return ethers.ZeroAddress;
    if (param.type.startsWith("bytes")) return ethers.zeroPadBytes("0x", Number(param.type.slice(5) || 0));
    return 0n;
}

/// Every method of every native contract, called with nothing: whatever is refused says so by the contracts' custom
/// error, whose data ethers and viem decode to a code and a slug.
export async function refusalsCarryTheirSlug() {
    const provider = new ethers.JsonRpcProvider(url, undefined, { cacheTimeout: -1 });
    const contracts = await provider.send("retrace_contracts", []);
    assert.equal(contracts.length, 6);
    const slugs = new Set();
    let refused = 0;
    for (const { name, address, abi } of contracts) {
        const face = new ethers.Interface(abi);
        for (const method of face.fragments.filter((f) => f.type === "function")) {
            const data = face.encodeFunctionData(method, method.inputs.map(nothing));
            const from = "0x00000000000000000000000000000000000000ab";
            const error = await provider.call({ to: address, data, from }).then(() => null, (e) => e);
            if (error === null) continue;
            assert.equal(error.code, "CALL_EXCEPTION", `${name}.${method.name}`);
            const parsed = face.parseError(error.data);
            assert.equal(parsed.name, "Refused", `${name}.${method.name}`);
            assert.match(parsed.args.slug, /^[a-z0-9_-]+$/);
            assert.ok(parsed.args.code > 100n);
            const twin = viem.decodeErrorResult({ abi, data: error.data });
            assert.deepEqual(twin.args.map(String), [...parsed.args].map(String));
            slugs.add(parsed.args.slug);
            ++refused;
        }
    }
    assert.ok(refused > 25 && slugs.size > 8, `${refused} refusals, slugs ${[...slugs]}`);
    provider.destroy();
    return `${refused} methods refused with ${slugs.size} slugs`;
}
