// SPDX-License-Identifier: MIT
// Keys, words and signatures of `retrace wallet` beside those of ethers and viem.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { ethers } from "ethers";
import * as viem from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { account, chainId, file, folder, phrase, retrace } from "./common.mjs";

const passphrase = "open sesame";
const keys = () => ["--keys", fs.mkdtempSync(path.join(folder, "keys-")), "--passphrase-file",
    file("passphrase", passphrase + "\n")];

export async function textsAreSignedAlike() {
    const twin = mnemonicToAccount(phrase);
    const prefixed = "\x19Ethereum Signed Message:\n5hello";
    for (const text of ["hello", "", "Grüße 🌍", "x".repeat(1000), "0x1234", prefixed]) {
        const ours = retrace("wallet", "sign", "--dev-account", "0", "--", text);
        assert.equal(ours, await account(0).signMessage(text));
        assert.equal(ours, await twin.signMessage({ message: text }));
        assert.equal(ethers.verifyMessage(text, ours), account(0).address);
        const theirs = await account(1).signMessage(text);
        const verify = ["wallet", "verify", "--address", account(1).address, "--signature"];
        assert.equal(retrace(...verify, theirs, "--", text), "valid");
        assert.throws(() => retrace(...verify, ours, "--", text), /NOT valid|Command failed/);
    }
}

export async function typedDataAreSignedAlike() {
    const types = {
        Party: [{ name: "account", type: "address" }, { name: "name", type: "string" }],
        Offer: [{ name: "from", type: "Party" }, { name: "others", type: "Party[]" },
            { name: "prices", type: "uint256[2]" }, { name: "root", type: "bytes32" }, { name: "proof", type: "bytes" },
            { name: "delta", type: "int64" }, { name: "open", type: "bool" }],
    };
    const party = (index) => ({ account: account(index).address, name: `party ${index}, größer` });
    const message = { from: party(0), others: [party(1), party(2)], prices: [1, (2n ** 200n).toString()],
        root: ethers.id("root"), proof: "0x0102", delta: "-5", open: true };
    const domain = { name: "Retrace", version: "1", chainId,
        verifyingContract: "0x0000000000000000000000000000000000001002", salt: ethers.id("salt") };
    const field = (name, type) => ({ name, type });
    const EIP712Domain = [field("name", "string"), field("version", "string"), field("chainId", "uint256"),
        field("verifyingContract", "address"), field("salt", "bytes32")];
    const typed = { types: { EIP712Domain, ...types }, primaryType: "Offer", domain, message };
    const place = file("typed.json", JSON.stringify(typed));
    const ours = retrace("wallet", "sign", "--dev-account", "0", "--typed", place);
    assert.equal(ours, await account(0).signTypedData(domain, types, message));
    assert.equal(ours, await mnemonicToAccount(phrase).signTypedData({ types, primaryType: "Offer", domain, message }));
    assert.equal(ethers.verifyTypedData(domain, types, message, ours), account(0).address);
    assert.equal(await viem.recoverTypedDataAddress({ types, primaryType: "Offer", domain, message, signature: ours }),
        account(0).address);
    assert.equal(retrace("wallet", "verify", "--address", account(0).address, "--signature", ours, "--typed", place),
        "valid");
}

/// A file of ours is opened by ethers, and one of ethers' by ours.
export async function keystoresAreExchanged() {
    const options = keys();
    const made = JSON.parse(retrace("wallet", "new", "--mnemonic", "--light", "--json", ...options));
    const text = fs.readFileSync(made.file, "utf8");
    assert.equal(fs.statSync(made.file).mode & 0o777, 0o600);
    const opened = await ethers.Wallet.fromEncryptedJson(text, passphrase);
    assert.equal(opened.address, made.address);
    assert.equal(opened.privateKey, ethers.HDNodeWallet.fromPhrase(made.mnemonic).privateKey);
    await assert.rejects(ethers.Wallet.fromEncryptedJson(text, passphrase + "x"));
    assert.equal(retrace("wallet", "export", "--private-key", "--key", made.address, ...options), opened.privateKey);

    const theirs = ethers.Wallet.createRandom();
    const json = await new ethers.Wallet(theirs.privateKey).encrypt(passphrase);
    const from = file("theirs.json", json);
    const taken = JSON.parse(retrace("wallet", "import", "--keystore", from, "--light", "--json", ...options));
    assert.equal(taken.address, theirs.address);
    assert.equal(retrace("wallet", "export", "--private-key", "--key", taken.address, ...options), theirs.privateKey);
    // With the cost that geth and ethers write, as `export` does.
    const exported = retrace("wallet", "export", "--key", taken.address, ...options);
    assert.equal(JSON.parse(exported).crypto.kdfparams.n, 262144);
    assert.equal((await ethers.Wallet.fromEncryptedJson(exported, passphrase)).address, theirs.address);
}

export async function wordsAreTheSameAccounts() {
    const options = keys();
    for (const words of [phrase, ethers.Mnemonic.fromEntropy(ethers.id("24 words")).phrase]) {
        const place = file("words", words + "\n");
        for (const index of [0, 1, 7]) {
            const made = JSON.parse(retrace("wallet", "import", "--mnemonic-file", place, "--index", String(index),
                "--light", "--json", ...options));
            assert.equal(made.address, ethers.HDNodeWallet.fromPhrase(words, "", `m/44'/60'/0'/0/${index}`).address);
            assert.equal(made.address, mnemonicToAccount(words, { addressIndex: index }).address);
        }
    }
}
