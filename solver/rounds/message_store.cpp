// SPDX-License-Identifier: MIT
#include "solver/rounds/message_store.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <set>

#include "merkle/base/durable_file.hpp"
#include "solver/artifacts/group_artifacts.hpp"
#include "solver/artifacts/packed_tensor.hpp"
#include "solver/checkpoints/file_batch.hpp"
#include "solver/checkpoints/tensor_store.hpp"

namespace retrace::solver {
namespace {

/// Whether the time was extended, and a bit for each of the 1,024 runs that a group may have (contracts 21.10.13).
constexpr std::size_t kHoldingsBytesMax = 1 + 1024 / 8;
constexpr std::string_view kMessage = ".message", kHoldings = ".holdings", kHeader = ".inner";
constexpr std::size_t kHeaderBytesMax = 1024;

/// Reads a number and the character after it from the beginning of `text`.
template <class Number>
std::optional<Number> take_number(std::string_view& text, char after) {
    Number out = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (code != std::errc{} || end == text.data() + text.size() || *end != after) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
    return out;
}

std::string name_of(const MessageKey& key) {
    return std::to_string(key.task) + "-" + std::to_string(key.round) + "-" + std::to_string(key.run);
}

/// Whether another attempt may read the file: this process or machine lacked something for a moment, or somebody changed
/// its permissions.
bool may_read_later(int code) {
    return code == EMFILE || code == ENFILE || code == ENOMEM || code == EINTR || code == EAGAIN || code == EACCES ||
           code == EPERM || code == ESTALE;
}

/// A tensor of a file; or why not, and whether the file has to be replaced.
struct Read {
    Result<kernels::Tensor> tensor;
    bool damaged = false;
};
Read read_tensor(const std::filesystem::path& path, const Hash32& root, const kernels::TensorRecord& record,
                 kernels::ThreadPool& pool) {
    const auto fail = [&](const Error& cause) { return error(path.string() + ": " + cause.message); };
    const auto bytes = read_file(path, transport_bytes_max(record));
    // What a disk cannot read is of no more use than what is gone: others may still serve the message.
    if (!bytes) return {fail(bytes.error()), !may_read_later(bytes.error().code)};
    auto out = from_transport_form(*bytes, record);
    if (!out) return {fail(out.error()), true};
    if (const auto right = check_fetched(*out, record, root, pool); !right) return {fail(right.error()), true};
    return {std::move(out), false};
}

}  // namespace

Result<std::unique_ptr<MessageStore>> MessageStore::open(std::filesystem::path directory) {
    std::error_code code;
    std::filesystem::create_directories(directory, code);
    if (code) return error(directory.string() + ": cannot be created: " + code.message());
    std::unique_ptr<MessageStore> store(new MessageStore(std::move(directory)));
    for (const std::filesystem::path& path : files_of(store->directory_)) {
        if (path.extension() == kUnfinished)
            remove_file(path);
        else
            store->read_name(path.filename().string());
    }
    return store;
}

void MessageStore::read_name(const std::string& name) {
    std::string_view text = name;
    if (text.ends_with(kHeader)) {
        const auto of = take_number<std::uint64_t>(text, '.');
        if (of && text == kHeader.substr(1)) read_header(*of);
        return;
    }
    const bool is_message = text.ends_with(kMessage);
    const auto task = take_number<std::uint64_t>(text, '-');
    const auto round = task ? take_number<std::uint32_t>(text, '-') : std::nullopt;
    const auto run = round ? take_number<std::uint32_t>(text, is_message ? '-' : '.') : std::nullopt;
    if (!run) return;
    const MessageKey key{*task, *round, *run};
    if (text == kHoldings.substr(1)) stated_.insert(key);
    const auto place = is_message ? take_number<std::uint32_t>(text, '-') : std::nullopt;
    if (!place) return;
    const auto root = from_hex(text.substr(0, text.size() - kMessage.size()));
    if (!root || root->size() != Hash32::size()) return;
    messages_[key][*place] = to_hash32(*root);
    places_.emplace(to_hash32(*root), std::pair(key, *place));
}

std::filesystem::path MessageStore::path_of(const MessageKey& key, std::uint32_t place, const Hash32& root) const {
    return directory_ / (name_of(key) + "-" + std::to_string(place) + "-" + to_hex(view(root)) + std::string(kMessage));
}

std::filesystem::path MessageStore::path_of_holdings(const MessageKey& key) const {
    return directory_ / (name_of(key) + std::string(kHoldings));
}

std::filesystem::path MessageStore::path_of_header(std::uint64_t task) const {
    return directory_ / (std::to_string(task) + std::string(kHeader));
}

void MessageStore::read_header(std::uint64_t task) {
    const auto bytes = read_file(path_of_header(task), kHeaderBytesMax);
    if (!bytes || bytes->size() < Hash32::size()) return;
    Reader in(*bytes);
    const kernels::ProgramHeader header = kernels::ProgramHeader::decode_from(in);
    if (in.hash() == header.root() && in.finish()) headers_[task] = header;
}

Status<> MessageStore::save_header(std::uint64_t task, const kernels::ProgramHeader& header) {
    const std::lock_guard lock(mutex_);
    const auto known = headers_.find(task);
    if (known != headers_.end() && known->second == header) return Unit{};
    Writer out;
    header.encode_to(out);
    out.hash(header.root());
    RETRACE_CHECK(write_durably(path_of_header(task), {out.data()}));
    headers_[task] = header;
    return Unit{};
}

std::optional<kernels::ProgramHeader> MessageStore::header(std::uint64_t task) const {
    const std::lock_guard lock(mutex_);
    const auto found = headers_.find(task);
    return found == headers_.end() ? std::nullopt : std::optional(found->second);
}

Status<> MessageStore::save(const MessageKey& key, const std::vector<Hash32>& roots,
                            const std::vector<kernels::Tensor>& tensors) {
    const std::lock_guard lock(mutex_);
    Roots made;
    for (std::uint32_t i = 0; i < roots.size(); ++i) made[i] = roots[i];
    const auto before = messages_.find(key);
    if (before != messages_.end()) {
        if (before->second == made) return Unit{};
        remove_files(key, before->second);
        messages_.erase(before);
    }
    FileBatch batch(directory_, roots.size());
    for (std::uint32_t i = 0; i < roots.size(); ++i)
        RETRACE_CHECK(batch.add(path_of(key, i, roots[i]).filename().string(), {transport_form(tensors.at(i))}));
    RETRACE_CHECK(batch.finish());
    for (const auto& [place, root] : made) places_.emplace(root, std::pair(key, place));
    messages_[key] = std::move(made);
    return Unit{};
}

bool MessageStore::has(const MessageKey& key, const std::vector<Hash32>& roots) const {
    const std::lock_guard lock(mutex_);
    const auto found = messages_.find(key);
    if (found == messages_.end() || found->second.size() != roots.size()) return false;
    for (std::uint32_t i = 0; i < roots.size(); ++i) {
        const auto at = found->second.find(i);
        if (at == found->second.end() || at->second != roots[i]) return false;
    }
    return true;
}

std::vector<std::vector<Hash32>> MessageStore::of_round(std::uint64_t task, std::uint32_t round) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::vector<Hash32>> out;
    for (auto at = messages_.lower_bound({task, round, 0}); at != messages_.end(); ++at) {
        if (at->first.task != task || at->first.round != round) break;
        if (at->first.run == kAnchorRun) continue;  // Shared tensors, no message.
        out.emplace_back();
        for (const auto& [place, root] : at->second) out.back().push_back(root);
    }
    return out;
}

std::optional<std::filesystem::path> MessageStore::find(const Hash32& root) const {
    const auto found = places_.find(root);
    if (found == places_.end()) return std::nullopt;
    const auto& [key, place] = found->second;
    return path_of(key, place, root);
}

Result<kernels::Tensor> MessageStore::tensor(const Hash32& root, const kernels::TensorRecord& record,
                                             kernels::ThreadPool& pool) const {
    const std::lock_guard lock(mutex_);
    const auto path = find(root);
    if (!path) return error("no message here has tensor " + to_hex(view(root)));
    return read_tensor(*path, root, record, pool).tensor;
}

Result<kernels::Tensor> MessageStore::tensor_of(const MessageKey& key, std::uint32_t place,
                                                const kernels::TensorRecord& record, kernels::ThreadPool& pool) {
    const std::lock_guard lock(mutex_);
    const auto found = messages_.find(key);
    const auto at = found != messages_.end() ? found->second.find(place) : Roots::const_iterator{};
    if (found == messages_.end() || at == found->second.end()) return error("message " + name_of(key) + " is not here");
    Read read = read_tensor(path_of(key, place, at->second), at->second, record, pool);
    if (read.damaged) {
        remove_files(key, found->second);
        messages_.erase(found);
    }
    return std::move(read.tensor);
}

std::optional<Bytes> MessageStore::piece(const std::vector<Hash32>& roots, std::uint64_t at,
                                         std::uint64_t count) const {
    const std::lock_guard lock(mutex_);
    Bytes out;
    for (const Hash32& root : roots) {
        const auto path = find(root);
        std::error_code code;
        const std::uint64_t size = path ? std::filesystem::file_size(*path, code) : 0;
        if (!path || code) return std::nullopt;
        const std::uint64_t skipped = std::min(at, size), taken = std::min(count - out.size(), size - skipped);
        at -= skipped;
        if (taken == 0) continue;
        const std::size_t before = out.size();
        out.resize(before + taken);
        std::ifstream file(*path, std::ios::binary);
        file.seekg(static_cast<std::streamoff>(skipped));
        file.read(reinterpret_cast<char*>(out.data() + before), static_cast<std::streamsize>(taken));
        if (!file) return std::nullopt;
    }
    return out;
}

Status<> MessageStore::save_holdings(const MessageKey& key, const Holdings& holdings) {
    const std::lock_guard lock(mutex_);
    const std::uint8_t extended[1] = {holdings.extended};
    RETRACE_CHECK(write_durably(path_of_holdings(key), {View(extended), holdings.bitmap}));
    stated_.insert(key);
    return Unit{};
}

std::optional<MessageStore::Holdings> MessageStore::holdings(const MessageKey& key) const {
    const std::lock_guard lock(mutex_);
    if (!stated_.contains(key)) return std::nullopt;
    auto bytes = read_file(path_of_holdings(key), kHoldingsBytesMax);
    if (!bytes || bytes->empty()) return std::nullopt;
    return Holdings{bytes->front() != 0, Bytes(bytes->begin() + 1, bytes->end())};
}

void MessageStore::remove_files(const MessageKey& key, const Roots& roots) {
    for (const auto& [place, root] : roots) {
        remove_file(path_of(key, place, root));
        const auto [begin, end] = places_.equal_range(root);
        const auto at =
            std::find_if(begin, end, [&, p = place](const auto& item) { return item.second == std::pair(key, p); });
        if (at != end) places_.erase(at);
    }
}

void MessageStore::remove(const MessageKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = messages_.find(key);
    if (found == messages_.end()) return;
    remove_files(key, found->second);
    messages_.erase(found);
}

void MessageStore::keep_from(std::uint64_t task, std::uint32_t round) {
    const std::lock_guard lock(mutex_);
    const auto is_old = [&](const MessageKey& key) { return key.task == task && key.round < round; };
    for (auto at = messages_.lower_bound({task, 0, 0}); at != messages_.end() && is_old(at->first);) {
        remove_files(at->first, at->second);
        at = messages_.erase(at);
    }
    for (auto at = stated_.lower_bound({task, 0, 0}); at != stated_.end() && is_old(*at);) {
        remove_file(path_of_holdings(*at));
        at = stated_.erase(at);
    }
    if (round == UINT32_MAX && headers_.erase(task) != 0) remove_file(path_of_header(task));
}

std::vector<std::uint64_t> MessageStore::tasks() const {
    const std::lock_guard lock(mutex_);
    std::set<std::uint64_t> out;
    for (const auto& [key, roots] : messages_) out.insert(key.task);
    for (const MessageKey& key : stated_) out.insert(key.task);
    for (const auto& [task, header] : headers_) out.insert(task);
    return {out.begin(), out.end()};
}

}  // namespace retrace::solver
