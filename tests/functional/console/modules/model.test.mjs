// SPDX-License-Identifier: MIT
// A model from parties that lie, are slow, or send what would fill the tab.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers } from "./world.mjs";

const commit = await import("console/commit");
const { concat, hash, joined, rootOfRange, sizes, stateRoot, tensorRoot, tileLeaf, toHex, Tree, u32, u64 } = commit;
const { fetchManifest, fetchModel } = await import("console/model");
const { fields, numbers, stateManifest, tileRange } = await import("console/wire");
const { parseProgram, readProgram } = await import("console/program");

const kContract = new Uint8Array(32).fill(4);
const text = (value) => new TextEncoder().encode(value);
const u8 = (value) => Uint8Array.of(value);

/// The file of a program with state tensors, and constants as [dims, bytes].
function programFile(states, constants = []) {
    const record = (kind, dims, name) => joined(u8(kind), u8(1), u8(dims.length), ...dims.map(u64), u32(0), u32(name.length), text(name));
    return concat([text("RTP1"), ...[1, states.length, constants.length, 0, 0].map(u32), ...states.map(({ dims, name }) => record(1, dims, name)),
        ...constants.map(([dims]) => record(2, dims, "c")), ...constants.map(([, bytes]) => joined(u32(bytes.length), bytes))]);
}

/// Tiles of random elements, their tree and the elements row by row.
function tensorOf(name, dims) {
    const shape = { name, dtype: 1, dims };
    const { rows, cols, tileRows, tileCols, size } = sizes(shape);
    const data = new Uint8Array(rows * cols * size).map((_, i) => (i * 37 + (i >> 8)) & 255);
    const tiles = Array.from({ length: tileRows * tileCols }, (_, i) => commit.tileOf(shape, i, data.subarray(Math.floor(i / tileCols) * 32 * cols * size)));
    const tree = Tree.of(concat(tiles.map(tileLeaf)));
    return { ...shape, data, tiles, tree, root: tensorRoot(shape, tree.root) };
}

const tensors = [tensorOf("w", [32 * 36, 32 * 40 - 5]), tensorOf("b", [70])];
const program = readProgram(programFile(tensors), parseProgram(programFile(tensors)).root);
const roots = tensors.map(({ root }) => root);
const state = stateRoot(kContract, program.root, 20, roots);

/// What an honest party answers to a path behind "/artifact/".
function honest(path) {
    const [root, what] = path.split("/");
    if (what.startsWith("program")) return joined(programFile(tensors));
    if (what === "state") return stateManifest(kContract, program.root, 20, roots);
    const tensor = tensors.find((one) => toHex(one.root) === root);
    const [, first, count] = /first=(\d+)&count=(\d+)/.exec(what).map(Number);
    return tileRange(tensor, tensor.tree.root, first, concat(tensor.tiles.slice(first, first + count)), tensor.tree.prove(first, first + count - 1));
}

/// Parties by their origin; the page's own node is "".
const parties = {};
const requests = [];
globalThis.fetch = async (url) => {
    const [, origin, path] = /^(.*?)\/artifact\/(.*)$/.exec(url);
    requests.push([origin, path]);
    const answer = await (parties[origin] ?? honest)(path);
    return new Response(answer, { status: 200 });
};

const request = (...peers) => ({ task: 1, contract: toHex(kContract), program: `0x${toHex(program.root)}`, programBytes: programFile(tensors).length, rounds: false,
    stateRoot: `0x${toHex(state)}`, step: 20, peers });
const never = new AbortController().signal;
const fetchFrom = (...peers) => fetchModel(request(...peers), never, () => undefined);

async function isTheModel(file) {
    const all = new Uint8Array(await file.arrayBuffer());
    const length = Number(new DataView(all.buffer).getBigUint64(0, true));
    const names = JSON.parse(new TextDecoder().decode(all.subarray(8, 8 + length)));
    for (const { name, data } of tensors) {
        const [from, to] = names[name].data_offsets;
        assert.ok(Buffer.from(all.subarray(8 + length + from, 8 + length + to)).equals(Buffer.from(data)), name);
    }
}

test("every range of leaves leads to the root with the siblings of its proof, and with no others", () => {
    for (const total of [1, 2, 3, 7, 8, 13]) {
        const leaves = concat(Array.from({ length: total }, (_, i) => hash(u8(i))));
        const tree = Tree.of(leaves);
        for (let first = 0; first < total; first++)
            for (let last = first; last < total; last++) {
                const [some, siblings] = [leaves.subarray(32 * first, 32 * last + 32), tree.prove(first, last)];
                assert.deepEqual(rootOfRange(some, first, total, siblings), tree.root, `${first} to ${last} of ${total}`);
                assert.throws(() => rootOfRange(some, first, total, joined(siblings, new Uint8Array(32))), /too long a proof/);
                if (siblings.length) assert.throws(() => rootOfRange(some, first, total, siblings.subarray(32)), /too short a proof/);
            }
    }
});

test("a model comes from an honest party", async () => {
    const { file, bytes } = await fetchFrom("http://a");
    await isTheModel(file);
    assert.equal(bytes, (36 * 40 + 3) * 4096);
});

test("a lie is found in its own message, and another party goes on from there", async () => {
    // Of the two messages of the first tensor, the second is wrong.
    parties["http://liar"] = (path) => {
        const answer = honest(path);
        if (path.includes("first=1024")) answer[answer.length - 5000] ^= 1;
        return answer;
    };
    requests.length = 0;
    await isTheModel((await fetchFrom("http://liar", "http://b")).file);
    const tilesOf = (origin) => requests.filter(([from, path]) => from === origin && path.includes("tiles")).map(([, path]) => /first=\d+/.exec(path)[0]);
    assert.deepEqual(tilesOf("http://liar"), ["first=0", "first=1024"]);
    assert.deepEqual(tilesOf("http://b"), ["first=1024", "first=0"], "the first 1024 tiles are not fetched again");
    await assert.rejects(fetchFrom("http://liar"), /http:\/\/liar: it sends wrong tiles of the tensor w\./);
});

test("siblings of another tree do not make wrong tiles right", async () => {
    parties["http://tree"] = (path) => {
        if (!path.includes("tiles")) return honest(path);
        const [, first, count] = /first=(\d+)&count=(\d+)/.exec(path).map(Number);
        const other = tensorOf("w", tensors[0].dims);
        other.tiles[first][0] ^= 1;
        const tree = Tree.of(concat(other.tiles.map(tileLeaf)));
        return tileRange(other, tree.root, first, concat(other.tiles.slice(first, first + count)), tree.prove(first, first + count - 1));
    };
    await assert.rejects(fetchFrom("http://tree"), /it sends wrong tiles of the tensor w/);
});

test("a state of another step is not the one that the terms have", async () => {
    await assert.rejects(fetchModel({ ...request("http://a"), step: 40 }, never, () => undefined), /the state is the one after step 20, and the terms have 40/);
});

test("64 MiB in place of a manifest are cut off, and a message of countless fields is refused", async () => {
    let read = 0;
    globalThis.fetch = ((before) => async (url) => {
        if (!url.startsWith("http://flood")) return before(url);
        const piece = new Uint8Array(1 << 16).map((_, i) => (i % 2 ? 0 : 8));
        return new Response(new ReadableStream({ pull: (to) => (read++ < 1024 ? to.enqueue(piece) : to.close()) }), { status: 200 });
    })(globalThis.fetch);
    await assert.rejects(fetchManifest({ base: "http://flood", root: toHex(state) }, toHex(kContract), toHex(program.root), 2, never), /more than was asked for/);
    assert.ok(read < 16, `${read} pieces were read`);
    const countless = new Uint8Array(1 << 20).map((_, i) => (i % 2 ? 0 : 8));
    const before = process.memoryUsage().heapUsed;
    assert.throws(() => fields(countless), /no message of the artifact transfer/);
    assert.ok(process.memoryUsage().heapUsed - before < 32 << 20);
    assert.throws(() => fields(Uint8Array.of(8 * 6, 0)), /no message of the artifact transfer/, "field 6");
    assert.ok(numbers([{ number: 2, value: 0, bytes: new Uint8Array(1 << 20) }], 2, 8).length < 20);
});

test("names of more or fewer tensors than the program has are refused", async () => {
    for (const more of [[...roots, roots[0]], roots.slice(1), []]) {
        parties["http://names"] = () => stateManifest(kContract, program.root, 20, more);
        await assert.rejects(fetchManifest({ base: "http://names", root: toHex(state) }, toHex(kContract), toHex(program.root), 2, never), /names of another state/);
    }
});

test("a program of a stranger that names a huge model or constant takes no memory", async () => {
    for (const dims of [[2 ** 20, 2 ** 20], [2 ** 53, 2 ** 53, 2 ** 53]]) {
        const file = programFile([{ name: "w", dims }]);
        const { root } = parseProgram(file);
        parties[""] = () => file;
        await assert.rejects(fetchModel({ ...request("http://a"), program: `0x${toHex(root)}`, programBytes: file.length }, never, () => undefined), /more than a page can hold/);
    }
    delete parties[""];
    for (const dims of [[2 ** 30, 2 ** 20], [2 ** 53]])
        assert.throws(() => parseProgram(programFile([{ name: "w", dims: [1] }], [[dims, new Uint8Array(8)]])), /a constant of another size/);
    assert.equal(parseProgram(programFile([{ name: "w", dims: [1] }], [[[2], new Uint8Array(8)]])).states.length, 1);
});

test("trees of more leaves than a call may have arguments are made", () => {
    const leaves = Array.from({ length: 300_000 }, () => new Uint8Array(32));
    assert.equal(commit.treeRoot(leaves).length, 32);
});

test("a party that is slow is left for another, and asked again if that one fails", async (t) => {
    let now = 1_000;
    t.mock.method(Date, "now", () => now);
    const slow = (path) => {
        if (path.includes("tiles")) now += 25_000;
        return honest(path);
    };
    parties["http://slow"] = slow;
    parties["http://broken"] = () => { throw new TypeError("Failed to fetch"); };
    requests.length = 0;
    await isTheModel((await fetchFrom("http://slow", "http://fast")).file);
    assert.deepEqual(requests.filter(([, path]) => path.includes("tiles")).map(([from]) => from), ["http://slow", "http://fast", "http://fast"]);
    await isTheModel((await fetchFrom("http://slow", "http://broken")).file);
    await assert.rejects(fetchFrom("http://broken"), /http:\/\/broken: no answer to this page/);
});

test("a fault of the page itself is not called one of the party", async (t) => {
    t.mock.method(globalThis, "Blob", class { constructor() { throw new RangeError("out of memory"); } });
    await assert.rejects(fetchFrom("http://a"), /this page failed: out of memory/);
});
