#include "tokenizer/from_gguf.h"

#include "base/error.h"
#include "tokenizer/create.h"

namespace rill::tokenizer {
namespace {

constexpr std::string_view kModel = "tokenizer.ggml.model";
constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::string_view kAddBos = "tokenizer.ggml.add_bos_token";

Result<FlatStrings> read_strings(const gguf::Metadata& metadata, std::string_view key) {
  RILL_ASSIGN(const FlatStrings* strings, metadata.get_strings(key));
  return *strings;
}

Result<std::vector<TokenKind>> read_kinds(const gguf::Metadata& metadata) {
  if (metadata.find(kTypes) == nullptr) return std::vector<TokenKind>();
  RILL_ASSIGN(const std::vector<std::int32_t> types, metadata.get_array<std::int32_t>(kTypes));
  constexpr TokenKind kKinds[] = {TokenKind::normal,       TokenKind::unknown, TokenKind::control,
                                  TokenKind::user_defined, TokenKind::unused,  TokenKind::byte};
  std::vector<TokenKind> kinds;
  kinds.reserve(types.size());
  for (const std::int32_t type : types) {
    if (type < 1 || type > 6) {
      return make_error(ErrorCode::malformed, "{}: {} of token {} is {}, not 1 to 6", metadata.source_name(), kTypes,
                        kinds.size(), type);
    }
    kinds.push_back(kKinds[type - 1]);
  }
  return kinds;
}

Result<std::optional<Token>> read_token(const gguf::Metadata& metadata, std::string_view key) {
  if (metadata.find(key) == nullptr) return std::optional<Token>();
  RILL_ASSIGN(const Token token, metadata.get<Token>(key));
  return std::optional(token);
}

}  // namespace

Result<VocabularyData> read_vocabulary(const gguf::Metadata& metadata) {
  VocabularyData data;
  RILL_ASSIGN(const std::string_view model, metadata.get<std::string_view>(kModel));
  if (model != "gpt2" && model != "llama") {
    return make_error(ErrorCode::unsupported, "{}: {} is '{}'; gpt2 and llama are supported", metadata.source_name(),
                      kModel, model);
  }
  RILL_ASSIGN(data.tokens, read_strings(metadata, kTokens));
  RILL_ASSIGN(data.kinds, read_kinds(metadata));
  RILL_ASSIGN(data.bos, read_token(metadata, "tokenizer.ggml.bos_token_id"));
  RILL_ASSIGN(data.eos, read_token(metadata, "tokenizer.ggml.eos_token_id"));
  RILL_ASSIGN(data.eot, read_token(metadata, "tokenizer.ggml.eot_token_id"));
  RILL_ASSIGN(data.eom, read_token(metadata, "tokenizer.ggml.eom_token_id"));
  RILL_ASSIGN(data.unknown, read_token(metadata, "tokenizer.ggml.unknown_token_id"));
  RILL_ASSIGN(data.add_eos, metadata.get_or("tokenizer.ggml.add_eos_token", false));
  bool bos_is_usual = false;
  if (model == "gpt2") {
    data.algorithm = Algorithm::byte_level_bpe;
    RILL_ASSIGN(data.pre_tokenizer, metadata.get<std::string_view>("tokenizer.ggml.pre"));
    RILL_ASSIGN(data.merges, read_strings(metadata, "tokenizer.ggml.merges"));
    data.ignore_merges = bos_is_usual = data.pre_tokenizer == "llama-bpe";
  } else {
    data.algorithm = Algorithm::sentencepiece;
    RILL_ASSIGN(data.scores, metadata.get_array<float>("tokenizer.ggml.scores"));
    RILL_ASSIGN(data.add_space_prefix, metadata.get_or("tokenizer.ggml.add_space_prefix", true));
    bos_is_usual = true;
  }
  RILL_ASSIGN(data.add_bos, metadata.get_or(kAddBos, bos_is_usual && data.bos.has_value()));
  return data;
}

Result<std::size_t> vocabulary_size(const gguf::Metadata& metadata) {
  RILL_ASSIGN(const FlatStrings* tokens, metadata.get_strings(kTokens));
  return tokens->size();
}

Result<Tokenizer> from_gguf(const gguf::Metadata& metadata, const LogSink& log) {
  RILL_ASSIGN(const VocabularyData data, read_vocabulary(metadata));
  Result<Tokenizer> tokenizer = create(data, log);
  if (!tokenizer) {
    return make_error(tokenizer.error().code, "{}: {}", metadata.source_name(), tokenizer.error().message);
  }
  return tokenizer;
}

}  // namespace rill::tokenizer
