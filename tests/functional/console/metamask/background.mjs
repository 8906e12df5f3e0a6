// SPDX-License-Identifier: MIT
// The background of MetaMask: its published controllers, connected as its extension connects them. What the extension does not
// publish is in methods.mjs; the person who looks at its windows is `person`.
import { webcrypto } from "node:crypto";
import { ApprovalController } from "@metamask/approval-controller";
import { GasFeeController } from "@metamask/gas-fee-controller";
import { KeyringController } from "@metamask/keyring-controller";
import { Messenger } from "@metamask/messenger";
import { NetworkController } from "@metamask/network-controller";
import { RemoteFeatureFlagController } from "@metamask/remote-feature-flag-controller";
import { providerErrors } from "@metamask/rpc-errors";
import { wordlist } from "@metamask/scure-bip39/dist/wordlists/english.js";
import { TransactionController } from "@metamask/transaction-controller";

// Node 18 has them in a module only.
globalThis.crypto ??= webcrypto;
globalThis.CryptoKey ??= webcrypto.CryptoKey;

/// The origin that a browser names for requests of MetaMask's extension.
const kOrigin = "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn";
const kPollingMs = 500; // MetaMask's own is 20 s

// MetaMask's poller of fees fails when a transaction is refused while it waits; the extension only reports that.
process.on("unhandledRejection", (error) => {
    if (!/^Cannot update transaction as ID not found/.test(error?.message)) throw error;
});

/// Answers what a node at 127.0.0.1 does, and notes each call as {method, params, error}. Other machines are not there, as
/// without the internet.
function nodeFetch(calls) {
    return async (address, options) => {
        const reply = await loopbackFetch(address, { ...options, headers: { ...options.headers, origin: kOrigin } });
        const { method, params } = JSON.parse(options.body);
        const { error } = await reply.clone().json();
        calls.push({ method, params, error });
        return reply;
    };
}

const realFetch = globalThis.fetch;
async function loopbackFetch(address, options) {
    const { hostname } = new URL(address instanceof Request ? address.url : address);
    if (hostname !== "127.0.0.1") throw new TypeError("fetch failed");
    return realFetch(address, options);
}

/// A wallet with `accounts` accounts of `phrase`. `person.answer(request)` is asked about each approval and answers {refuse, value}:
/// whether it is refused, and what MetaMask's window hands back with the consent.
export async function openWallet(phrase, accounts, person) {
    const calls = [];
    globalThis.fetch = loopbackFetch;
    const root = new Messenger({ namespace: "Root" });
    const messenger = (namespace, actions = [], events = []) => {
        const own = new Messenger({ namespace, parent: root });
        root.delegate({ messenger: own, actions, events });
        return own;
    };

    const approvals = new ApprovalController({
        messenger: messenger("ApprovalController"),
        showApprovalRequest: () => queueMicrotask(async () => {
            for (const request of Object.values(approvals.state.pendingApprovals)) {
                if (person.seen.has(request.id)) continue;
                person.seen.add(request.id);
                const { refuse, value } = await person.answer(request);
                if (refuse) approvals.reject(request.id, providerErrors.userRejectedRequest());
                else approvals.accept(request.id, value);
            }
        }),
    });
    const errors = new Messenger({ namespace: "ErrorReportingService", parent: root });
    errors.registerActionHandler("ErrorReportingService:captureException", (error) => { throw error; });

    const keyrings = new KeyringController({ messenger: messenger("KeyringController") });
    const words = new Uint16Array(phrase.split(" ").map((word) => wordlist.indexOf(word)));
    await keyrings.createNewVaultAndRestore("a password", new Uint8Array(words.buffer));
    await keyrings.withKeyring({ type: "HD Key Tree" }, ({ keyring }) => keyring.addAccounts(accounts - 1));
    const [{ accounts: addresses }] = keyrings.state.keyrings;

    // As after its installation: on Ethereum's main net, to which there is no way from here.
    const network = new NetworkController({
        messenger: messenger("NetworkController", ["ErrorReportingService:captureException"]),
        infuraProjectId: "0".repeat(32),
        getRpcServiceOptions: () => ({ fetch: nodeFetch(calls), btoa }),
        getBlockTrackerOptions: () => ({ pollingInterval: kPollingMs }),
    });
    await network.initializeProvider({ lookupNetwork: false });

    const fees = new GasFeeController({
        messenger: messenger("GasFeeController", ["NetworkController:getState", "NetworkController:getNetworkClientById",
            "NetworkController:getEIP1559Compatibility"], ["NetworkController:networkDidChange"]),
        getProvider: () => network.getProviderAndBlockTracker().provider,
        getCurrentNetworkEIP1559Compatibility: () => network.getEIP1559Compatibility(),
        getCurrentAccountEIP1559Compatibility: () => true,
        getCurrentNetworkLegacyGasAPICompatibility: () => false,
        legacyAPIEndpoint: "https://gas.api.cx.metamask.io/networks/<chain_id>/gasPrices",
        EIP1559APIEndpoint: "https://gas.api.cx.metamask.io/networks/<chain_id>/suggestedGasFees",
    });
    new RemoteFeatureFlagController({
        messenger: messenger("RemoteFeatureFlagController"), disabled: true, getMetaMetricsId: () => "", clientConfigApiService: {},
    });
    // In place of the AccountsController, which brings Snaps: the selected account.
    const selected = { address: addresses[person.account], type: "eip155:eoa", metadata: { keyring: { type: "HD Key Tree" } } };
    const choice = new Messenger({ namespace: "AccountsController", parent: root });
    choice.registerActionHandler("AccountsController:getSelectedAccount", () => selected);
    choice.registerActionHandler("AccountsController:getState", () => ({ internalAccounts: { accounts: { selected } } }));

    const transactions = new TransactionController({
        messenger: messenger("TransactionController", ["AccountsController:getSelectedAccount", "AccountsController:getState",
            "ApprovalController:addRequest", "KeyringController:signEip7702Authorization",
            "NetworkController:findNetworkClientIdByChainId", "NetworkController:getNetworkClientById",
            "RemoteFeatureFlagController:getState"], ["NetworkController:stateChange"]),
        disableHistory: false, disableSendFlowHistory: false, disableSwaps: true, hooks: {}, transactionHistoryLimit: 60,
        getCurrentNetworkEIP1559Compatibility: () => network.getEIP1559Compatibility(),
        getCurrentAccountEIP1559Compatibility: async () => true,
        getGasFeeEstimates: (options) => fees.fetchGasFeeEstimates(options),
        getNetworkClientRegistry: () => network.getNetworkClientRegistry(),
        getNetworkState: () => network.state,
        getPermittedAccounts: async () => person.connected ? [selected.address] : [],
        isFirstTimeInteractionEnabled: () => true,
        isSimulationEnabled: () => true,
        pendingTransactions: { isResubmitEnabled: () => true },
        sign: (transaction, from) => keyrings.signTransaction(transaction, from),
    });
    return { root, calls, approvals, keyrings, network, fees, transactions, address: selected.address };
}
