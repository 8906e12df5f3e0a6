// SPDX-License-Identifier: MIT
// The JSON-RPC methods of MetaMask that its extension answers by code of its own, which is not published, and the stack that a
// page's requests go through: these methods, then MetaMask's middleware of wallets, then the selected network.
import { createWalletMiddleware, providerAsMiddleware } from "@metamask/eth-json-rpc-middleware";
import { createAsyncMiddleware, JsonRpcEngine } from "@metamask/json-rpc-engine";
import { createEngineStream } from "@metamask/json-rpc-middleware-stream";
import { RpcEndpointType } from "@metamask/network-controller";
import { providerErrors, rpcErrors } from "@metamask/rpc-errors";

const kUnknownChain = 4902;

/// Refuses what the extension does (its ethereum-chain-utils.js of 2025).
function checkedChain({ chainId, chainName, rpcUrls, nativeCurrency, blockExplorerUrls = [], ...others }) {
    const wrong = (message) => rpcErrors.invalidParams({ message });
    if (Object.keys(others).length) throw wrong(`Received unexpected keys on object parameter. Unsupported keys:\n${Object.keys(others)}`);
    if (!/^0x[1-9a-f][0-9a-f]*$/i.test(chainId)) throw wrong(`Expected 0x-prefixed hexadecimal string 'chainId'. Received:\n${chainId}`);
    const url = rpcUrls?.find((one) => one.startsWith("https:") || ["localhost", "127.0.0.1"].includes(new URL(one).hostname));
    if (!url) throw wrong(`Expected an array with at least one valid string HTTPS url 'rpcUrls', Received:\n${rpcUrls}`);
    if (typeof chainName !== "string" || !chainName) throw wrong(`Expected non-empty string 'chainName'. Received:\n${chainName}`);
    if (nativeCurrency?.decimals !== 18) throw wrong(`Expected the number 18 for 'nativeCurrency.decimals' when 'nativeCurrency' is provided. Received: ${nativeCurrency?.decimals}`);
    if (!/^.{1,6}$/.test(nativeCurrency.symbol)) throw wrong(`Expected 1-6 character string 'nativeCurrency.symbol'. Received:\n${nativeCurrency.symbol}`);
    return { chainId, chainName, url, symbol: nativeCurrency.symbol, blockExplorerUrls };
}

async function chainIdAt(url) {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] });
    const reply = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    return (await reply.json()).result;
}

/// Adds the network, or an address to the one that has this chain's id; answers the id of its client.
async function addOrUpdate(network, { chainId, chainName, url, symbol, blockExplorerUrls }) {
    const known = network.getNetworkConfigurationByChainId(chainId);
    const endpoint = { url, name: chainName, type: RpcEndpointType.Custom };
    const at = known?.rpcEndpoints.findIndex((one) => one.url === url);
    let made;
    if (!known) {
        made = network.addNetwork({ chainId, name: chainName, nativeCurrency: symbol, blockExplorerUrls, defaultRpcEndpointIndex: 0, rpcEndpoints: [endpoint] });
    } else {
        const rpcEndpoints = at < 0 ? [...known.rpcEndpoints, endpoint] : known.rpcEndpoints;
        const index = at < 0 ? known.rpcEndpoints.length : at;
        made = await network.updateNetwork(chainId, { ...known, rpcEndpoints, defaultRpcEndpointIndex: index },
            network.getSelectedChainId() === chainId ? { replacementSelectedRpcEndpointIndex: index } : undefined);
    }
    return made.rpcEndpoints[made.defaultRpcEndpointIndex].networkClientId;
}

function ownMethods(wallet, person, origin) {
    const { approvals, network } = wallet;
    const ask = (type, requestData = {}) => approvals.addAndShowApprovalRequest({ origin, type, requestData });
    const accounts = () => (person.connected ? [wallet.address] : []);
    const methods = {
        metamask_getProviderState: () => ({ accounts: accounts(), chainId: network.getSelectedChainId(), isUnlocked: true,
            networkVersion: String(Number(network.getSelectedChainId())) }),
        metamask_sendDomainMetadata: () => true,
        eth_requestAccounts: async () => {
            if (!person.connected) await ask("wallet_requestPermissions");
            person.connected = true;
            return accounts();
        },
        wallet_switchEthereumChain: async ([{ chainId, ...others }]) => {
            if (Object.keys(others).length) throw rpcErrors.invalidParams({ message: `Received unexpected keys on object parameter. Unsupported keys:\n${Object.keys(others)}` });
            const known = network.getNetworkConfigurationByChainId(chainId);
            if (!known) throw providerErrors.custom({ code: kUnknownChain, message: `Unrecognized chain ID "${chainId}". Try adding the chain using wallet_addEthereumChain first.` });
            await ask("wallet_switchEthereumChain", { chainId });
            await network.setActiveNetwork(known.rpcEndpoints[known.defaultRpcEndpointIndex].networkClientId);
            return null;
        },
        wallet_addEthereumChain: async ([given]) => {
            const chain = checkedChain(given);
            const { nativeCurrency = chain.symbol } = network.getNetworkConfigurationByChainId(chain.chainId) ?? {};
            if (nativeCurrency !== chain.symbol) throw rpcErrors.invalidParams({ message: `nativeCurrency.symbol does not match currency symbol for a network the user already has added with the same chainId. Received:\n${chain.symbol}` });
            await ask("wallet_addEthereumChain", chain);
            // The extension's window compares this before the person can agree.
            const found = await chainIdAt(chain.url);
            if (found !== chain.chainId) throw rpcErrors.invalidParams({ message: `Chain ID returned by RPC URL ${chain.url} does not match ${chain.chainId}`, data: { chainId: found } });
            await network.setActiveNetwork(await addOrUpdate(network, chain));
            return null;
        },
    };
    return createAsyncMiddleware(async (request, response, next) => {
        const method = methods[request.method];
        if (!method) return next();
        response.result = await method(request.params);
        return undefined;
    });
}

/// Connects a page: `stream` carries what its provider says.
export function connectPage(wallet, person, origin, stream) {
    const { approvals, keyrings, network, transactions } = wallet;
    const engine = new JsonRpcEngine();
    engine.push((request, _, next) => ((request.origin = origin), (request.networkClientId = network.state.selectedNetworkClientId), next()));
    engine.push(ownMethods(wallet, person, origin));
    const signed = async (type, message, sign) => {
        await approvals.addAndShowApprovalRequest({ origin, type, requestData: message });
        return sign();
    };
    engine.push(createWalletMiddleware({
        getAccounts: async () => (person.connected ? [wallet.address] : []),
        processTransaction: async (params, request) => {
            const { result } = await transactions.addTransaction(params, { method: request.method, origin, networkClientId: request.networkClientId, requireApproval: true });
            return result;
        },
        processPersonalMessage: (message) => signed("personal_sign", message, () => keyrings.signPersonalMessage(message)),
        processTypedMessageV4: (message, _, version) => signed("eth_signTypedData", message, () => keyrings.signTypedMessage(message, version)),
    }));
    engine.push(providerAsMiddleware(network.getProviderAndBlockTracker().provider));
    const outside = createEngineStream({ engine });
    stream.pipe(outside).pipe(stream);
    wallet.root.subscribe("NetworkController:networkDidChange", () => stream.write({ jsonrpc: "2.0", method: "metamask_chainChanged",
        params: { chainId: network.getSelectedChainId(), networkVersion: String(Number(network.getSelectedChainId())) } }));
}
