// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// Stored beside the model (receipt.json): everything needed to check with a node, or by replaying segments, that this
/// model is the result of this program on this data.
struct Receipt {
    struct Audit {
        std::uint64_t segment = 0;
        std::uint64_t height = 0;           ///< Height of the block that verified it; 0: not known.
        std::vector<std::string> auditors;  ///< "0x…" addresses, 40 hex digits, of the matching verdicts.
        bool operator==(const Audit&) const = default;
    };
    struct State {
        std::uint64_t index = 0;   ///< Checkpoint: after step min(index × interval, steps).
        std::uint64_t height = 0;  ///< Height of the block that opened it.
        Hash32 root;
        bool operator==(const State&) const = default;
    };

    std::uint64_t chain_id = 0;
    std::uint64_t task = 0;
    std::string requester, solver;  ///< Addresses.
    Hash32 contract;                ///< Hash of the numeric contract that the bits follow.
    Hash32 program;
    Hash32 init;               ///< Seeded initialiser; zero when the initial state was named.
    std::vector<Hash32> data;  ///< In program order.
    std::uint64_t seed = 0, steps = 0, interval = 0;
    std::uint64_t posted_height = 0;
    std::uint64_t settled_height = 0;  ///< 0: not settled, or not known.
    std::vector<State> states;         ///< Ascending; the first is the initial one, the last is the model.
    std::vector<Audit> audits;         ///< Ascending by segment.
    bool operator==(const Receipt&) const = default;
};

inline constexpr std::size_t kReceiptBytesMax = std::size_t{16} << 20;

/// Writes one line of JSON with the fields always in the same order, so that equal receipts are equal files.
std::string to_json(const Receipt& receipt);
/// Parses strictly: known fields in the order of `to_json`, ascending lists, states that fit steps and interval.
Result<Receipt> receipt_from_json(View text);

Status<> store_receipt(const Receipt& receipt, const std::filesystem::path& path);
Result<Receipt> load_receipt(const std::filesystem::path& path);

}  // namespace retrace::node
