// Text to tokens and back, as the model file's vocabulary defines it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rill/byte_range.h"
#include "rill/export.h"
#include "rill/result.h"
#include "rill/token.h"

namespace rill {

namespace tokenizer {
struct State;
struct Attachment;
}

// What a token is, as the file says (`tokenizer.ggml.token_type`).
enum class TokenKind : std::uint8_t {
  normal,        // a piece of text
  unknown,       // stands for text that the vocabulary lacks; handled as `control`
  control,       // a marker such as <|im_end|>: not text, and made from text only where the caller asks for it
  user_defined,  // a piece of text that is matched whole before anything else
  unused,        // a hole in the numbering
  byte,          // one byte, for text that no piece covers
};

enum class AddSpecial : std::uint8_t {
  from_model,  // BOS and EOS as the file's metadata says
  never,
  always,  // BOS even where the metadata says no (an error if there is none); EOS as the metadata says
};

// What to do with text that no token can express.
enum class Unencodable : std::uint8_t {
  error,    // invalid_argument, naming the first such byte and its offset
  replace,  // each such character becomes U+FFFD (the unknown token where the vocabulary lacks U+FFFD, too)
};

struct EncodeOptions {
  bool parse_special = false;  // true: the text of a control token becomes that token. Never for text you do not trust
  AddSpecial add_special = AddSpecial::from_model;
  Unencodable unencodable = Unencodable::error;
  bool continues_text = false;  // true: text that goes on from other text, without BOS, EOS and space prefix
};

struct DecodeOptions {
  bool show_special = false;  // true: control tokens appear as their text
};

// A model's tokenizer: byte-level BPE or SentencePiece BPE. Immutable; copies share one vocabulary. Thread-safe.
//
// Text is bytes, meant as UTF-8. Bytes that are not UTF-8 are kept: decode(encode(text)) == text for every text whose
// bytes the vocabulary has, with one exception: SentencePiece writes a space as U+2581, so a literal U+2581 comes back
// as a space. Special tokens are matched leftmost first, the longest of those that begin at one place; equal strings
// mean the lowest id.
class RILL_EXPORT Tokenizer {
 public:
  explicit Tokenizer(std::shared_ptr<const tokenizer::State> state);

  // Tokens in the vocabulary; ids are 0 .. size() - 1.
  std::size_t size() const noexcept;

  // Of its tables; all copies share them.
  std::size_t memory_bytes() const noexcept;

  // Tokens of `text`. Cost O(n log n) time and O(n) memory in bytes, whatever the text. With parse_special, a text that
  // itself begins with the BOS that from_model would add is refused: two BOS are never wanted.
  Result<std::vector<Token>> encode(std::string_view text, const EncodeOptions& options = {}) const;

  // Tokens of a rendered chat template. Special tokens are parsed, BOS and EOS are never added (the template has them),
  // and no control token is made of, or touches, a byte inside `untrusted`: the ranges that came from messages,
  // ascending and disjoint. Nothing else changes at their borders: the text is tokenised as one.
  Result<std::vector<Token>> encode_rendered(std::string_view text, std::span<const ByteRange> untrusted,
                                             Unencodable unencodable = Unencodable::error) const;

  // The bytes of `tokens`, which may end inside a character: Detokenizer cuts streams. The space that encode puts
  // before a text (see adds_space_prefix) is taken away again. An id out of range is invalid_argument.
  Result<std::string> decode(std::span<const Token> tokens, const DecodeOptions& options = {}) const;

  // What the token adds to a text, or a control token's own text; empty for an id out of range. Valid as long as any
  // copy of the tokenizer lives.
  std::string_view token_bytes(Token token) const noexcept;

  // `unused` for an id out of range.
  TokenKind kind(Token token) const noexcept;

  // True for the kinds control and unknown: tokens that are no text.
  bool is_control(Token token) const noexcept;

  // True for a token that ends a generation: one of end_tokens().
  bool is_end(Token token) const noexcept;

  // Ascending. The file's EOS, EOT and EOM, and every control token called </s>, <eos>, <|endoftext|>, <|end_of_text|>,
  // <|eot_id|>, <|eom_id|>, <|im_end|>, <|end|> or <end_of_turn>: files often name only one. A token of one of these
  // names that is not of kind control is text and ends nothing (Gemma's `</s>` is the HTML tag).
  std::span<const Token> end_tokens() const noexcept;

  std::optional<Token> bos() const noexcept;
  std::optional<Token> eos() const noexcept;
  bool adds_bos() const noexcept;  // what AddSpecial::from_model does
  bool adds_eos() const noexcept;

  // SentencePiece: encode puts a space before a text and after each control token, so that words look the same
  // everywhere.
  bool adds_space_prefix() const noexcept;

  // The token whose bytes are `text`: ordinary text first, then special tokens.
  std::optional<Token> find(std::string_view text) const noexcept;

  // Bytes without a token of their own, ascending; mostly none. Byte-level BPE cannot encode a text with one of them
  // (SmolLM2 lacks 21); SentencePiece can where a piece covers the whole character.
  std::span<const std::uint8_t> missing_bytes() const noexcept;

 private:
  friend class Detokenizer;
  friend struct tokenizer::Attachment;
  // What `token` adds to a decoded text; `at_start`: nothing but control tokens came before it, or since the last one.
  std::string_view text_of(Token token, bool show_special, bool& at_start) const noexcept;

  std::shared_ptr<const tokenizer::State> state_;
};

}  // namespace rill
