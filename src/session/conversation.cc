#include "rill/conversation.h"

#include <algorithm>

#include "base/error.h"
#include "session/generation_state.h"
#include "session/session_state.h"

namespace rill {

namespace {

// Length of the prefix of `rendered` that is `prompt` and then `answer`, as it is or with white space trimmed from its ends,
// as many templates do; 0 if there is none.
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

// The rendered conversation is tokenised as a whole, except that the sampled ids of the answer that ended last, and with them
// all that the session holds, stand for their text: the model is never shown other ids than it chose.
struct Conversation::State {
  Session session;
  const ChatTemplate* chat_template = nullptr;
  ConversationOptions options;
  std::vector<Message> messages;
  std::shared_ptr<session::GenerationState> running;  // the answer that is not a message yet
  std::string rendered;             // what the last answer answered, as text
  std::vector<Token> tokens;        // and as tokens
  std::string answer;               // the last answer
  std::vector<Token> answer_tokens;

  void settle();
  Result<RenderedPrompt> render() const;
  Result<std::vector<Token>> encode(const RenderedPrompt& prompt) const;
};

// Makes the running answer a message.
void Conversation::State::settle() {
  if (running == nullptr) return;
  const GenerationResult& result = running->so_far();
  answer = result.text;
  answer_tokens = result.tokens;
  messages.push_back({.role = "assistant", .content = answer});
  running.reset();
}

Result<RenderedPrompt> Conversation::State::render() const {
  RenderOptions render_options = options.render;
  const Tokenizer& tokenizer = session.model().tokenizer();
  if (render_options.bos_token.empty() && tokenizer.bos()) render_options.bos_token = tokenizer.token_bytes(*tokenizer.bos());
  if (render_options.eos_token.empty() && tokenizer.eos()) render_options.eos_token = tokenizer.token_bytes(*tokenizer.eos());
  return chat_template->render(messages, render_options);
}

Result<std::vector<Token>> Conversation::State::encode(const RenderedPrompt& prompt) const {
  const Tokenizer& tokenizer = session.model().tokenizer();
  const std::size_t known = tokens.empty() ? 0 : answered_prefix(prompt.text, rendered, answer);
  if (known == 0) return tokenizer.encode_rendered(prompt.text, prompt.untrusted);
  std::vector<ByteRange> untrusted;
  for (const ByteRange& range : prompt.untrusted) {
    if (range.end > known) untrusted.push_back({std::max(range.begin, known) - known, range.end - known});
  }
  RILL_ASSIGN(const std::vector<Token> rest, tokenizer.encode_rendered(std::string_view(prompt.text).substr(known), untrusted));
  std::vector<Token> all = tokens;
  all.insert(all.end(), answer_tokens.begin(), answer_tokens.end());
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

Conversation::Conversation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Conversation::Conversation(Conversation&&) noexcept = default;
Conversation& Conversation::operator=(Conversation&&) noexcept = default;
Conversation::~Conversation() = default;

Result<Conversation> Conversation::create(Session session, ConversationOptions options) {
  return guarded([&]() -> Result<Conversation> {
    RILL_ASSIGN(const ChatTemplate* chat_template, session.model().chat_template());
    return Conversation(std::make_unique<State>(State{std::move(session), chat_template, std::move(options), {}, {}, {}, {}, {}, {}}));
  });
}

const std::vector<Message>& Conversation::messages() {
  state_->settle();
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
    const Duration start = state.session.options().clock();
    RILL_ASSIGN(RenderedPrompt prompt, state.render());
    RILL_ASSIGN(std::vector<Token> tokens, state.encode(prompt));
    const Duration tokenize = state.session.options().clock() - start;
    RILL_ASSIGN(auto running, session::GenerationState::start_over(state.session.state(), tokens, std::move(options), start, tokenize));
    state.rendered = std::move(prompt.text);
    state.tokens = std::move(tokens);
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
  if (!state_->messages.empty()) state_->messages.pop_back();
}

void Conversation::clear() {
  state_->settle();
  state_->messages.clear();
}

}  // namespace rill
