// SPDX-License-Identifier: MIT
// Rows by index: batches, embeddings. Their gradient: scatter_rows.cu.
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"

namespace retrace::kernels::cuda {
namespace {

template <class T>
__global__ void gather_kernel(const T* table, const std::int32_t* index, T* out, std::uint64_t table_rows,
                              std::uint64_t elements, std::uint64_t width) {
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    const std::int64_t row = index[element / width];
    const bool inside = row >= 0 && static_cast<std::uint64_t>(row) < table_rows;
    out[element] = inside ? table[static_cast<std::uint64_t>(row) * width + element % width] : T{0};
}

template <class T>
__global__ void copy_kernel(const T* from, T* to, std::uint64_t elements) {
    const std::uint64_t element = global_thread();
    if (element < elements) to[element] = from[element];
}

/// Writes an element of a row unless a later row has the same index.
template <class T>
__global__ void put_kernel(const T* rows, const std::int32_t* index, T* out, std::uint64_t table_rows, std::uint64_t m,
                           std::uint64_t elements, std::uint64_t width) {
    const std::uint64_t element = global_thread();
    if (element >= elements) return;
    const std::uint64_t i = element / width;
    const std::int64_t row = index[i];
    if (row < 0 || static_cast<std::uint64_t>(row) >= table_rows) return;
    for (std::uint64_t later = i + 1; later < m; ++later) {
        if (index[later] == row) return;
    }
    out[static_cast<std::uint64_t>(row) * width + element % width] = rows[element];
}

template <class T>
void put_rows(Stream stream, const std::uint8_t* table, const std::uint8_t* rows, const std::int32_t* index,
              std::uint8_t* out, std::uint64_t table_rows, std::uint64_t m, std::uint64_t width) {
    const std::uint64_t elements = table_rows * width;
    T* const to = reinterpret_cast<T*>(out);
    if (out != table) {
        launch(stream, grid_for(elements), copy_kernel<T>, reinterpret_cast<const T*>(table), to, elements);
    }
    launch(stream, grid_for(m * width), put_kernel<T>, reinterpret_cast<const T*>(rows), index, to, table_rows, m,
           m * width, width);
}

}  // namespace

void gather_rows_on_device(Stream stream, std::uint32_t size, const std::uint8_t* table, const std::int32_t* index,
                           std::uint8_t* out, std::uint64_t table_rows, std::uint64_t m, std::uint64_t width) {
    const std::uint64_t elements = m * width;
    if (size == 1) {
        launch(stream, grid_for(elements), gather_kernel<std::uint8_t>, table, index, out, table_rows, elements, width);
    } else {
        launch(stream, grid_for(elements), gather_kernel<std::uint32_t>, reinterpret_cast<const std::uint32_t*>(table),
               index, reinterpret_cast<std::uint32_t*>(out), table_rows, elements, width);
    }
}

void put_rows_on_device(Stream stream, std::uint32_t size, const std::uint8_t* table, const std::uint8_t* rows,
                        const std::int32_t* index, std::uint8_t* out, std::uint64_t table_rows, std::uint64_t m,
                        std::uint64_t width) {
    const auto put = size == 1 ? put_rows<std::uint8_t> : put_rows<std::uint32_t>;
    put(stream, table, rows, index, out, table_rows, m, width);
}

}  // namespace retrace::kernels::cuda
