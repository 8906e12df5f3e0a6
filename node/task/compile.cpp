// SPDX-License-Identifier: MIT
#include "node/task/compile.hpp"

#include <algorithm>
#include <fstream>

#include "kernels/program/codec.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kEvalBatchMax = 500;

Status<> write_file(const fs::path& path, View bytes) {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    out.flush();
    if (!out) return error(path.string() + ": cannot be written");
    return Unit{};
}

/// Extents of one sample, and whether the two data sets agree about them.
Result<std::vector<std::uint64_t>> sample_shape(const DataSet& train, const DataSet* test) {
    const kernels::Tensor* x = train.find("x");
    if (x == nullptr || train.find("y") == nullptr || x->dims.size() < 2) {
        return error("the data set needs parts x [samples, …] and y [samples]");
    }
    if (train.classes < 2) return error("the data set has no classes");
    const std::vector<std::uint64_t> shape(x->dims.begin() + 1, x->dims.end());
    if (test != nullptr) {
        const kernels::Tensor* other = test->find("x");
        if (other == nullptr || other->dims.size() != x->dims.size() ||
            !std::equal(shape.begin(), shape.end(), other->dims.begin() + 1)) {
            return error("samples of the test data have another shape than those of the training data");
        }
    }
    return shape;
}

Status<> write_task(const TaskFile& task, const kernels::TrainingPrograms& programs, const DataSet& train,
                    const DataSet* test, const fs::path& folder) {
    RETRACE_CHECK(write_file(task.program, kernels::encode(programs.train)));
    RETRACE_CHECK(write_file(*task.initialiser, kernels::encode(programs.init)));
    RETRACE_CHECK(save_dataset(train, task.data));
    if (test != nullptr) {
        RETRACE_CHECK(write_file(*task.evaluation, kernels::encode(programs.eval)));
        RETRACE_CHECK(save_dataset(*test, *task.test_data));
    }
    return store_task_file(task, folder);
}

}  // namespace

Result<DataSet> open_data(const std::string& data, Split split, bool flat) {
    fs::path folder = data;
    if (data == "fashion-mnist") {
        RETRACE_TRY(found, fashion_mnist_folder());
        folder = found;
    }
    if (is_idx_folder(folder)) return load_idx_folder(folder, split, flat);
    return load_dataset(folder);
}

Result<TaskFile> compile_task(const CompileRequest& request, const DataSet& train, const DataSet* test) {
    std::error_code code;
    if (fs::exists(request.out, code) && !fs::is_empty(request.out, code)) {
        return error(request.out.string() + " exists and is not empty; choose another folder with -o");
    }
    kernels::ModelSpec model = request.model;
    RETRACE_TRY(shape, sample_shape(train, test));
    model.input = shape;
    model.classes = train.classes;
    kernels::TrainingSpec training = request.training;
    training.samples = train.samples();
    training.steps = request.task.steps;
    const std::uint64_t test_samples = test != nullptr ? test->samples() : 1;
    RETRACE_TRY(programs, kernels::build_training(model, training, test_samples,
                                                  std::min(test_samples, kEvalBatchMax)));

    const fs::path out = fs::absolute(request.out).lexically_normal();
    const fs::path draft = out.string() + ".partial";
    fs::remove_all(draft, code);
    if (!fs::create_directories(draft, code)) return error(draft.string() + ": " + code.message());
    TaskFile task = request.task;
    task.program = draft / "program.rtp";
    task.initialiser = draft / "init.rtp";
    task.data = draft / "data";
    if (test != nullptr) {
        task.evaluation = draft / "eval.rtp";
        task.test_data = draft / "test_data";
    }
    auto written = write_task(task, programs, train, test, draft);
    if (written) {
        fs::remove(out, code);  // Empty, or not there.
        fs::rename(draft, out, code);
        if (code) written = Status<>(error(out.string() + ": " + code.message()));
    }
    if (!written) {
        fs::remove_all(draft, code);
        return Unexpected{written.error()};
    }
    return load_task_file(out);
}

}  // namespace retrace::node
