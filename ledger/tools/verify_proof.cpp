// SPDX-License-Identifier: MIT
// Checks an answer of retrace_getProof against a state root that the reader trusts. It is one file that can be read in
// one sitting: the only code it uses from this project is SHA-256, and it shares no code with the node that made the
// proof.
//
//   retrace-verify-proof STATE_ROOT account ADDRESS       PROOF
//   retrace-verify-proof STATE_ROOT slot    CONTRACT KEY  PROOF
//
// All arguments are hex with 0x. PROOF is the member `encoded` of the answer, or "-" to read it from standard input.
// STATE_ROOT is the member `stateRoot` of the block, from a source that the reader trusts. Exit code 0: the proof
// holds, and its content is printed; 1: it does not hold; 2: wrong usage.
//
// The proof, all integers little endian: height u64, root 32, leaf key 32, value (u32 length and bytes, empty: absent),
// u32 count and that many siblings of 32 bytes from the root down, and a byte 0 or 1; after 1 follow the key and value
// hash of the leaf in an absent leaf's place. The tree: the empty subtree is 32 zero bytes, a subtree with one leaf is
// H(08 ‖ key ‖ value hash), any other is H(01 ‖ left ‖ right); bit 0 of a key is the highest bit of its first
// byte.
#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "merkle/hash/sha256.hpp"

namespace {

using Bytes = std::vector<std::uint8_t>;
using Word = std::array<std::uint8_t, 32>;

Word sha256(const Bytes& message) { return retrace::merkle::sha256(message).bytes; }

void append(Bytes& out, const auto& bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

Bytes text(std::string_view s) { return Bytes(s.begin(), s.end()); }

std::optional<Bytes> from_hex(std::string_view s) {
    if (s.size() % 2 != 0 || s.substr(0, 2) != "0x") return std::nullopt;
    Bytes out;
    for (std::size_t i = 2; i < s.size(); i += 2) {
        int byte = 0;
        for (const char c : s.substr(i, 2)) {
            const auto digit = std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
            if (digit == std::string_view::npos) return std::nullopt;
            byte = 16 * byte + static_cast<int>(digit);
        }
        out.push_back(static_cast<std::uint8_t>(byte));
    }
    return out;
}

std::string to_hex(const auto& bytes) {
    std::string out = "0x";
    for (const std::uint8_t byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", byte);
        out += digits;
    }
    return out;
}

/// Reads from the front; after the first read past the end all reads are empty, and `complete` is false.
class Input {
public:
    explicit Input(Bytes bytes) : bytes_(std::move(bytes)) {}
    std::uint64_t integer(std::size_t size) {
        std::uint64_t out = 0;
        const Bytes raw = take(size);
        for (std::size_t i = 0; i < raw.size(); ++i) out |= std::uint64_t{raw[i]} << (8 * i);
        return out;
    }
    Word word() {
        Word out{};
        const Bytes raw = take(out.size());
        for (std::size_t i = 0; i < raw.size(); ++i) out[i] = raw[i];
        return out;
    }
    Bytes take(std::size_t size) {
        if (size > bytes_.size() - at_) complete_ = false;
        if (!complete_) return {};
        at_ += size;
        return Bytes(bytes_.begin() + static_cast<std::ptrdiff_t>(at_ - size),
                     bytes_.begin() + static_cast<std::ptrdiff_t>(at_));
    }
    bool complete() const { return complete_; }
    bool at_end() const { return complete_ && at_ == bytes_.size(); }

private:
    Bytes bytes_;
    std::size_t at_ = 0;
    bool complete_ = true;
};

struct Proof {
    std::uint64_t height = 0;
    Word root{}, leaf_key{};
    Bytes value;
    std::vector<Word> siblings;
    bool has_other = false;
    Word other_key{}, other_value_hash{};
};

std::optional<Proof> decode(Bytes bytes) {
    Input in(std::move(bytes));
    Proof out;
    out.height = in.integer(8);
    out.root = in.word();
    out.leaf_key = in.word();
    out.value = in.take(in.integer(4));
    const std::uint64_t count = in.integer(4);
    if (count > 256) return std::nullopt;
    for (std::uint64_t i = 0; i < count && in.complete(); ++i) out.siblings.push_back(in.word());
    const std::uint64_t flag = in.integer(1);
    out.has_other = flag == 1;
    if (out.has_other) {
        out.other_key = in.word();
        out.other_value_hash = in.word();
    }
    if (flag > 1 || !in.at_end()) return std::nullopt;
    return out;
}

bool bit(const Word& key, std::size_t at) { return (key[at / 8] >> (7 - at % 8) & 1) != 0; }

Word join(std::uint8_t tag, const Word& left, const Word& right) {
    Bytes message{tag};
    append(message, left);
    append(message, right);
    return sha256(message);
}

/// Returns an empty string if the proof shows its value, or absence, under `root`; otherwise the reason.
std::string verify(const Proof& proof, const Word& root, const Word& key) {
    if (proof.root != root) return "the proof is of another state root: " + to_hex(proof.root);
    if (proof.leaf_key != key) return "the proof is of another leaf: " + to_hex(proof.leaf_key);
    Word node{};  // hash of an empty subtree
    if (!proof.value.empty()) {
        if (proof.has_other) return "a leaf that is there needs no other one";
        node = join(8, key, sha256(proof.value));
    } else if (proof.has_other) {
        bool shares = proof.other_key != key;
        for (std::size_t at = 0; at < proof.siblings.size(); ++at)
            shares = shares && bit(proof.other_key, at) == bit(key, at);
        if (!shares) return "the other leaf does not stand where this one would";
        node = join(8, proof.other_key, proof.other_value_hash);
    }
    for (std::size_t at = proof.siblings.size(); at-- > 0;)
        node = bit(key, at) ? join(1, proof.siblings[at], node) : join(1, node, proof.siblings[at]);
    return node == root ? "" : "the hashes lead to another root: " + to_hex(node);
}

constexpr std::string_view kUsage =
    "usage: retrace-verify-proof STATE_ROOT account ADDRESS PROOF\n"
    "       retrace-verify-proof STATE_ROOT slot CONTRACT KEY PROOF\n"
    "All in hex with 0x. STATE_ROOT is of a block that you trust, PROOF the member `encoded` of what\n"
    "retrace_getProof answered, or - to read it from standard input. Exit code 0: it holds, and what it\n"
    "shows is printed; 1: it does not; 2: wrong usage.\n";

int usage() {
    std::cerr << kUsage;
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (arguments.size() == 1 && (arguments[0] == "--help" || arguments[0] == "-h")) {
        std::cout << kUsage;
        return 0;
    }
    const bool account = arguments.size() == 4 && arguments[1] == "account";
    if (!account && !(arguments.size() == 5 && arguments[1] == "slot")) return usage();
    std::string encoded = arguments.back();
    if (encoded == "-") std::cin >> encoded;
    const auto root = from_hex(arguments[0]), address = from_hex(arguments[2]), bytes = from_hex(encoded);
    const auto slot = account ? Bytes{} : from_hex(arguments[3]);
    if (!root || root->size() != 32 || !address || address->size() != 20 || !slot || !bytes) return usage();
    Bytes name = text(account ? "retrace/account/1" : "retrace/slot/1");
    append(name, *address);
    append(name, *slot);
    const auto proof = decode(*bytes);
    Word trusted{};
    std::copy(root->begin(), root->end(), trusted.begin());
    const std::string wrong = proof ? verify(*proof, trusted, sha256(name)) : "the proof does not decode";
    if (!wrong.empty() || (account && !proof->value.empty() && proof->value.size() != 40)) {
        std::cout << "refused: " << (wrong.empty() ? "no account" : wrong) << '\n';
        return 1;
    }
    if (proof->value.empty()) {
        std::cout << "absent\n";
    } else if (account) {
        Input value(proof->value);
        std::cout << "nonce " << value.integer(8) << " balance " << to_hex(value.take(32)) << '\n';
    } else {
        std::cout << "value " << to_hex(proof->value) << '\n';
    }
    return 0;
}
