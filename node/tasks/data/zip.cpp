// SPDX-License-Identifier: MIT
#include "node/tasks/data/zip.hpp"

#include <algorithm>

#include "node/tasks/data/gzip.hpp"

namespace retrace::node {
namespace {

// APPNOTE.TXT of the ZIP format, sections 4.3.7, 4.3.12 and 4.3.16.
constexpr std::uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEndRecord = 0x06054b50;
constexpr std::size_t kLocalBytes = 30, kCentralBytes = 46, kEndBytes = 22;
constexpr std::size_t kMembersMax = 64, kNameMax = 200, kCommentMax = 65535;

struct Entry {
    std::uint16_t flags = 0, method = 0;
    std::uint32_t crc = 0, packed = 0, size = 0, offset = 0;
    std::string name;
};

Unexpected<Error> damaged() { return error("the ZIP archive is damaged"); }

/// Position of the end record: the last one whose comment reaches exactly to the end of the file.
Result<std::size_t> find_end(View file) {
    if (file.size() < kEndBytes) return error("not a ZIP archive");
    const std::size_t last = file.size() - kEndBytes;
    const std::size_t first = last > kCommentMax ? last - kCommentMax : 0;
    for (std::size_t at = last + 1; at-- > first;) {
        if (load_u32(file.data() + at) == kEndRecord &&
            at + kEndBytes + load_u16(file.data() + at + 20) == file.size()) {
            return at;
        }
    }
    return error("not a ZIP archive");
}

Result<std::vector<Entry>> read_directory(View file) {
    RETRACE_TRY(end, find_end(file));
    const std::size_t count = load_u16(file.data() + end + 10);
    std::size_t at = load_u32(file.data() + end + 16);
    if (count > kMembersMax) return error("the ZIP archive has more than 64 members");
    std::vector<Entry> out;
    for (std::size_t i = 0; i < count; ++i) {
        if (at > end || end - at < kCentralBytes || load_u32(file.data() + at) != kCentralHeader) return damaged();
        const std::uint8_t* const p = file.data() + at;
        const std::size_t name = load_u16(p + 28), extra = load_u16(p + 30), comment = load_u16(p + 32);
        if (name > kNameMax || end - at - kCentralBytes < name + extra + comment) return damaged();
        out.push_back({load_u16(p + 8), load_u16(p + 10), load_u32(p + 16), load_u32(p + 20), load_u32(p + 24),
                       load_u32(p + 42), std::string(reinterpret_cast<const char*>(p) + kCentralBytes, name)});
        at += kCentralBytes + name + extra + comment;
    }
    return out;
}

Result<Bytes> unpack(View file, const Entry& entry) {
    if (entry.flags & 1) return error("the member " + entry.name + " is encrypted");
    if (entry.offset > file.size() || file.size() - entry.offset < kLocalBytes) return damaged();
    const std::uint8_t* const p = file.data() + entry.offset;
    if (load_u32(p) != kLocalHeader) return damaged();
    const View rest = file.subspan(entry.offset + kLocalBytes);
    const std::size_t head = std::size_t{load_u16(p + 26)} + load_u16(p + 28);
    if (rest.size() < head || rest.size() - head < entry.packed) return damaged();
    const View packed = rest.subspan(head, entry.packed);
    Bytes out;
    if (entry.method == 0) {
        if (entry.packed != entry.size) return damaged();
        out = to_bytes(packed);
    } else if (entry.method == 8) {
        RETRACE_TRY(inflated, inflate_raw(packed, entry.size));
        out = std::move(inflated);
    } else {
        return error("the member " + entry.name + " is packed by method " + std::to_string(entry.method));
    }
    if (crc32_of(out) != entry.crc) return error("the member " + entry.name + " has a wrong checksum");
    return out;
}

}  // namespace

Result<std::vector<ZipMember>> read_zip(View file, std::uint64_t limit) {
    RETRACE_TRY(entries, read_directory(file));
    std::uint64_t total = 0;
    for (const Entry& entry : entries) total += entry.size;
    if (total > limit) return error("the ZIP archive unpacks to more than " + std::to_string(limit) + " bytes");
    std::vector<ZipMember> out;
    for (const Entry& entry : entries) {
        RETRACE_TRY(data, unpack(file, entry));
        out.push_back({entry.name, std::move(data)});
    }
    return out;
}

}  // namespace retrace::node
