// SPDX-License-Identifier: MIT
#include "node/tasks/data/images.hpp"

#include <jpeglib.h>
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <string>

namespace retrace::node {
namespace {

Status<> check_size(std::uint64_t width, std::uint64_t height) {
    if (width == 0 || height == 0 || width > kImageSideMax || height > kImageSideMax) {
        return error("an image of " + std::to_string(width) + "x" + std::to_string(height) +
                     " pixels; 1 to 4096 a side");
    }
    return Unit{};
}

Result<Image> decode_png(View file, std::uint32_t channels) {
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    const auto failed = [&] {
        const std::string message = png.message;
        png_image_free(&png);
        return error("not a readable PNG file: " + message);
    };
    if (!png_image_begin_read_from_memory(&png, file.data(), file.size())) return failed();
    if (const auto size = check_size(png.width, png.height); !size) {
        png_image_free(&png);
        return Unexpected{size.error()};
    }
    if (channels == 0) channels = png.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
    png.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    Image out{png.width, png.height, channels, Bytes(PNG_IMAGE_SIZE(png))};
    const png_color black{0, 0, 0};
    if (!png_image_finish_read(&png, &black, out.pixels.data(), 0, nullptr)) return failed();
    if (png.warning_or_error != 0) return failed();
    return out;
}

struct JpegErrors {
    jpeg_error_mgr base;
    std::jmp_buf escape;
    char message[JMSG_LENGTH_MAX];
};

// libjpeg reports errors through a function that must not return, and a damaged file only through warnings. Both end
// the decoding here.
[[noreturn]] void leave(j_common_ptr decoder) {
    auto* const errors = reinterpret_cast<JpegErrors*>(decoder->err);
    errors->base.format_message(decoder, errors->message);
    std::longjmp(errors->escape, 1);
}
void leave_on_warning(j_common_ptr decoder, int level) {
    if (level < 0) leave(decoder);
}

/// No object with a destructor lives in a frame that longjmp leaves: `out` belongs to the caller.
bool read_jpeg(View file, std::uint32_t channels, jpeg_decompress_struct& decoder, JpegErrors& errors, Image& out) {
    if (setjmp(errors.escape) != 0) return false;
    jpeg_create_decompress(&decoder);
    jpeg_mem_src(&decoder, file.data(), file.size());
    jpeg_read_header(&decoder, TRUE);
    out.width = decoder.image_width;
    out.height = decoder.image_height;
    if (out.width > kImageSideMax || out.height > kImageSideMax) return true;
    out.channels = channels != 0 ? channels : decoder.num_components == 1 ? 1 : 3;
    decoder.out_color_space = out.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    decoder.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&decoder);
    const std::size_t line = std::size_t{out.width} * out.channels;
    out.pixels.resize(line * out.height);
    while (decoder.output_scanline < decoder.output_height) {
        JSAMPROW row = out.pixels.data() + line * decoder.output_scanline;
        jpeg_read_scanlines(&decoder, &row, 1);
    }
    jpeg_finish_decompress(&decoder);
    return true;
}

Result<Image> decode_jpeg(View file, std::uint32_t channels) {
    jpeg_decompress_struct decoder{};
    JpegErrors errors{};
    decoder.err = jpeg_std_error(&errors.base);
    errors.base.error_exit = leave;
    errors.base.emit_message = leave_on_warning;
    Image out;
    const bool done = read_jpeg(file, channels, decoder, errors, out);
    jpeg_destroy_decompress(&decoder);
    if (!done) return error("not a readable JPEG file: " + std::string(errors.message));
    RETRACE_CHECK(check_size(out.width, out.height));
    return out;
}

}  // namespace

Result<Image> decode_image(View file, std::uint32_t channels) {
    if (file.size() >= 8 && file[0] == 0x89 && file[1] == 'P') return decode_png(file, channels);
    if (file.size() >= 3 && file[0] == 0xff && file[1] == 0xd8) return decode_jpeg(file, channels);
    return error("neither a PNG nor a JPEG file");
}

}  // namespace retrace::node
