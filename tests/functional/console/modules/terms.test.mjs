// SPDX-License-Identifier: MIT
// Terms that are shown are those that are signed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { exactCoins, parseCoins } from "console/format";
import { postingOf, valuesOf } from "console/terms";
import { spec } from "./fixtures.mjs";

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
