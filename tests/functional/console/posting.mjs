// SPDX-License-Identifier: MIT
// A new program from the person's disk is posted by the browser's wallet, uploaded, trained, and its metrics are drawn.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { folder, go, openPage, passesAxe, picture, rpc, run, until } from "./common.mjs";

const kRows = 40_000; // samples, more tiles than one message holds
const kColumns = 32;

/// A data set that no other task has: whether a number is above the mean of its row's first two.
function writeData(file) {
    let seed = 1;
    const random = () => ((seed = (seed * 48271) % 2147483647) / 2147483647);
    const rows = Array.from({ length: kRows }, () => {
        const x = Array.from({ length: kColumns }, () => random().toFixed(3));
        return `${x.join(",")},${Number(x[0]) + Number(x[1]) > 1 ? 1 : 0}`;
    });
    fs.writeFileSync(file, `${Array.from({ length: kColumns }, (_, i) => `c${i}`).join(",")},label\n${rows.join("\n")}\n`);
}

/// Copies of the folder with one thing wrong each, and what the page says of it.
function spoiled(right) {
    const copy = (name, change) => {
        const out = path.join(folder, `task-${name}`);
        fs.cpSync(right, out, { recursive: true });
        change(out);
        return out;
    };
    const edit = (change) => (dir) => {
        const file = path.join(dir, "task.toml");
        fs.writeFileSync(file, change(fs.readFileSync(file, "utf8")));
    };
    const flip = (name, at) => (dir) => {
        const bytes = fs.readFileSync(path.join(dir, name));
        bytes[at] ^= 1;
        fs.writeFileSync(path.join(dir, name), bytes);
    };
    return [
        [copy("data", flip("data/x.bin", 4096)), "data/x.bin is not what its manifest.json names"],
        [copy("short", (dir) => fs.truncateSync(path.join(dir, "data/x.bin"), 100)), /data\/x\.bin has 100 bytes and not/],
        [copy("program", flip("program.rtp", 0)), "the program does not begin with RTP1"],
        [copy("missing", (dir) => fs.rmSync(path.join(dir, "init.rtp"))), "The folder has no file init.rtp"],
        [copy("toml", edit((text) => `${text}\n[market`)), "task.toml cannot be read"],
        [copy("older", edit((text) => text.replace("[compiled]", "[rest]"))), "task.toml has no section [compiled]"],
        [copy("cost", edit((text) => text.replace(/step_cost = \d+/, "step_cost = -1"))), "step_cost is not a whole number from 1"],
        [copy("rounds", edit((text) => `${text}\n[rounds]\nrounds = 2\n`)), "task.toml: plan is missing"],
        [copy("price", edit((text) => text.replace(/price_ceiling = .*/, "price_ceiling = '<b>much</b>'"))), "price_ceiling is no number of coins"],
    ];
}

/// The answer of a node whose quota is used up (wire::Refusal).
function refusal(slug, message) {
    const field = (number, text) => [8 * number + 2, text.length, ...Buffer.from(text)];
    return Buffer.from([...field(1, slug), ...field(2, message)]);
}

export async function postsANewProgram(browser, url, state) {
    const csv = path.join(folder, "new.csv");
    writeData(csv);
    const right = path.join(folder, "new-task");
    await run("task", "compile", "mlp", "--data", csv, "-o", right, "--hidden", "16", "--batch", "64", "--steps", "120", "--checkpoint-every", "20",
        "--price-ceiling", "1", "--audit-percent", "40", "--auditors", "2", "--name", "a new program");
    // The challenge windows of a task that takes an hour would be waited for.
    const terms = path.join(right, "task.toml");
    fs.writeFileSync(terms, fs.readFileSync(terms, "utf8").replace("replay_blocks = 300", "replay_blocks = 50"));
    const page = await openPage(browser, url + "/"); // its own, because some of its requests fail on purpose
    await page.getByRole("button", { name: "Connect Test <b>wallet</b>" }).click();
    await page.locator(".wallet a").waitFor();

    await go(page, "#/post/", "Post a task");
    const panel = page.locator("section[aria-labelledby=p-a-new-program]");
    const field = panel.locator("input[type=file]");
    for (const [wrong, sentence] of spoiled(right)) {
        await field.setInputFiles(wrong);
        await panel.locator(".error", { hasText: sentence }).waitFor();
        assert.equal(await panel.getByRole("button", { name: "Post the task" }).count(), 0, wrong);
    }
    await field.setInputFiles(right);
    const send = panel.getByRole("button", { name: "Post the task" });
    await send.waitFor({ timeout: 30_000 });
    assert.equal(await panel.getByLabel("name").inputValue(), "a new program");

    // What it costs and promises is what the command line and the ledger compute.
    const plan = JSON.parse((await run("task", "plan", right, "--node", url, "--json")).out);
    const shown = (await panel.textContent()).replace(/\u202f/g, "");
    const coins = (wei) => String(Number(wei) / 1e18);
    assert.ok(shown.includes(`Locked as escrow: ${coins(plan.escrow)} coins`), `${shown}\n${plan.escrow}`);
    const percent = (share) => `${Number((100 * share).toPrecision(4))} %`;
    assert.ok(shown.includes("segments6auctions, while too few solvers bid"), shown);
    assert.ok(shown.includes(`one bad segment is found with${percent(plan.detection_of_one)}`), shown);
    assert.ok(shown.includes(`ten bad segments with${percent(plan.detection_of_ten)}`), shown);
    await passesAxe(page, "posting a new program");
    await picture(page, "post", { fullPage: true });

    state.refuse = true;
    await send.click();
    await panel.getByText("The wallet refused; nothing was sent.").waitFor();
    state.refuse = false;
    const sentence = "the tasks of this requester hold all that one may have";
    await page.route("**/tiles", (route) => route.fulfill({ status: 507, contentType: "application/octet-stream", body: refusal("over_quota", sentence) }));
    await send.click();
    await panel.getByText(`The node refuses it (over_quota): ${sentence}.`).waitFor({ timeout: 30_000 });
    await page.unroute("**/tiles");
    const [newest] = (await rpc(url, "retrace_tasks")).items;
    const id = Number(newest.id);
    assert.equal(newest.name, "a new program");
    await sentWhatTheCommandLineSends(url, state, right);
    const { stakeFloor } = await rpc(url, "retrace_explainBids", newest.id);
    assert.ok(shown.includes(`stake that a bid locks${coins(stakeFloor)}`), `${shown}\n${stakeFloor}`);

    // The page was closed; the same folder goes on where it stopped, another one is refused.
    const sent = [];
    page.on("request", (request) => request.method() === "PUT" && sent.push(new URL(request.url()).pathname.split("/")[3]));
    await go(page, `#/upload/${id}`, `Upload the files of task ${id}`);
    const again = page.locator("main input[type=file]");
    const other = path.join(folder, "task-other");
    await run("task", "compile", "mlp", "--data", path.join(right, "data"), "-o", other, "--hidden", "8");
    await again.setInputFiles(other);
    await page.locator("main .error", { hasText: "The folder is not what this task was posted from." }).waitFor();
    await again.setInputFiles(right);
    await page.getByText("The node has all files of").waitFor({ timeout: 30_000 });
    assert.ok(!sent.includes("program"), "the programs had arrived before");
    assert.ok(sent.filter((one) => one === "tiles").length >= 3, `${sent.length} messages`);
    await again.setInputFiles(right);
    const before = sent.length;
    await page.getByText("The node has all files of").waitFor({ timeout: 30_000 });
    assert.equal(sent.length, before, "nothing is sent twice");

    await drawsItsLosses(page, url, id);
    await page.getByRole("button", { name: "Accept the model and pay" }).click();
    await page.getByText("Accepted:").waitFor({ timeout: 20_000 });
    await postsATrainingOfGivenWeights(page, url, state, right);
    assert.deepEqual(page.wrong.filter((one) => one.startsWith("exception")), []);
    await page.close();
}

async function sentWhatTheCommandLineSends(url, state, compiled) {
    const wanted = JSON.parse((await run("task", "encode", compiled, "--node", url, "--json", "--data-dir", path.join(folder, "new-requester"))).out);
    assert.equal(state.sent.data, wanted.data);
    assert.equal(BigInt(state.sent.value), BigInt(wanted.value));
    assert.equal(state.sent.to.toLowerCase(), wanted.to.toLowerCase());
}

/// A task that begins with a model from the disk names and uploads a state instead of an initialiser, and is trained.
async function postsATrainingOfGivenWeights(page, url, state, compiled) {
    const given = path.join(folder, "given-task");
    const weights = path.join(folder, "new-model", "model.safetensors");
    await run("task", "compile", "mlp", "--data", path.join(compiled, "data"), "-o", given, "--start", weights, "--hidden", "16", "--batch", "64",
        "--steps", "20", "--checkpoint-every", "10", "--price-ceiling", "1", "--audit-percent", "40", "--name", "given weights",
        "--optimizer", "sgd", "--lr", "1e38");
    await go(page, "#/post/", "Post a task");
    const panel = page.locator("section[aria-labelledby=p-a-new-program]");
    const spoiledFile = path.join(folder, "given-spoiled");
    fs.cpSync(given, spoiledFile, { recursive: true });
    const bytes = fs.readFileSync(path.join(spoiledFile, "initial.safetensors"));
    bytes.writeUInt32LE(0x7fc00000, bytes.length - 4);
    fs.writeFileSync(path.join(spoiledFile, "initial.safetensors"), bytes);
    await panel.locator("input[type=file]").setInputFiles(spoiledFile);
    await panel.locator(".error", { hasText: "holds a NaN or an infinity" }).waitFor();
    await panel.locator("input[type=file]").setInputFiles(given);
    await panel.getByRole("button", { name: "Post the task" }).click();
    await panel.getByText("The node has all files of").waitFor({ timeout: 30_000 });
    await sentWhatTheCommandLineSends(url, state, given);
    const [newest] = (await rpc(url, "retrace_tasks")).items;
    const { spec } = await rpc(url, "retrace_task", newest.id);
    assert.match(spec.initRoot, /^0x0+$/);
    const reply = await fetch(`${url}/artifact/${spec.initialStateRoot.slice(2)}/state`);
    assert.equal(reply.status, 200, "the node serves the first state");

    // Its rate is absurd: losses that are no finite numbers are counted and not drawn.
    await go(page, `#/task/${Number(newest.id)}`, "given weights");
    const losses = page.locator("section", { hasText: "Loss and metrics" });
    const button = losses.getByRole("button", { name: /Fetch (the|newer) metrics/ });
    // Asked for once; those that are opened later come by themselves.
    await button.click();
    await losses.getByText(/ without a finite value/).waitFor({ timeout: 120_000 });
}

/// The losses that its checkpoints commit to are those of a replay, verified ones apart from those that the solver has committed to.
async function drawsItsLosses(page, url, id) {
    const name = `0x${id.toString(16)}`;
    await until(120, "the delivery", async () => (await rpc(url, "retrace_task", name)).task.state === "delivering")
        .catch(async (error) => { throw new Error(`${error.message}: ${JSON.stringify(await rpc(url, "retrace_explainTask", name))}`); });
    await go(page, `#/task/${id}`, "a new program");
    const panel = page.locator("section", { hasText: "Loss and metrics" });
    await panel.getByRole("button", { name: "Fetch the metrics" }).click();
    const caption = await panel.getByText(/points are verified, \d+ are committed/).textContent({ timeout: 30_000 });
    await until(30, "all six points", async () => {
        const [, verified, committed] = /(\d+) points are verified, (\d+) are committed/.exec(await panel.textContent()) ?? [];
        return Number(verified) + Number(committed) === 6;
    }).catch((error) => { throw new Error(`${error.message}: ${caption}`); });
    const { runs } = await rpc(url, "retrace_task", name);
    const shown = runs.filter(({ state }) => state !== "forfeited").pop().index;
    const events = (await rpc(url, "retrace_taskEvents", name)).filter(({ event, arguments: a }) => event === "SegmentVerified" && Number(a.run) === shown);
    const segments = new Set(events.map((one) => Number(one.arguments.segment)));
    const text = await panel.textContent();
    assert.ok(text.includes(`${segments.size} points are verified, ${6 - segments.size} are committed, 0 are disputed`), `${text}\n${JSON.stringify(events)}`);
    assert.ok(segments.has(5), "the last segment is always audited");

    const out = path.join(folder, "new-model");
    await run("task", "fetch", String(id), "--node", url, "-o", out, "--losses", "6", "--data-dir", path.join(folder, "new-requester"));
    const rows = fs.readFileSync(path.join(out, "metrics.csv"), "utf8").trim().split("\n").map((line) => line.split(","));
    const column = rows[0].indexOf("replayed_loss");
    const losses = rows.slice(1).filter((row) => row[column]);
    const last = Number(losses[losses.length - 1][column]);
    const label = await panel.locator(".chart").first().getAttribute("aria-label");
    const drawn = Number(/replayed by auditors is ([\d.e-]+) at the end/.exec(label)[1]);
    assert.ok(Math.abs(drawn - last) <= 1e-3 * Math.abs(last), `${label}: the replay says ${last}`);
    const [saved] = await Promise.all([page.waitForEvent("download"), panel.getByRole("button", { name: "Save them as CSV" }).click()]);
    const table = fs.readFileSync(await saved.path(), "utf8").trim().split("\n").map((line) => line.split(","));
    assert.deepEqual(table[0], ["step", "checkpoint", "loss", "accuracy", "standing"]);
    assert.equal(table.length, 7);
    assert.equal(Math.fround(Number(table[6][2])), Math.fround(last), "the whole number is in the file");
    const batch = 64;
    for (const [, checkpoint, , accuracy, standing] of table.slice(1)) {
        assert.ok(Number.isInteger(batch * accuracy) && accuracy > 0 && accuracy <= 1, `accuracy ${accuracy} of a batch of ${batch}`);
        assert.equal(standing, segments.has(checkpoint - 1) ? "verified" : "committed");
    }
    assert.match(await panel.locator(".chart").nth(1).getAttribute("aria-label"), /^accuracy of the last step before each checkpoint: 6 points/);
    await passesAxe(page, "a task with metrics");
    await picture(panel, "losses");
}
