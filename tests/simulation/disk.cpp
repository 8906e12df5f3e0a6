// SPDX-License-Identifier: MIT
#include "tests/simulation/disk.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <vector>

#include "solver/checkpoints/file_batch.hpp"

namespace retrace::sim {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, View bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

struct Change {
    fs::path path;
    std::optional<Bytes> now, before;
    /// Order of the write: tensors, then the manifests that name them, then the removal of unreferenced files.
    int turn() const { return !now ? 2 : path.extension() == ".state" ? 1 : 0; }
};

}  // namespace

DiskImage image_of(const fs::path& folder) {
    DiskImage image;
    std::error_code failure;
    for (fs::recursive_directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
        if (!it->is_regular_file()) continue;
        std::ifstream in(it->path(), std::ios::binary);
        image[it->path()] = Bytes(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return image;
}

void tear(const fs::path& folder, const DiskImage& before, Random& random) {
    const DiskImage now = image_of(folder);
    std::vector<Change> changes;
    for (const auto& [path, bytes] : now) {
        const auto old = before.find(path);
        if (old == before.end())
            changes.push_back({path, bytes, std::nullopt});
        else if (old->second != bytes)
            changes.push_back({path, bytes, old->second});
    }
    for (const auto& [path, bytes] : before) {
        if (now.count(path) == 0) changes.push_back({path, std::nullopt, bytes});
    }
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) { return a.turn() < b.turn(); });
    const std::size_t done = random.below(changes.size() + 1);
    for (std::size_t i = done; i < changes.size(); ++i) {
        const Change& change = changes[i];
        if (change.before)
            write(change.path, *change.before);
        else
            fs::remove(change.path);
        if (i != done || !change.now) continue;
        fs::path aside = change.path;
        aside += kUnfinished;
        write(aside, View(*change.now).first(random.below(change.now->size() + 1)));
    }
}

}  // namespace retrace::sim
