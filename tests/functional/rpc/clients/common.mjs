// SPDX-License-Identifier: MIT
// What the checks share: the node's address, the program, the developers' accounts.
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { ethers } from "ethers";

export const [, , url, program, folder] = process.argv;
export const webSocketUrl = url.replace("http", "ws");
export const phrase = "test test test test test test test test test test test junk";
export const receiver = "0x00000000000000000000000000000000000000bb";
export const chainId = 7298;

/// Account `index` of the words that every developer chain has.
export const account = (index) => ethers.HDNodeWallet.fromPhrase(phrase, "", `m/44'/60'/0'/0/${index}`);

/// Standard output of `retrace ARGUMENTS`; throws with its standard error when it fails.
export function retrace(...args) {
    return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

export function file(name, text) {
    const place = path.join(folder, name);
    fs.writeFileSync(place, text);
    return place;
}

/// {address, abi} of a native contract by the name of its interface.
export async function contractOf(provider, wanted) {
    const all = await provider.send("retrace_contracts", []);
    return all.find(({ name }) => name === wanted);
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/// Rejects when `promise` takes longer than `seconds`.
export function within(seconds, what, promise) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${what}: nothing in ${seconds} s`)), 1000 * seconds);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
