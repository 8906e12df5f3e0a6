// SPDX-License-Identifier: MIT
#include "node/tasks/run_progress.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>

#include "merkle/base/codec.hpp"
#include "merkle/base/durable_file.hpp"
#include "merkle/hash/sha256.hpp"
#include "node/tasks/file_stream.hpp"

namespace retrace::node {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kHead = "retrace-run/1\n";
constexpr std::uint64_t kLossesMax = std::uint64_t{1} << 30;
constexpr std::uint64_t kFrontBytes = 32 + 8 + 4;  ///< Identity, step and number of losses.

bool read_into(std::istream& in, Bytes& bytes) {
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return in.good();
}

/// Removes files of saves whose process is no more.
void remove_leftovers(const fs::path& path) {
    const std::string begin = path.filename().string() + ".", end(kUnfinished);
    std::error_code ignored;
    const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size()) continue;
        pid_t process = 0;
        const char* const first = name.data() + begin.size();
        const char* const last = name.data() + name.size() - end.size();
        const auto [stop, failed] = std::from_chars(first, last, process);
        if (failed != std::errc() || stop != last || process <= 0) continue;
        if (::kill(process, 0) != 0 && errno == ESRCH) fs::remove(entry.path(), ignored);
    }
}

/// Whether the file begins as it should and its last 32 bytes are the SHA-256 of those between.
bool has_digest(std::istream& in, std::uint64_t size) {
    Bytes head(kHead.size());
    if (!read_into(in, head) || !equal(head, view(kHead))) return false;
    merkle::Sha256 hash;
    Bytes piece;
    for (std::uint64_t left = size - kHead.size() - 32; left > 0; left -= piece.size()) {
        piece.resize(std::min<std::uint64_t>(left, 1 << 20));
        if (!read_into(in, piece)) return false;
        hash.update(piece);
    }
    Bytes digest(32);
    return read_into(in, digest) && equal(digest, view(hash.finish()));
}

}  // namespace

Hash32 training_identity(const Hash32& first_root, const DataSet& data, std::uint64_t seed) {
    merkle::Sha256 hash;
    hash.update(view(kHead)).update(view(first_root)).update_u64(seed);
    for (const Hash32& root : data.roots()) hash.update(view(root));
    return hash.finish();
}

Status<> save_progress(const fs::path& path, const Hash32& identity, const RunProgress& progress) {
    const auto& tensors = progress.state.tensors;
    return save_progress(path, identity, {progress.state.step, progress.losses},
                         static_cast<std::uint32_t>(tensors.size()),
                         [&](std::uint32_t state) { return View(tensors[state].data); });
}

Status<> save_progress(const fs::path& path, const Hash32& identity, const RunHead& head, std::uint32_t tensors,
                       const std::function<View(std::uint32_t state)>& tensor) {
    RETRACE_TRY(out, FileStream::open(path, 0600));
    merkle::Sha256 digest;
    const auto append = [&](View bytes) {
        digest.update(bytes);
        return out.append(bytes);
    };
    RETRACE_CHECK(out.append(view(kHead)));
    Writer front;
    front.hash(identity).u64(head.step).u32(static_cast<std::uint32_t>(head.losses.size()));
    for (const auto& [step, loss] : head.losses) front.u64(step).u32(std::bit_cast<std::uint32_t>(loss));
    RETRACE_CHECK(append(front.data()));
    for (std::uint32_t i = 0; i < tensors; ++i) RETRACE_CHECK(append(tensor(i)));
    RETRACE_CHECK(out.append(view(digest.finish())));
    return out.finish();
}

Result<std::optional<RunProgress>> load_progress(const fs::path& path, const Hash32& identity,
                                                 const kernels::State& first, std::uint64_t steps) {
    RunProgress out{first, {}};
    std::vector<std::uint64_t> bytes;
    for (const kernels::Tensor& tensor : first.tensors) bytes.push_back(tensor.data.size());
    RETRACE_TRY(head, load_progress(path, identity, bytes, steps, [&](std::uint32_t state, Bytes data) {
                    out.state.tensors[state].data = std::move(data);
                }));
    if (!head) return std::optional<RunProgress>();
    out.state.step = head->step;
    out.losses = std::move(head->losses);
    return std::optional(std::move(out));
}

Result<std::optional<RunHead>> load_progress(const fs::path& path, const Hash32& identity,
                                             const std::vector<std::uint64_t>& bytes, std::uint64_t steps,
                                             const std::function<void(std::uint32_t state, Bytes data)>& take) {
    remove_leftovers(path);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return std::optional<RunHead>();
    if (!fs::is_regular_file(path, ignored)) return error(path.string() + ": not a regular file");
    std::ifstream in(path, std::ios::binary);
    if (!in) return error(path.string() + ": cannot open");
    const auto damaged = [&] { return error(path.string() + " is damaged; delete it to begin again"); };
    const std::uint64_t size = fs::file_size(path, ignored);
    if (ignored || size < kHead.size() + kFrontBytes + 32 || !has_digest(in, size)) return damaged();
    in.clear();
    in.seekg(kHead.size());
    Bytes front(kFrontBytes);
    read_into(in, front);
    Reader reader(front);
    if (reader.hash() != identity)
        return error(
            path.string() +
            " is of another training (another program, first state, data or seed), which this one would replace; "
            "move it, or delete it if it is of no use");
    RunHead head{reader.u64(), {}};
    const std::uint64_t losses = reader.u32();
    std::uint64_t wanted = kHead.size() + kFrontBytes + 32;
    for (const std::uint64_t tensor : bytes) wanted += tensor;
    if (losses > kLossesMax || wanted + 12 * losses != size) return damaged();
    if (head.step > steps)
        return error(path.string() + " is the same training at step " + std::to_string(head.step) +
                     ", beyond the task's " + std::to_string(steps) +
                     " steps; delete it to begin again, or give the task its longer number of steps back");
    Bytes pairs(12 * losses);
    if (!read_into(in, pairs)) return damaged();
    merkle::Sha256 again;
    again.update(front).update(pairs);
    Reader rest(pairs);
    for (std::uint64_t i = 0; i < losses; ++i) {
        const std::uint64_t step = rest.u64();
        head.losses.emplace_back(step, std::bit_cast<float>(rest.u32()));
    }
    for (std::uint32_t i = 0; i < bytes.size(); ++i) {
        Bytes data(bytes[i]);
        if (!read_into(in, data)) return damaged();
        again.update(data);
        take(i, std::move(data));
    }
    Bytes digest(32);
    if (!read_into(in, digest) || !equal(digest, view(again.finish()))) return damaged();
    return std::optional(std::move(head));
}

}  // namespace retrace::node
