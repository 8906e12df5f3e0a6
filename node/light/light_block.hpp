// SPDX-License-Identifier: MIT
// Headers, commits and validator sets of CometBFT 0.38, with the hashes and the bytes that its validators sign
// (CometBFT specification, "Data structures" and "Encoding"). Protocol Buffers promise no canonical encoding, so the few
// messages that are hashed or signed are encoded here.
#pragma once

#include <array>
#include <boost/json/value.hpp>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::light {

inline constexpr std::size_t kChainIdMax = 50;  ///< Bytes, as in CometBFT.

/// UTC, since 1970.
struct Time {
    std::int64_t seconds = 0;
    std::int32_t nanos = 0;  ///< 0 to 999,999,999.
    auto operator<=>(const Time&) const = default;
};
struct BlockId {
    Bytes hash;  ///< 32 bytes, or none in the first block.
    std::uint32_t parts = 0;
    Bytes parts_hash;
    bool operator==(const BlockId&) const = default;
};
struct Header {
    std::uint64_t block_version = 0, app_version = 0;
    std::string chain_id;
    std::int64_t height = 0;
    Time time;
    BlockId last_block;
    Bytes last_commit_hash, data_hash, validators_hash, next_validators_hash, consensus_hash, app_hash,
        last_results_hash, evidence_hash, proposer;
};
/// One validator's part of a commit, in the order of the set.
struct Vote {
    int flag = 0;  ///< 1: absent, 2: for the block, 3: for none.
    Bytes validator;
    Time time;
    Bytes signature;
};
struct Commit {
    std::int64_t height = 0;
    std::int32_t round = 0;
    BlockId block;
    std::vector<Vote> votes;
};
struct Validator {
    Hash32 key;  ///< Ed25519.
    std::int64_t power = 0;
};
struct LightBlock {
    Header header;
    Commit commit;
    std::vector<Validator> validators;  ///< Of this height.
};

inline constexpr int kForBlock = 2;  ///< `Vote::flag`
inline constexpr std::size_t kValidatorsMax = 100;

/// The results of CometBFT's methods `commit` and `validators`. Only the form is checked.
Result<LightBlock> parse_light_block(const boost::json::value& commit, const boost::json::value& validators);

/// The height in a result of `commit`.
Result<std::uint64_t> commit_height(const boost::json::value& commit);

Hash32 hash_of(const Header& header);
Hash32 hash_of(std::span<const Validator> validators);
/// What a validator signs for a vote of the commit.
Bytes signed_bytes(const std::string& chain_id, const Commit& commit, const Vote& vote);

}  // namespace retrace::node::light
