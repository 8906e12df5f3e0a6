// SPDX-License-Identifier: MIT
// Recovery of the mempool's journal from an arbitrary file, compared with a naive reader. A record appended to a
// recovered journal is found again after it.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ledger/crypto/keccak.hpp"
#include "ledger/mempool/journal.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace ledger;

std::string path() {
    static const std::string file =
        (std::filesystem::temp_directory_path() / ("retrace-fuzz-journal-" + std::to_string(::getpid()))).string();
    return file;
}

void write_file(View content) {
    std::ofstream out(path(), std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
}

SignedTx tx_of(Bytes raw) {
    SignedTx out;
    out.hash = keccak256(raw);
    out.raw = std::move(raw);
    return out;
}

Bytes record_of(const Bytes& raw) {
    Bytes out(4);
    store_u32(out.data(), static_cast<std::uint32_t>(raw.size()));
    const Hash32 hash = keccak256(raw);
    out.insert(out.end(), hash.bytes.begin(), hash.bytes.begin() + 4);
    out.insert(out.end(), raw.begin(), raw.end());
    return out;
}

/// Record of a transaction that was given up.
Bytes gone_of(const Hash32& hash) {
    Bytes out = record_of(to_bytes(view(hash)));
    store_u32(out.data(), 0xffffffff);
    return out;
}

/// Returns the longest prefix of whole records, found by encoding each one again and comparing. A record is removed
/// from its earlier place if its transaction is given up or recorded again.
std::vector<Bytes> naive(View content) {
    std::vector<Bytes> out;
    while (content.size() > 8) {
        const std::uint32_t said = load_u32(content.data());
        const std::size_t length = said == 0xffffffff ? 32 : said;
        if (length > kTxBytesMax || content.size() < 8 + length) return out;
        Bytes raw = to_bytes(content.subspan(8, length));
        const bool gone = said == 0xffffffff;
        if (!equal(gone ? gone_of(to_hash32(raw)) : record_of(raw), content.first(8 + length))) return out;
        std::erase_if(out,
                      [&](const Bytes& other) { return gone ? equal(view(keccak256(other)), raw) : other == raw; });
        if (!gone && !raw.empty()) out.push_back(std::move(raw));
        content = content.subspan(8 + length);
    }
    return out;
}

}  // namespace

std::vector<Bytes> seeds() {
    Bytes two = record_of(Bytes(20, 7));
    const Bytes second = record_of(Bytes(3, 1));
    two.insert(two.end(), second.begin(), second.end());
    Bytes torn = two;
    torn.pop_back();
    Bytes gone = two;
    for (const Bytes& next : {gone_of(keccak256(Bytes(20, 7))), second, record_of(Bytes(20, 7))})
        gone.insert(gone.end(), next.begin(), next.end());
    return {{}, record_of(Bytes(1, 1)), two, torn, gone};
}

void run(View input) {
    write_file(input);
    std::vector<Bytes> expected = naive(input);
    {
        auto journal = MempoolJournal::open(path());
        require(journal.has_value(), "a damaged journal is cut, not refused");
        require((*journal)->take_recovered() == expected, "recovered is what a naive reader finds");
        require((*journal)->append(tx_of(Bytes(5, 9))).has_value(), "a recovered journal takes more");
        std::erase(expected, Bytes(5, 9));
        expected.push_back(Bytes(5, 9));
    }
    auto again = MempoolJournal::open(path());
    require(again.has_value() && (*again)->take_recovered() == expected, "what is appended is found behind it");
}

}  // namespace retrace::fuzz
