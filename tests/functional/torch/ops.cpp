// SPDX-License-Identifier: MIT
#include "tests/functional/torch/ops.hpp"

namespace retrace::testing {
namespace {

using Models = std::vector<OpModel>;

const std::vector<std::int64_t> kRow{12}, kLine{4, 10}, kImage{4, 6, 7};

Models of_rows(const std::vector<std::pair<std::string, std::string>>& ops) {
    Models out;
    for (const auto& [name, body] : ops) out.push_back({name, "y = " + body, kRow, {}});
    return out;
}
Models of_images(const std::vector<std::pair<std::string, std::string>>& ops) {
    Models out;
    for (const auto& [name, body] : ops) out.push_back({name, "y = " + body, kImage, {}});
    return out;
}

Models activations() {
    return of_rows({
        {"relu", "torch.relu(y)"},
        {"leaky_relu", "torch.leaky_relu(y, 0.2)"},
        {"elu", "torch.elu(y, 1.3)"},
        {"celu", "torch.celu(y, 0.7)"},
        {"selu", "torch.selu(y)"},
        {"silu", "torch.silu(y)"},
        {"gelu", "torch.gelu(y)"},
        {"gelu_tanh", "torch.gelu(y, approximate=\"tanh\")"},
        {"softplus", "torch.softplus(y, 1.5, 20)"},
        {"softplus_low_threshold", "torch.softplus(y * 3.0, 2, 1)"},
        {"log_sigmoid", "torch.log_sigmoid(y)"},
        {"mish", "torch.mish(y)"},
        {"hardtanh", "torch.hardtanh(y, -0.8, 1.1)"},
        {"relu6", "torch.relu6(y * 4.0)"},
        {"hardsigmoid", "torch.hardsigmoid(y * 2.0)"},
        {"hardswish", "torch.hardswish(y * 2.0)"},
        {"hardshrink", "torch.hardshrink(y, 0.4)"},
        {"softshrink", "torch.softshrink(y, 0.4)"},
        {"threshold", "torch.threshold(y, 0.3, -2)"},
        {"glu", "torch.glu(y, 1)"},
        {"tanh", "torch.tanh(y)"},
        {"sigmoid", "torch.sigmoid(y)"},
        {"softmax", "torch.softmax(y, 1)"},
        {"log_softmax", "torch.log_softmax(y, -1)"},
        {"softsign", "y / (1.0 + torch.abs(y))"},
        {"tanhshrink", "y - torch.tanh(y)"},
        {"rrelu_mean", "torch.rrelu(y, 0.1, 0.3, False)"},
    });
}

Models functions() {
    return of_rows({
        {"exp", "torch.exp(y)"},
        {"log", "torch.log(y * y + 1.0)"},
        {"log1p", "torch.log1p(y * y)"},
        {"log1p_of_large_numbers", "torch.log1p(y * 0.0 + 1e37) * 0.01 + y"},
        {"cosine_similarity", "torch.cosine_similarity(y, y * y + 0.1, 1, 1e-8).reshape([3, 1]) * y"},
        {"expm1", "torch.expm1(y)"},
        {"log2", "torch.log2(y * y + 1.0)"},
        {"log10", "torch.log10(y * y + 1.0)"},
        {"sin", "torch.sin(y * 2.0)"},
        {"cos", "torch.cos(y * 2.0)"},
        {"erf", "torch.erf(y)"},
        {"erfc", "torch.erfc(y)"},
        {"sqrt", "torch.sqrt(y * y + 1.0)"},
        {"rsqrt", "torch.rsqrt(y * y + 1.0)"},
        {"reciprocal", "torch.reciprocal(y * y + 1.0)"},
        {"square", "torch.square(y)"},
        {"pow", "torch.pow(y, 3)"},
        {"sign", "y * torch.sign(y)"},
        {"abs", "torch.abs(y)"},
        {"neg", "torch.neg(y)"},
        {"sub", "torch.sub(y, y * y, alpha=0.5)"},
        {"rsub", "2.0 - y"},
        {"addcmul", "torch.addcmul(y, y, y, value=0.3)"},
        {"addcdiv", "torch.addcdiv(y, y, y * y + 1.0, value=0.3)"},
        {"lerp", "torch.lerp(y, y * y, 0.3)"},
        {"clamp", "torch.clamp(y, -0.5, 0.9)"},
        {"clamp_min", "torch.clamp_min(y, -0.5)"},
        {"clamp_max", "torch.clamp_max(y, 0.5)"},
        {"maximum", "torch.maximum(y, 1.0 - y)"},
        {"minimum", "torch.minimum(y, y * y)"},
        {"max_of_two", "torch.max(y, y * y)"},
        {"where", "torch.where(y > 0.2, y * 2.0, torch.exp(y))"},
        {"masked_fill", "y.masked_fill(y < 0.1, 0.7)"},
        {"logic", "torch.where((y > 0.2) & ~(y >= 1.0) | (y < -0.5), y * 2.0, y)"},
    });
}

Models reductions() {
    return of_images({
        {"sum", "torch.sum(y, [1, 3])"},
        {"sum_of_all_but_batch", "torch.sum(y, [1, 2, 3], keepdim=True)"},
        {"mean", "torch.mean(y, [-1], keepdim=True)"},
        {"var", "torch.var(y, [1, 2], unbiased=False)"},
        {"var_unbiased", "torch.var(y, [2, 3], unbiased=True, keepdim=True)"},
        {"var_correction", "torch.var(y, [3], correction=2)"},
        {"std", "torch.std(y, [1])"},
        {"norm", "torch.norm(y, 2, [1])"},
        {"norm_one", "torch.norm(y, 1, [2, 3])"},
        {"vector_norm", "torch.linalg_vector_norm(y, 2., [3])"},
        {"normalised", "y / torch.clamp_min(torch.norm(y, 2, [1], True), 1e-12)"},
        {"amax", "torch.amax(y, [2, 3])"},
        {"amin", "torch.amin(y, [1], keepdim=True)"},
        {"max_along", "torch.max(y, 1)[0]"},
        {"min_along", "torch.min(y, 3, keepdim=True)[0]"},
        {"argmax_of_zeros", "y * (1.0 + torch.argmax(y * 0.0, 1, True).float())"},
        {"argmin_of_zeros", "y * (1.0 + torch.argmin(y * 0.0, 1, True).float())"},
        {"max_of_zeros", "y * (1.0 + torch.max(y * 0.0, 1, True)[1].float())"},
        {"min_of_zeros", "y * (1.0 + torch.min(y * 0.0, 1, True)[1].float())"},
        {"argmax_mask", "torch.where(torch.eq(torch.argmax(y, 1, keepdim=True), 2), y, y * 0.5)"},
        {"logsumexp", "torch.logsumexp(y, [2, 3])"},
    });
}

Models with_statistics() {
    return {
        {"var_mean", "a, b = torch.var_mean(y, [2, 3], unbiased=False)\ny = a * 2.0 + b", kImage, {}},
        {"std_mean", "a, b = torch.std_mean(y, [1])\ny = a * 2.0 + b", kImage, {}},
        {"max_of_everything", "y = y / torch.max(y)", kRow, {}},
        {"min_of_everything", "y = y / torch.min(y)", kRow, {}},
        {"std_of_everything", "y = y / torch.std(y)", kRow, {}},
    };
}

Models shapes() {
    Models out = of_images({
        {"repeat", "y.repeat([1, 2, 1, 3])"},
        {"repeat_new_axis", "y.repeat([2, 1, 1, 1, 1]).transpose(0, 1)"},
        {"tile", "torch.tile(y, [1, 1, 2])"},
        {"repeat_interleave", "torch.repeat_interleave(y, 2, dim=2)"},
        {"roll", "torch.roll(y, [2, -1], [2, 3])"},
        {"roll_all", "torch.roll(y.flatten(1), 3, 1)"},
        {"flip", "torch.flip(y, [1, 3])"},
        {"index_select", "torch.index_select(y, 3, torch.tensor([5, 0, 0, 2]))"},
        {"slice_step", "y[:, 1::2, :, ::3]"},
        {"slice", "y[:, 1:3, -2:]"},
        {"select", "y[:, 1]"},
        {"cat", "torch.cat([y, y * y, y], 2)"},
        {"stack", "torch.stack([y, y * y], 1)"},
        {"split", "torch.split(y, 4, 3)[1]"},
        {"split_sizes", "torch.split(y, [2, 5], 3)[1]"},
        {"chunk", "torch.chunk(y, 2, 1)[1]"},
        {"unbind", "torch.unbind(y, 2)[3]"},
        {"permute", "y.permute([0, 3, 1, 2])"},
        {"movedim", "torch.movedim(y, 1, 3)"},
        {"expand", "y[:, :1].expand([-1, 5, -1, -1]) * 2.0"},
        {"unflatten", "y.view([y.size(0), 2, 2, 6, 7])"},
        {"pixel_shuffle", "torch.pixel_shuffle(y, 2)"},
        {"pixel_unshuffle", "torch.pixel_unshuffle(y[:, :, :, :6], 3)"},
        {"triu", "torch.triu(y, 1)"},
        {"tril", "torch.tril(y, -1)"},
        {"constant_pad", "torch.constant_pad_nd(y, [1, 2, 0, 1], 0.5)"},
        {"reflection_pad", "torch.reflection_pad2d(y, [2, 1, 3, 0])"},
        {"replication_pad", "torch.replication_pad2d(y, [2, 1, 3, 0])"},
        {"circular_pad", "torch._pad_circular(y, [2, 1, 3, 0])"},
        {"zeros_like", "y + torch.zeros_like(y) + torch.ones_like(y) + torch.full_like(y, 2)"},
        {"einsum", "torch.einsum(\"bchw,bdhw->bcd\", [y, y * y])"},
        {"upsample_nearest", "torch.upsample_nearest2d(y, [12, 10], None)"},
        {"upsample_nearest_by_factor", "torch.upsample_nearest2d(y, None, [2.0, 3.0])"},
        {"upsample_bilinear_by_factor", "torch.upsample_bilinear2d(y, None, False, [2.0, 2.0])"},
        {"upsample_bilinear", "torch.upsample_bilinear2d(y, [9, 14], False, None)"},
        {"upsample_bilinear_corners", "torch.upsample_bilinear2d(y, [9, 14], True, None)"},
    });
    out.push_back({"reflection_pad_line", "y = torch.reflection_pad1d(y, [3, 2])", kLine, {}});
    out.push_back({"upsample_nearest_rounds_as_PyTorch", "y = torch.upsample_nearest1d(y, [410])", kLine, {}});
    out.push_back({"upsample_nearest_uneven_factor", "y = torch.upsample_nearest1d(y, None, [2.7])", kLine, {}});
    out.push_back({"upsample_linear", "y = torch.upsample_linear1d(y, [25], False, None)", kLine, {}});
    return out;
}

Models convolutions() {
    const auto conv = [](const std::string& name, const std::string& body, std::vector<std::int64_t> weight,
                         std::vector<std::int64_t> bias) {
        return OpModel{name, "y = torch." + body, kImage, {{"w", std::move(weight)}, {"b", std::move(bias)}}};
    };
    Models out{
        conv("conv2d", "conv2d(y, self.w, self.b, [2, 1], [1, 0], [1, 1], 1)", {6, 4, 3, 3}, {6}),
        conv("conv_dilated", "conv2d(y, self.w, self.b, [1, 2], [2, 1], [2, 3], 1)", {6, 4, 3, 2}, {6}),
        conv("conv_same", "conv2d(y, self.w, self.b, [1, 1], \"same\", [2, 1], 1)", {5, 4, 3, 3}, {5}),
        conv("conv_grouped", "conv2d(y, self.w, self.b, [1, 1], [1, 1], [1, 1], 2)", {6, 2, 3, 3}, {6}),
        conv("conv_by_channel", "conv2d(y, self.w, self.b, [1, 2], [1, 1], [1, 1], 4)", {4, 1, 3, 3}, {4}),
        conv("conv_transposed", "conv_transpose2d(y, self.w, self.b, [1, 1], [0, 0], [0, 0], 1, [1, 1])", {4, 6, 3, 3},
             {6}),
        conv("conv_transposed_stride", "conv_transpose2d(y, self.w, self.b, [2, 3], [1, 1], [1, 0], 1, [1, 2])",
             {4, 6, 3, 3}, {6}),
        conv("conv_transposed_cut", "conv_transpose2d(y, self.w, self.b, [2, 2], [2, 1], [0, 0], 1, [1, 1])",
             {4, 6, 2, 2}, {6}),
        conv("conv_transposed_grouped", "conv_transpose2d(y, self.w, self.b, [2, 2], [1, 1], [1, 1], 2, [1, 1])",
             {4, 3, 3, 3}, {6}),
    };
    out.push_back({"conv1d", "y = torch.conv1d(y, self.w, None, [2], [1], [2], 1)", kLine, {{"w", {6, 4, 3}}}});
    out.push_back({"conv1d_transposed",
                   "y = torch.conv_transpose1d(y, self.w, None, [2], [1], [1], 1, [1])",
                   kLine,
                   {{"w", {4, 6, 3}}}});
    return out;
}

Models pools() {
    Models out = of_images({
        {"max_pool", "torch.max_pool2d(y, [2, 3], [2, 1], [1, 1], [1, 1], False)"},
        {"max_pool_ceil", "torch.max_pool2d(y, [2, 2], [2, 2], [0, 0], [1, 1], True)"},
        {"max_pool_of_zeros",
         "torch.max_pool2d((y - y.detach()) * torch.sign(y), [2, 2], [2, 2], [0, 0], [1, 1], False)"},
        {"max_pool_alone", "torch.max_pool2d_with_indices(y, [2, 2], [2, 2], [0, 0], [1, 1], False)[0]"},
        {"avg_pool", "torch.avg_pool2d(y, [2, 2], [2, 2], [0, 0], False, True, None)"},
        {"avg_pool_padded", "torch.avg_pool2d(y, [3, 3], [2, 2], [1, 1], False, False, None)"},
        {"avg_pool_padded_counted", "torch.avg_pool2d(y, [3, 3], [2, 2], [1, 1], False, True, None)"},
        {"avg_pool_ceil", "torch.avg_pool2d(y, [2, 2], [2, 2], [0, 0], True, True, None)"},
        {"avg_pool_ceil_padded", "torch.avg_pool2d(y, [3, 3], [2, 2], [1, 1], True, True, None)"},
        {"adaptive_pool", "torch.adaptive_avg_pool2d(y, [1, 1])"},
        {"adaptive_pool_even", "torch.adaptive_avg_pool2d(y, [3, 7])"},
        {"adaptive_pool_uneven", "torch.adaptive_avg_pool2d(y, [4, 3])"},
        {"adaptive_max_pool", "torch.adaptive_max_pool2d(y, [2, 1])[0]"},
    });
    out.push_back({"max_pool_line", "y = torch.max_pool1d(y, [3], [2], [1], [1], False)", kLine, {}});
    out.push_back({"avg_pool_line", "y = torch.avg_pool1d(y, [3], [2], [1], True, False)", kLine, {}});
    out.push_back({"adaptive_pool_line", "y = torch.adaptive_avg_pool1d(y, [4])", kLine, {}});
    return out;
}

Models norms() {
    return {
        {"group_norm", "y = torch.group_norm(y, 2, self.w, self.b, 1e-5, True)", kImage, {{"w", {4}}, {"b", {4}}}},
        {"layer_norm",
         "y = torch.layer_norm(y, [6, 7], self.w, self.b, 1e-5, True)",
         kImage,
         {{"w", {6, 7}}, {"b", {6, 7}}}},
        {"instance_norm",
         "y = torch.instance_norm(y, self.w, self.b, None, None, True, 0.1, 1e-5, True)",
         kImage,
         {{"w", {4}}, {"b", {4}}}},
        {"batch_norm",
         "y = torch.batch_norm(y, self.w, self.b, None, None, True, 0.1, 1e-5, True)",
         kImage,
         {{"w", {4}}, {"b", {4}}}},
        {"prelu", "y = torch.prelu(y, self.w)", kImage, {{"w", {4}}}},
        {"prelu_one", "y = torch.prelu(y, self.w)", kImage, {{"w", {1}}}},
        {"no_dropout", "y = torch.feature_dropout(torch.dropout(y, 0.0, True), 0.0, True)", kImage, {}},
    };
}

Models products() {
    return {
        {"linear", "y = torch.linear(y, self.w, self.b)", kRow, {{"w", {7, 12}}, {"b", {7}}}},
        {"matmul_vector", "y = torch.matmul(y, self.w)", kLine, {{"w", {10}}}},
        {"vector_matmul", "y = torch.matmul(self.w, y)", kLine, {{"w", {4}}}},
        {"bmm", "y = torch.bmm(y, y.transpose(1, 2))", kLine, {}},
        {"addmm", "y = torch.addmm(self.b, y, self.w, beta=0.5, alpha=2.0)", kRow, {{"w", {12, 7}}, {"b", {7}}}},
        {"baddbmm", "y = torch.baddbmm(self.b, y, y.transpose(1, 2), beta=0.5, alpha=0.25)", kLine, {{"b", {3, 4, 4}}}},
        {"triangular_sum", "y = torch.matmul(y, torch.triu(torch.ones([12, 12])))", kRow, {}},
    };
}

OpModel recurrent(const std::string& name, const std::string& body, std::int64_t gates, int layers, int ways,
                  bool biased) {
    constexpr std::int64_t kWidth = 5;
    OpModel out{name, "", {6, 4}, {}};
    std::string list;
    for (int layer = 0; layer < layers; ++layer) {
        for (int way = 0; way < ways; ++way) {
            const std::string end = std::to_string(layer) + std::to_string(way);
            const std::int64_t in = layer == 0 ? 4 : ways * kWidth;
            out.weights.push_back({"wi" + end, {gates * kWidth, in}});
            out.weights.push_back({"wh" + end, {gates * kWidth, kWidth}});
            list += (list.empty() ? "self.wi" : ", self.wi") + end + ", self.wh" + end;
            if (!biased) continue;
            out.weights.push_back({"bi" + end, {gates * kWidth}});
            out.weights.push_back({"bh" + end, {gates * kWidth}});
            list += ", self.bi" + end + ", self.bh" + end;
        }
    }
    const std::string states = std::to_string(layers * ways);
    out.body = "s = torch.zeros([" + states + ", y.size(0), 5])\nw = [" + list + "]\n" + body;
    return out;
}

Models recurrent_nets() {
    return {
        recurrent("lstm", "y, h, c = torch.lstm(y, [s, s], w, True, 1, 0.0, self.training, False, True)", 4, 1, 1,
                  true),
        recurrent("lstm_deep_both_ways",
                  "y, h, c = torch.lstm(y, [s, s], w, True, 2, 0.0, self.training, True, True)\n"
                  "y = torch.cat([y.flatten(1), h.transpose(0, 1).flatten(1), c.transpose(0, 1).flatten(1)], 1)",
                  4, 2, 2, true),
        recurrent("gru", "y, h = torch.gru(y, s, w, True, 1, 0.0, self.training, False, True)\ny = h[0]", 3, 1, 1,
                  true),
        recurrent("gru_without_bias", "y, h = torch.gru(y, s, w, False, 2, 0.0, self.training, False, True)", 3, 2, 1,
                  false),
        recurrent("rnn_tanh", "y, h = torch.rnn_tanh(y, s, w, True, 1, 0.0, self.training, True, True)", 1, 1, 2, true),
        recurrent("rnn_relu", "y, h = torch.rnn_relu(y, s, w, True, 1, 0.0, self.training, False, True)", 1, 1, 1,
                  true),
        recurrent("lstm_cell",
                  "h = s[0]\nc = s[0]\nfor i in range(6):\n"
                  "    h, c = torch.lstm_cell(y[:, i], [h, c], self.wi00, self.wh00, self.bi00, "
                  "self.bh00)\ny = h + c",
                  4, 1, 1, true),
        recurrent("gru_cell",
                  "h = s[0]\nfor i in range(6):\n"
                  "    h = torch.gru_cell(y[:, i], h, self.wi00, self.wh00, self.bi00, self.bh00)\ny = h",
                  3, 1, 1, true),
    };
}

}  // namespace

std::vector<OpModel> op_models() {
    Models out;
    for (const auto family : {activations, functions, reductions, with_statistics, shapes, convolutions, pools, norms,
                              products, recurrent_nets}) {
        for (OpModel& model : family()) out.push_back(std::move(model));
    }
    return out;
}

}  // namespace retrace::testing
