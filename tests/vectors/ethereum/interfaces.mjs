// SPDX-License-Identifier: MIT
// Writes interfaces.json: what ethers makes of contracts/abi/*.json, each encoding compared with viem's. Of our code
// it reads the JSON alone. Needs node, npm and the network. In the repository's root:
//   d=$(mktemp -d) && cp tests/functional/rpc/clients/package*.json tests/vectors/ethereum/interfaces.mjs "$d" &&
//   (cd "$d" && npm ci) && node "$d/interfaces.mjs" contracts/abi tests/vectors/ethereum/interfaces.json
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import * as ethers from "ethers";
import * as viem from "viem";

const [folder, out] = process.argv.slice(2);
const contracts = ["IStaking", "IMarket", "IAudits", "IDisputes", "IValidators", "IGroups"];
const texts = ["http://a", "Zürich → 北京 🚂", "x".repeat(32), "a text that is longer than one word of 32 bytes"];

// A fixed sequence of words, so that a rerun changes nothing.
let drawn = ethers.id("retrace interfaces");
const next = () => BigInt((drawn = ethers.keccak256(drawn)));
const hex = (size) => {
    let digits = "";
    while (digits.length < 2 * size) digits += next().toString(16).padStart(64, "0");
    return "0x" + digits.slice(0, 2 * size);
};

/// A value of the parameter: for `edge` the largest of a fixed size and the empty one of any size.
function value(parameter, edge) {
    const { type, components } = parameter;
    if (type.endsWith("[]")) {
        const element = { ...parameter, type: type.slice(0, -2) };
        return Array.from({ length: edge ? 0 : 2 + Number(next() % 2n) }, () => value(element, false));
    }
    if (type === "tuple") return values(components, edge);
    if (type === "bool") return edge || next() % 2n === 1n;
    if (type === "string") return edge ? "" : texts[Number(next() % BigInt(texts.length))];
    if (type === "bytes") return edge ? "0x" : hex(1 + Number(next() % 70n));
    if (type === "address") return edge ? "0x" + "ff".repeat(20) : hex(20);
    if (type === "bytes32") return edge ? "0x" + "ff".repeat(32) : hex(32);
    const bits = /^uint(\d+)$/.exec(type);
    assert(bits, "a type that this script does not know: " + type);
    const end = 1n << BigInt(bits[1]);
    return edge ? end - 1n : next() % end;
}
function values(parameters, edge) {
    return Object.fromEntries(parameters.map((p) => [p.name, value(p, edge)]));
}
const list = (parameters, named) => parameters.map((p) => named[p.name]);
const both = (one, other, what) => {
    assert.equal(one, other, "ethers and viem disagree on " + what);
    return one;
};
const cases = (parameters, make) =>
    [...new Set([false, true].map((edge) => JSON.stringify(make(edge), plain)))].map((text) => JSON.parse(text));
const plain = (_, v) => (typeof v === "bigint" ? v.toString() : v);

function of_function(face, abi, item) {
    const { name, inputs, outputs } = item;
    const one = face.getFunction(name);
    return {
        name,
        signature: one.format("sighash"),
        selector: both(one.selector, viem.toFunctionSelector(item), name),
        calls: cases(inputs, (edge) => {
            const args = values(inputs, edge);
            const theirs = viem.encodeFunctionData({ abi, functionName: name, args: list(inputs, args) });
            return { args, data: both(face.encodeFunctionData(name, list(inputs, args)), theirs, name) };
        }),
        results: cases(outputs, (edge) => {
            if (outputs.length === 0) return null;
            const result = value(outputs[0], edge);
            const theirs = viem.encodeFunctionResult({ abi, functionName: name, result });
            return { value: result, data: both(face.encodeFunctionResult(name, [result]), theirs, name) };
        }).filter((result) => result !== null),
    };
}

function of_event(face, abi, item) {
    const { name, inputs } = item;
    const one = face.getEvent(name);
    const rest = inputs.filter((p) => !p.indexed);
    return {
        name,
        signature: one.format("sighash"),
        topic0: both(one.topicHash, viem.toEventSelector(item), name),
        logs: cases(inputs, (edge) => {
            const args = values(inputs, edge);
            const { topics, data } = face.encodeEventLog(name, list(inputs, args));
            assert.deepEqual(topics, viem.encodeEventTopics({ abi, eventName: name, args }));
            return { args, topics, data: both(data, viem.encodeAbiParameters(rest, list(rest, args)), name) };
        }),
    };
}

function of_error(face, abi, item) {
    const { name, inputs } = item;
    const one = face.getError(name);
    const encoded = (args) => {
        const theirs = viem.encodeErrorResult({ abi, errorName: name, args: list(inputs, args) });
        return { args, data: both(face.encodeErrorResult(name, list(inputs, args)), theirs, name) };
    };
    // What a call of no method of ours reverts with.
    const ours = JSON.parse(JSON.stringify(encoded({ code: 101n, slug: "unknown_method" }), plain));
    return {
        name,
        signature: one.format("sighash"),
        selector: both(one.selector, viem.toFunctionSelector(one.format("sighash")), name),
        reverts: [ours, ...cases(inputs, (edge) => encoded(values(inputs, edge)))],
    };
}

const lines = (items) => items.map((item) => "   " + JSON.stringify(item)).join(",\n");
const text = contracts.map((contract) => {
    const abi = JSON.parse(readFileSync(`${folder}/${contract}.json`));
    const face = new ethers.Interface(abi);
    const all = (type, make) => lines(abi.filter((item) => item.type === type).map((item) => make(face, abi, item)));
    return (
        ` {"name": "${contract}",\n  "functions": [\n${all("function", of_function)}],\n` +
        `  "events": [\n${all("event", of_event)}],\n  "errors": [\n${all("error", of_error)}]}`
    );
});
const made = `ethers ${ethers.version}, viem ${JSON.parse(readFileSync(new URL(
    "node_modules/viem/package.json", import.meta.url))).version}`;
writeFileSync(out, `{"made_with": "${made}", "contracts": [\n${text.join(",\n")}\n]}\n`);
