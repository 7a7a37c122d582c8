#include "rill/tokenizer.h"

#include <algorithm>
#include <limits>
#include <variant>

#include "base/error.h"
#include "tokenizer/attachment.h"
#include "tokenizer/bpe.h"
#include "tokenizer/control_texts.h"
#include "tokenizer/create.h"
#include "tokenizer/sentencepiece.h"
#include "tokenizer/special_matcher.h"

namespace rill {
namespace tokenizer {

using EncodingModel = std::variant<Bpe, SentencePiece>;

struct State {
  Vocabulary vocabulary;
  SpecialMatcher special;
  EncodingModel model;
  std::optional<Token> bos, eos;
  bool add_bos, add_eos, add_space_prefix;
  std::vector<Token> end_tokens;
  std::vector<std::uint8_t> missing_bytes;
  std::unique_ptr<Attachment> attachment = std::make_unique<Attachment>();

  // `space_prefix`: of the text's begin.
  Result<void> encode(std::string_view text, ControlPolicy policy, Unencodable unencodable, bool space_prefix,
                      std::vector<Token>& tokens) const;
  Result<void> encode_plain(std::string_view text, std::size_t begin, std::size_t end, bool space_prefix,
                            Unencodable unencodable, std::vector<Token>& tokens) const;
};

namespace {

constexpr std::string_view kEndNames[] = {"</s>",       "<eos>",      "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>",
                                          "<|eom_id|>", "<|im_end|>", "<|end|>",       "<end_of_turn>"};

std::vector<Token> find_end_tokens(const VocabularyData& data, const Vocabulary& vocabulary,
                                   const SpecialMatcher& special) {
  std::vector<Token> result;
  for (const std::optional<Token> token : {data.eos, data.eot, data.eom}) {
    if (token) result.push_back(*token);
  }
  for (const std::string_view name : kEndNames) {
    const Token token = special.find(vocabulary, name);
    if (token != kNoToken && vocabulary.kind(token) == TokenKind::control) result.push_back(token);
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<std::uint8_t> find_missing_bytes(const Vocabulary& vocabulary) {
  std::vector<std::uint8_t> result;
  for (unsigned value = 0; value < 256; ++value) {
    const auto byte = static_cast<std::uint8_t>(value);
    const char text = static_cast<char>(byte);
    if (vocabulary.byte_token(byte) == kNoToken && vocabulary.find_piece({&text, 1}) == kNoToken)
      result.push_back(byte);
  }
  return result;
}

Result<void> check_untrusted(std::span<const ByteRange> untrusted, std::size_t size) {
  std::size_t position = 0;
  for (const ByteRange& range : untrusted) {
    if (range.begin < position || range.end < range.begin || range.end > size) {
      return make_error(ErrorCode::invalid_argument,
                        "untrusted range [{}, {}) overlaps an earlier one or leaves the text of {} bytes", range.begin,
                        range.end, size);
    }
    position = range.end;
  }
  return {};
}

Result<EncodingModel> build_model(const Vocabulary& vocabulary, const VocabularyData& data) {
  if (data.algorithm != Algorithm::byte_level_bpe) return EncodingModel(SentencePiece(data));
  RILL_ASSIGN(Bpe bpe, Bpe::build(vocabulary, data));
  return EncodingModel(std::move(bpe));
}

}  // namespace

Result<Tokenizer> create(const VocabularyData& data, const LogSink& log) {
  RILL_ASSIGN(Vocabulary vocabulary, Vocabulary::build(data));
  RILL_ASSIGN(SpecialMatcher special, SpecialMatcher::build(vocabulary));
  if (data.add_bos && !data.bos) return make_error(ErrorCode::malformed, "the file adds a BOS token but names none");
  if (data.add_eos && !data.eos) return make_error(ErrorCode::malformed, "the file adds an EOS token but names none");
  const bool is_bpe = data.algorithm == Algorithm::byte_level_bpe;
  RILL_ASSIGN(EncodingModel model, build_model(vocabulary, data));
  if (log && vocabulary.duplicates() > 0) {
    log(LogLevel::warning,
        format("{} tokens have the text of a token with a lower id, which is the one that encoding uses",
                    vocabulary.duplicates()));
  }
  auto end_tokens = find_end_tokens(data, vocabulary, special);
  auto missing_bytes = find_missing_bytes(vocabulary);
  return Tokenizer(std::make_shared<const State>(State{.vocabulary = std::move(vocabulary),
                                                       .special = std::move(special),
                                                       .model = std::move(model),
                                                       .bos = data.bos,
                                                       .eos = data.eos,
                                                       .add_bos = data.add_bos,
                                                       .add_eos = data.add_eos,
                                                       .add_space_prefix = data.add_space_prefix && !is_bpe,
                                                       .end_tokens = std::move(end_tokens),
                                                       .missing_bytes = std::move(missing_bytes)}));
}

Attachment& Attachment::place_of(const Tokenizer& tokenizer) { return *tokenizer.state_->attachment; }

std::vector<ControlText> control_texts(const Tokenizer& tokenizer, std::string_view text) {
  const State& state = Attachment::state_of(tokenizer);
  std::vector<ControlText> found;
  ControlPolicy policy{.allowed = true, .untrusted = {}};
  auto match = state.special.next(state.vocabulary, text, 0, policy);
  for (; match; match = state.special.next(state.vocabulary, text, match->end, policy)) {
    if (tokenizer.is_control(match->token)) found.push_back({match->begin, match->end, match->token});
  }
  return found;
}

Result<void> State::encode_plain(std::string_view text, std::size_t begin, std::size_t end, bool space_prefix,
                                 Unencodable unencodable, std::vector<Token>& tokens) const {
  if (const Bpe* bpe = std::get_if<Bpe>(&model)) return bpe->encode(vocabulary, text, begin, end, unencodable, tokens);
  return std::get_if<SentencePiece>(&model)->encode(vocabulary, text, begin, end, space_prefix, unencodable, tokens);
}

// Cuts the text at its special tokens. A space prefix goes before what is text, at its start and after each control
// token.
Result<void> State::encode(std::string_view text, ControlPolicy policy, Unencodable unencodable, bool space_prefix,
                           std::vector<Token>& tokens) const {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max() - 1) {
    return make_error(ErrorCode::limit_exceeded, "the text has {} bytes; the limit is 4 GiB", text.size());
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const auto match = special.next(vocabulary, text, begin, policy);
    const std::size_t end = match ? match->begin : text.size();
    const bool match_is_text = match && vocabulary.kind(match->token) == TokenKind::user_defined;
    if (begin < end || (match_is_text && space_prefix)) {
      RILL_TRY(encode_plain(text, begin, end, space_prefix, unencodable, tokens));
    }
    if (!match) break;
    tokens.push_back(match->token);
    space_prefix = add_space_prefix && !match_is_text;
    begin = match->end;
  }
  return {};
}

}  // namespace tokenizer

using tokenizer::ControlPolicy;
using tokenizer::kNoToken;

Tokenizer::Tokenizer(std::shared_ptr<const tokenizer::State> state) : state_(std::move(state)) {}

std::size_t Tokenizer::size() const noexcept { return state_->vocabulary.size(); }

std::size_t Tokenizer::memory_bytes() const noexcept {
  const std::size_t model = std::visit([](const auto& one) { return one.memory_bytes(); }, state_->model);
  return sizeof(tokenizer::State) + state_->vocabulary.memory_bytes() + state_->special.memory_bytes() + model;
}

Result<std::vector<Token>> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  return guarded([&]() -> Result<std::vector<Token>> {
    if (options.add_special > AddSpecial::always || options.unencodable > Unencodable::replace) {
      return make_error(ErrorCode::invalid_argument, "add_special or unencodable is none of its values");
    }
    std::vector<Token> tokens;
    const AddSpecial add_special = options.continues_text ? AddSpecial::never : options.add_special;
    const bool from_model = add_special == AddSpecial::from_model;
    if (add_special == AddSpecial::always && !bos()) {
      return make_error(ErrorCode::invalid_argument, "a BOS token is asked for, but the vocabulary has none");
    }
    const bool add_bos = add_special == AddSpecial::always || (from_model && adds_bos());
    if (add_bos) tokens.push_back(*bos());
    const bool space_prefix = adds_space_prefix() && !options.continues_text;
    RILL_TRY(state_->encode(text, {.allowed = options.parse_special, .untrusted = {}}, options.unencodable,
                            space_prefix, tokens));
    if (add_bos && from_model && tokens.size() > 1 && tokens[1] == *bos()) {
      return make_error(ErrorCode::invalid_argument,
                        "the text begins with the BOS token that is added to it; encode it with AddSpecial::never");
    }
    if (add_special != AddSpecial::never && adds_eos()) tokens.push_back(*eos());
    return tokens;
  });
}

Result<std::vector<Token>> Tokenizer::encode_rendered(std::string_view text, std::span<const ByteRange> untrusted,
                                                      Unencodable unencodable) const {
  return guarded([&]() -> Result<std::vector<Token>> {
    RILL_TRY(tokenizer::check_untrusted(untrusted, text.size()));
    std::vector<Token> tokens;
    RILL_TRY(state_->encode(text, {.allowed = true, .untrusted = untrusted}, unencodable, adds_space_prefix(), tokens));
    return tokens;
  });
}

Result<std::string> Tokenizer::decode(std::span<const Token> tokens, const DecodeOptions& options) const {
  return guarded([&]() -> Result<std::string> {
    std::string text;
    bool at_start = true;
    for (std::size_t index = 0; index < tokens.size(); ++index) {
      if (!state_->vocabulary.contains(tokens[index])) {
        return make_error(ErrorCode::invalid_argument, "token {} at index {} is outside the vocabulary of {}",
                          tokens[index], index, size());
      }
      text += text_of(tokens[index], options.show_special, at_start);
    }
    return text;
  });
}

std::string_view Tokenizer::text_of(Token token, bool show_special, bool& at_start) const noexcept {
  std::string_view text = token_bytes(token);
  if (is_control(token)) {
    at_start = true;
    return show_special ? text : std::string_view();
  }
  if (at_start && adds_space_prefix() && kind(token) != TokenKind::user_defined && text.starts_with(' '))
    text.remove_prefix(1);
  at_start = false;
  return text;
}

std::string_view Tokenizer::token_bytes(Token token) const noexcept {
  return state_->vocabulary.contains(token) ? state_->vocabulary.bytes(token) : std::string_view();
}

TokenKind Tokenizer::kind(Token token) const noexcept {
  return state_->vocabulary.contains(token) ? state_->vocabulary.kind(token) : TokenKind::unused;
}

bool Tokenizer::is_control(Token token) const noexcept {
  return kind(token) == TokenKind::control || kind(token) == TokenKind::unknown;
}

bool Tokenizer::is_end(Token token) const noexcept {
  return std::binary_search(state_->end_tokens.begin(), state_->end_tokens.end(), token);
}

std::span<const Token> Tokenizer::end_tokens() const noexcept { return state_->end_tokens; }
std::optional<Token> Tokenizer::bos() const noexcept { return state_->bos; }
std::optional<Token> Tokenizer::eos() const noexcept { return state_->eos; }
bool Tokenizer::adds_bos() const noexcept { return state_->add_bos; }
bool Tokenizer::adds_eos() const noexcept { return state_->add_eos; }
bool Tokenizer::adds_space_prefix() const noexcept { return state_->add_space_prefix; }

std::optional<Token> Tokenizer::find(std::string_view text) const noexcept {
  Token token = state_->vocabulary.find_piece(text);
  if (token == kNoToken) token = state_->special.find(state_->vocabulary, text);
  return token == kNoToken ? std::nullopt : std::optional(token);
}

std::span<const std::uint8_t> Tokenizer::missing_bytes() const noexcept { return state_->missing_bytes; }

}  // namespace rill
