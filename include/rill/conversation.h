// A chat: messages rendered through the model's own template, fed to a session without repeating what it already holds.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rill/chat_template.h"
#include "rill/export.h"
#include "rill/generation.h"
#include "rill/message.h"
#include "rill/result.h"
#include "rill/session.h"

namespace rill {

struct ConversationOptions {
  RenderOptions render = {};  // tools, extra template variables, clock
};

// Keeps the sampled token ids of past answers, so that re-rendering never changes what the model has seen of itself,
// and feeds only what differs from what the session holds. User text never forms control tokens. One thread at a time.
// Move-only.
class RILL_EXPORT Conversation {
 public:
  // The session must be empty or belong to this conversation alone. Error if the model has no usable chat template.
  static Result<Conversation> create(Session session, ConversationOptions options = {});

  Conversation(Conversation&&) noexcept;
  Conversation& operator=(Conversation&&) noexcept;
  ~Conversation();

  // All messages so far, the last answer as far as it got. An answer that failed before its first token is no message.
  // The next add, respond, say, pop or clear closes an answer that is still running; it is the caller's to step no
  // further.
  const std::vector<Message>& messages();
  Session& session();

  // Appends a message without answering. The template judges the order of roles when the conversation is rendered.
  void add(Message message);
  // Starts the assistant's answer to the messages so far. GenerateOptions::add_special and parse_special do not apply.
  // template_refused carries the template's own text; the messages are as they were, and pop() removes the last one.
  Result<Generation> respond(GenerateOptions options = {});
  // add() of a user message, then respond().
  Result<Generation> say(std::string user_text, GenerateOptions options = {});

  // Writes the messages, what the model has seen of them, the session and, where an answer is running, that answer. Not
  // ConversationOptions. As Session::save and Generation::save, with their errors.
  Result<void> save(const std::filesystem::path& path, const StopToken& stop = {});
  Result<std::vector<std::byte>> save(const StopToken& stop = {});
  // Becomes what was saved, or stays as it was: as Session::restore. Returns the answer that was running, to go on with.
  Result<std::optional<Generation>> restore(const std::filesystem::path& path, ResumeOptions options = {});
  Result<std::optional<Generation>> restore(std::span<const std::byte> saved, ResumeOptions options = {});

  void pop();    // removes the last message
  void clear();  // removes all messages; the session is cut back by the next answer

 private:
  struct State;
  explicit Conversation(std::unique_ptr<State> state);
  Result<std::optional<Generation>> restore_from(const ByteSource& source, ResumeOptions options);
  std::unique_ptr<State> state_;
};

}  // namespace rill
