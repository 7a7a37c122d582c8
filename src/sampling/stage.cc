#include "rill/logits_processor.h"

namespace rill {

ChainStage::~ChainStage() = default;
Result<void> ChainStage::observe(std::span<const Token>) { return {}; }
Result<void> ChainStage::accept(Token) { return {}; }
void ChainStage::rollback(std::size_t) {}

LogitsProcessor::~LogitsProcessor() = default;
bool LogitsProcessor::allow(TokenSet&) { return false; }
Result<void> LogitsProcessor::process(Candidates&, Draws&) { return {}; }
Result<void> LogitsProcessor::inspect(std::span<const float>) { return {}; }

TokenSampler::~TokenSampler() = default;

}  // namespace rill
