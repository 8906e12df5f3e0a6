// SPDX-License-Identifier: MIT
#include "node/agents/proven_outcome.hpp"

#include <optional>

namespace retrace::node {

Result<TxOutcome> proven_outcome(RpcClient& node, const ledger::Header& header, const Hash32& tx) {
    const std::string block = "block " + std::to_string(header.height);
    auto told = node.block_receipts(header.height);
    if (!told) return error("the receipts of " + block + ": " + told.error().message);
    const std::size_t count = header.tx_count;
    if (told->size() != count && told->size() != count + 1)
        return error("the node shows another number of receipts than " + block + " has transactions");
    std::vector<ledger::Log> system_logs;
    std::vector<Hash32> hashes;
    std::vector<ledger::Receipt> receipts;
    std::optional<TxOutcome> found;
    for (std::size_t i = 0; i < told->size(); ++i) {
        auto& [outcome, cumulative_gas] = (*told)[i];
        if (i == count) {
            system_logs = std::move(outcome.logs);
            break;
        }
        hashes.push_back(outcome.hash);
        receipts.push_back({outcome.ok, outcome.gas_used, cumulative_gas, outcome.gas_price, outcome.logs, {}, {}});
        // A faulty proposer may repeat a transaction in its block; only the first one has an effect.
        if (outcome.hash == tx && !found) found = std::move(outcome);
    }
    if (ledger::tx_root(hashes) != header.tx_root || ledger::results_root(system_logs, receipts) != header.results_root)
        return error("the receipts that the node shows are not those of " + block);
    if (!found)
        return error("the transaction " + to_0x(view(tx)) + " is not in " + block + ", where the node says it is");
    found->height = header.height;
    if (!found->ok) found->reason = "refused; the reason is the node's word: " + found->reason;
    return std::move(*found);
}

}  // namespace retrace::node
