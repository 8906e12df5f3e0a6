// SPDX-License-Identifier: MIT
// EIP-712: keccak256(0x1901 ‖ domainSeparator ‖ hashStruct(message)).
#include <boost/json/parse.hpp>
#include <charconv>
#include <map>
#include <set>
#include <vector>

#include "ledger/crypto/eip55.hpp"
#include "ledger/crypto/keccak.hpp"
#include "ledger/types/u256.hpp"
#include "node/wallet/message.hpp"

namespace retrace::node::wallet {
namespace {

namespace json = boost::json;
using ledger::U256;
using Word = std::array<std::uint8_t, 32>;

constexpr std::size_t kJsonMax = std::size_t{1} << 20;
constexpr int kTypedDepthMax = 16;
constexpr const char* kDomain = "EIP712Domain";

struct Member {
    std::string name;
    std::string type;
};
using Types = std::map<std::string, std::vector<Member>>;

std::string_view text_of(const json::string& s) { return {s.data(), s.size()}; }

Unexpected<Error> misfit(const std::string& name, const std::string& why) {
    return error("typed data: " + name + ": " + why);
}

/// Returns the number after "uint", "int" or "bytes"; nullopt when there is none.
std::optional<unsigned> suffix_of(std::string_view type, std::string_view stem) {
    if (type.substr(0, stem.size()) != stem) return std::nullopt;
    type.remove_prefix(stem.size());
    unsigned n = 0;
    const auto [end, failed] = std::from_chars(type.data(), type.data() + type.size(), n);
    if (type.empty() || type[0] == '0' || failed != std::errc{} || end != type.data() + type.size()) {
        return std::nullopt;
    }
    return n;
}

/// Parses decimal digits or 0x hex, without sign.
std::optional<U256> parse_unsigned(std::string_view text) {
    if (text.substr(0, 2) != "0x") return U256::from_decimal(text);
    std::string digits(text.substr(2));
    if (digits.empty() || digits.size() > 64) return std::nullopt;
    if (digits.size() % 2 != 0) digits.insert(digits.begin(), '0');
    const auto bytes = from_hex(digits);
    if (!bytes) return std::nullopt;
    return U256::from_be(*bytes);
}

Result<Word> encode_integer(const std::string& name, const json::value& v, unsigned bits, bool is_signed) {
    std::string text;
    if (v.is_string()) text = std::string(text_of(v.get_string()));
    if (v.is_int64()) text = std::to_string(v.get_int64());
    if (v.is_uint64()) text = std::to_string(v.get_uint64());
    const bool negative = is_signed && !text.empty() && text[0] == '-';
    const auto magnitude = parse_unsigned(std::string_view(text).substr(negative ? 1 : 0));
    if (!magnitude) return misfit(name, "not an integer");
    // Bounds: unsigned < 2^bits; signed: -2^(bits-1) .. 2^(bits-1) - 1.
    const unsigned magnitude_bits = is_signed ? bits - 1 : bits;
    const std::array<std::uint8_t, 32> be = magnitude->to_be();
    unsigned used = 256;
    while (used > 0 && (be[(256 - used) / 8] >> ((used - 1) % 8) & 1) == 0) --used;
    bool is_power = used > 0;  // a negative number may be exactly -2^(bits-1)
    for (unsigned i = 1; i < used; ++i) is_power = is_power && (be[31 - (i - 1) / 8] >> ((i - 1) % 8) & 1) == 0;
    const bool fits = used <= magnitude_bits || (negative && used == magnitude_bits + 1 && is_power);
    if (!fits) return misfit(name, "the number does not fit its type");
    Word out = be;
    if (!negative) return out;
    unsigned carry = 1;  // two's complement
    for (std::size_t i = 32; i-- > 0;) {
        const unsigned sum = static_cast<std::uint8_t>(~out[i]) + carry;
        out[i] = static_cast<std::uint8_t>(sum);
        carry = sum >> 8;
    }
    return out;
}

Result<Bytes> parse_bytes(const std::string& name, const json::value& v) {
    const json::string* text = v.if_string();
    if (text == nullptr || text_of(*text).substr(0, 2) != "0x") return misfit(name, "not bytes in 0x hex");
    auto bytes = from_hex(text_of(*text));
    if (!bytes) return misfit(name, "not bytes in 0x hex");
    return *std::move(bytes);
}

class TypedData {
public:
    explicit TypedData(Types types) : types_(std::move(types)) {}

    Result<Hash32> hash_struct(const std::string& type, const json::value& v, int depth) const {
        const json::object* object = v.if_object();
        const auto members = types_.find(type);
        if (members == types_.end()) return misfit(type, "no such type");
        if (object == nullptr) return misfit(type, "not an object");
        if (depth > kTypedDepthMax) return misfit(type, "nested too deep");
        const Hash32 type_hash = ledger::keccak256(view(encode_type(type)));
        Bytes encoded = to_bytes(view(type_hash));
        for (const Member& member : members->second) {
            const json::value* field = object->if_contains(member.name);
            if (field == nullptr) return misfit(type + "." + member.name, "missing");
            RETRACE_TRY(word, encode_value(type + "." + member.name, member.type, *field, depth));
            encoded.insert(encoded.end(), word.begin(), word.end());
        }
        return ledger::keccak256(encoded);
    }

private:
    /// Returns the type followed by every struct that it refers to, sorted by name.
    std::string encode_type(const std::string& primary) const {
        std::set<std::string> found;
        collect(primary, found);
        found.erase(primary);
        std::string out = describe(primary);
        for (const std::string& name : found) out += describe(name);
        return out;
    }

    void collect(const std::string& type, std::set<std::string>& found) const {
        const std::string base = type.substr(0, type.find('['));
        const auto members = types_.find(base);
        if (members == types_.end() || !found.insert(base).second) return;
        for (const Member& member : members->second) collect(member.type, found);
    }

    std::string describe(const std::string& type) const {
        std::string out = type + "(";
        for (const Member& member : types_.at(type)) {
            if (out.back() != '(') out += ',';
            out += member.type + " " + member.name;
        }
        return out + ")";
    }

    Result<Word> encode_value(const std::string& name, const std::string& type, const json::value& v, int depth) const {
        if (!type.empty() && type.back() == ']') return encode_array(name, type, v, depth);
        if (types_.contains(type)) {
            RETRACE_TRY(hash, hash_struct(type, v, depth + 1));
            return hash.bytes;
        }
        return encode_atom(name, type, v);
    }

    Result<Word> encode_array(const std::string& name, const std::string& type, const json::value& v, int depth) const {
        const std::size_t open = type.rfind('[');
        const json::array* items = v.if_array();
        if (open == std::string::npos) return misfit(name, "not a type: " + type);
        if (items == nullptr) return misfit(name, "not an array");
        if (depth > kTypedDepthMax) return misfit(name, "nested too deep");
        const std::string size = type.substr(open + 1, type.size() - open - 2);
        if (!size.empty() && size != std::to_string(items->size())) return misfit(name, "wrong number of items");
        Bytes encoded;
        for (const json::value& item : *items) {
            RETRACE_TRY(word, encode_value(name, type.substr(0, open), item, depth + 1));
            encoded.insert(encoded.end(), word.begin(), word.end());
        }
        return ledger::keccak256(encoded).bytes;
    }

    static Result<Word> encode_atom(const std::string& name, const std::string& type, const json::value& v) {
        Word out{};
        if (type == "string") {
            if (!v.is_string()) return misfit(name, "not a text");
            return ledger::keccak256(view(text_of(v.get_string()))).bytes;
        }
        if (type == "bool") {
            if (!v.is_bool()) return misfit(name, "not true or false");
            out[31] = v.get_bool() ? 1 : 0;
            return out;
        }
        if (type == "bytes") {
            RETRACE_TRY(bytes, parse_bytes(name, v));
            return ledger::keccak256(bytes).bytes;
        }
        if (type == "address") {
            RETRACE_TRY(bytes, parse_bytes(name, v));
            if (bytes.size() != 20) return misfit(name, "not an address");
            if (!ledger::checksum_holds(text_of(v.get_string())))
                return misfit(name, "the address is mistyped, its EIP-55 checksum fails");
            std::copy(bytes.begin(), bytes.end(), out.begin() + 12);
            return out;
        }
        if (const auto size = suffix_of(type, "bytes"); size && *size <= 32) {
            RETRACE_TRY(bytes, parse_bytes(name, v));
            if (bytes.size() != *size) return misfit(name, "wrong number of bytes");
            std::copy(bytes.begin(), bytes.end(), out.begin());
            return out;
        }
        for (const bool is_signed : {false, true}) {
            const auto bits = suffix_of(type, is_signed ? "int" : "uint");
            if (bits && *bits <= 256 && *bits % 8 == 0) return encode_integer(name, v, *bits, is_signed);
        }
        return misfit(name, "not a type: " + type);
    }

    Types types_;
};

Result<Types> parse_types(const json::value* v) {
    const json::object* object = v != nullptr ? v->if_object() : nullptr;
    if (object == nullptr) return misfit("types", "not an object");
    Types out;
    for (const auto& [name, list] : *object) {
        const std::string type(name.data(), name.size());
        const json::array* members = list.if_array();
        if (members == nullptr) return misfit(type, "not a list of members");
        std::vector<Member>& parsed = out[type];
        for (const json::value& entry : *members) {
            const json::object* member = entry.if_object();
            const json::value* member_name = member != nullptr ? member->if_contains("name") : nullptr;
            const json::value* member_type = member != nullptr ? member->if_contains("type") : nullptr;
            if (member_name == nullptr || member_type == nullptr || !member_name->is_string() ||
                !member_type->is_string()) {
                return misfit(type, "a member is {name, type}");
            }
            parsed.push_back(
                {std::string(text_of(member_name->get_string())), std::string(text_of(member_type->get_string()))});
        }
    }
    return out;
}

/// Marks the types that `type` is made of: false while they are visited, true afterwards.
Status<> visit(const Types& types, const std::string& type, int depth, std::map<std::string, bool>& done) {
    const std::string base = type.substr(0, type.find('['));
    const auto members = types.find(base);
    if (members == types.end()) return Unit{};
    const auto [at, is_new] = done.try_emplace(base, false);
    if (!is_new && !at->second) return misfit(base, "it contains itself");
    if (!is_new) return Unit{};
    if (depth > kTypedDepthMax) return misfit(base, "nested too deep");
    std::set<std::string> names;
    for (const Member& member : members->second) {
        if (!names.insert(member.name).second) return misfit(base, "two members named " + member.name);
        RETRACE_CHECK(visit(types, member.type, depth + 1, done));
    }
    at->second = true;
    return Unit{};
}

/// Refuses what ethers also refuses to sign: a struct that contains itself, two members with one name, and types that
/// the primary type does not use, which may belong to another document.
Status<> check_types(const Types& types, const std::string& primary) {
    std::map<std::string, bool> done;
    RETRACE_CHECK(visit(types, kDomain, 0, done));
    if (primary == kDomain) return Unit{};
    RETRACE_CHECK(visit(types, primary, 0, done));
    for (const auto& [type, members] : types) {
        if (!done.contains(type)) return misfit(type, primary + " does not use it");
    }
    return Unit{};
}

/// Derives the domain's type from the members present, if the document does not define it.
std::vector<Member> domain_members(const json::object& domain) {
    std::vector<Member> out;
    for (const Member& member : std::vector<Member>{{"name", "string"},
                                                    {"version", "string"},
                                                    {"chainId", "uint256"},
                                                    {"verifyingContract", "address"},
                                                    {"salt", "bytes32"}}) {
        if (domain.contains(member.name)) out.push_back(member);
    }
    return out;
}

}  // namespace

Result<Hash32> typed_data_digest(std::string_view text) {
    if (text.size() > kJsonMax) return error("typed data: over 1 MiB");
    json::error_code failed;
    const json::value document = json::parse({text.data(), text.size()}, failed);
    const json::object* object = failed ? nullptr : document.if_object();
    if (object == nullptr) return error("typed data: no JSON object");
    RETRACE_TRY(types, parse_types(object->if_contains("types")));
    const json::value* primary = object->if_contains("primaryType");
    const json::value* domain = object->if_contains("domain");
    const json::value* message = object->if_contains("message");
    if (primary == nullptr || !primary->is_string()) return misfit("primaryType", "missing");
    if (domain == nullptr || !domain->is_object()) return misfit("domain", "missing");
    if (message == nullptr) return misfit("message", "missing");
    if (!types.contains(kDomain)) types[kDomain] = domain_members(domain->get_object());
    const std::string primary_type(text_of(primary->get_string()));
    RETRACE_CHECK(check_types(types, primary_type));
    const TypedData data(std::move(types));
    RETRACE_TRY(separator, data.hash_struct(kDomain, *domain, 0));
    const std::array<std::uint8_t, 2> prefix{0x19, 0x01};
    if (primary_type == kDomain) return ledger::keccak256({View(prefix), view(separator)});
    RETRACE_TRY(hash, data.hash_struct(primary_type, *message, 0));
    return ledger::keccak256({View(prefix), view(separator), view(hash)});
}

}  // namespace retrace::node::wallet
