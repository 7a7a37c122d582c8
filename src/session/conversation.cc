#include "rill/conversation.h"

#include <algorithm>

#include "base/error.h"
#include "session/generation_state.h"
#include "session/prompt.h"
#include "session/session_state.h"

namespace rill {

namespace {

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
struct Conversation::State {
  // The beginning of a rendered text, and of its tokens.
  struct Prefix {
    std::size_t bytes = 0;
    std::size_t tokens = 0;
  };
  struct Encoded {
    std::vector<Token> tokens;
    Prefix known;  // what was not tokenised anew
  };

  Session session;
  const ChatTemplate* chat_template = nullptr;
  ConversationOptions options = {};
  std::vector<Message> messages = {};
  std::shared_ptr<session::GenerationState> running = nullptr;  // the last answer, while it may still grow
  std::string rendered = "";       // what the last answer answered, as text
  std::vector<Token> tokens = {};  // and as tokens
  std::vector<Prefix> answered = {};  // where earlier answers end in them, ascending
  std::size_t answer_message = 0;  // the last answer: its place in `messages`, and as far as its tokens spell it
  std::string answer = "";
  std::optional<std::vector<Token>> answer_tokens = std::nullopt;

  void update();
  void settle();
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
    answer_tokens.emplace(result.tokens.begin(), result.tokens.begin() + static_cast<std::ptrdiff_t>(spelled.tokens));
  }
  if (running->ended()) running.reset();
}

void Conversation::State::settle() {
  update();
  running.reset();
}

Result<RenderedPrompt> Conversation::State::render(const std::vector<Message>& messages) const {
  return chat_template->render(messages, session::with_special_tokens(options.render, session.model().tokenizer()));
}

Result<Conversation::State::Encoded> Conversation::State::encode(const RenderedPrompt& prompt) const {
  const std::string_view text = prompt.text;
  Encoded encoded;
  std::size_t known = answer_tokens ? answered_prefix(text, rendered, answer) : 0;
  if (known != 0) {
    encoded.tokens = tokens;
    encoded.tokens.insert(encoded.tokens.end(), answer_tokens->begin(), answer_tokens->end());
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

// Length of what conversations with the same first system message, template and tools have in common: their prompts differ
// from there on, where the user's first words are.
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
    return Conversation(std::make_unique<State>(
        State{.session = std::move(session), .chat_template = chat_template, .options = std::move(options)}));
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
    std::erase_if(state.answered, [&](const State::Prefix& prefix) { return prefix.bytes >= encoded.known.bytes; });
    if (encoded.known.bytes != 0) state.answered.push_back(encoded.known);
    state.rendered = std::move(prompt.text);
    state.tokens = std::move(encoded.tokens);
    state.answer_message = state.messages.size();
    state.answer_tokens.reset();
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
  if (state_->messages.size() == state_->answer_message) state_->answer_tokens.reset();
}

void Conversation::clear() {
  state_->settle();
  state_->messages.clear();
  state_->answered.clear();
  state_->answer_tokens.reset();
}

}  // namespace rill
