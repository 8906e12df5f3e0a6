// SPDX-License-Identifier: MIT
// The receipt of a training in rounds, as the page makes and checks it.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { folder, passesAxe, run } from "./common.mjs";

/// The receipt that the page makes is that of the command line, and both agree; a changed one does not. Who was audited is what
/// `receipt verify` counts.
export async function checksItsReceipt(page, url, id, own) {
    const panel = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Model and receipt" }) });
    const [saved] = await Promise.all([page.waitForEvent("download"), panel.getByRole("button", { name: "Save receipt.json" }).click({ timeout: 30_000 })]);
    const text = fs.readFileSync(own, "utf8");
    assert.deepEqual({ ...JSON.parse(fs.readFileSync(await saved.path(), "utf8")), settled_height: 0 }, { ...JSON.parse(text), settled_height: 0 });
    const check = async (name, content) => {
        const file = path.join(folder, name);
        fs.writeFileSync(file, content);
        await panel.locator("input[type=file]").setInputFiles(file);
    };
    await check("rounds-own.json", text);
    await panel.getByText("rounds-own.json agrees with the ledger").waitFor({ timeout: 30_000 });
    await panel.getByText(/^Proved by [\d\u202f]+ records in the state of block/).waitFor();
    const said = JSON.parse((await run("receipt", "verify", own, "--node", url, "--json")).out);
    const rows = await Promise.all((await panel.getByRole("group", { name: "Segments of members" }).locator("tbody tr").all()).map((row) => row.locator("td").allTextContents()));
    const wanted = said.members.map((one) => [one.recorded_messages, one.verified_segments, one.not_drawn_segments, one.unaudited_segments,
        ...(said.private_data ? [one.consented_segments, one.unverified_segments] : [])].map(String));
    assert.deepEqual(rows.map((cells) => cells.slice(2)), wanted);
    await panel.getByText(`the model rests on ${said.recorded_messages} message`).waitFor();
    await check("rounds-changed.json", text.replace(/("index":1,"height":\d+,"root":"0x)(.)/, (_, before, digit) => before + (digit === "0" ? "1" : "0")));
    await panel.getByText(/rounds-changed.json: 1 of \d+ parts differ from the ledger/).waitFor({ timeout: 30_000 });
    await panel.getByText("the root or height of state 1 is not the ledger's").waitFor();
    await check("rounds-fewer.json", text.replace(/"audits":\[.*\]/s, '"audits":[]'));
    await panel.getByText("the file lacks the audit of segment").waitFor({ timeout: 30_000 });
    await passesAxe(page, "a receipt in rounds");
    return said;
}
