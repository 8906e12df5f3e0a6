// SPDX-License-Identifier: MIT
#include "node/tasks/run_progress.hpp"

#include <bit>

#include "merkle/base/codec.hpp"
#include "merkle/base/durable_file.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::node {
namespace {

constexpr std::string_view kHead = "retrace-run/1\n";
constexpr std::size_t kProgressMax = std::size_t{1} << 40;
constexpr std::size_t kLossesMax = std::size_t{1} << 30;

}  // namespace

Hash32 training_identity(const Hash32& first_root, const DataSet& data, std::uint64_t seed) {
    merkle::Sha256 hash;
    hash.update(view(kHead)).update(view(first_root)).update_u64(seed);
    for (const Hash32& root : data.roots()) hash.update(view(root));
    return hash.finish();
}

Status<> save_progress(const std::filesystem::path& path, const Hash32& identity, const RunProgress& progress) {
    Writer body;
    body.hash(identity).u64(progress.state.step).u32(static_cast<std::uint32_t>(progress.losses.size()));
    for (const auto& [step, loss] : progress.losses) body.u64(step).u32(std::bit_cast<std::uint32_t>(loss));
    for (const kernels::Tensor& tensor : progress.state.tensors) body.raw(tensor.data);
    const Hash32 digest = merkle::Sha256().update(body.data()).finish();
    const auto written = write_durably(path, {view(kHead), body.data(), view(digest)}, 0600);
    if (!written) return error(path.string() + ": " + written.error().message);
    return Unit{};
}

Result<std::optional<RunProgress>> load_progress(const std::filesystem::path& path, const Hash32& identity,
                                                 const kernels::State& first, std::uint64_t steps) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::optional<RunProgress>();
    const auto file = read_file(path, kProgressMax);
    if (!file) return error(path.string() + ": " + file.error().message);
    const auto damaged = [&] { return error(path.string() + " is damaged; delete it to begin again"); };
    if (file->size() < kHead.size() + 32 || !equal(View(*file).first(kHead.size()), view(kHead))) return damaged();
    const View body = View(*file).subspan(kHead.size(), file->size() - kHead.size() - 32);
    const Hash32 digest = merkle::Sha256().update(body).finish();
    if (!equal(View(*file).last(32), view(digest))) return damaged();
    Reader in(body);
    if (in.hash() != identity) return std::optional<RunProgress>();
    RunProgress out;
    out.state = first;
    out.state.step = in.u64();
    const std::uint32_t losses = in.count(kLossesMax, 12);
    for (std::uint32_t i = 0; i < losses; ++i) {
        const std::uint64_t step = in.u64();
        out.losses.emplace_back(step, std::bit_cast<float>(in.u32()));
    }
    for (kernels::Tensor& tensor : out.state.tensors) {
        const View data = in.raw(tensor.data.size());
        if (in.ok()) tensor.data.assign(data.begin(), data.end());
    }
    if (!in.finish()) return damaged();
    if (out.state.step > steps)
        return error(path.string() + " is the same training at step " + std::to_string(out.state.step) +
                     ", beyond the task's " + std::to_string(steps) +
                     " steps; delete it to begin again, or give the task its longer number of steps back");
    return std::optional(std::move(out));
}

}  // namespace retrace::node
