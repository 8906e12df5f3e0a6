// SPDX-License-Identifier: MIT
#include "solver/checkpoints/sealed_file.hpp"

#include <algorithm>

namespace retrace::solver {
namespace {

constexpr std::uint64_t kSealOverhead = 1 << 20;  ///< Added to limits of plain files: magic, nonces and tags.
constexpr std::string_view kKeyCheck = "key-check";
constexpr std::string_view kKeyText = "retrace/checkpoint-key-check/1";

bool is_sealed(View bytes) {
    return bytes.size() >= kSealMagic.size() &&
           std::equal(kSealMagic.begin(), kSealMagic.end(), bytes.begin(),
                      [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

/// True also if the folder does not exist.
bool has_no_files(const std::filesystem::path& folder) {
    std::error_code failure;
    return std::filesystem::directory_iterator(folder, failure) == std::filesystem::directory_iterator();
}

}  // namespace

std::string_view slug(StoreFault fault) noexcept {
    switch (fault) {
        case StoreFault::missing: return "missing";
        case StoreFault::damaged: return "damaged";
        case StoreFault::sealed: return "sealed";
        case StoreFault::wrong_key: return "wrong_key";
        case StoreFault::plain: return "plain";
    }
    return "invalid";
}

Unexpected<StoreProblem> fault(const std::filesystem::path& path, StoreFault kind, std::string_view sentence) {
    return {{kind, path.string() + ": " + std::string(sentence) + " (" + std::string(slug(kind)) + ")"}};
}

Status<> add_sealed(FileBatch& batch, const std::string& name, std::initializer_list<View> parts, const Seal* seal) {
    if (seal == nullptr) return batch.add(name, parts);
    Bytes plain;
    for (const View part : parts) plain.insert(plain.end(), part.begin(), part.end());
    RETRACE_TRY(sealed, seal->close(plain, name));
    return batch.add(name, {sealed});
}

Status<> write_sealed(const std::filesystem::path& path, std::initializer_list<View> parts, const Seal* seal) {
    FileBatch batch(path.parent_path(), 1);
    RETRACE_CHECK(add_sealed(batch, path.filename().string(), parts, seal));
    return batch.finish();
}

Result<Bytes, StoreProblem> read_sealed(const std::filesystem::path& path, std::uint64_t limit, const Seal* seal) {
    RETRACE_TRY(bytes, read_file(path, limit + limit / 1024 + kSealOverhead));
    if (!is_sealed(bytes)) {
        if (seal == nullptr) return bytes;
        return fault(path, StoreFault::damaged, "it is not encrypted, as all that was written here is");
    }
    if (seal == nullptr) return fault(path, StoreFault::sealed, "it is encrypted; give the key");
    auto plain = seal->open(bytes, path.filename().string());
    if (!plain) return fault(path, StoreFault::damaged, plain.error().message);
    return std::move(plain).value();
}

Status<> check_key(const std::filesystem::path& directory, const Seal* seal) {
    const std::filesystem::path path = directory / kKeyCheck;
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
        if (seal == nullptr) return Unit{};
        for (const char* const part : {"states", "tensors"}) {
            if (has_no_files(directory / part)) continue;
            return fault(directory, StoreFault::plain,
                         "there are checkpoints that no key vouches for; move them away, they are computed again");
        }
        return write_sealed(path, {view(kKeyText)}, seal);
    }
    if (seal == nullptr) return fault(path, StoreFault::sealed, "the checkpoints here are encrypted; give the key");
    const auto text = read_sealed(path, kKeyText.size(), seal);
    if (!text) return fault(path, StoreFault::wrong_key, "the checkpoints here belong to another key");
    return Unit{};
}

}  // namespace retrace::solver
