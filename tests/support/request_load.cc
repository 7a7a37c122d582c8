#include "support/request_load.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "rill/rill.h"

namespace rill::test {
namespace {

constexpr std::size_t kClients = 4;

struct Planned {
  Request request;
  std::size_t tokens = 0;   // prompt and answer
  std::size_t arrival = 0;  // step
  bool impossible = false;
  std::optional<std::size_t> cancel_after;  // steps, or chunks where others step
};

struct Answer {
  std::vector<Token> tokens;
  std::vector<float> logprobs;  // raw and final of each token

  void add(const Chunk& chunk) {
    if (!chunk.sample) return;
    tokens.push_back(chunk.sample->token);
    logprobs.push_back(chunk.sample->logprob_raw.value());
    logprobs.push_back(chunk.sample->logprob_final);
  }
  static bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }
  // Whether both are the same to the bit, or this is what the other begins with.
  bool begins(const Answer& whole, bool all) const {
    const std::size_t count = tokens.size();
    if (count > whole.tokens.size() || (all && count != whole.tokens.size())) return false;
    return std::equal(tokens.begin(), tokens.end(), whole.tokens.begin()) &&
           std::equal(logprobs.begin(), logprobs.end(), whole.logprobs.begin(), same_bits);
  }
};

// A request that was accepted, followed to its end.
struct Followed {
  const Planned* planned = nullptr;
  Ticket ticket;
  std::vector<Answer> answers;
  std::size_t begun = 0;  // step
  std::size_t chunks = 0;
  bool cancelled = false;  // by us

  bool drain() {
    while (auto chunk = ticket.try_next()) {
      answers[chunk->completion].add(*chunk);
      ++chunks;
    }
    return ticket.finished();
  }
};

class Run {
 public:
  Run(const std::shared_ptr<const Model>& model, const RequestLoad& load, SchedulerOptions options)
      : model_(model), load_(load), options_(std::move(options)), random_(load.seed) {
    if (options_.context_tokens == 0) options_.context_tokens = static_cast<std::size_t>(model->info().context_length);
    plan();
    make_pool();
    make_some_impossible();
  }

  LoadReport run() {
    report_.requests = planned_.size();
    if (load_.background) {
      serve_background();
    } else {
      serve_steps();
    }
    for (const Followed& one : followed_) judge(one);
    compare();
    report_.leaked_pages = options_.kv_pool->use().pages;
    return report_;
  }

 private:
  double uniform() { return std::uniform_real_distribution<>()(random_); }
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  std::vector<Token> prompt(std::size_t count) {
    std::vector<Token> tokens(count);
    const std::size_t size = model_->tokenizer().size();
    for (Token& token : tokens) token = static_cast<Token>(size / 8 + below(size / 2));
    return tokens;
  }

  void plan() {
    double arrival = 0;
    for (std::size_t i = 0; i < load_.requests; ++i) {
      Planned planned;
      planned.tokens = 2 + static_cast<std::size_t>(std::pow(static_cast<double>(load_.longest - 2), uniform()));
      const std::size_t answer = 1 + below(std::min(load_.longest_answer, planned.tokens - 1));
      planned.request.prompt = prompt(planned.tokens - answer);
      GenerateOptions& options = planned.request.options;
      options.max_tokens = answer;
      options.logprobs = LogprobOptions();
      if (i % 3 == 0) options.sampling.temperature = 0.0f;
      if (i % 3 == 1) options.sampling.repetition.penalty = 1.1f;
      options.sampling.seed = random_();
      planned.request.completions = i % 10 == 9 ? 2 : 1;
      planned.request.priority = static_cast<int>(below(3));
      if (uniform() < load_.cancelled) planned.cancel_after = below(40);
      arrival -= std::log(1 - uniform()) / load_.arrivals_per_step;
      planned.arrival = static_cast<std::size_t>(arrival);
      planned_.push_back(std::move(planned));
    }
  }

  std::uint64_t bytes_of(std::size_t tokens) const {
    return kv_bytes(model_->kv_shape(), options_.kv_type, {tokens, options_.prefill_chunk, options_.rollback_reserve});
  }

  void make_pool() {
    std::vector<std::size_t> lengths;
    for (const Planned& planned : planned_) lengths.push_back(planned.tokens);
    std::sort(lengths.rbegin(), lengths.rend());
    lengths.resize(std::min(lengths.size(), options_.max_sequences));
    for (const std::size_t length : lengths) report_.demand_bytes += bytes_of(length);
    // The longest request may have two answers, and copies a page that both share.
    const std::uint64_t least = 2 * bytes_of(lengths.front() + kKvPageTokens);
    const auto share = static_cast<std::uint64_t>(load_.pool_share * static_cast<double>(report_.demand_bytes));
    report_.pool_bytes = std::max(share, least);
    options_.kv_pool =
        KvPool::create(model_, {.budget_bytes = report_.pool_bytes, .kv_type = options_.kv_type}).value();
  }

  // Half of them fit no window, the others no pool, if the window is larger than that.
  void make_some_impossible() {
    for (Planned& planned : planned_) {
      if (uniform() >= load_.impossible) continue;
      planned.impossible = true;
      const std::size_t whole = options_.context_tokens - std::get<std::vector<Token>>(planned.request.prompt).size();
      const bool too_long = uniform() < 0.5 || bytes_of(options_.context_tokens) <= report_.pool_bytes;
      planned.request.options.max_tokens = too_long ? whole + 1 : whole;
    }
  }

  // Nothing, and counted, if the request is refused.
  template <typename Server>
  std::optional<Followed> submit(Server& server, const Planned& planned) {
    Result<Ticket> ticket = server.submit(planned.request);
    const std::lock_guard lock(mutex_);
    if (ticket.has_value() == planned.impossible) ++report_.wrongly_refused;
    if (ticket) return Followed{&planned, *std::move(ticket), std::vector<Answer>(planned.request.completions)};
    ++report_.refused;
    const Error& error = ticket.error();
    const bool named = error.code == ErrorCode::context_full || error.code == ErrorCode::resource_exhausted;
    const std::string wanted = std::to_string(*planned.request.options.max_tokens);
    if (planned.impossible && (!named || error.message.find(wanted) == std::string::npos)) ++report_.wrongly_refused;
    return std::nullopt;
  }

  void serve_steps() {
    Scheduler scheduler = Scheduler::create(model_, options_).value();
    std::vector<Followed> open;
    std::size_t next = 0;
    for (std::size_t step = 0; next < planned_.size() || !open.empty(); ++step) {
      for (; next < planned_.size() && planned_[next].arrival <= step; ++next) {
        std::optional<Followed> followed = submit(scheduler, planned_[next]);
        if (!followed) continue;
        followed->begun = step;
        open.push_back(*std::move(followed));
      }
      for (Followed& one : open) {
        if (one.cancelled || !one.planned->cancel_after || step - one.begun < *one.planned->cancel_after) continue;
        one.ticket.cancel();
        one.cancelled = true;
      }
      scheduler.step().value();
      const auto ended = std::partition(open.begin(), open.end(), [](Followed& one) { return !one.drain(); });
      std::move(ended, open.end(), std::back_inserter(followed_));
      open.erase(ended, open.end());
    }
    report_.preempted = static_cast<std::size_t>(scheduler.metrics().preemptions);
  }

  void serve_background() {
    BackgroundScheduler scheduler = BackgroundScheduler::create(model_, options_).value();
    std::vector<std::thread> clients;
    for (std::size_t client = 0; client < kClients; ++client) {
      clients.emplace_back([&, client] {
        std::vector<Followed> open;
        for (std::size_t i = client; i < planned_.size(); i += kClients) {
          if (std::optional<Followed> followed = submit(scheduler, planned_[i])) open.push_back(*std::move(followed));
        }
        for (Followed& one : open) {
          for (;;) {
            const bool ended = one.drain();
            if (!one.cancelled && one.planned->cancel_after && one.chunks >= *one.planned->cancel_after % 8) {
              one.ticket.cancel();
              one.cancelled = true;
            }
            if (ended) break;
            one.ticket.wait();
          }
        }
        const std::lock_guard lock(mutex_);
        std::move(open.begin(), open.end(), std::back_inserter(followed_));
      });
    }
    for (std::thread& client : clients) client.join();
    report_.preempted = static_cast<std::size_t>(scheduler.metrics().preemptions);
    scheduler.stop();
  }

  void judge(const Followed& one) {
    bool lost = false, cancelled = false;
    for (std::size_t i = 0; i < one.answers.size(); ++i) {
      const Result<GenerationResult> result = one.ticket.result(i);
      lost |= !result || (result->finish_reason == FinishReason::cancelled && !one.cancelled);
      cancelled |= result && result->finish_reason == FinishReason::cancelled;
      report_.generated_tokens += one.answers[i].tokens.size();
    }
    ++(lost ? report_.lost : cancelled ? report_.cancelled : report_.finished);
  }

  // Cancelled requests, too, say nothing but the beginning of what they would have said.
  void compare() {
    std::shuffle(followed_.begin(), followed_.end(), random_);
    for (const Followed& one : followed_) {
      if (report_.compared == load_.compared) return;
      ++report_.compared;
      bool same = true;
      for (std::size_t i = 0; i < one.answers.size(); ++i) {
        GenerateOptions options = one.planned->request.options;
        options.sampling.completion_index += static_cast<std::uint32_t>(i);
        const SessionOptions own{.context_tokens = options_.context_tokens, .kv_type = options_.kv_type};
        Session session = Session::create(model_, own).value();
        Generation generation =
            session.generate(std::get<std::vector<Token>>(one.planned->request.prompt), options).value();
        Answer alone;
        while (const auto chunk = generation.next()) alone.add(*chunk);
        const Result<GenerationResult> result = one.ticket.result(i);
        same &= one.answers[i].begins(alone, !result || result->finish_reason != FinishReason::cancelled);
      }
      if (!same) ++report_.bit_differences;
    }
  }

  const std::shared_ptr<const Model> model_;
  const RequestLoad load_;
  SchedulerOptions options_;
  std::mt19937_64 random_;
  std::vector<Planned> planned_;
  std::mutex mutex_;  // guards the two below while clients run
  std::vector<Followed> followed_;
  LoadReport report_;
};

}  // namespace

LoadReport run_load(const std::shared_ptr<const Model>& model, const RequestLoad& load, SchedulerOptions options) {
  return Run(model, load, std::move(options)).run();
}

std::string summary(const LoadReport& report) {
  const std::pair<const char*, std::uint64_t> figures[] = {{"requests", report.requests},
                                                           {"lost", report.lost},
                                                           {"leaked_pages", report.leaked_pages},
                                                           {"bit_differences", report.bit_differences},
                                                           {"refused", report.refused},
                                                           {"preempted", report.preempted},
                                                           {"wrongly_refused", report.wrongly_refused},
                                                           {"finished", report.finished},
                                                           {"cancelled", report.cancelled},
                                                           {"compared", report.compared},
                                                           {"generated_tokens", report.generated_tokens}};
  std::string text;
  for (const auto& [name, figure] : figures) {
    if (!text.empty()) text += ' ';
    text += std::string(name) + "=" + std::to_string(figure);
  }
  return text;
}

}  // namespace rill::test
