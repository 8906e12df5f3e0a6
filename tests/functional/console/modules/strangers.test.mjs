// SPDX-License-Identifier: MIT
// What strangers write: names that hide something, and addresses that mean the reader's own devices.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answers } from "./world.mjs";

const { tame } = await import("console/format");
const { isLocal, peersOf } = await import("console/peers");

test("no character of a name is unseen, turns the line around or leaves it", () => {
    const unseen = ["\0", "\n", "\x7f", "\x9b", "\u00ad", "\u034f", "\u061c", "\u115f", "\u17b4", "\u180e", "\u200b", "\u200d", "\u202e", "\u2028", "\u2060", "\u2066",
        "\u2800", "\u3164", "\ufe0f", "\ufeff", "\uffa0", "\ufff9", "\u{e0001}", "\u{e0061}", "\u{e01ef}", "\u{1d173}", "\ud800"];
    for (const one of unseen) assert.equal(tame(`a${one}b`), "a\ufffdb", `U+${one.codePointAt(0).toString(16)}`);
    assert.equal(tame(`a${"\u0301".repeat(50)}b`), "a\u0301\u0301b");
    for (const name of ["Zürich → 北京 🚂", "ไทย", "हिन्दी", "a\u0323\u0301"]) assert.equal(tame(name), name);
    assert.equal([..."x".repeat(200)].length > [...tame("x".repeat(200))].length, true);
});

const hostOf = (endpoint) => new URL(endpoint).hostname;

test("an address of this machine or of a private network is known in every form", () => {
    const local = ["http://localhost", "http://localhost.", "http://a.localhost.", "http://127.0.0.1.", "http://2130706433", "http://0x7f.1", "http://0", "http://10.1.2.3",
        "http://172.16.0.1", "http://192.168.1.1", "http://169.254.169.254", "http://100.64.0.1", "http://198.18.0.1", "http://224.0.0.1", "http://255.255.255.255",
        "http://router", "http://nas.lan", "http://nas.lan.", "http://printer.home", "http://a.local", "http://a.internal", "http://a.corp", "http://a.home.arpa",
        "http://[::]", "http://[::1]", "http://[::7f00:1]", "http://[::ffff:10.0.0.1]", "http://[::ffff:8.8.8.8]", "http://[fc00::1]", "http://[fe80::1]", "http://[fec0::1]", "http://[ff02::1]",
        "http://[64:ff9b::7f00:1]", "http://[64:ff9b::c0a8:101]", "http://[64:ff9b:1::808:808]", "http://[2002:7f00:1::]", "http://[2002:c0a8:101::1]", "http://[2001:0:808:808::1]"];
    for (const one of local) assert.ok(isLocal(hostOf(one)), one);
    const others = ["http://8.8.8.8", "http://172.32.0.1", "http://100.128.0.1", "http://192.0.2.1", "http://solver.example", "http://solver.example.", "http://lan.example",
        "http://[2a00:1450::1]", "http://[64:ff9b::808:808]", "http://[2002:808:808::1]", "http://[2001:4860::8888]"];
    for (const one of others) assert.ok(!isLocal(hostOf(one)), one);
});

test("a party's address is used as an origin only, and a private one only by a page that came from one", async () => {
    const endpoints = ["https://solver.example/path?x#y", "http://router.lan/", "javascript:alert(1)", "HTTP://[64:ff9b::a00:1]:80/", "http://user:secret@other.example/"];
    answers.retrace_party = (address) => ({ solver: { endpoint: endpoints[Number(address)] }, verifier: null });
    location.href = "https://console.example/";
    assert.deepEqual(await peersOf(["0", "1", "2", "3", "4", "4"]), ["https://solver.example", "http://other.example"]);
    location.href = "http://127.0.0.1:8545/";
    assert.deepEqual(await peersOf(["0", "1", "2"]), ["https://solver.example", "http://router.lan"]);
});
