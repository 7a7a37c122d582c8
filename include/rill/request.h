// What a scheduler is asked for.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "rill/generation.h"
#include "rill/message.h"
#include "rill/metrics.h"
#include "rill/token.h"

namespace rill {

// Plain data. Every request has its own chain, stop rules and seed.
struct Request {
  // Text, encoded as Session::generate does it; tokens as they are; or a conversation, rendered through the model's chat
  // template as Conversation does it.
  std::variant<std::string, std::vector<Token>, std::vector<Message>> prompt = std::string();
  // max_tokens bounds what a request takes of the pool: without it guaranteed admission keeps room for the whole window.
  // speculation.draft_session is refused: its passes could not be shared. stop is polled between and within steps.
  GenerateOptions options = {};
  // Whose prefixes the prompt may share (PrefixCache): a tenant, a scope of permissions. Empty: nobody's.
  std::string domain = {};
  int priority = 0;  // higher first; equal ones in the order in which they came
  // From submit() on: then the request ends as it is, with FinishReason::deadline, queued or running.
  std::optional<Duration> deadline = std::nullopt;
  // Answers to one prompt, which is computed once. Answer i draws as one alone with completion_index + i.
  std::size_t completions = 1;
};

}  // namespace rill
