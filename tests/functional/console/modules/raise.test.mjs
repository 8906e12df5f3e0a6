// SPDX-License-Identifier: MIT
// What an addition to an open task brings, by the records that its state proves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { params } from "./fixtures.mjs";
import "./world.mjs";

const { readOpen, replicasValue, topUpOf } = await import("console/raise");
const { auctionsOf, checkpointOf, keeps, runOf, slot, specOf, stopOf, taskOf } = await import("./state.mjs");

const kCoin = 10n ** 18n;
/// Fees of a tenth of the ceiling, at least 3 wei; up to eight auctions.
const kParams = { ...params, auditFee: "0x3", auditFeeBp: "0x3e8", rounds: "0x8" };

/// Task 2 of nine segments, which run 1 computes up to a final state.
function tells({ spec = {}, task = {}, auctions, finalised = 4, opened = 1, stopped = false, instead = [] } = {}) {
    keeps([
        [slot(2, "s", 2), specOf({ ceiling: 100, ...spec })],
        [slot(2, "t", 2), taskOf({ state: 4, active: [1], ...task })],
        [slot(2, "r", 2, 1), runOf({ state: 2, next: 8, finalised })],
        [slot(2, "c", 2, 1, finalised), checkpointOf({ opened })],
        ...(auctions ? [[slot(2, "T", 2), auctionsOf(auctions)]] : []),
        ...(stopped ? [[slot(2, "H", 2, 1), stopOf()]] : []),
    ], instead);
}

test("a higher ceiling brings what the escrow does not cover yet (market 6.7)", async () => {
    const exact = (wei) => `0.${String(wei).padStart(18, "0")}`;
    for (const [of, price, more, value] of [
        [{}, exact(110), "1", 9n * (110n + 22n - 120n)],
        [{ task: { first: 4 } }, exact(110), "1", 5n * (110n + 22n - 120n)],
        [{ spec: { last: 200 }, auctions: { left: 2 } }, exact(150), "0", 0n], // the terms pay for 200
        [{ spec: { last: 200 }, auctions: { least: 240 } }, exact(250), "0", 9n * (250n + 50n - (240n + 48n))],
        [{}, "", "3", 0n],
    ]) {
        tells(of);
        assert.equal(topUpOf(await readOpen(2), kParams, price, more).value, value, JSON.stringify(of));
    }
    tells({ auctions: { least: 240, left: 2 } });
    const open = await readOpen(2);
    assert.deepEqual(topUpOf(open, kParams, "", "5"), { ceiling: 240n, auctions: 5, value: 0n });
    for (const [price, more, sentence] of [[exact(239), "1", /is 0\.0+24 coins already, and only rises/], ["-1", "1", /is a number of coins/], ["", "6", /may have 5 more auctions/],
        ["", "x", /may have 5 more auctions/], ["", "0", /Give a higher ceiling or a number of auctions/]])
        assert.throws(() => topUpOf(open, kParams, price, more), sentence);
    assert.equal(topUpOf(open, kParams, "1", "0").ceiling, kCoin);
});

test("more replicas bring the segments from the newest final state on (market 6.4)", async () => {
    for (const [of, replicas, value] of [[{}, "2", 5n * 120n], [{}, "4", 3n * 5n * 120n], [{ opened: 0 }, "2", 9n * 120n], [{ stopped: true }, "2", 9n * 120n],
        [{ task: { first: 6 } }, "2", 3n * 120n]]) {
        tells(of);
        assert.equal(replicasValue(await readOpen(2), kParams, replicas), value, JSON.stringify(of));
    }
    for (const [of, replicas, sentence] of [[{}, "1", /from 2 to 5/], [{}, "6", /from 2 to 5/], [{ spec: { spot: 1 } }, "2", /spot/], [{ task: { wanted: 1 } }, "2", /is open/],
        [{ task: { state: 3 } }, "2", /that is running/], [{ finalised: 9 }, "2", /nobody joins/]]) {
        tells(of);
        const open = await readOpen(2);
        assert.throws(() => replicasValue(open, kParams, replicas), sentence);
    }
    tells({ instead: [[slot(2, "t", 2), taskOf({ state: 4, active: [1], first: 0, round: 7 })]] });
    await assert.rejects(readOpen(2), /another state root than the header's/);
});
