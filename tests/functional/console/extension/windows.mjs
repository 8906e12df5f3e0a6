// SPDX-License-Identifier: MIT
// Chromium with MetaMask's extension, and what its person does in the extension's own windows. Its pages forbid scripts in
// their own world, so only Playwright's locators look at them.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { openBrowser, picture, until } from "./common.mjs";

const kPassword = "a password of the test";

/// The extension of the folder in a browser of its own: {browser, version, page(name)}.
export async function openExtension(extension) {
    const { version } = JSON.parse(fs.readFileSync(path.join(extension, "manifest.json"), "utf8"));
    const browser = await openBrowser([`--load-extension=${extension}`, `--disable-extensions-except=${extension}`,
        "--disable-features=DisableLoadExtensionCommandLineSwitch"], { ignoreDefaultArgs: ["--disable-extensions"] });
    browser.setDefaultTimeout(120_000); // it loads slowly on a busy machine
    // Before it sends, MetaMask 13.26 asks one of its services whether it relays for the chain, and gives up without an answer.
    await browser.route(/^https:\/\/tx-sentinel-[\w-]+\.api\.cx\.metamask\.io\//, (route) => route.fulfill({ status: 404, contentType: "application/json", body: "{}" }));
    const worker = browser.serviceWorkers()[0] ?? (await browser.waitForEvent("serviceworker", { timeout: 60_000 }));
    const { host } = new URL(worker.url());
    return { browser, version, page: (name) => `chrome-extension://${host}/${name}` };
}

/// In the tab that the extension opens first: imports the words, with a password and without telemetry. The page of its side panel.
export async function beginsWithWords({ browser, page }, words) {
    const home = await until(120, "the extension's first tab", () => browser.pages().find((one) => one.url().includes("/home.html")));
    const press = (id) => home.getByTestId(id).click();
    await press("onboarding-import-wallet");
    await press("onboarding-import-with-srp-button");
    // Each word has a field, which comes with the space before it.
    for (const [at, word] of words.split(" ").entries())
        await home.getByTestId(at === 0 ? "srp-input-import__srp-note" : `import-srp__srp-word-${at}`).pressSequentially(at < 11 ? `${word} ` : word, { delay: 10 });
    await press("import-srp-confirm");
    await home.getByTestId("create-password-new-input").fill(kPassword);
    await home.getByTestId("create-password-confirm-input").fill(kPassword);
    await press("create-password-terms");
    await press("create-password-submit");
    // Versions since 2026-06 offer a passkey first.
    const usage = home.getByTestId("metametrics-checkbox");
    const later = home.getByText("Maybe later");
    await usage.or(later).waitFor();
    if (await later.isVisible()) await later.click();
    await usage.click();
    await press("metametrics-i-agree");
    await press("onboarding-complete-done");
    // Its questions come in its side panel, which Playwright sees in a tab only.
    const metamask = await browser.newPage();
    await metamask.setViewportSize({ width: 400, height: 760 });
    await metamask.goto(page("sidepanel.html"));
    await metamask.getByTestId("account-options-menu-button").waitFor();
    await home.close();
    return metamask;
}

export async function locks(metamask) {
    await metamask.getByTestId("account-options-menu-button").click();
    await metamask.getByTestId("global-menu-lock").click();
    await metamask.getByTestId("unlock-password").waitFor();
}

/// Waits until MetaMask shows one of these of its parts; its name.
async function shows(metamask, ...ids) {
    return until(60, `one of ${ids} in ${metamask.url()}`, async () => {
        for (const id of ids) if (await metamask.getByTestId(id).isVisible()) return id;
        return undefined;
    });
}

const kAgree = ["confirm-footer-button", "confirm-btn", "confirmation-submit-button"];
const kRefuse = ["confirm-footer-cancel-button", "cancel-btn", "confirmation-cancel-button"];

/// Presses one of the buttons, and waits until the question is answered.
async function presses(metamask, ids) {
    const button = await shows(metamask, ...ids);
    const asked = metamask.url();
    await metamask.getByTestId(button).click();
    await until(60, `the end of ${asked}`, () => metamask.url() !== asked);
}

export const refuses = (metamask) => presses(metamask, kRefuse);

/// Agrees to the question if MetaMask shows these texts with it and warns of nothing but what this test brings about.
export async function agrees(metamask, name, ...texts) {
    await shows(metamask, ...kAgree);
    const shown = async () => (await metamask.locator("body").innerText()).replace(/\s+/g, " ");
    await until(60, `${texts} in MetaMask's window`, async () => {
        const text = await shown();
        return texts.every((one) => text.includes(one));
    }).catch(async (error) => { throw new Error(`${error.message}: ${await shown()}`); });
    await picture(metamask, `metamask-${name}`);
    for (const banner of await metamask.getByTestId("confirm-banner-alert").all())
        assert.match(await banner.innerText(), /we couldn't check for security alerts/, "it has no way to MetaMask's services here");
    await presses(metamask, kAgree);
}

/// MetaMask is locked and asks for its password before anything else.
export async function unlocks(metamask) {
    await metamask.getByTestId("unlock-password").fill(kPassword);
    await metamask.getByTestId("unlock-submit").click();
}

/// In MetaMask's list of activities, as soon as it offers this for what waits.
async function replaces(metamask, button) {
    await metamask.getByTestId("account-overview__activity-tab").click();
    await metamask.getByTestId(button).first().click();
    const confirm = metamask.getByTestId("cancel-speedup-confirm-button");
    await confirm.click();
    await confirm.waitFor({ state: "hidden" });
}

export const speedsUp = (metamask) => replaces(metamask, "speed-up-button");
export const cancels = (metamask) => replaces(metamask, "cancel-button");
