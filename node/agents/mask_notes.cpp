// SPDX-License-Identifier: MIT
#include "node/agents/mask_notes.hpp"

#include <charconv>

#include "merkle/base/durable_file.hpp"

namespace retrace::node {
namespace {

constexpr std::uint64_t kNotesBytesMax = 1 << 16;
constexpr std::string_view kSuffix = ".masks";

market::Scalar scalar_of(const Bytes& bytes) { return market::Scalar::from_bytes(bytes).value_or(market::Scalar()); }

bool are_secrets(const MaskNotes& notes) {
    for (const Bytes* secret : {&notes.mask, &notes.self, &notes.deal, &notes.receive}) {
        const auto scalar = market::Scalar::from_bytes(*secret);
        if (!scalar || scalar->is_zero()) return false;
    }
    return true;
}

}  // namespace

market::MaskSecrets MaskNotes::secrets() const {
    return {scalar_of(mask), scalar_of(self), scalar_of(deal), scalar_of(receive)};
}

std::filesystem::path mask_notes_folder(const std::filesystem::path& data_dir, std::uint64_t chain_id,
                                        const Hash32& genesis) {
    return data_dir / "masks" / (std::to_string(chain_id) + "-" + to_hex(view(genesis)));
}

std::filesystem::path MaskBook::path_of(const Key& key) const {
    return directory_ / (std::to_string(key.task) + "-" + std::to_string(key.run) + "-" + std::to_string(key.round) +
                         std::string(kSuffix));
}

Result<std::optional<MaskNotes>> MaskBook::find(const Key& key) const {
    if (directory_.empty())
        return error(
            "the node has dropped the chain's first block, to whose hash masks are bound: begin with a node that "
            "has it");
    const std::filesystem::path path = path_of(key);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored) && !ignored) return std::optional<MaskNotes>{};
    const auto bytes = read_file(path, kNotesBytesMax);
    if (!bytes) return error(bytes.error().message);
    auto notes = market::decode_record<MaskNotes>(*bytes);
    if (!notes || !are_secrets(*notes))
        return error(path.string() + " is damaged: this member takes no part in round " + std::to_string(key.round));
    return std::optional(std::move(*notes));
}

Status<> MaskBook::save(const Key& key, const MaskNotes& notes) const {
    std::error_code failed;
    std::filesystem::create_directories(directory_, failed);
    if (failed) return error(directory_.string() + ": " + failed.message());
    const Bytes bytes = market::encode_record(notes);
    if (const auto written = write_durably(path_of(key), {bytes}, 0600); !written)
        return error(written.error().message);
    return Unit{};
}

void MaskBook::forget(std::uint64_t task, std::uint32_t run, std::uint32_t round) const {
    const std::string prefix = std::to_string(task) + "-" + std::to_string(run) + "-";
    std::error_code ignored;
    std::vector<std::filesystem::path> old;
    for (const auto& entry : std::filesystem::directory_iterator(directory_, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(prefix) || name.find(kSuffix) == std::string::npos) continue;
        std::uint32_t of = 0;
        const char* const from = name.data() + prefix.size();
        if (std::from_chars(from, name.data() + name.size(), of).ec == std::errc{} && of < round)
            old.push_back(entry.path());
    }
    for (const std::filesystem::path& path : old) std::filesystem::remove(path, ignored);
}

}  // namespace retrace::node
