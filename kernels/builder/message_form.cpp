// SPDX-License-Identifier: MIT
#include "kernels/builder/message_form.hpp"

#include "kernels/builder/compose.hpp"

namespace retrace::kernels {
namespace {

class DenseForm final : public MessageForm {
public:
    explicit DenseForm(std::uint64_t rows) : rows_(rows) {}
    std::vector<MessagePart> parts() const override {
        return {{"rounds.changes", DType::f32, {rows_, kRowOfParameters}}};
    }
    Value added(Graph& g, Value base, const std::vector<Value>& message) const override {
        return add(g, base, message[0]);
    }
    Value taken(Graph& g, Value base, const std::vector<Value>& message) const override {
        return sub(g, base, message[0]);
    }
    std::vector<Value> message_of(Graph&, Value changes) const override { return {changes}; }

private:
    std::uint64_t rows_;
};

}  // namespace

std::unique_ptr<MessageForm> dense_form(std::uint64_t rows) { return std::make_unique<DenseForm>(rows); }

}  // namespace retrace::kernels
