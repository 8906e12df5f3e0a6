// SPDX-License-Identifier: MIT
// The browser's wallet (EIP-6963, else EIP-1193's window.ethereum). It holds the keys and shows what it signs; the page
// only proposes transactions, after it has asked the node whether a rule refuses them.
import { decodeErrorResult, type Abi, type Hex } from "viem";
import { contractNamed, encodeCall } from "./abi";
import calls from "./calls.json";
import { hex, num } from "./format";
import { contractList } from "./hooks";
import { type Json, node, RpcError } from "./rpc";

export interface Provider {
    request(call: { method: string; params?: unknown[] }): Promise<unknown>;
    on?(event: string, listener: (value: unknown) => void): void;
    removeListener?(event: string, listener: (value: unknown) => void): void;
}

export interface Found {
    name: string;
    provider: Provider;
}

export interface Account {
    address: string;
    wallet: string;
    provider: Provider;
    chain: number;
}

const found = new Map<string, Found>();
const listeners = new Set<() => void>();
let account: Account | undefined;

const changed = () => {
    for (const listener of [...listeners]) listener();
};

export const wallets = (): Found[] => {
    const injected = (window as { ethereum?: Provider }).ethereum;
    return found.size === 0 && injected ? [{ name: "the browser's wallet", provider: injected }] : [...found.values()];
};
export const currentAccount = () => account;
export function onWallet(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

window.addEventListener("eip6963:announceProvider", (event) => {
    const detail = (event as CustomEvent<{ info?: { uuid?: string; name?: string }; provider?: Provider }>).detail;
    if (!detail?.provider || typeof detail.info?.uuid !== "string") return;
    found.set(detail.info.uuid, { name: String(detail.info.name ?? "a wallet"), provider: detail.provider });
    changed();
});
window.dispatchEvent(new Event("eip6963:requestProvider"));

interface WalletError {
    code?: number;
    message?: string;
    data?: { message?: unknown } | null;
}

const kInternal = -32603;

function explain(error: unknown): Error {
    const { code, message, data } = (error ?? {}) as WalletError;
    if (code === 4001) return new Error("The wallet refused; nothing was sent.");
    if (code === -32002) return new Error("The wallet is already asking: open it and answer there.");
    if (typeof data?.message === "string") return new Error(`The wallet's node refused: ${data.message}`);
    // MetaMask says this of whatever its node refused, and keeps the node's reason to itself.
    if (code === kInternal)
        return new Error(`The wallet says only "${message}". Its node may have refused: take the fees and the gas that the wallet proposes, and look at the account's transactions that still wait.`);
    return new Error(message ? String(message) : "The wallet failed without a reason.");
}

/** Numbers of chains on which coins are worth money; a lying node would have the wallet send those. */
const kOthers = new Set([1, 10, 25, 56, 61, 100, 130, 137, 146, 250, 324, 369, 480, 999, 1101, 1284, 1329, 2741, 5000, 8217, 8453, 42161, 42170,
    42220, 43114, 57073, 59144, 80094, 81457, 534352, 7777777]);

/** Lets the wallet use the chain of this node, whose number it resolves to; adds the chain if the wallet does not know it. */
async function chooseChain(provider: Provider): Promise<string> {
    const wanted = await node.call<string>("eth_chainId");
    if (!Number.isSafeInteger(num(wanted))) throw new Error("This node does not say which chain it follows.");
    if (kOthers.has(num(wanted))) throw new Error(`This node says that it follows chain ${num(wanted)}, which is the number of another chain than Retrace's: nothing is sent there.`);
    if (num(await provider.request({ method: "eth_chainId" })) === num(wanted)) return wanted;
    try {
        await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId: wanted }] });
    } catch (error) {
        if ((error as WalletError)?.code !== 4902) throw error;
        await provider.request({
            method: "wallet_addEthereumChain",
            params: [{ chainId: wanted, chainName: `Retrace ${num(wanted)}`, rpcUrls: [location.origin],
                nativeCurrency: { name: "Coin", symbol: "COIN", decimals: 18 } }],
        });
    }
    if (num(await provider.request({ method: "eth_chainId" })) !== num(wanted))
        throw new Error(`The wallet is on another chain than this node; switch it to chain ${num(wanted)}.`);
    return wanted;
}

/** Two chains may have one id; an Error unless the wallet's node has the same first block as this one. */
async function compareChains(provider: Provider): Promise<void> {
    const first: [string, Json[]] = ["eth_getBlockByNumber", ["0x0", false]];
    const own = await node.call<{ hash?: string } | null>(...first);
    const other = (await provider.request({ method: first[0], params: first[1] }).catch(() => null)) as { hash?: unknown } | null;
    if (!own?.hash) throw new Error("This node does not say what its first block is.");
    if (other?.hash !== own.hash)
        throw new Error("The wallet's node has another first block than this one, or none: it is on another chain of the same number. Set this node's address for the chain in the wallet.");
}

/** Why no wallet may be connected to this page; empty if one may. */
function insecure(): string {
    const local = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(location.hostname);
    return window.isSecureContext || local ? "" : "This page came without TLS, so somebody in between could have changed it: open it by https:// or on the node's own machine to connect a wallet.";
}

export async function connect(wallet: Found): Promise<void> {
    const why = insecure();
    if (why) throw new Error(why);
    try {
        const accounts = (await wallet.provider.request({ method: "eth_requestAccounts" })) as unknown;
        const first = Array.isArray(accounts) ? accounts[0] : undefined;
        if (typeof first !== "string" || !/^0x[0-9a-f]{40}$/i.test(first)) throw new Error("The wallet names no account.");
        const chain = num(await chooseChain(wallet.provider));
        await compareChains(wallet.provider);
        disconnect();
        account = { address: first.toLowerCase(), wallet: wallet.name, provider: wallet.provider, chain };
        for (const [event, listener] of kEnds) wallet.provider.on?.(event, listener);
        changed();
    } catch (error) {
        throw explain(error);
    }
}

/** Events after which the connection's account or chain may be another. A wallet also tells of the switch that this page asked for. */
const kEnds: [string, (value: unknown) => void][] = [
    ["accountsChanged", (value) => (Array.isArray(value) && String(value[0]).toLowerCase() === account?.address) || disconnect()],
    ["chainChanged", (value) => num(value) === account?.chain || disconnect()],
];

export function disconnect(): void {
    for (const [event, listener] of kEnds) account?.provider.removeListener?.(event, listener);
    account = undefined;
    changed();
}

export interface Call {
    contract: keyof typeof calls;
    method: string;
    args: unknown[];
    value?: bigint;
}

/** The sentence of the rule that refuses the call now; empty if none does. */
async function refusal(from: string, to: string, abi: Abi, data: Hex, value: bigint): Promise<string> {
    try {
        await node.call("eth_call", [{ from, to, data, value: hex(value) }, "latest"]);
        return "";
    } catch (error) {
        const details = error instanceof RpcError ? (error.data as Json) : null;
        if (typeof details === "string" && details.length > 10) {
            try {
                const { args } = decodeErrorResult({ abi, data: details as Hex });
                const slug = String(args?.[1]);
                const sentence = (error as Error).message.replace(/^execution reverted: /, "").replace(`${slug}: `, "");
                return `A rule refuses this: ${sentence} (${slug}, rule ${String(args?.[0])}).`;
            } catch {
                // other data than the contracts'; the message says what it is
            }
        }
        return (error as Error).message;
    }
}

/** Asks the wallet to sign and send a call; resolves to the hash of the transaction as soon as it was sent. */
export async function submit(call: Call, tell: (progress: string) => void): Promise<string> {
    const sender = account;
    if (!sender) throw new Error("Connect a wallet first.");
    const { address, provider } = sender;
    const isStill = () => {
        if (account !== sender) throw new Error("The wallet's account or chain was changed meanwhile; nothing was sent.");
    };
    // Where and what is called is the page's own knowledge: a node that chose it would choose what is signed.
    const { address: to, abi } = calls[call.contract];
    const contract = contractNamed(await contractList(), call.contract);
    if (contract?.address.toLowerCase() !== to) throw new Error("This chain has no market, or at another address than this page knows.");
    const data = encodeCall(abi as Abi, call.method, call.args);
    const value = call.value ?? 0n;
    tell("asking the node …");
    const refused = await refusal(address, to, contract.abi as Abi, data, value);
    if (refused) throw new Error(refused);
    isStill();
    tell("waiting for the wallet …");
    let hash: unknown;
    try {
        const chainId = await chooseChain(provider);
        await compareChains(provider);
        isStill();
        if (num(chainId) !== sender.chain) throw new Error("This node follows another chain than when the wallet was connected; nothing was sent.");
        hash = await provider.request({ method: "eth_sendTransaction", params: [{ from: address, to, data, value: hex(value), chainId }] });
    } catch (error) {
        throw explain(error);
    }
    if (typeof hash !== "string" || !/^0x[0-9a-f]{64}$/i.test(hash)) throw new Error("The wallet names no transaction.");
    return hash;
}
