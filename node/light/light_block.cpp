// SPDX-License-Identifier: MIT
#include "node/light/light_block.hpp"

#include <algorithm>
#include <bit>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>
#include <ctime>
#include <limits>

#include "merkle/hash/sha256.hpp"
#include "node/platform/base64.hpp"

namespace retrace::node::light {
namespace {

namespace json = boost::json;

constexpr std::uint64_t kPrecommit = 2;

/// A message of Protocol Buffers, fields in ascending order; a field with its default value is left out.
class Message {
public:
    Message& number(unsigned field, std::uint64_t value) {
        if (value == 0) return *this;
        tag(field, 0);
        varint(value);
        return *this;
    }
    Message& fixed64(unsigned field, std::uint64_t value) {
        if (value == 0) return *this;
        tag(field, 1);
        for (unsigned i = 0; i < 8; ++i) bytes_.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
        return *this;
    }
    Message& bytes(unsigned field, View value) { return value.empty() ? *this : always(field, value); }
    Message& text(unsigned field, std::string_view value) { return bytes(field, view(value)); }
    /// A message within it, which is written even if it is empty.
    Message& message(unsigned field, const Message& value) { return always(field, value.bytes_); }

    const Bytes& data() const { return bytes_; }
    /// With its length before it.
    Bytes delimited() const {
        Message out;
        out.varint(bytes_.size());
        out.bytes_.insert(out.bytes_.end(), bytes_.begin(), bytes_.end());
        return out.bytes_;
    }

private:
    Message& always(unsigned field, View value) {
        tag(field, 2);
        varint(value.size());
        bytes_.insert(bytes_.end(), value.begin(), value.end());
        return *this;
    }
    void tag(unsigned field, unsigned type) { varint(field << 3 | type); }
    void varint(std::uint64_t value) {
        for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<std::uint8_t>(value | 0x80));
        bytes_.push_back(static_cast<std::uint8_t>(value));
    }

    Bytes bytes_;
};

Message encode(const Time& time) {
    return Message()
        .number(1, static_cast<std::uint64_t>(time.seconds))
        .number(2, static_cast<std::uint64_t>(time.nanos));
}
/// The plain and the canonical form are the same bytes.
Message encode(const BlockId& id) {
    return Message().bytes(1, id.hash).message(2, Message().number(1, id.parts).bytes(2, id.parts_hash));
}

/// RFC 6962, as CometBFT hashes lists.
Hash32 tree(std::span<const Bytes> leaves) {
    if (leaves.empty()) return merkle::sha256(View());
    const std::uint8_t leaf = 0, inner = 1;
    if (leaves.size() == 1) return merkle::sha256({View(&leaf, 1), View(leaves[0])});
    const std::size_t left = std::bit_floor(leaves.size() - 1);
    const Hash32 a = tree(leaves.first(left)), b = tree(leaves.subspan(left));
    return merkle::sha256({View(&inner, 1), view(a), view(b)});
}

/// Reads members of CometBFT's JSON. After the first that is missing or of another form, `failed` names it.
class Members {
public:
    Members(const json::value& value, std::string& failed) : object_(value.if_object()), failed_(failed) {
        if (object_ == nullptr) fail("an object");
    }

    const json::value& at(const char* name) const {
        static const json::value none;
        const json::value* const found = object_ != nullptr ? object_->if_contains(name) : nullptr;
        if (found == nullptr) fail(name);
        return found != nullptr ? *found : none;
    }
    bool has(const char* name) const { return object_ != nullptr && object_->if_contains(name) != nullptr; }
    std::string text(const char* name) const {
        const json::value& value = at(name);
        if (!value.is_string()) fail(name);
        return value.is_string() ? std::string(value.get_string()) : std::string();
    }
    /// A number, which CometBFT writes as text if it has 64 bits.
    std::int64_t number(const char* name, std::int64_t most = std::numeric_limits<std::int64_t>::max()) const {
        const json::value& value = at(name);
        std::int64_t out = -1;
        if (value.is_int64()) {
            out = value.get_int64();
        } else if (value.is_string()) {
            const std::string_view digits = value.get_string();
            const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), out);
            if (read.ec != std::errc() || read.ptr != digits.data() + digits.size()) out = -1;
        }
        if (out < 0 || out > most) fail(name);
        return std::clamp<std::int64_t>(out, 0, most);
    }
    /// Hex digits of `size` bytes, or none.
    Bytes hash(const char* name, std::size_t size = 32) const {
        auto out = from_hex(text(name));
        if (!out || (!out->empty() && out->size() != size)) fail(name);
        return out && failed_.empty() ? *out : Bytes();
    }
    Bytes base64(const char* name, std::size_t size) const {
        auto out = from_base64(text(name), size);
        if (!out) fail(name);
        return out ? *out : Bytes();
    }
    /// RFC 3339 in UTC.
    Time time(const char* name) const {
        const std::string value = text(name);
        std::tm parts{};
        const char* rest = ::strptime(value.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
        Time out;
        if (rest != nullptr && *rest == '.') {
            std::int32_t unit = 1'000'000'000;
            for (++rest; *rest >= '0' && *rest <= '9' && unit > 1; ++rest) out.nanos += (*rest - '0') * (unit /= 10);
        }
        if (rest == nullptr || std::string_view(rest) != "Z") fail(name);
        out.seconds = ::timegm(&parts);
        return out;
    }

private:
    void fail(const char* name) const {
        if (failed_.empty()) failed_ = name;
    }

    const json::object* object_;
    std::string& failed_;
};

BlockId read_block_id(const json::value& value, std::string& failed) {
    const Members in(value, failed), parts(in.at("parts"), failed);
    return {in.hash("hash"), static_cast<std::uint32_t>(parts.number("total", 0xffffffff)), parts.hash("hash")};
}

Header read_header(const json::value& value, std::string& failed) {
    const Members in(value, failed), version(in.at("version"), failed);
    Header out;
    out.block_version = static_cast<std::uint64_t>(version.number("block"));
    if (version.has("app")) out.app_version = static_cast<std::uint64_t>(version.number("app"));
    out.chain_id = in.text("chain_id");
    if (out.chain_id.size() > kChainIdMax && failed.empty()) failed = "chain_id";
    out.height = in.number("height");
    out.time = in.time("time");
    out.last_block = read_block_id(in.at("last_block_id"), failed);
    out.last_commit_hash = in.hash("last_commit_hash");
    out.data_hash = in.hash("data_hash");
    out.validators_hash = in.hash("validators_hash");
    out.next_validators_hash = in.hash("next_validators_hash");
    out.consensus_hash = in.hash("consensus_hash");
    out.app_hash = in.hash("app_hash");
    out.last_results_hash = in.hash("last_results_hash");
    out.evidence_hash = in.hash("evidence_hash");
    out.proposer = in.hash("proposer_address", 20);
    return out;
}

Vote read_vote(const json::value& value, std::string& failed) {
    const Members in(value, failed);
    Vote out;
    out.flag = static_cast<int>(in.number("block_id_flag", 3));
    if (out.flag != kForBlock) return out;
    out.validator = in.hash("validator_address", 20);
    out.time = in.time("timestamp");
    out.signature = in.base64("signature", 64);
    return out;
}

Commit read_commit(const json::value& value, std::string& failed) {
    const Members in(value, failed);
    Commit out;
    out.height = in.number("height");
    out.round = static_cast<std::int32_t>(in.number("round", std::numeric_limits<std::int32_t>::max()));
    out.block = read_block_id(in.at("block_id"), failed);
    const json::array* const votes = in.at("signatures").if_array();
    if (votes == nullptr || votes->size() > kValidatorsMax) {
        if (failed.empty()) failed = "signatures";
        return out;
    }
    for (const json::value& vote : *votes) out.votes.push_back(read_vote(vote, failed));
    return out;
}

std::vector<Validator> read_validators(const json::value& value, std::string& failed) {
    const json::array* const list = Members(value, failed).at("validators").if_array();
    std::vector<Validator> out;
    if (list == nullptr || list->size() > kValidatorsMax) {
        if (failed.empty()) failed = "validators";
        return out;
    }
    std::int64_t total = 0;
    for (const json::value& one : *list) {
        const Members in(one, failed), key(in.at("pub_key"), failed);
        if (key.text("type") != "tendermint/PubKeyEd25519" && failed.empty()) failed = "type";
        const Bytes raw = key.base64("value", 32);
        // CometBFT's limit of the whole power; the sum of a hundred such powers does not overflow.
        const std::int64_t power = in.number("voting_power", std::numeric_limits<std::int64_t>::max() / 800);
        total += power;
        out.push_back({raw.size() == 32 ? to_hash32(raw) : Hash32(), power});
    }
    if (total == 0 && failed.empty()) failed = "voting_power";
    return out;
}

}  // namespace

Result<LightBlock> parse_light_block(const json::value& commit, const json::value& validators) {
    std::string failed;
    LightBlock out;
    const Members signed_header(Members(commit, failed).at("signed_header"), failed);
    out.header = read_header(signed_header.at("header"), failed);
    out.commit = read_commit(signed_header.at("commit"), failed);
    out.validators = read_validators(validators, failed);
    if (!failed.empty()) return error("CometBFT's header, commit or validators have no valid \"" + failed + "\"");
    return out;
}

Result<std::uint64_t> commit_height(const json::value& commit) {
    std::string failed;
    const Members signed_header(Members(commit, failed).at("signed_header"), failed);
    const std::int64_t height = Members(signed_header.at("header"), failed).number("height");
    if (!failed.empty()) return error("CometBFT's header has no valid \"" + failed + "\"");
    return static_cast<std::uint64_t>(height);
}

Hash32 hash_of(const Header& header) {
    const auto bytes = [](const Bytes& value) { return Message().bytes(1, value).data(); };
    const std::vector<Bytes> leaves{
        Message().number(1, header.block_version).number(2, header.app_version).data(),
        Message().text(1, header.chain_id).data(),
        Message().number(1, static_cast<std::uint64_t>(header.height)).data(),
        encode(header.time).data(),
        encode(header.last_block).data(),
        bytes(header.last_commit_hash),
        bytes(header.data_hash),
        bytes(header.validators_hash),
        bytes(header.next_validators_hash),
        bytes(header.consensus_hash),
        bytes(header.app_hash),
        bytes(header.last_results_hash),
        bytes(header.evidence_hash),
        bytes(header.proposer),
    };
    return tree(leaves);
}

Hash32 hash_of(std::span<const Validator> validators) {
    std::vector<Bytes> leaves;
    leaves.reserve(validators.size());
    for (const Validator& one : validators) {
        leaves.push_back(Message()
                             .message(1, Message().bytes(1, view(one.key)))
                             .number(2, static_cast<std::uint64_t>(one.power))
                             .data());
    }
    return tree(leaves);
}

Bytes signed_bytes(const std::string& chain_id, const Commit& commit, const Vote& vote) {
    return Message()
        .number(1, kPrecommit)
        .fixed64(2, static_cast<std::uint64_t>(commit.height))
        .fixed64(3, static_cast<std::uint64_t>(commit.round))
        .message(4, encode(commit.block))
        .message(5, encode(vote.time))
        .text(6, chain_id)
        .delimited();
}

}  // namespace retrace::node::light
