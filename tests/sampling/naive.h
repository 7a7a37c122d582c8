// The definitions of docs/sampling.md, written as they read there: in double, by full sorts, with libm.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "rill/candidates.h"
#include "rill/token.h"

namespace rill::naive {

inline std::vector<double> softmax(std::span<const float> logits) {
  const double highest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p(logits.size());
  double total = 0;
  for (std::size_t i = 0; i < p.size(); ++i) total += p[i] = std::exp(static_cast<double>(logits[i]) - highest);
  for (double& value : p) value /= total;
  return p;
}

// Ids by falling logit, ties by id.
inline std::vector<Token> ranked(std::span<const float> logits) {
  std::vector<Token> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](Token a, Token b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  return ids;
}

// The shortest start of `order` whose probabilities reach p.
inline std::vector<Token> reach(std::vector<Token> order, std::span<const double> probabilities, double p) {
  double sum = 0;
  std::size_t count = 0;
  while (count < order.size() && sum < p) sum += probabilities[static_cast<std::size_t>(order[count++])];
  order.resize(count);
  std::sort(order.begin(), order.end());
  return order;
}

inline std::vector<Token> top_k(std::span<const float> logits, std::size_t k) {
  std::vector<Token> order = ranked(logits);
  order.resize(std::min(k, order.size()));
  std::sort(order.begin(), order.end());
  return order;
}

inline std::vector<Token> top_p(std::span<const float> logits, double p) {
  return reach(ranked(logits), softmax(logits), p);
}

inline std::vector<Token> where(std::size_t size, auto keep) {
  std::vector<Token> ids;
  for (std::size_t i = 0; i < size; ++i) {
    if (keep(i)) ids.push_back(static_cast<Token>(i));
  }
  return ids;
}

inline std::vector<Token> min_p(std::span<const float> logits, double p) {
  const std::vector<double> q = softmax(logits);
  const double highest = *std::max_element(q.begin(), q.end());
  return where(q.size(), [&](std::size_t i) { return q[i] >= p * highest; });
}

inline std::vector<Token> typical(std::span<const float> logits, double p) {
  const std::vector<double> q = softmax(logits);
  double entropy = 0;
  for (const double value : q) entropy -= value > 0 ? value * std::log(value) : 0;
  std::vector<Token> order(q.size());
  std::iota(order.begin(), order.end(), 0);
  const auto distance = [&](Token id) { return std::abs(-std::log(q[static_cast<std::size_t>(id)]) - entropy); };
  std::stable_sort(order.begin(), order.end(), [&](Token a, Token b) { return distance(a) < distance(b); });
  return reach(order, q, p);
}

inline std::vector<Token> top_n_sigma(std::span<const float> logits, double n) {
  double mean = 0, variance = 0;
  for (const float value : logits) mean += value;
  mean /= static_cast<double>(logits.size());
  for (const float value : logits) variance += (value - mean) * (value - mean);
  const double sigma = std::sqrt(variance / static_cast<double>(logits.size()));
  const double highest = *std::max_element(logits.begin(), logits.end());
  return where(logits.size(), [&](std::size_t i) { return logits[i] >= highest - n * sigma; });
}

inline std::vector<Token> xtc(std::span<const float> logits, double threshold) {
  const std::vector<double> q = softmax(logits);
  std::vector<Token> order = ranked(logits);
  std::size_t above = 0;
  while (above < order.size() && q[static_cast<std::size_t>(order[above])] >= threshold) ++above;
  if (above >= 2) order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(above - 1));
  std::sort(order.begin(), order.end());
  return order;
}

inline std::vector<float> random_logits(std::mt19937_64& random, std::size_t size, float scale) {
  std::normal_distribution<float> normal(0, scale);
  std::vector<float> logits(size);
  for (float& value : logits) value = normal(random);
  return logits;
}

inline Candidates candidates_of(std::span<const float> logits) {
  Candidates candidates;
  candidates.assign_all(logits.size());
  std::copy(logits.begin(), logits.end(), candidates.values().begin());
  return candidates;
}

inline std::vector<Token> ids_of(const Candidates& candidates) {
  std::vector<Token> ids(candidates.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = candidates.id(i);
  return ids;
}

}  // namespace rill::naive
