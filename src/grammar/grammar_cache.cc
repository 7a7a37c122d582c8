#include "rill/grammar_cache.h"

#include <list>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace rill {
namespace {

enum class FrontEnd : char { json_schema = 'j', gbnf = 'g', regex = 'r' };

// All that a grammar depends on, each part with its size before it.
class Key {
 public:
  explicit Key(FrontEnd front_end) : text_(1, static_cast<char>(front_end)) {}

  Key& add(std::size_t value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof(value));
    return *this;
  }
  Key& add(std::string_view text) {
    add(text.size());
    text_ += text;
    return *this;
  }
  Key& add(const GrammarLimits& limits) {
    return add(limits.max_expressions).add(limits.max_states).add(limits.max_stack_edges).add(limits.mask_cache_bytes);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

class GrammarCache::State {
 public:
  explicit State(std::size_t max_grammars) : max_grammars_(max_grammars) {}

  template <typename Compile>
  Result<Grammar> find_or_compile(Key key, Compile compile) {
    return guarded([&]() -> Result<Grammar> {
      std::string text = key.take();
      if (auto found = find(text)) return *std::move(found);
      RILL_ASSIGN(Grammar made, compile());
      return add(std::move(text), std::move(made));
    });
  }

  GrammarCacheUse use() const {
    const std::lock_guard lock(mutex_);
    GrammarCacheUse use = use_;
    use.grammars = grammars_.size();
    return use;
  }

 private:
  using Entry = std::pair<std::string, Grammar>;

  std::optional<Grammar> find(std::string_view key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return std::nullopt;
    ++use_.found;
    grammars_.splice(grammars_.begin(), grammars_, found->second);
    return found->second->second;
  }

  Grammar add(std::string key, Grammar made) {
    const std::lock_guard lock(mutex_);
    ++use_.compiled;
    if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second->second;
    if (max_grammars_ == 0) return made;
    if (grammars_.size() == max_grammars_) {
      by_key_.erase(grammars_.back().first);
      grammars_.pop_back();
    }
    grammars_.emplace_front(std::move(key), made);
    by_key_.emplace(grammars_.front().first, grammars_.begin());
    return made;
  }

  std::size_t max_grammars_;
  mutable std::mutex mutex_;
  GrammarCacheUse use_;
  std::list<Entry> grammars_;  // the one that was asked for last comes first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> by_key_;
};

GrammarCache::GrammarCache(std::size_t max_grammars) : state_(std::make_unique<State>(max_grammars)) {}
GrammarCache::GrammarCache(GrammarCache&&) noexcept = default;
GrammarCache& GrammarCache::operator=(GrammarCache&&) noexcept = default;
GrammarCache::~GrammarCache() = default;

Result<Grammar> GrammarCache::json_schema(std::string_view schema, const JsonGrammarOptions& options) {
  Key key(FrontEnd::json_schema);
  key.add(options.limits).add(static_cast<std::size_t>(options.property_order));
  key.add(static_cast<std::size_t>(options.whitespace)).add(options.lenient ? 1 : 0).add(options.strict_unknown ? 1 : 0);
  for (const auto& [uri, document] : options.documents) key.add(uri).add(document);
  key.add(schema);
  return state_->find_or_compile(std::move(key), [&] { return Grammar::json_schema(schema, options); });
}

Result<Grammar> GrammarCache::gbnf(std::string_view text, const GbnfOptions& options) {
  if (options.tokenizer) return Grammar::gbnf(text, options);
  Key key(FrontEnd::gbnf);
  key.add(options.limits).add(options.start).add(text);
  return state_->find_or_compile(std::move(key), [&] { return Grammar::gbnf(text, options); });
}

Result<Grammar> GrammarCache::regex(std::string_view pattern, const GrammarOptions& options) {
  Key key(FrontEnd::regex);
  key.add(options.limits).add(pattern);
  return state_->find_or_compile(std::move(key), [&] { return Grammar::regex(pattern, options); });
}

GrammarCacheUse GrammarCache::use() const { return state_->use(); }

}  // namespace rill
