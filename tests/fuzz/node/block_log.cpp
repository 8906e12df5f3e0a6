// SPDX-License-Identifier: MIT
// Opens the block log on an arbitrary file: it is refused, or its torn end is cut, after which it works like any other.
// The first byte gives the number of executed blocks, the second whether a valid head is put in front.
#include "node/server/engine/block_log.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node::engine;

const Hash32 kGenesis{{1}};
constexpr std::size_t kHead = 48;

std::string path() {
    static const std::string file =
        (std::filesystem::temp_directory_path() / ("retrace-fuzz-blocks-" + std::to_string(::getpid()))).string();
    return file;
}

void write_file(View content) {
    std::ofstream out(path(), std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(content.data()), static_cast<std::streamsize>(content.size()));
}

Bytes read_file() {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

StoredBlock block(Height height) {
    StoredBlock out;
    out.height = height;
    out.time = 5;
    out.txs = {Bytes(3, 7)};
    return out;
}

/// A file with a valid head and so many blocks.
const Bytes& sample(Height blocks) {
    static std::map<Height, Bytes> files;
    const auto found = files.find(blocks);
    if (found != files.end()) return found->second;
    std::filesystem::remove(path());
    auto log = BlockLog::open(path(), kGenesis, 0);
    require(log.has_value(), "a new log opens");
    for (Height height = 1; height <= blocks; ++height)
        require((*log)->append(block(height)).has_value(), "a new log takes blocks");
    return files[blocks] = read_file();
}

/// Counts records by their lengths, without reading their contents.
std::size_t naive_count(View records) {
    std::size_t out = 0;
    while (records.size() >= 8) {
        const std::size_t length = load_u32(records.data());
        if (length == 0 || length > BlockLog::kRecordMax || length > records.size() - 8) break;
        records = records.subspan(8 + length);
        ++out;
    }
    return out;
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out{{0, 0}, {0, 1}};
    for (const Height blocks : {1, 3}) {
        const View file = sample(blocks);
        Bytes whole{0, 0}, records{static_cast<std::uint8_t>(blocks), 1};
        whole.insert(whole.end(), file.begin(), file.end());
        const View body = file.subspan(kHead);
        records.insert(records.end(), body.begin(), body.end());
        out.push_back(std::move(whole));
        out.push_back(std::move(records));
    }
    return out;
}

void run(View input) {
    Choices choices(input);
    const Height committed = choices.below(5);
    Bytes file = choices.flip() ? to_bytes(View(sample(0)).first(kHead)) : Bytes{};
    const View rest = choices.rest();
    file.insert(file.end(), rest.begin(), rest.end());
    write_file(file);
    Height tip = 0;
    {
        auto log = BlockLog::open(path(), kGenesis, committed);
        if (!log) {
            require(read_file() == file, "a log that is refused is left as it was");
            return;
        }
        tip = (*log)->tip();
        require(tip >= committed && (*log)->base() <= committed, "a log reaches what was executed");
        if (file.size() >= kHead) {
            const std::size_t count = naive_count(View(file).subspan(kHead));
            const std::size_t kept = tip - (*log)->base();
            require(kept == count || kept + 1 == count, "at most the last record is cut beside the torn rest");
        }
        for (Height height = (*log)->base() + 1; height <= tip; ++height) {
            const auto read = (*log)->read(height);
            require(!read || read->height == height, "a block is read under its own height");
        }
        require((*log)->append(block(tip + 1)).has_value(), "an opened log takes the next block");
    }
    auto again = BlockLog::open(path(), kGenesis, tip + 1);
    require(again.has_value() && (*again)->torn_bytes() == 0, "a log that was cut is whole");
    require((*again)->tip() == tip + 1 && (*again)->read(tip + 1)->txs == block(0).txs, "the next block is there");
    require((*again)->prune_below(tip + 1).has_value(), "old blocks can be forgotten");
    require((*again)->base() == tip && (*again)->read(tip + 1)->txs == block(0).txs, "and the rest stays");
}

}  // namespace retrace::fuzz
