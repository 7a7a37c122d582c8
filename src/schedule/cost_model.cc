#include "schedule/cost_model.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>

#include "base/error.h"
#include "model/head.h"
#include "schedule/step_plan.h"
#include "session/session_state.h"

namespace rill::schedule {
namespace {

constexpr double kForget = 0.98;  // weight of an observation when the next one comes
constexpr double kRidge = 1e-4;   // against terms that no observation tells apart

using Matrix = Eigen::Matrix<double, CostModel::kTerms, CostModel::kTerms>;
using Vector = Eigen::Matrix<double, CostModel::kTerms, 1>;

Vector terms(const PassShape& pass) {
  return {1.0, static_cast<double>(pass.decode_rows + pass.prefill_rows), static_cast<double>(pass.head_rows),
          static_cast<double>(pass.attended) / 1024.0};
}

}  // namespace

void CostModel::observe(const PassShape& pass, Duration time) {
  const double took = std::max<double>(1.0, static_cast<double>(time.count()));
  const Vector scaled = terms(pass) / took;
  Eigen::Map<Matrix> products(products_.data());
  Eigen::Map<Vector> right(right_.data());
  products = kForget * products + scaled * scaled.transpose();
  right = kForget * right + scaled;
  ++observed_;
  solved_ = false;
}

// A term that comes out negative is left out, the worst first: no pass gets shorter by being longer.
void CostModel::solve() const {
  Matrix products = Eigen::Map<const Matrix>(products_.data());
  const Eigen::Map<const Vector> right(right_.data());
  for (Eigen::Index i = 0; i < products.rows(); ++i) products(i, i) *= 1.0 + kRidge;
  std::array<bool, kTerms> out{};
  Eigen::Map<Vector> factors(factors_.data());
  for (std::size_t round = 0; round < kTerms; ++round) {
    Matrix active = products;
    Vector wanted = right;
    for (std::size_t i = 0; i < kTerms; ++i) {
      const auto at = static_cast<Eigen::Index>(i);
      if (!out[i] && active(at, at) > 0.0) continue;
      active.row(at).setZero();
      active.col(at).setZero();
      active(at, at) = 1.0;
      wanted(at) = 0.0;
    }
    factors = active.ldlt().solve(wanted);
    Eigen::Index worst = 0;
    if (factors.minCoeff(&worst) >= 0.0) break;
    out[static_cast<std::size_t>(worst)] = true;
  }
  factors = factors.cwiseMax(0.0);
  solved_ = true;
}

Duration CostModel::predict(const PassShape& pass) const {
  if (!solved_) solve();
  const double time = terms(pass).dot(Eigen::Map<const Vector>(factors_.data()));
  return Duration(static_cast<Duration::rep>(std::min(time, 1e15)));
}

Result<void> calibrate(const std::shared_ptr<const Model>& model, KvType kv_type, const Clock& clock, CostModel& cost) {
  struct Pass {
    std::size_t rows, head_rows;
  };
  constexpr Pass kPasses[] = {{1, 1}, {64, 1}, {1, 1}, {8, 8}, {4, 1}, {16, 16}, {64, 1}};  // the first two are warm-up
  constexpr std::size_t kTokens = 158;
  const auto context = static_cast<std::size_t>(std::min<std::uint64_t>(model->info().context_length, kTokens));
  RILL_ASSIGN(const auto session, session::SessionState::create(
      model, {.context_tokens = context, .kv_type = kv_type, .prefill_chunk = 64}));
  std::vector<float> logits(16 * model->loaded().vocabulary_size());
  for (std::size_t i = 0; i < std::size(kPasses); ++i) {
    const std::size_t held = session->tokens().size();
    const std::vector<Token> tokens(std::min(kPasses[i].rows, context - held), Token{0});
    if (tokens.empty()) break;
    const std::size_t head_rows = std::min(kPasses[i].head_rows, tokens.size());
    const Keep keep{head_rows == 1 ? Keep::Mode::last : Keep::Mode::all};
    const session::SessionState::Append append{session.get(), tokens, &keep};
    const Duration before = clock();
    RILL_TRY(session::SessionState::append({&append, 1}, {}, {}));
    RILL_TRY(model::head_logits(model->loaded(), session->kept_hidden(0), head_rows,
                                std::span(logits).first(head_rows * model->loaded().vocabulary_size())));
    if (i >= 2) cost.observe({tokens.size(), 0, head_rows, attended_by(held, tokens.size())}, clock() - before);
  }
  return {};
}

}  // namespace rill::schedule
