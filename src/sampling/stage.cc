#include "rill/logits_processor.h"

#include "base/error.h"

namespace rill {

ChainStage::~ChainStage() = default;
Result<void> ChainStage::observe(std::span<const Token>) { return {}; }
Result<void> ChainStage::accept(Token) { return {}; }
void ChainStage::rollback(std::size_t) {}
Result<std::vector<std::byte>> ChainStage::save_state() const {
  return make_error(ErrorCode::unsupported, "its state cannot be saved: it does not override save_state()");
}
Result<void> ChainStage::restore_state(std::span<const std::byte>) {
  return make_error(ErrorCode::unsupported, "its state cannot be restored: it does not override restore_state()");
}

LogitsProcessor::~LogitsProcessor() = default;
Result<std::vector<Token>> LogitsProcessor::forced() { return std::vector<Token>(); }
bool LogitsProcessor::allow(TokenSet&) { return false; }
Result<void> LogitsProcessor::process(Candidates&, Draws&) { return {}; }
Result<void> LogitsProcessor::inspect(std::span<const float>) { return {}; }

TokenSampler::~TokenSampler() = default;

}  // namespace rill
