// SPDX-License-Identifier: MIT
#include "node/tasks/data/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

namespace retrace::node {
namespace {

constexpr std::size_t kGzipChunk = std::size_t{1} << 20;
constexpr int kRaw = -MAX_WBITS, kGzip = MAX_WBITS + 16;  // zlib's codes for the framing of a stream.

/// Ends the stream when it goes out of scope.
struct Inflater {
    z_stream stream{};
    bool ready = false;
    explicit Inflater(int window_bits) { ready = inflateInit2(&stream, window_bits) == Z_OK; }
    ~Inflater() {
        if (ready) inflateEnd(&stream);
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;
};

Result<Bytes> inflate_all(View in, int window_bits, std::size_t limit) {
    Inflater inflater(window_bits);
    if (!inflater.ready) return error("zlib is out of memory");
    z_stream& stream = inflater.stream;
    Bytes out;
    int code = Z_OK;
    while (code != Z_STREAM_END) {
        if (stream.avail_in == 0 && !in.empty()) {
            const std::size_t piece = std::min<std::size_t>(in.size(), std::numeric_limits<uInt>::max());
            stream.next_in = const_cast<Bytef*>(in.data());  // zlib does not write to it.
            stream.avail_in = static_cast<uInt>(piece);
            in = in.subspan(piece);
        }
        // One byte of room above the limit distinguishes a stream that ends at the limit from a longer one.
        const std::size_t used = out.size(), room = std::min(kGzipChunk, limit - used + 1);
        out.resize(used + room);
        stream.next_out = out.data() + used;
        stream.avail_out = static_cast<uInt>(room);
        code = inflate(&stream, Z_NO_FLUSH);
        out.resize(out.size() - stream.avail_out);
        if (out.size() > limit) return error("unpacks to more than " + std::to_string(limit) + " bytes");
        if (code == Z_BUF_ERROR) return error("the compressed data is cut off");
        if (code != Z_OK && code != Z_STREAM_END) return error("the compressed data is damaged");
    }
    if (stream.avail_in > 0 || !in.empty()) return error("bytes are left after the compressed data");
    return out;
}

}  // namespace

bool is_gzip(View bytes) noexcept { return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b; }

Result<Bytes> gunzip(View file, std::size_t limit) { return inflate_all(file, kGzip, limit); }

Result<Bytes> inflate_raw(View stream, std::size_t size) {
    RETRACE_TRY(out, inflate_all(stream, kRaw, size));
    if (out.size() != size) return error("unpacks to fewer bytes than the archive says");
    return out;
}

std::uint32_t crc32_of(View bytes) noexcept {
    return static_cast<std::uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

}  // namespace retrace::node
