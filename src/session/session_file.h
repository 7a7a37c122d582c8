// A saved session: what it holds and what it must go on with, in one stream of checked slices (base/checked_slices.h).
//
// A header, then the head, an archive of the identity, of tokens and hidden states, and of the part that the kind adds,
// then the keys and values of the tokens as SequenceCache::copy_out gives them. It is outside bytes like any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/archive.h"
#include "rill/byte_source.h"
#include "rill/stop_token.h"
#include "session/session_state.h"

namespace rill {

namespace session {

// Raised whenever a file of before would be read wrongly.
inline constexpr std::uint32_t kSessionFormat = 2;

enum class SavedKind : std::uint32_t {
  session,       // the part: the state of a sampler chain, or nothing
  generation,    // GenerationState::save
  conversation,
};

// The caller has entered the session. The file is the user's alone to read, and appears whole and on the disk, or not
// at all. Errors: io, cancelled.
Result<void> save_to_file(const std::filesystem::path& path, const SessionState& session, SavedKind kind,
                          std::span<const std::byte> part, const StopToken& stop);
Result<std::vector<std::byte>> save_to_buffer(const SessionState& session, SavedKind kind,
                                              std::span<const std::byte> part, const StopToken& stop);

struct SavedSession {
  SessionState::Content content;
  std::vector<std::byte> part;
};
// Of a session of this one's model and KV type, which stays as it is. The caller has entered it. incompatible names
// what is another: format, kind, model, tokenizer, activations, KV type, numerics. context_full: more tokens than the
// window has. malformed: damaged. resource_exhausted: no pages for a second sequence.
Result<SavedSession> read_saved(const ByteSource& source, const SessionState& session, SavedKind kind,
                                const StopToken& stop);

}  // namespace session

template <>
inline constexpr session::SavedKind kLastOf<session::SavedKind> = session::SavedKind::conversation;

}  // namespace rill
