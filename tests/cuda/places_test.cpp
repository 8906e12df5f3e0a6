// SPDX-License-Identifier: MIT
// Steps on the emulated device that update rows of their state in place, and random words of their step.
#include <gmock/gmock.h>

#include "kernels/builder/tensor_ops.hpp"
#include "kernels/cuda/executor.hpp"
#include "tests/cuda/emulation/cuda.hpp"
#include "tests/cuda/emulation/device.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels::cuda {
namespace {

/// A compressed update of `anchor`, the rest of it, a table whose rows are replaced, and words that add up.
Program updates() {
    Graph g;
    const Value anchor = g.state("anchor", DType::f32, {6, 40}), rest = g.state("rest", DType::f32, {6, 40});
    const Value table = g.state("table", DType::i32, {9, 5}), rows = g.state("rows", DType::i32, {12, 5});
    const Value index = g.state("index", DType::i32, {12}), key = g.state("key", DType::i32, {8});
    const Value sum = g.state("sum", DType::i32, {7, 9});
    const Value places = row_top(g, rest, 5), values = row_pick(g, rest, places);
    g.set_next(anchor, row_add_at(g, anchor, places, values));
    g.set_next(rest, row_add_at(g, rest, places, g.op(OpCode::neg, {values})));
    g.set_next(table, put_rows(g, table, rows, index));
    g.set_next(sum, add_wrap(g, sum, chacha_bits(g, key, 4, {7, 9})));
    return *g.build();
}

TEST(DevicePlaces, UpdatesInPlaceHaveTheBitsOfTheReference) {
    const Program program = updates();
    ThreadPool pool(1);
    for (const auto order : {emulation::Order::ascending, emulation::Order::descending}) {
        emulation::settings = {80, order, 3};
        emulation::device = {};
        for (const testing::Data data : {testing::Data::bell, testing::Data::special}) {
            State expected = testing::random_state(program, data, 3);
            const auto device = DeviceExecutor::create(program);
            ASSERT_TRUE(device) << device.error().message;
            ASSERT_TRUE((*device)->load(expected, {}));
            State found = expected;
            for (int step = 0; step < 4; ++step) {
                Executor(program, pool, Backend::reference).step(expected, {});
                ASSERT_TRUE((*device)->step());
                ASSERT_TRUE((*device)->store(found));
                ASSERT_EQ(found, expected) << "step " << step;
            }
        }
    }
    emulation::settings = {};
    emulation::device = {};
}

}  // namespace
}  // namespace retrace::kernels::cuda
