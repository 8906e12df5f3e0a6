// SPDX-License-Identifier: MIT
// The demo's processes: a node and the parties around it, each a child process on loopback.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "ledger/crypto/secp256k1.hpp"
#include "node/cmd/testnet/testnet.hpp"
#include "node/light/light_client.hpp"
#include "node/platform/process.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

/// Roles by the number of their developer account.
enum class Role : std::uint32_t {
    requester = 0,
    honest_solver = 1,
    cheating_solver = 2,
    verifier_1 = 3,
    verifier_2 = 4,
    verifier_3 = 5,
};
inline constexpr std::uint32_t kRoles = 6;
std::string_view name_of(Role role) noexcept;

/// The parties of a network by the number of their account. Those from ten on are accounts of the same mnemonic, which
/// the genesis funds too.
struct Party {
    enum class Kind { requester, solver, verifier } kind = Kind::requester;
    std::string name;
};
/// The roles above.
std::vector<Party> market_parties();

class LocalNetwork {
public:
    /// Prepares `folder` (genesis, keystores); an existing chain in it is continued. `executable`: path of retrace.
    /// `params`: durations in blocks that differ from the demo's. `tls`: the node makes a certificate, and all other
    /// processes trust it as their authority. `validators`: 0 for one node with the embedded engine, else that many
    /// with CometBFT; the other processes use the first of them.
    static Result<std::unique_ptr<LocalNetwork>> assemble(const std::filesystem::path& folder,
                                                          const std::filesystem::path& executable,
                                                          std::uint64_t block_ms,
                                                          const std::map<std::string, std::uint64_t>& params = {},
                                                          bool tls = false, std::uint32_t validators = 0,
                                                          std::vector<Party> parties = market_parties());

    const std::filesystem::path& folder() const noexcept { return folder_; }
    const std::string& node_url() const noexcept { return url_; }
    const std::vector<Party>& parties() const noexcept { return all_; }
    const std::string& name(Role role) const { return all_.at(static_cast<std::uint32_t>(role)).name; }
    ledger::Address address(Role role) const;
    ledger::SecretKey key(Role role) const;

    /// Starts the node and waits until it answers. `arguments` are appended to those of the embedded engine's node.
    Status<> start_node(const std::vector<std::string>& arguments = {});
    /// `arguments` are appended to the role's own: --cheat, --price, …. `url`: where it reaches the node, if elsewhere.
    Status<> start(Role role, const std::vector<std::string>& arguments, const std::string& url = {});
    void stop(Role role) { parties_.erase(role); }
    void kill(Role role);  ///< SIGKILL.
    void kill_node();
    bool node_running() { return node_ && node_->running(); }
    /// The block that the agents trust; none with the embedded engine.
    const std::optional<light::TrustedBlock>& trusted() const noexcept { return trusted_; }
    /// The validators' nodes; nullptr with the embedded engine.
    TestnetProcesses* validators() noexcept { return testnet_ ? &*testnet_ : nullptr; }
    bool running(Role role);
    Process& process(Role role) { return parties_.at(role); }  ///< Of a role that was started.
    /// Returns the name of a process that ended by itself, if any; its log says why.
    std::optional<std::string> ended_process();
    std::filesystem::path log_of(const std::string& name) const { return folder_ / (name + ".log"); }

private:
    LocalNetwork(std::filesystem::path folder, std::filesystem::path executable, std::uint64_t block_ms, bool tls)
        : folder_(std::move(folder)), executable_(std::move(executable)), block_ms_(block_ms), tls_(tls) {}
    Status<> write_files(const std::map<std::string, std::uint64_t>& params);
    Status<> start_validators();
    /// Lets the agents trust a block that another node than theirs shows.
    Status<> trust_a_block();

    std::filesystem::path folder_, executable_;
    std::uint64_t block_ms_;
    bool tls_;
    std::uint16_t port_ = 0;
    std::string url_;
    std::uint32_t validators_ = 0;
    std::unique_ptr<Process> node_;
    std::optional<TestnetProcesses> testnet_;
    std::optional<light::TrustedBlock> trusted_;
    std::vector<Party> all_;
    std::map<Role, Process> parties_;
};

}  // namespace retrace::node
