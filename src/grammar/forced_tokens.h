// The tokens of bytes that must come.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "grammar/token_table.h"

namespace rill::grammar {

inline constexpr std::size_t kMostForcedBytes = 128;

// Tokens that `forced` begins with behind the text of `before`: those that the tokenizer makes of the whole text,
// whatever follows. The text is looked at from the last place on where no tokenizer joins what stands on both sides. If
// `before` is not what the tokenizer would make of it, it stands nevertheless: the first token of `forced` alone.
std::vector<Token> forced_tokens(const Tokenizer& tokenizer, const TokenTable& table, std::span<const Token> before,
                                 std::string_view forced);

// Whether some token may cover both sides of `cut` in a text that begins with `text`. If none can, no merge crosses it, and
// what is merged on one side does not depend on the other.
bool may_join(const TokenTable& table, std::string_view text, std::size_t cut);

}  // namespace rill::grammar
