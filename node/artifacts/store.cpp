// SPDX-License-Identifier: MIT
#include "node/artifacts/store.hpp"

#include <algorithm>
#include <fstream>

#include "kernels/plan/group_plan.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/artifacts/charge.hpp"
#include "node/artifacts/tensor_layout.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

/// Deletes temporary files of a killed process; no other process writes here while we hold the lock.
void remove_leftovers(const fs::path& folder) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder, code)) {
        if (entry.path().extension() == kUnfinished) fs::remove(entry.path(), code);
    }
}

Result<kernels::Program, Failure> decode(View file, const kernels::Limits& limits) {
    auto program = kernels::decode_program(file, limits);
    if (!program) return failure(Fault::malformed, "not a program: " + program.error().message);
    return std::move(program).value();
}

/// Decodes and checks the file of a program or of a plan, and returns its root.
Result<Hash32, Failure> root_of(View file, const kernels::Limits& limits) {
    if (kernels::is_plan(file)) {
        const auto plan = kernels::decode_plan(file, limits);
        if (!plan) return failure(Fault::malformed, "not a plan: " + plan.error().message);
        return kernels::plan_root(*plan);
    }
    RETRACE_TRY(program, decode(file, limits));
    return kernels::CommittedProgram(std::move(program)).root();
}

}  // namespace

Result<std::unique_ptr<Store>, Failure> Store::open(const fs::path& folder, const Options& options) {
    for (const char* const part : {"programs", "tensors", "states"}) RETRACE_CHECK(make_directory(folder / part));
    RETRACE_TRY(lock, lock_file(folder / "lock"));
    for (const char* const part : {"programs", "tensors", "states"}) remove_leftovers(folder / part);
    return std::unique_ptr<Store>(new Store(folder, options, std::move(lock)));
}

Store::Store(fs::path folder, const Options& options, FileDescriptor lock)
    : folder_(std::move(folder)),
      options_(options),
      lock_(std::move(lock)),
      pool_(options.threads),
      tensors_(folder_ / "tensors", options.tensors, pool_),
      partial_uploads_(folder_ / "programs", {.file_bytes = options.program_bytes,
                                              .piece_bytes = options.piece_bytes,
                                              .left_free = options.tensors.left_free}) {
    for (const Hash32& state : list_states())
        if (const auto manifest = read_manifest(state)) count_tensors(state, manifest->tensor_roots);
}

fs::path Store::program_path(const Hash32& root) const { return folder_ / "programs" / (to_hex(view(root)) + ".rtp"); }

fs::path Store::state_path(const Hash32& root) const { return folder_ / "states" / (to_hex(view(root)) + ".state"); }

Result<Hash32, Failure> Store::put_program(View file) {
    if (file.size() > options_.program_bytes) return failure(Fault::too_large, "the program file is too long");
    RETRACE_TRY(root, root_of(file, options_.programs));
    const std::lock_guard lock(mutex_);
    RETRACE_CHECK(write_program(root, file));
    return root;
}

Status<Failure> Store::add_program(const Hash32& root, View file) {
    if (file.size() > options_.program_bytes) return failure(Fault::too_large, "the program file is too long");
    RETRACE_TRY(made, root_of(file, options_.programs));
    if (made != root) return failure(Fault::wrong_root, "the program does not hash to " + to_hex(view(root)));
    const std::lock_guard lock(mutex_);
    return write_program(root, file);
}

Status<Failure> Store::write_program(const Hash32& root, View file) {
    RETRACE_CHECK(check_disk(folder_, options_.tensors.left_free, file.size(), "a program"));
    RETRACE_CHECK(write_durably(program_path(root), {file}));
    return Unit{};
}

Status<Failure> Store::add_program_piece(const Hash32& root, const PartialProgramUploads::Place& place, View piece) {
    std::optional<Bytes> whole;
    {
        const std::lock_guard lock(mutex_);
        RETRACE_TRY(added, partial_uploads_.add(root, place, piece));
        whole = std::move(added);
    }
    if (!whole) return Unit{};
    return add_program(root, *whole);
}

Result<Bytes, Failure> Store::program_file(const Hash32& root) const {
    const std::lock_guard lock(mutex_);
    auto file = read_file(program_path(root), options_.program_bytes);
    if (file) return std::move(file).value();
    const Failure why(file.error());
    if (why.fault != Fault::not_found) return Unexpected{why};
    return failure(Fault::not_found, "program " + to_hex(view(root)) + " is not here");
}

Result<Bytes, Failure> Store::program_piece(const Hash32& root, std::uint64_t at, std::uint64_t count) const {
    const std::lock_guard lock(mutex_);
    std::error_code code;
    const std::uint64_t size = fs::file_size(program_path(root), code);
    if (code) return failure(Fault::not_found, "program " + to_hex(view(root)) + " is not here");
    Bytes piece(std::min(count, size - std::min(at, size)));
    std::ifstream file(program_path(root), std::ios::binary);
    file.seekg(static_cast<std::streamoff>(std::min(at, size)));
    file.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(piece.size()));
    if (!file) return failure(Fault::io, "program " + to_hex(view(root)) + " cannot be read");
    return piece;
}

bool Store::has_program(const Hash32& root) const {
    const auto file = program_file(root);
    const auto made = file ? root_of(*file, options_.programs) : failure(Fault::not_found, "no file");
    return made && *made == root;
}

Result<kernels::Program, Failure> Store::program(const Hash32& root) const {
    RETRACE_TRY(file, program_file(root));
    auto decoded = decode(file, options_.programs);
    if (!decoded || kernels::CommittedProgram(*decoded).root() != root) {
        return failure(Fault::corrupt, "program " + to_hex(view(root)) + ": the file is damaged");
    }
    return decoded;
}

Result<Hash32, Failure> Store::put_tensor(const kernels::Tensor& tensor) {
    const std::lock_guard lock(mutex_);
    return tensors_.put(tensor);
}

Result<kernels::Tensor, Failure> Store::tensor(const Hash32& root) {
    const std::lock_guard lock(mutex_);
    return tensors_.load(root);
}

Result<Hash32, Failure> Store::put_state(const Hash32& program_root, const kernels::State& state) {
    const std::lock_guard lock(mutex_);
    std::vector<Hash32> roots;
    for (const kernels::Tensor& tensor : state.tensors) {
        RETRACE_TRY(root, tensors_.put(tensor));
        roots.push_back(root);
    }
    const auto commitment = kernels::commit_roots(program_root, state.step, std::move(roots));
    RETRACE_CHECK(write_manifest(commitment.root,
                                 {commitment.header.contract, program_root, state.step, commitment.tensor_roots}));
    return commitment.root;
}

Result<kernels::State, Failure> Store::state(const Hash32& root) {
    const std::lock_guard lock(mutex_);
    RETRACE_TRY(manifest, read_manifest(root));
    kernels::State out;
    out.step = manifest.step;
    for (const Hash32& tensor_root : manifest.tensor_roots) {
        auto tensor = tensors_.load(tensor_root);
        if (!tensor && tensor.error().fault == Fault::not_found) {
            return failure(Fault::incomplete, "state " + to_hex(view(root)) + ": " + tensor.error().message);
        }
        if (!tensor) return Unexpected{std::move(tensor).error()};
        out.tensors.push_back(std::move(*tensor));
    }
    return out;
}

Result<wire::StateManifest, Failure> Store::manifest(const Hash32& root) const {
    const std::lock_guard lock(mutex_);
    return read_manifest(root);
}

Result<wire::TileRange, Failure> Store::tiles(const Hash32& root, std::uint64_t first, std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    return tensors_.tiles(root, first, count);
}

Result<Bytes, Failure> Store::leaves(const Hash32& root, std::uint64_t first, std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    return tensors_.leaves(root, first, count);
}

Result<wire::Info, Failure> Store::info(const Hash32& root) {
    const std::lock_guard lock(mutex_);
    std::error_code code;
    if (const auto size = fs::file_size(program_path(root), code); !code) {
        return wire::Info{wire::Kind::program, true, size, {}, {}};
    }
    if (tensors_.known(root)) {
        RETRACE_TRY(header, tensors_.header(root));
        RETRACE_TRY(missing, tensors_.missing(root));
        const std::uint64_t size = data_bytes(header);
        return wire::Info{wire::Kind::tensor, tensors_.complete(root), size, std::move(header), std::move(missing)};
    }
    RETRACE_TRY(manifest, read_manifest(root));
    const bool complete = std::all_of(manifest.tensor_roots.begin(), manifest.tensor_roots.end(),
                                      [&](const Hash32& tensor) { return tensors_.complete(tensor); });
    return wire::Info{wire::Kind::state, complete, 32 * manifest.tensor_roots.size(), {}, {}};
}

Result<wire::StateManifest, Failure> Store::read_manifest(const Hash32& root) const {
    auto file = read_file(state_path(root), wire::kMessageBytesMax);
    if (!file) {
        const Failure why(file.error());
        if (why.fault != Fault::not_found) return Unexpected{why};
        return failure(Fault::not_found, "state " + to_hex(view(root)) + " is not here");
    }
    auto manifest = wire::decode_state_manifest(*file);
    if (!manifest || manifest->root() != root) {
        return failure(Fault::corrupt, "state " + to_hex(view(root)) + ": the file is damaged");
    }
    return std::move(*manifest);
}

Status<Failure> Store::write_manifest(const Hash32& root, const wire::StateManifest& manifest) {
    if (manifest.tensor_roots.size() > wire::kStateTensorsMax) {
        return failure(Fault::too_large, "a state of more than " + std::to_string(wire::kStateTensorsMax) + " tensors");
    }
    const Bytes file = wire::encode(manifest);
    RETRACE_CHECK(check_disk(folder_, options_.tensors.left_free, file.size(), "a state's manifest"));
    RETRACE_CHECK(write_durably(state_path(root), {file}));
    count_tensors(root, manifest.tensor_roots);
    return Unit{};
}

Status<Failure> Store::add_manifest(const Hash32& root, const wire::StateManifest& manifest) {
    if (manifest.root() != root) {
        return failure(Fault::wrong_root, "the state manifest does not hash to " + to_hex(view(root)));
    }
    const std::lock_guard lock(mutex_);
    return write_manifest(root, manifest);
}

Status<Failure> Store::begin_tensor(const Hash32& root, const kernels::TensorHeader& header) {
    const std::lock_guard lock(mutex_);
    return tensors_.begin(root, header);
}

Status<Failure> Store::add_tiles(const Hash32& root, const wire::TileRange& range) {
    const std::lock_guard lock(mutex_);
    return tensors_.add(root, range);
}

std::vector<Hash32> Store::list_states() const {
    std::vector<Hash32> out;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder_ / "states", code)) {
        const auto name = from_hex(entry.path().stem().string());
        if (entry.path().extension() == ".state" && name && name->size() == 32) out.push_back(to_hash32(*name));
    }
    std::sort(out.begin(), out.end());
    return out;
}

void Store::count_tensors(const Hash32& state, const std::vector<Hash32>& tensors) {
    if (!tensors_of_.try_emplace(state, tensors).second) return;
    for (const Hash32& tensor : tensors) ++named_[tensor];
}

std::vector<Hash32> Store::forget_tensors(const Hash32& state) {
    auto found = tensors_of_.extract(state);
    if (!found) return {};
    for (const Hash32& tensor : found.mapped()) {
        const auto count = named_.find(tensor);
        if (--count->second == 0) named_.erase(count);
    }
    return std::move(found.mapped());
}

std::vector<Hash32> Store::states() const {
    const std::lock_guard lock(mutex_);
    return list_states();
}

std::vector<Hash32> Store::remove_state(const Hash32& root, const std::set<Hash32>& keep) {
    const std::lock_guard lock(mutex_);
    std::error_code code;
    std::vector<Hash32> out;
    if (fs::remove(state_path(root), code)) out.push_back(root);
    for (const Hash32& tensor : forget_tensors(root)) {
        if (keep.contains(tensor) || named_.contains(tensor)) continue;
        tensors_.remove(tensor);
        out.push_back(tensor);
    }
    return out;
}

bool Store::known(const Hash32& root) const {
    const std::lock_guard lock(mutex_);
    std::error_code code;
    return tensors_.known(root) || fs::exists(program_path(root), code) || fs::exists(state_path(root), code);
}

std::map<Hash32, std::uint64_t> Store::sizes() const {
    const std::lock_guard lock(mutex_);
    std::map<Hash32, std::vector<std::uint64_t>> files;
    std::map<Hash32, std::uint64_t> out;
    for (const std::string_view part : {"programs", "tensors", "states"}) {
        std::error_code code;
        for (const auto& entry : fs::directory_iterator(folder_ / part, code)) {
            const auto name = from_hex(entry.path().stem().string());
            if (!name || name->size() != Hash32::size()) continue;  // a piece of a program, which has its own limit
            const auto size = entry.file_size(code);
            if (code) continue;
            if (part == "states")
                out[to_hash32(*name)] = state_charge(size);
            else
                files[to_hash32(*name)].push_back(size);
        }
    }
    for (const auto& [root, sizes] : files) out[root] += artifact_charge(sizes);
    return out;
}

std::vector<Hash32> Store::roots() const {
    const std::lock_guard lock(mutex_);
    std::set<Hash32> out = tensors_.roots();
    for (const auto& [tensor, count] : named_) out.erase(tensor);
    for (const Hash32& state : list_states()) out.insert(state);
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(folder_ / "programs", code)) {
        const auto name = from_hex(entry.path().filename().string().substr(0, 64));
        if (name && name->size() == 32) out.insert(to_hash32(*name));
    }
    return {out.begin(), out.end()};
}

std::vector<Hash32> Store::remove(const Hash32& root, const std::set<Hash32>& keep) {
    std::vector<Hash32> out = remove_state(root, keep);
    remove_program(root);
    const std::lock_guard lock(mutex_);
    // Otherwise a requester could delete a tensor of another's state by naming it in a task and cancelling that task.
    if (tensors_.known(root) && named_.contains(root)) return out;
    tensors_.remove(root);
    out.push_back(root);
    return out;
}

void Store::remove_program(const Hash32& root) {
    const std::lock_guard lock(mutex_);
    std::error_code code;
    fs::remove(program_path(root), code);
    partial_uploads_.remove(root);
}

void Store::remove_tensor(const Hash32& root) {
    const std::lock_guard lock(mutex_);
    tensors_.remove(root);
}

}  // namespace retrace::node
