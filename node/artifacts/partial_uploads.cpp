// SPDX-License-Identifier: MIT
#include "node/artifacts/partial_uploads.hpp"

#include <algorithm>
#include <fstream>

namespace retrace::node {

namespace fs = std::filesystem;

PartialProgramUploads::PartialProgramUploads(fs::path folder, const Limits& limits)
    : folder_(std::move(folder)), limits_(limits) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder_, code))
        if (entry.path().extension() == ".part") fs::remove(entry.path(), code);
}

void PartialProgramUploads::drop(Uploads::iterator upload) {
    std::error_code code;
    fs::remove(path(*upload), code);
    uploads_.erase(upload);
}

void PartialProgramUploads::remove(const Hash32& root) {
    const std::string name = to_hex(view(root));
    for (auto upload = uploads_.begin(); upload != uploads_.end();) {
        const auto here = upload++;
        if (here->name.starts_with(name)) drop(here);
    }
}

Result<std::optional<Bytes>, Failure> PartialProgramUploads::add(const Hash32& root, const Place& place, View piece) {
    if (place.total > limits_.file_bytes) return failure(Fault::too_large, "the program file is too long");
    if (piece.empty() || piece.size() > place.total || place.first > place.total - piece.size())
        return failure(Fault::malformed, "the piece does not lie in the file");
    const bool last = place.first + piece.size() == place.total;
    if (!last && piece.size() < limits_.piece_bytes) return failure(Fault::malformed, "the piece is too short");
    if (place.upload.size() != 32 || place.upload.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return failure(Fault::malformed, "an upload is named by 32 hex digits");
    RETRACE_CHECK(check_disk(folder_, limits_.left_free, place.total, "a program"));

    const std::string name = to_hex(view(root)) + "." + std::string(place.upload);
    auto upload =
        std::find_if(uploads_.begin(), uploads_.end(), [&](const PartialUpload& one) { return one.name == name; });
    if (place.first == 0) {
        if (upload != uploads_.end()) drop(upload);
        const auto is_full = [&] {
            std::uint64_t bytes = place.total;
            for (const PartialUpload& one : uploads_) bytes += one.total;
            return uploads_.size() >= limits_.uploads || bytes > 4 * std::uint64_t{limits_.file_bytes};
        };
        while (!uploads_.empty() && is_full()) drop(uploads_.begin());
        upload = uploads_.insert(uploads_.end(), {name, 0, place.total});
    }
    if (upload == uploads_.end() || upload->size != place.first || upload->total != place.total)
        return failure(Fault::incomplete, "another piece of the program is due");
    uploads_.splice(uploads_.end(), uploads_, upload);
    const auto mode = std::ios::binary | (place.first == 0 ? std::ios::trunc : std::ios::app);
    std::ofstream out(path(*upload), mode);
    out.write(reinterpret_cast<const char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
    out.close();
    if (!out) {
        drop(upload);
        return failure(Fault::io, folder_.string() + ": cannot be written");
    }
    upload->size += piece.size();
    if (!last) return std::optional<Bytes>();
    auto whole = read_file(path(*upload), limits_.file_bytes);
    drop(upload);  // Its bytes become the program, or do not match the root.
    if (!whole) return Unexpected{std::move(whole).error()};
    return std::optional<Bytes>(std::move(*whole));
}

}  // namespace retrace::node
