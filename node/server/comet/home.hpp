// SPDX-License-Identifier: MIT
// The folder that CometBFT calls its home: its configuration, genesis and keys, written from ours.
#pragma once

#include <boost/json/object.hpp>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/chain/genesis.hpp"
#include "merkle/base/result.hpp"
#include "node/server/comet/version.hpp"

namespace retrace::node::engine {

/// Whom a new node asks for headers, and which one it trusts, to fetch a snapshot instead of executing all past blocks.
struct SyncSource {
    std::vector<std::string> nodes;  ///< URLs of the JSON-RPC of at least two different nodes.
    std::uint64_t height = 0;        ///< Height of a block of CometBFT
    std::string hash;                ///< and its hash, 64 hex digits, from somebody whom the operator trusts.
};

struct CometHome {
    std::filesystem::path folder;
    std::chrono::milliseconds block_interval{1000};
    std::string p2p_host = "0.0.0.0";  ///< Address for other nodes.
    std::uint16_t p2p_port = 26656;
    std::vector<std::string> peers;  ///< "id@host:port": nodes that this one keeps a connection to.
    /// All nodes are on this machine or in a private network: addresses that are not routable are accepted.
    bool private_network = false;
    CometLine line = CometLine::v0_38;
    /// CometBFT fetches a snapshot. It does so without the validator's key, so that it proposes and signs nothing, and
    /// takes connections from nobody but its peers.
    std::optional<SyncSource> sync;

    std::filesystem::path abci_socket() const { return folder / "abci.sock"; }
    std::filesystem::path rpc_socket() const { return folder / "rpc.sock"; }
    std::filesystem::path log() const { return folder / "cometbft.log"; }
};

/// The keys in CometBFT's home: of the node among its peers, and of a validator.
struct CometKeys {
    std::string node_id;  ///< 40 hex digits
    Hash32 key;           ///< public Ed25519 key of the votes
    ledger::VrfSecret vrf;
};
/// Makes the folder and the keys that it lacks.
Result<CometKeys> make_keys(const std::filesystem::path& folder);

/// Where a node's JSON-RPC answers light clients of CometBFT; see LightRpc.
inline constexpr std::string_view kLightPath = "/comet";

Status<> check(const SyncSource& sync);

/// Whether the text has the form of a host name, an IPv4 address or an IPv6 address in brackets.
bool is_host_name(std::string_view text);

/// CometBFT's name of a chain: the chain id and the beginning of the genesis' hash, so that two chains with one id do not
/// connect; "-40" follows on the line 0.40.
std::string comet_chain_id(const ledger::Genesis& genesis, CometLine line = CometLine::v0_38);

/// CometBFT's consensus parameters, as its RPC writes them. They never change.
boost::json::object comet_params(const ledger::Genesis& genesis, CometLine line = CometLine::v0_38);

/// genesis.json of CometBFT. The same bytes on every node of a chain.
std::string comet_genesis(const ledger::Genesis& genesis, CometLine line = CometLine::v0_38);

/// Makes the folder and missing keys, and writes configuration and genesis anew. An Error if the genesis names no
/// validators or no time, if it differs from the one that the folder was made with, or if a peer is no address.
Status<> write_comet_home(const CometHome& home, const ledger::Genesis& genesis);

}  // namespace retrace::node::engine
