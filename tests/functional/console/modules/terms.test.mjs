// SPDX-License-Identifier: MIT
// Terms that are shown are those that are signed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exactCoins, parseCoins } from "console/format";
import { stakeFloor, stakeOf } from "console/odds";
import { postingOf, valuesOf } from "console/terms";
import { group, params, spec } from "./fixtures.mjs";

test("a price keeps all eighteen decimals through the form", () => {
    for (const wei of [1n, 10n ** 18n + 1n, 1_234_567_890_123_456_789n, 10n ** 30n - 1n]) {
        const old = { spec: { ...spec, priceCeiling: `0x${wei.toString(16)}` } };
        const values = valuesOf(old);
        assert.equal(BigInt(postingOf(old, values, { allowUnaudited: false, spot: false }).spec.priceCeiling), wei, values.price);
        assert.equal(parseCoins(exactCoins(`0x${wei.toString(16)}`)), wei);
    }
    assert.equal(exactCoins("0xde0b6b3a7640000"), "1");
    assert.equal(exactCoins(0), "0");
});

test("the stake of a member covers what its fraud makes void (market 11.6)", () => {
    const terms = { ...spec, priceCeiling: "0x3e9", replicas: 5 };
    const stake = (more) => stakeOf({ spec: terms, rounds: { group: { ...group, ...more } } }, params) - stakeFloor(terms, params);
    assert.equal(stake({ rollbacks: 1, ahead: 3 }), 15_015n); // 5/4 of 4 · 3 · 1,001, rounded up
    assert.equal(stake({ rollbacks: 0, ahead: 0 }), 0n);
    assert.equal(stakeOf({ spec: terms }, params), stakeFloor(terms, params));
});
