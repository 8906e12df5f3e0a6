// SPDX-License-Identifier: MIT
#include "ledger/block/block.hpp"

#include <limits>

#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"
#include "merkle/tree/append_tree.hpp"

namespace retrace::ledger {

void encode_to(Writer& out, const Header& header) {
    out.hash(header.parent).u64(header.height).u64(header.time_ns).raw(view(header.proposer));
    out.u32(header.tx_count).hash(header.tx_root).hash(header.results_root).hash(header.state_root);
    encode_to(out, header.base_fee);
    out.u64(header.gas_used).u64(header.gas_limit);
}

Header decode_header(Reader& in) {
    Header header;
    header.parent = in.hash();
    header.height = in.u64();
    header.time_ns = in.u64();
    header.proposer = decode_address(in);
    header.tx_count = in.u32();
    header.tx_root = in.hash();
    header.results_root = in.hash();
    header.state_root = in.hash();
    header.base_fee = decode_u256(in);
    header.gas_used = in.u64();
    header.gas_limit = in.u64();
    return header;
}

Hash32 block_hash(const Header& header) {
    Writer out;
    out.raw(view(std::string_view("retrace/block/1")));
    encode_to(out, header);
    return merkle::sha256(out.data());
}

Hash32 tx_root(std::span<const Hash32> tx_hashes) {
    std::vector<Hash32> leaves;
    leaves.reserve(tx_hashes.size());
    for (const Hash32& hash : tx_hashes) leaves.push_back(merkle::append_leaf(view(hash)));
    return merkle::tree_root(leaves);
}

U256 next_base_fee(const U256& base_fee, std::uint64_t gas_used, std::uint64_t gas_limit, const U256& least) {
    constexpr std::uint64_t kElasticity = 2;
    constexpr std::uint64_t kChangeDenominator = 8;
    const std::uint64_t target = gas_limit / kElasticity;
    ensure(target > 0 && gas_used <= gas_limit, "next_base_fee: gas within the limit");
    if (gas_used == target) return max(base_fee, least);
    if (gas_used > target) {
        const U256 delta = mul_div(base_fee, gas_used - target, target) / U256{kChangeDenominator};
        const U256 next = max(base_fee + max(delta, 1), least);
        return min(next, std::numeric_limits<std::uint64_t>::max());  // clients store it in 64 bits
    }
    const U256 delta = mul_div(base_fee, target - gas_used, target) / U256{kChangeDenominator};
    return max(base_fee - delta, least);
}

}  // namespace retrace::ledger
