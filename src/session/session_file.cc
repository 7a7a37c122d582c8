#include "session/session_file.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/checked_slices.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/os.h"

namespace rill::session {
namespace {

struct Header {
  std::array<char, 8> magic = {'r', 'i', 'l', 'l', 's', 'e', 's', 's'};
  std::uint32_t format = kSessionFormat;
  SavedKind kind = SavedKind::session;
  std::uint64_t bytes = 0;       // of the stream, this header included
  std::uint64_t head_bytes = 0;
};
static_assert(sizeof(Header) == 32 && std::has_unique_object_representations_v<Header>);

const char* name_of(SavedKind kind) {
  switch (kind) {
    case SavedKind::session: return "a session";
    case SavedKind::generation: return "a running answer";
    case SavedKind::conversation: return "a conversation";
  }
  return "something else";
}

// ---- Identity ----

// One thing that must be the same for the same bits to follow.
struct Trait {
  std::string name;
  std::string value;
};

template <typename Archive>
void fields(Archive& archive, Trait& trait) {
  archive(trait.name, trait.value);
}

std::string tokenizer_digest(const Tokenizer& tokenizer) {
  Hasher hasher;
  for (std::size_t i = 0; i < tokenizer.size(); ++i) {
    const auto token = static_cast<Token>(i);
    const std::string_view bytes = tokenizer.token_bytes(token);
    hasher.add_value(bytes.size());
    hasher.add(std::as_bytes(std::span(bytes)));
    hasher.add_value(tokenizer.kind(token));
  }
  hasher.add(std::as_bytes(tokenizer.end_tokens()));
  std::array<char, kDigestDigits> digits;
  write_hex(hasher.digest(), digits);
  return std::string(digits.begin(), digits.end());
}

// The first that differs is the reason: what the digest covers as well stands before it, by a better name.
std::vector<Trait> identity(const SessionState& session) {
  const Model& model = *session.model();
  const ModelInfo& info = model.info();
  constexpr const char* kKvTypes[] = {"f32", "f16", "q8_0"};
  return {{"architecture", info.architecture},
          {"layers", format("{}", info.layers)},
          {"embedding length", format("{}", info.embedding_length)},
          {"KV heads", format("{}", info.kv_heads)},
          {"head size", format("{}", info.head_dim)},
          {"sliding window", format("{}", info.sliding_window)},
          {"vocabulary", format("{} tokens", info.vocabulary_size)},
          {"tokenizer digest", tokenizer_digest(model.tokenizer())},
          {"model digest", model.digest()},
          {"activations", session.loaded().activations == Activations::fast ? "fast" : "accurate"},
          {"KV type", kKvTypes[static_cast<std::size_t>(session.options().kv_type)]},
          {"numerics version", format("{}", info.numerics_version)},
          {"numerics class", info.numerics_class}};
}

Result<void> check_identity(std::string_view source, const std::vector<Trait>& saved, const std::vector<Trait>& own) {
  for (std::size_t i = 0; i < std::min(saved.size(), own.size()); ++i) {
    if (saved[i].value != own[i].value || saved[i].name != own[i].name) {
      return make_error(ErrorCode::incompatible, "{}: saved with {} {}, here it is {}", source, saved[i].name,
                        saved[i].value, own[i].value);
    }
  }
  if (saved.size() == own.size()) return {};
  return make_error(ErrorCode::malformed, "{}: names {} things that must be the same, not {}", source, saved.size(),
                    own.size());
}

// ---- Writing ----

struct Plan {
  Header header;
  std::vector<std::byte> head;
};

Result<Plan> plan(const SessionState& session, SavedKind kind, std::span<const std::byte> part) {
  const kv::SequenceCache::Extent extent = session.cache().extent();
  ArchiveWriter archive;
  archive(identity(session), std::vector<Token>(session.tokens().begin(), session.tokens().end()));
  archive(session.kept_count());
  for (std::size_t i = 0; i < session.kept_count(); ++i) archive(session.kept_position(i));
  archive(std::vector<float>(session.kept_hidden(0), session.kept_hidden(session.kept_count())));
  archive(extent.first_held, std::vector<std::byte>(part.begin(), part.end()));
  Plan plan;
  plan.head = archive.take();
  RILL_ASSIGN(const std::uint64_t kv_bytes, session.cache().copy_bytes(extent));
  plan.header.kind = kind;
  plan.header.head_bytes = plan.head.size();
  plan.header.bytes = sizeof(Header) + plan.head.size() + kv_bytes;
  return plan;
}

Result<void> write(const SessionState& session, const Plan& plan, SliceWriter::Sink sink, const StopToken& stop) {
  SliceWriter writer(std::move(sink), stop);
  RILL_TRY(writer.write(std::as_bytes(std::span(&plan.header, 1))));
  RILL_TRY(writer.write(plan.head));
  RILL_TRY(session.cache().copy_out([&](std::span<const std::byte> bytes) { return writer.write(bytes); }));
  return writer.finish();
}

// ---- Reading ----

Result<Header> read_header(const ByteSource& source, SavedKind kind, SliceReader& reader) {
  Header header;
  const std::string_view name = source.name();
  const auto bytes = std::as_writable_bytes(std::span(&header, 1));
  if (source.size() < sizeof(header))
    return make_error(ErrorCode::malformed, "{}: too short for a saved session", name);
  RILL_TRY(source.read(0, bytes));  // before the checksum, whose place another format may change
  if (header.magic != Header().magic) return make_error(ErrorCode::malformed, "{}: not a saved session", name);
  if (header.format != kSessionFormat) {
    return make_error(ErrorCode::incompatible, "{}: saved in format {}, this version of rill reads {}", name,
                      header.format, kSessionFormat);
  }
  RILL_TRY(reader.read(bytes));
  if (header.bytes < sizeof(header) || header.bytes > source.size() ||
      header.head_bytes > header.bytes - sizeof(header) || checked_size(header.bytes) != source.size()) {
    return make_error(ErrorCode::malformed, "{}: cut short, or longer than it was", name);
  }
  if (header.kind != kind) {
    return make_error(ErrorCode::incompatible, "{}: holds {}, not {}", name, name_of(header.kind), name_of(kind));
  }
  return header;
}

Result<void> check_content(std::string_view source, const SessionState& session, const SessionState::Content& content) {
  const std::size_t count = content.tokens.size(), context = session.options().context_tokens;
  if (count > context) {
    return make_error(ErrorCode::context_full, "{}: {} tokens were saved, the session's window is {}", source, count,
                      context);
  }
  if (count > 0) RILL_TRY(session.check_tokens(content.tokens));
  const auto& kept = content.kept_positions;
  const bool ascending = std::adjacent_find(kept.begin(), kept.end(), std::greater_equal()) == kept.end();
  if (!ascending || (!kept.empty() && kept.back() >= count) ||
      content.hidden.size() != kept.size() * session.loaded().config.embedding_length) {
    return make_error(ErrorCode::malformed, "{}: its hidden states are not those of {} tokens", source, count);
  }
  return {};
}

}  // namespace

Result<void> save_to_file(const std::filesystem::path& path, const SessionState& session, SavedKind kind,
                          std::span<const std::byte> part, const StopToken& stop) {
  RILL_ASSIGN(const Plan planned, plan(session, kind, part));
  RILL_ASSIGN(os::NewFile file, os::NewFile::create(path, {.only_user = true, .on_disk = true}));
  RILL_TRY(write(session, planned, [&](std::span<const std::byte> bytes) { return file.append(bytes); }, stop));
  return file.commit();
}

Result<std::vector<std::byte>> save_to_buffer(const SessionState& session, SavedKind kind,
                                              std::span<const std::byte> part, const StopToken& stop) {
  RILL_ASSIGN(const Plan planned, plan(session, kind, part));
  std::vector<std::byte> buffer;
  buffer.reserve(static_cast<std::size_t>(checked_size(planned.header.bytes)));
  const auto sink = [&](std::span<const std::byte> bytes) -> Result<void> {
    buffer.insert(buffer.end(), bytes.begin(), bytes.end());
    return {};
  };
  RILL_TRY(write(session, planned, sink, stop));
  return buffer;
}

Result<SavedSession> read_saved(const ByteSource& source, const SessionState& session, SavedKind kind,
                                const StopToken& stop) {
  SliceReader reader(source, stop);
  RILL_ASSIGN(const Header header, read_header(source, kind, reader));
  std::vector<std::byte> head(static_cast<std::size_t>(header.head_bytes));
  RILL_TRY(reader.read(head));

  std::vector<Trait> traits;
  SavedSession saved{{{}, {}, {}, session.empty_cache()}, {}};
  SessionState::Content& content = saved.content;
  kv::SequenceCache::Extent extent;
  ArchiveReader archive(head);
  archive(traits);
  if (!archive.failed()) RILL_TRY(check_identity(source.name(), traits, identity(session)));
  archive(content.tokens, content.kept_positions, content.hidden, extent.first_held, saved.part);
  if (const auto done = archive.finish("head"); !done) {
    return make_error(done.error().code, "{}: {}", source.name(), done.error().message);
  }
  RILL_TRY(check_content(source.name(), session, content));
  extent.length = content.tokens.size();
  RILL_ASSIGN(const std::uint64_t kv_bytes, content.cache.copy_bytes(extent));
  if (kv_bytes != header.bytes - sizeof(header) - header.head_bytes) {
    return make_error(ErrorCode::malformed, "{}: {} bytes of keys and values, not {}", source.name(),
                      header.bytes - sizeof(header) - header.head_bytes, kv_bytes);
  }
  RILL_TRY(content.cache.copy_in(extent, [&](std::span<std::byte> bytes) { return reader.read(bytes); }));
  return saved;
}

}  // namespace rill::session
