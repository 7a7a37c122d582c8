// Cuts text into the pieces that byte-level BPE merges inside of.
#pragma once

#include <cstddef>
#include <string_view>

#include "rill/result.h"

namespace rill::tokenizer {

// The rules in which the known pre-tokenizers differ; each is a regular expression with the alternatives
//   contraction | [prefix]? \p{L}+ | \p{N}{1,max} | [ ]?[^\s\p{L}\p{N}]+ ... | white space
// tried in this order at each place (the last leaves one space to the word that follows).
struct PreTokenizerRules {
  std::string_view name;
  bool fold_case;            // 'S 'T 'RE ... are contractions, too
  bool any_prefix;           // letters may be led by any one character but CR, LF, letters and numbers; else by a space
  bool line_ends;            // line ends close a run of white space and may follow punctuation
  bool space_before_number;  // a number may be led by a space
  bool numbers_apart;        // the text is cut at every number first, and each part has its own end
  std::size_t max_digits;    // numeric characters in one piece
};

// Immutable, thread-safe. Bytes that are not UTF-8 count as punctuation, one character for each maximal subpart.
class PreTokenizer {
 public:
  // The pre-tokenizer that a file calls `name`: gpt-2, smollm, llama-bpe or qwen2; else `unsupported`.
  static Result<PreTokenizer> named(std::string_view name);

  // Where the piece that begins at `begin` < text.size() ends. Calls from piece to piece take linear time in all.
  std::size_t piece_end(std::string_view text, std::size_t begin) const noexcept;

 private:
  explicit PreTokenizer(const PreTokenizerRules& rules) : rules_(&rules) {}

  std::size_t contraction_end(std::string_view text, std::size_t begin) const noexcept;
  std::size_t white_space_end(std::string_view text, std::size_t begin) const noexcept;

  const PreTokenizerRules* rules_;
};

}  // namespace rill::tokenizer
