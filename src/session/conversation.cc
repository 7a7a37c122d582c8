#include "rill/conversation.h"

#include <algorithm>

#include "base/error.h"
#include "session/generation_state.h"
#include "session/prompt.h"
#include "session/saved_fields.h"
#include "session/session_file.h"
#include "session/session_state.h"

namespace rill {

namespace {

// The beginning of a rendered text, and of its tokens.
struct Prefix {
  std::size_t bytes = 0;
  std::size_t tokens = 0;
};

// What a conversation knows of its past.
struct Memory {
  std::vector<Message> messages = {};
  std::string rendered = "";       // what the last answer answered, as text
  std::vector<Token> tokens = {};  // and as tokens
  std::vector<Prefix> answered = {};  // where earlier answers end in them, ascending
  std::size_t answer_message = 0;  // the last answer: its place in `messages`, and as far as its tokens spell it
  bool has_answer = false;
  std::string answer = "";
  std::vector<Token> answer_tokens = {};
};

template <typename Archive>
void fields(Archive& archive, Prefix& prefix) {
  archive(prefix.bytes, prefix.tokens);
}
template <typename Archive>
void fields(Archive& archive, Memory& memory) {
  archive(memory.messages, memory.rendered, memory.tokens, memory.answered, memory.answer_message,
          memory.has_answer, memory.answer, memory.answer_tokens);
}

Result<void> check_saveable(const std::vector<Message>& messages) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (const JsonMember& member : messages[i].extra) {
      if (!is_deeper(member.value, kMaxJsonDepth)) continue;
      return make_error(ErrorCode::limit_exceeded, "messages[{}].extra, {}: nested deeper than {}", i, member.name,
                        kMaxJsonDepth);
    }
  }
  return {};
}

// Of one that was read.
Result<void> check_memory(const Memory& memory, const session::SessionState& session) {
  if (!memory.tokens.empty()) RILL_TRY(session.check_tokens(memory.tokens));
  if (!memory.answer_tokens.empty()) RILL_TRY(session.check_tokens(memory.answer_tokens));
  bool fits = memory.answer_message <= memory.messages.size();
  Prefix before;
  for (const Prefix& prefix : memory.answered) {
    fits = fits && prefix.bytes >= before.bytes && prefix.tokens >= before.tokens;
    before = prefix;
  }
  if (fits && before.bytes <= memory.rendered.size() && before.tokens <= memory.tokens.size()) return {};
  return make_error(ErrorCode::malformed, "conversation: its parts do not fit together");
}

// Length of the prefix of `rendered` that is `prompt` and then `answer`, as it is or with white space trimmed from its
// ends, as many templates do; 0 if there is none.
std::size_t answered_prefix(std::string_view rendered, std::string_view prompt, std::string_view answer) {
  if (!rendered.starts_with(prompt)) return 0;
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const auto left = std::min(answer.find_first_not_of(kSpace), answer.size());
  const auto right = answer.find_last_not_of(kSpace) + 1;  // 0 if there is nothing else
  const std::string_view trimmed = left < right ? answer.substr(left, right - left) : std::string_view();
  for (const std::string_view text : {answer, answer.substr(left), answer.substr(0, right), trimmed}) {
    if (rendered.substr(prompt.size()).starts_with(text)) return prompt.size() + text.size();
  }
  return 0;
}

}  // namespace

// The rendered conversation is tokenised as a whole, except that sampled ids, and with them all that came before, stand
// for the text that they spell: the model is never shown other ids than it chose.
struct Conversation::State : Memory {
  struct Encoded {
    std::vector<Token> tokens;
    Prefix known;  // what was not tokenised anew
  };

  Session session;
  const ChatTemplate* chat_template = nullptr;
  ConversationOptions options = {};
  std::shared_ptr<session::GenerationState> running = nullptr;  // the last answer, while it may still grow

  void update();
  void settle();
  Result<std::vector<std::byte>> save();
  Result<RenderedPrompt> render(const std::vector<Message>& messages) const;
  std::size_t common_beginning(std::span<const Token> prompt) const;
  Result<Encoded> encode(const RenderedPrompt& prompt) const;
};

// Makes the running answer a message, as far as it got. One that failed before its first token, or never began, is
// none.
void Conversation::State::update() {
  if (running == nullptr) return;
  const GenerationResult& result = running->so_far();
  if (!result.tokens.empty() || (running->ended() && !running->failed())) {
    if (messages.size() == answer_message) messages.push_back({.role = "assistant"});
    messages[answer_message].content = result.text;
    const auto spelled = running->spelled();
    answer = result.text.substr(0, spelled.bytes);
    answer_tokens.assign(result.tokens.begin(), result.tokens.begin() + static_cast<std::ptrdiff_t>(spelled.tokens));
    has_answer = true;
  }
  if (running->ended()) running.reset();
}

void Conversation::State::settle() {
  update();
  running.reset();
}

// The part of a saved session. The caller has entered the session.
Result<std::vector<std::byte>> Conversation::State::save() {
  update();
  RILL_TRY(check_saveable(messages));
  std::optional<std::vector<std::byte>> answer_so_far;
  if (running != nullptr) {
    RILL_ASSIGN(answer_so_far, running->save());
  }
  ArchiveWriter archive;
  archive(static_cast<const Memory&>(*this), answer_so_far);
  return archive.take();
}

Result<RenderedPrompt> Conversation::State::render(const std::vector<Message>& messages) const {
  return chat_template->render(messages, session::with_special_tokens(options.render, session.model().tokenizer()));
}

Result<Conversation::State::Encoded> Conversation::State::encode(const RenderedPrompt& prompt) const {
  const std::string_view text = prompt.text;
  Encoded encoded;
  std::size_t known = has_answer ? answered_prefix(text, rendered, answer) : 0;
  if (known != 0) {
    encoded.tokens = tokens;
    encoded.tokens.insert(encoded.tokens.end(), answer_tokens.begin(), answer_tokens.end());
  } else {
    const auto earlier = std::find_if(answered.rbegin(), answered.rend(), [&](const Prefix& prefix) {
      return text.starts_with(std::string_view(rendered).substr(0, prefix.bytes));
    });
    if (earlier != answered.rend()) {
      known = earlier->bytes;
      encoded.tokens.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(earlier->tokens));
    }
  }
  encoded.known = {known, encoded.tokens.size()};
  std::vector<ByteRange> untrusted;
  for (const ByteRange& range : prompt.untrusted) {
    if (range.end > known) untrusted.push_back({std::max(range.begin, known) - known, range.end - known});
  }
  const Tokenizer& tokenizer = session.model().tokenizer();
  RILL_ASSIGN(const std::vector<Token> rest,
              known == 0 ? encode_chat(tokenizer, prompt) : tokenizer.encode_rendered(text.substr(known), untrusted));
  encoded.tokens.insert(encoded.tokens.end(), rest.begin(), rest.end());
  return encoded;
}

// Length of what conversations with the same first system message, template and tools have in common: their prompts
// differ from there on, where the user's first words are.
std::size_t Conversation::State::common_beginning(std::span<const Token> prompt) const {
  const auto user = std::find_if(messages.begin(), messages.end(), [](const Message& m) { return m.role == "user"; });
  if (user == messages.end()) return 0;
  std::vector<Message> others(messages.begin(), user + 1);
  others.back().content = std::string(1, user->content.starts_with('a') ? 'b' : 'a');
  const auto rendered = render(others);
  const auto encoded = rendered ? encode_chat(session.model().tokenizer(), *rendered) : rendered.error();
  if (!encoded) return 0;
  const auto differs = std::mismatch(prompt.begin(), prompt.end(), encoded->begin(), encoded->end());
  return static_cast<std::size_t>(differs.first - prompt.begin());
}

Conversation::Conversation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Conversation::Conversation(Conversation&&) noexcept = default;
Conversation& Conversation::operator=(Conversation&&) noexcept = default;
Conversation::~Conversation() = default;

Result<Conversation> Conversation::create(Session session, ConversationOptions options) {
  return guarded([&]() -> Result<Conversation> {
    RILL_ASSIGN(const ChatTemplate* chat_template, session.model().chat_template());
    return Conversation(
        std::make_unique<State>(State{{}, std::move(session), chat_template, std::move(options)}));
  });
}

const std::vector<Message>& Conversation::messages() {
  state_->update();
  return state_->messages;
}

Session& Conversation::session() { return state_->session; }

void Conversation::add(Message message) {
  state_->settle();
  state_->messages.push_back(std::move(message));
}

Result<Generation> Conversation::respond(GenerateOptions options) {
  return guarded([&]() -> Result<Generation> {
    State& state = *state_;
    state.settle();
    RILL_ASSIGN(const auto entry, state.session.state()->enter());
    const Duration start = state.session.options().clock();
    RILL_ASSIGN(RenderedPrompt prompt, state.render(state.messages));
    RILL_ASSIGN(State::Encoded encoded, state.encode(prompt));
    const bool begins = state.session.state()->caches() && encoded.known.tokens == 0;
    if (begins && state.session.model().info().sliding_window != 0) {
      const std::size_t common = state.common_beginning(encoded.tokens);
      if (common > 0) options.cache_boundaries.push_back(common);
    }
    const Duration tokenize = state.session.options().clock() - start;
    RILL_ASSIGN(auto running, session::GenerationState::start_over(state.session.state(), encoded.tokens,
                                                                   std::move(options), start, tokenize));
    std::erase_if(state.answered, [&](const Prefix& prefix) { return prefix.bytes >= encoded.known.bytes; });
    if (encoded.known.bytes != 0) state.answered.push_back(encoded.known);
    state.rendered = std::move(prompt.text);
    state.tokens = std::move(encoded.tokens);
    state.answer_message = state.messages.size();
    state.has_answer = false;
    state.running = running;
    return Generation(std::move(running));
  });
}

Result<Generation> Conversation::say(std::string user_text, GenerateOptions options) {
  add({.role = "user", .content = std::move(user_text)});
  return respond(std::move(options));
}

void Conversation::pop() {
  state_->settle();
  if (state_->messages.empty()) return;
  state_->messages.pop_back();
  if (state_->messages.size() == state_->answer_message) state_->has_answer = false;
}

void Conversation::clear() {
  state_->settle();
  state_->messages.clear();
  state_->answered.clear();
  state_->has_answer = false;
}

Result<void> Conversation::save(const std::filesystem::path& path, const StopToken& stop) {
  return guarded([&]() -> Result<void> {
    const session::SessionState& session = *state_->session.state();
    RILL_ASSIGN(const auto entry, session.enter());
    RILL_ASSIGN(const std::vector<std::byte> part, state_->save());
    return session::save_to_file(path, session, session::SavedKind::conversation, part, stop);
  });
}

Result<std::vector<std::byte>> Conversation::save(const StopToken& stop) {
  return guarded([&]() -> Result<std::vector<std::byte>> {
    const session::SessionState& session = *state_->session.state();
    RILL_ASSIGN(const auto entry, session.enter());
    RILL_ASSIGN(const std::vector<std::byte> part, state_->save());
    return session::save_to_buffer(session, session::SavedKind::conversation, part, stop);
  });
}

Result<std::optional<Generation>> Conversation::restore_from(const ByteSource& source, ResumeOptions options) {
  return guarded([&]() -> Result<std::optional<Generation>> {
    const auto& session = state_->session.state();
    RILL_ASSIGN(const auto entry, session->enter());
    RILL_ASSIGN(session::SavedSession saved,
                session::read_saved(source, *session, session::SavedKind::conversation, options.stop));
    Memory memory;
    std::optional<std::vector<std::byte>> answer_so_far;
    ArchiveReader archive(saved.part);
    archive(memory, answer_so_far);
    RILL_TRY(archive.finish("conversation"));
    RILL_TRY(check_memory(memory, *session));
    std::shared_ptr<session::GenerationState> running;
    if (answer_so_far) {
      RILL_ASSIGN(running, session::GenerationState::resume(session, std::move(saved.content), *answer_so_far,
                                                            std::move(options)));
    } else {
      session->adopt(std::move(saved.content));
    }
    static_cast<Memory&>(*state_) = std::move(memory);
    state_->running = running;
    return running == nullptr ? std::optional<Generation>() : std::optional<Generation>(std::move(running));
  });
}

Result<std::optional<Generation>> Conversation::restore(const std::filesystem::path& path, ResumeOptions options) {
  RILL_ASSIGN(const ByteSourcePtr source, open_file(path));
  return restore_from(*source, std::move(options));
}

Result<std::optional<Generation>> Conversation::restore(std::span<const std::byte> saved, ResumeOptions options) {
  RILL_ASSIGN(const ByteSourcePtr source, borrow_buffer(saved));
  return restore_from(*source, std::move(options));
}

}  // namespace rill
