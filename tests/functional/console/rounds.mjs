// SPDX-License-Identifier: MIT
// A training in rounds is posted by the browser's wallet, and the metrics of its members are drawn as they are verified; its receipt is checked.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { checksItsReceipt } from "./receipts.mjs";
import { addWallet } from "./wallet.mjs";
import { fitsWidth, folder, go, openBrowser, openPage, passesAxe, picture, rpc, run, start, until, writeTable } from "./common.mjs";

const kMembers = 3;
const kRounds = 6;

async function compile() {
    const csv = path.join(folder, "rounds.csv");
    writeTable(csv);
    const out = path.join(folder, "rounds-task");
    await run("task", "compile", "mlp", "--data", csv, "-o", out, "--hidden", "16", "--batch", "16", "--lr", "0.02", "--name", "in rounds", "--price-ceiling", "1",
        "--audit-percent", "50", "--auditors", "2", "--rounds", String(kRounds), "--members", String(kMembers), "--inner", "1", "--round-blocks", "60",
        "--grace-blocks", "5", "--fetch-blocks", "15", "--reveal-blocks", "15", "--absence-limit", "2");
    const terms = path.join(out, "task.toml");
    fs.writeFileSync(terms, fs.readFileSync(terms, "utf8").replace("replay_blocks = 300", "replay_blocks = 20"));
    return out;
}

/// Copies with one thing wrong each, and what the page says of it.
function spoiled(right) {
    const copy = (name, change) => {
        const out = path.join(folder, `rounds-${name}`);
        fs.cpSync(right, out, { recursive: true });
        change(out);
        return out;
    };
    const edit = (from, to) => (dir) => {
        const file = path.join(dir, "task.toml");
        const text = fs.readFileSync(file, "utf8");
        assert.match(text, from);
        fs.writeFileSync(file, text.replace(from, to));
    };
    const bytes = (change) => (dir) => fs.writeFileSync(path.join(dir, "plan.rtg"), change(fs.readFileSync(path.join(dir, "plan.rtg"))));
    return [
        [copy("other", bytes((all) => Buffer.concat([Buffer.from("RTP1"), all.subarray(4)]))), "the plan does not begin with RTG1"],
        [copy("cut", bytes((all) => all.subarray(0, 30))), "the program is cut off"],
        [copy("long", bytes((all) => Buffer.concat([all, Buffer.from([0])]))), "the plan is longer than what it holds"],
        [copy("many", bytes((all) => (all.writeUInt32LE(0xffffffff, 17), all))), "more than 8 public tensors"],
        [copy("steps", edit(/inner = 1/, "inner = 2")), "The plan has 1 inner steps, and task.toml names 2"],
        [copy("alone", edit(/\bmembers = 3/, "members = 1")), "The members are from 2 to 255"],
        [copy("absent", edit(/absence_limit = 2/, "absence_limit = 64")), "The limit of absences is at least 1 and below"],
        [copy("facts", edit(/message_cost = \d+/, "message_cost = -1")), "message_cost is not a whole number"],
    ];
}

/// What a convicted member takes back is in the terms that are shown, and in the stake of a bid.
async function namesRollbacks(panel, url, right) {
    const folderOf = path.join(folder, "rounds-rollbacks");
    fs.cpSync(right, folderOf, { recursive: true });
    const terms = path.join(folderOf, "task.toml");
    const text = fs.readFileSync(terms, "utf8").replace(/^(rollbacks|ahead) = .*\n/gm, "");
    fs.writeFileSync(terms, text.replace(/\bmembers = 3/, "members = 3\nrollbacks = 1\nahead = 1"));
    await panel.locator("input[type=file]").setInputFiles(folderOf);
    await panel.getByText("the group goes back, at most 1 time,").waitFor({ timeout: 30_000 });
    const plan = JSON.parse((await run("task", "plan", folderOf, "--node", url, "--json")).out);
    assert.equal(plan.rollbacks, 1);
    const shown = (await panel.textContent()).replace(/\u202f/g, "");
    assert.ok(shown.includes(`stake that a bid locks${Number(plan.stake) / 1e18} coins`), `${shown}\n${plan.stake}`);
}

async function postsIt(page, url, state, right) {
    await go(page, "#/post/", "Post a task");
    const panel = page.locator("section[aria-labelledby=p-a-new-program]");
    const field = panel.locator("input[type=file]");
    await namesRollbacks(panel, url, right);
    for (const [wrong, sentence] of spoiled(right)) {
        await field.setInputFiles(wrong);
        await panel.locator(".error", { hasText: sentence }).waitFor({ timeout: 15_000 });
        assert.equal(await panel.getByRole("button", { name: "Post the task" }).count(), 0, wrong);
    }
    await field.setInputFiles(right);
    const send = panel.getByRole("button", { name: "Post the task" });
    await send.waitFor({ timeout: 30_000 });
    const plan = JSON.parse((await run("task", "plan", right, "--node", url, "--json")).out);
    const coins = (wei) => String(Number(wei) / 1e18);
    const shown = (await panel.textContent()).replace(/\u202f/g, "");
    assert.ok(shown.includes(`Locked as escrow: ${coins(plan.escrow)} coins`), `${shown}\n${plan.escrow}`);
    assert.ok(shown.includes(`stake that a bid locks${coins(plan.stake)}`), shown);
    for (const [label, wrong, sentence] of [["members, at least", "4", "The least number of members is a whole number from 2 to 3"],
        ["members, at most (2–255)", "256", "The number of members is a whole number from 2 to 255"],
        ["rounds", "0", "The number of rounds is a whole number from 1"], ["messages taken in at once", "2", "The messages that a member takes in at once are from 3"]]) {
        const input = panel.getByLabel(label, { exact: true });
        const before = await input.inputValue();
        await input.fill(wrong);
        await panel.locator(".error", { hasText: sentence }).waitFor();
        await input.fill(before);
    }
    await passesAxe(page, "posting a training in rounds");
    await picture(page, "post-rounds", { fullPage: true });
    await send.click();
    await page.getByText("The node has all files of").waitFor({ timeout: 30_000 });
    const wanted = JSON.parse((await run("task", "encode", right, "--node", url, "--json", "--data-dir", path.join(folder, "rounds-requester"))).out);
    assert.equal(state.sent.data, wanted.data, "what the command line sends");
    assert.equal(BigInt(state.sent.value), BigInt(wanted.value));
    const [newest] = (await rpc(url, "retrace_tasks")).items;
    assert.equal(newest.name, "in rounds");
    return Number(newest.id);
}

/// Points of round 0, whose members begin with one state, have the mean that a training on one machine has.
async function drawsItsLosses(page, url, id, right) {
    const panel = page.locator("section", { hasText: "Loss and metrics" });
    await panel.getByRole("button", { name: "Fetch the metrics, and follow" }).click();
    const rows = async () => Promise.all((await panel.getByRole("group", { name: "Metrics of members" }).locator("tbody tr").all()).map(async (row) => (await row.locator("td").allTextContents()).map((cell) => cell.trim())));
    const first = await until(180, "the losses of round 0", async () => {
        const found = (await rows()).filter(([round]) => round === "0");
        return found.length === kMembers && found;
    }).catch(async (error) => { throw new Error(`${error.message}: ${await panel.textContent()}\n${JSON.stringify(await rpc(url, "retrace_explainTask", `0x${id.toString(16)}`))}`); });
    assert.deepEqual(new Set(first.map(([, member]) => member.slice(0, 6))), new Set(["run 0,", "run 1,", "run 2,"]));
    const { losses } = JSON.parse((await run("task", "run", right, "--local", "--json")).out);
    const mean = first.reduce((sum, row) => sum + Number(row[3]), 0) / kMembers;
    assert.ok(Math.abs(mean - losses[0]) <= 1e-3 * losses[0], `${mean}, and on one machine ${losses[0]}`);
    const batch = 16;
    for (const [, , , , accuracy] of first) assert.ok(Math.abs(Math.round(batch * accuracy) - batch * accuracy) < 0.01 && accuracy > 0 && accuracy <= 1, `accuracy ${accuracy}`);
    // The first segment of each member is audited.
    await until(120, "verified points", async () => (await rows()).filter(([round, , , , , state]) => round === "0" && state === "verified").length === kMembers);
    const caption = await panel.getByText(/points are verified, \d+ are claimed, 0 are disputed, 0 are of convicted members/).textContent();
    const events = await rpc(url, "retrace_taskEvents", `0x${id.toString(16)}`);
    const audited = events.filter(({ event, arguments: a }) => event === "SegmentVerified" && Number(a.audit) > 0).length;
    assert.ok(Number(/(\d+) points/.exec(caption)[1]) <= audited, `${caption}, ${audited} audits`);
    await panel.locator("select").selectOption("1");
    await until(10, "one member", async () => (await rows()).every(([, member]) => member?.startsWith("run 1,")));
    await panel.locator("select").selectOption("all");
    await passesAxe(page, "losses in rounds");
    await page.setViewportSize({ width: 360, height: 740 });
    await fitsWidth(page, "losses in rounds on a phone");
    await page.setViewportSize({ width: 1280, height: 900 });
    await picture(panel, "rounds");
    await panel.getByRole("button", { name: "Stop following" }).click();
    await panel.getByRole("button", { name: "Follow the metrics again" }).waitFor();
}

/// Tensors of a safetensors file by name.
function tensorsOf(file) {
    const bytes = fs.readFileSync(file);
    const begin = 8 + Number(bytes.readBigUInt64LE(0));
    const head = JSON.parse(bytes.subarray(8, begin).toString());
    delete head.__metadata__;
    return Object.fromEntries(Object.entries(head).map(([name, { dtype, shape, data_offsets: [from, to] }]) =>
        [name, `${dtype} ${shape} ${bytes.subarray(begin + from, begin + to).toString("hex")}`]));
}

/// The model of a member that delivers is what the command line fetches, and losses are there although states were dropped.
async function fetchesItsModel(page, url, id) {
    const name = `0x${id.toString(16)}`;
    await until(400, "the delivery", async () => (await rpc(url, "retrace_task", name)).task.state === "delivering")
        .catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify(await rpc(url, "retrace_explainTask", name))}`); });
    await page.reload();
    const panel = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Model and receipt" }) });
    const [saved] = await Promise.all([page.waitForEvent("download"), panel.getByRole("button", { name: "Fetch the model" }).click({ timeout: 30_000 })]);
    const out = path.join(folder, "rounds-model");
    await run("task", "fetch", String(id), "--node", url, "-o", out, "--data-dir", path.join(folder, "rounds-requester"));
    assert.deepEqual(tensorsOf(await saved.path()), tensorsOf(path.join(out, "model.safetensors")));
    const losses = page.locator("section", { hasText: "Loss and metrics" });
    await losses.getByRole("button", { name: "Fetch the metrics, and follow" }).click();
    await losses.getByText(/points are verified/).waitFor({ timeout: 60_000 });
    const points = async () => (await losses.getByText(/points are verified/).textContent()).match(/\d+/g).slice(0, 2).reduce((sum, n) => sum + Number(n), 0);
    const events = await rpc(url, "retrace_taskEvents", name);
    const trained = events.filter(({ event, arguments: a }) => event === "SegmentCommitted" && Number(a.steps) > 0).length;
    await until(60, "all losses", async () => (await points()) === trained).catch(async (error) => { throw new Error(`${error.message}: ${await losses.textContent()}, ${trained}`); });
}

export async function aTrainingInRoundsIsPostedAndWatched() {
    const node = start("node", "--dev", "--data-dir", path.join(folder, "rounds-node"), "--rpc-port", "0", "--block-ms", "200", "--json");
    const url = await until(30, "the node", () => /"rpc":"([^"]+)"/.exec(node.out)?.[1]);
    const party = (kind, account, ...more) =>
        start(kind, "--node", url, "--dev-account", String(account), "--data-dir", path.join(folder, `rounds-${kind}-${account}`), "--port", "0", "--threads", "1",
            "--stake", "200", ...more);
    const verifiers = [5, 6, 7].map((account) => party("verifier", account));
    const solvers = [1, 2, 3].map((account) => party("solver", account, "--price", "0.5", "--groups"));
    const right = await compile();
    const registered = () => solvers.every(({ err }) => err.includes("event=registered"));
    await until(60, "the solvers", registered).catch((error) => { throw new Error(`${error.message}: ${solvers.map(({ err }) => err).join("\n")}`); });
    await until(120, "the verifiers", async () => (await rpc(url, "retrace_verifiers")).filter(({ info }) => info.member).length === verifiers.length);

    const browser = await openBrowser();
    const state = { chain: "0x1", known: false, refuse: false };
    const wallet = await addWallet(browser, url, 8, state);
    const page = await openPage(browser, `${url}/`);
    await page.getByRole("button", { name: "Connect Test <b>wallet</b>" }).click();
    await page.locator(".wallet a").waitFor();
    const id = await postsIt(page, url, state, right);
    await go(page, `#/task/${id}`, "in rounds");
    await page.getByText(/Round 1, (open|closed): sealed bids from block/).waitFor({ timeout: 15_000 });
    const bids = page.locator("section.panel").filter({ has: page.locator("h2", { hasText: "Bids" }) });
    await until(120, "all seats sold", async () => (await bids.locator(".state", { hasText: "won" }).count()) === kMembers)
        .catch(async (error) => { throw new Error(`${error.message}: ${await bids.textContent()}`); });
    await drawsItsLosses(page, url, id, right);
    await fetchesItsModel(page, url, id);
    const said = await checksItsReceipt(page, url, id, path.join(folder, "rounds-model", "receipt.json"));
    assert.equal(said.private_data, false);
    assert.deepEqual(page.wrong.filter((one) => one.startsWith("exception")), []);
    wallet.close();
    await browser.close();
    await Promise.all([...solvers, ...verifiers, node].map((one) => one.end("SIGKILL")));
}
