#include "support/golden_kl.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

namespace rill::test {
namespace {

using nlohmann::json;

double log_sum_exp(std::span<const float> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - max);
  return max + std::log(sum);
}

// Over the listed ids plus one bin for the rest, reference first, natural log.
double divergence(const json& position, std::span<const float> logits) {
  const double reference_lse = position[1].get<double>();
  const double lse = log_sum_exp(logits);
  double kl = 0, p_rest = 1, q_rest = 1;
  for (std::size_t i = 0; i < position[2].size(); ++i) {
    const double log_p = position[3][i].get<double>() - reference_lse;
    const double log_q = static_cast<double>(logits[position[2][i].get<std::size_t>()]) - lse;
    kl += std::exp(log_p) * (log_p - log_q);
    p_rest -= std::exp(log_p);
    q_rest -= std::exp(log_q);
  }
  constexpr double kLeast = 1e-12;
  p_rest = std::max(p_rest, kLeast);
  q_rest = std::max(q_rest, kLeast);
  return kl + p_rest * std::log(p_rest / q_rest);
}

double quantile(const std::vector<double>& ascending, double q) {
  return ascending[static_cast<std::size_t>(q * static_cast<double>(ascending.size() - 1) + 0.5)];
}

}  // namespace

GoldenKl measure_golden_kl(const std::filesystem::path& golden, const std::shared_ptr<const Model>& model, KvType kv_type) {
  std::ifstream file(golden);
  const json data = json::parse(file);
  const auto ids = data.at("ids").get<std::vector<Token>>();
  const std::size_t context = data.at("context");

  std::vector<double> divergences;
  std::size_t agree = 0;
  auto position = data.at("positions").begin();
  const auto end = data.at("positions").end();
  std::vector<float> logits(model->info().vocabulary_size);
  for (std::size_t first = 0; first < ids.size(); first += context) {
    const auto chunk = std::span(ids).subspan(first, std::min(context, ids.size() - first));
    Keep keep{.mode = Keep::Mode::positions};
    auto last = position;
    for (; last != end && (*last)[0].get<std::size_t>() < first + chunk.size(); ++last) {
      keep.positions.push_back((*last)[0].get<std::size_t>() - first);
    }
    auto session = Session::create(model, {.context_tokens = context, .kv_type = kv_type}).value();
    session.feed(chunk, {.keep = keep}).value();
    for (std::size_t i = 0; position != last; ++position, ++i) {
      session.logits(i).value().all(std::span(logits)).value();
      divergences.push_back(divergence(*position, logits));
      const auto best = static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
      agree += best == (*position)[2][0].get<std::size_t>();
    }
  }
  std::sort(divergences.begin(), divergences.end());

  const json& peer = data.at("llama_cpp_f16_cache");
  GoldenKl result;
  result.model_file = data.at("model_file");
  result.llama_cpp = {divergences.size(), peer.at("kl_mean"), peer.at("kl_median"),
                      peer.at("kl_p99"),  peer.at("kl_max"),  peer.at("top1_agreement")};
  result.rill.positions = divergences.size();
  for (const double one : divergences) result.rill.kl_mean += one / static_cast<double>(divergences.size());
  result.rill.kl_median = quantile(divergences, 0.5);
  result.rill.kl_p99 = quantile(divergences, 0.99);
  result.rill.kl_max = divergences.back();
  result.rill.top1 = static_cast<double>(agree) / static_cast<double>(divergences.size());
  return result;
}

}  // namespace rill::test
