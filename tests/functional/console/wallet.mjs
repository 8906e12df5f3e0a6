// SPDX-License-Identifier: MIT
// A wallet as browsers have them (EIP-6963), with the key in this process: the page sees only its provider.
import { ethers } from "ethers";

export const phrase = "test test test test test test test test test test test junk";

/// Gives the browser's pages a wallet of account `index` of `words`, the developer's if none are given. `state.refuse`: the person refuses what comes next;
/// `state.chain`: the chain that the wallet is on; `state.otherChain`: its node has another chain of that number;
/// `state.sent`: the newest transaction; `state.failure`: the error of those that come next. `state.injected`: it is the page's
/// `window.ethereum` and does not announce itself. A page's `walletEmit` tells the listeners of an event.
export async function addWallet(browser, url, index, state, words = phrase) {
    const provider = new ethers.JsonRpcProvider(url);
    const signer = ethers.HDNodeWallet.fromPhrase(words, "", `m/44'/60'/0'/0/${index}`).connect(provider);
    await browser.exposeFunction("walletRequest", async ({ method, params }) => {
        if (state.refuse && !["eth_chainId", "eth_getBlockByNumber"].includes(method)) return { error: { code: 4001, message: "User rejected the request." } };
        if (method === "eth_requestAccounts") return { result: [signer.address] };
        if (method === "eth_chainId") return { result: state.chain };
        if (method === "wallet_switchEthereumChain")
            return state.known ? ((state.chain = params[0].chainId), { result: null }) : { error: { code: 4902, message: "Unrecognized chain" } };
        if (method === "wallet_addEthereumChain") return (state.known = true), (state.chain = params[0].chainId), { result: null };
        if (method === "eth_getBlockByNumber") return { result: state.otherChain ? { hash: "0x" + "11".repeat(32) } : await provider.send(method, params) };
        if (method === "eth_sendTransaction") {
            const { from, to, data, value, chainId } = params[0];
            if (from.toLowerCase() !== signer.address.toLowerCase()) return { error: { code: 4100, message: `the account ${from} is not this wallet's` } };
            if (chainId !== state.chain) return { error: { code: -32602, message: `the chain is ${state.chain}, not ${chainId}` } };
            if (state.failure) return { error: state.failure };
            state.sent = { to, data, value };
            return { result: (await signer.sendTransaction({ to, data, value })).hash };
        }
        return { error: { code: 4200, message: `${method} is not supported` } };
    });
    await browser.addInitScript((injected) => {
        const listeners = new Map();
        window.walletEmit = (event, value) => listeners.get(event)?.forEach((listener) => listener(value));
        const provider = {
            request: async (call) => {
                const { result, error } = await window.walletRequest(call);
                if (error) throw error;
                // A wallet tells of the switch some time after it has answered.
                if (/^wallet_(switch|add)EthereumChain$/.test(call.method)) setTimeout(() => window.walletEmit("chainChanged", call.params[0].chainId), 50);
                return result;
            },
            on: (event, listener) => listeners.set(event, (listeners.get(event) ?? new Set()).add(listener)),
            removeListener: (event, listener) => listeners.get(event)?.delete(listener),
        };
        if (injected) {
            window.ethereum = provider;
            return;
        }
        const announce = () => window.dispatchEvent(new CustomEvent("eip6963:announceProvider",
            { detail: Object.freeze({ info: { uuid: "1", name: "Test <b>wallet</b>", icon: "", rdns: "test" }, provider }) }));
        window.addEventListener("eip6963:requestProvider", announce);
        announce();
    }, Boolean(state.injected));
    return { address: signer.address.toLowerCase(), close: () => provider.destroy() };
}
