// SPDX-License-Identifier: MIT
#include "node/light/light_codec.hpp"

#include <limits>

namespace retrace::node::light {
namespace {

constexpr std::size_t kHashBytes = 32, kAddressBytes = 20, kSignatureBytes = 64;
constexpr std::int64_t kPowerMax = std::numeric_limits<std::int64_t>::max() / 800;
constexpr std::int64_t kSecondsMax = std::int64_t{1} << 40;

/// Nothing, or exactly `size` bytes.
Bytes fixed(Reader& in, std::size_t size) {
    const View bytes = in.bytes(size);
    if (!bytes.empty() && bytes.size() != size) in.fail(CodecError::not_canonical);
    return to_bytes(bytes);
}
std::int64_t number(Reader& in, std::int64_t most) {
    const std::uint64_t value = in.u64();
    if (value > static_cast<std::uint64_t>(most)) in.fail(CodecError::too_long);
    return in.ok() ? static_cast<std::int64_t>(value) : 0;
}

void put(Writer& out, const Time& time) {
    out.u64(static_cast<std::uint64_t>(time.seconds + kSecondsMax)).u32(static_cast<std::uint32_t>(time.nanos));
}
Time time_from(Reader& in) {
    const std::int64_t seconds = number(in, 2 * kSecondsMax) - kSecondsMax;
    const std::uint32_t nanos = in.u32();
    if (nanos > 999'999'999) in.fail(CodecError::not_canonical);
    return in.ok() ? Time{seconds, static_cast<std::int32_t>(nanos)} : Time{};
}

void put(Writer& out, const BlockId& id) { out.bytes(id.hash).u32(id.parts).bytes(id.parts_hash); }
BlockId id_from(Reader& in) {
    BlockId id;
    id.hash = fixed(in, kHashBytes);
    id.parts = in.u32();
    id.parts_hash = fixed(in, kHashBytes);
    return id;
}

constexpr Bytes Header::*kHashes[] = {&Header::last_commit_hash,     &Header::data_hash,      &Header::validators_hash,
                                      &Header::next_validators_hash, &Header::consensus_hash, &Header::app_hash,
                                      &Header::last_results_hash,    &Header::evidence_hash};

void put(Writer& out, const Header& header) {
    out.u64(header.block_version).u64(header.app_version).text(header.chain_id);
    out.u64(static_cast<std::uint64_t>(header.height));
    put(out, header.time);
    put(out, header.last_block);
    for (const auto field : kHashes) out.bytes(header.*field);
    out.bytes(header.proposer);
}
Header header_from(Reader& in) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    Header header;
    header.block_version = static_cast<std::uint64_t>(number(in, kMost));
    header.app_version = static_cast<std::uint64_t>(number(in, kMost));
    header.chain_id = in.text(kChainIdMax);
    header.height = number(in, kMost);
    header.time = time_from(in);
    header.last_block = id_from(in);
    for (const auto field : kHashes) header.*field = fixed(in, kHashBytes);
    header.proposer = fixed(in, kAddressBytes);
    return header;
}

/// A vote for no block has nothing but its flag (light_block.cpp).
void put(Writer& out, const Vote& vote) {
    out.u8(static_cast<std::uint8_t>(vote.flag));
    if (vote.flag != kForBlock) return;
    out.bytes(vote.validator);
    put(out, vote.time);
    out.raw(vote.signature);
}
Vote vote_from(Reader& in) {
    Vote vote;
    vote.flag = in.enumerated(0, 3);
    if (vote.flag != kForBlock) return vote;
    vote.validator = fixed(in, kAddressBytes);
    vote.time = time_from(in);
    vote.signature = to_bytes(in.raw(kSignatureBytes));
    return vote;
}

}  // namespace

void encode_to(Writer& out, const LightBlock& block) {
    put(out, block.header);
    out.u64(static_cast<std::uint64_t>(block.commit.height)).u32(static_cast<std::uint32_t>(block.commit.round));
    put(out, block.commit.block);
    out.u32(static_cast<std::uint32_t>(block.commit.votes.size()));
    for (const Vote& vote : block.commit.votes) put(out, vote);
    out.u32(static_cast<std::uint32_t>(block.validators.size()));
    for (const Validator& one : block.validators) out.hash(one.key).u64(static_cast<std::uint64_t>(one.power));
}

LightBlock decode_light_block(Reader& in) {
    LightBlock block;
    block.header = header_from(in);
    block.commit.height = number(in, std::numeric_limits<std::int64_t>::max());
    const std::uint32_t round = in.u32();
    if (round > static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max())) in.fail(CodecError::too_long);
    block.commit.round = in.ok() ? static_cast<std::int32_t>(round) : 0;
    block.commit.block = id_from(in);
    const std::uint32_t votes = in.count(kValidatorsMax);
    for (std::uint32_t i = 0; i < votes && in.ok(); ++i) block.commit.votes.push_back(vote_from(in));
    const std::uint32_t validators = in.count(kValidatorsMax, kHashBytes + 8);
    std::int64_t total = 0;
    for (std::uint32_t i = 0; i < validators && in.ok(); ++i) {
        const Hash32 key = in.hash();
        block.validators.push_back({key, number(in, kPowerMax)});
        total += block.validators.back().power;
    }
    if (in.ok() && total == 0) in.fail(CodecError::not_canonical);
    return block;
}

}  // namespace retrace::node::light
