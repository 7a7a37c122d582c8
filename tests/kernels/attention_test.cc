// Keys and values in pages, and attention over them: near a double reference, the same bits from every table of a class
// and for every way of cutting the rows, and no touch of what a row may not see.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/float_mode.h"
#include "kernels/kernel_table.h"
#include "kernels/math.h"
#include "kernels/random_floats.h"
#include "support/narrow.h"
#include "tensor/half.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace rill::kernels {
namespace {

using test::RandomFloats;
using test::same_bits;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Two KV heads in two layers; the test looks at head 1 of layer 1. Bytes that nobody wrote are all ones: NaN in every
// format.
class Pages {
 public:
  Pages(KvType type, std::size_t head_dim) : layout_{type, 2, head_dim} {}

  void append(const KernelTable& table, const std::vector<float>& k, const std::vector<float>& v) {
    if (tokens_ % kTokensPerPage == 0) storage_.emplace_back(2 * layout_.layer_bytes(), std::byte{0xFF});
    table.store_kv(layout_, k.data(), v.data(), storage_.back().data() + layout_.layer_bytes(),
                   tokens_ % kTokensPerPage);
    ++tokens_;
  }
  const KvLayout& layout() const { return layout_; }
  std::size_t tokens() const { return tokens_; }
  std::size_t k_offset() const { return layout_.layer_bytes() + layout_.k_offset(1); }
  std::size_t v_offset() const { return layout_.layer_bytes() + layout_.v_offset(1); }
  const std::byte* page(std::size_t index) const { return index < storage_.size() ? storage_[index].data() : nullptr; }

  // What the page holds, by the layout's definition.
  float key(std::size_t token, std::size_t d) const { return element(token, k_offset(), d * 16 + token % 16, d); }
  float value(std::size_t token, std::size_t d) const {
    return element(token, v_offset(), token % 16 * layout_.head_dim + d, d);
  }

 private:
  float element(std::size_t token, std::size_t offset, std::size_t index, std::size_t d) const {
    const std::byte* head = storage_[token / 16].data() + offset;
    if (layout_.type == KvType::f32) return read<float>(head, index);
    if (layout_.type == KvType::f16) return f16_to_f32(read<std::uint16_t>(head, index));
    return f16_to_f32(read<std::uint16_t>(head + 16 * layout_.head_dim, d / 32 * 16 + token % 16)) *
           read<std::int8_t>(head, index);
  }
  template <class T>
  static T read(const std::byte* base, std::size_t index) {
    T value;
    std::memcpy(&value, base + index * sizeof(T), sizeof(T));
    return value;
  }

  KvLayout layout_;
  std::size_t tokens_ = 0;
  std::vector<std::vector<std::byte>> storage_;
};

struct Case {
  KvType type = KvType::f16;
  std::size_t head_dim = 64;
  std::size_t group = 3;
  std::size_t tokens = 300;
  std::size_t rows = 20;  // the last of the tokens
  std::uint64_t window = 0;
  float softcap = 0.0f;

  std::string name() const {
    return "type " + std::to_string(static_cast<int>(type)) + " dim " + std::to_string(head_dim) + " group " +
           std::to_string(group) + " tokens " + std::to_string(tokens) + " rows " + std::to_string(rows) + " window " +
           std::to_string(window);
  }
};

struct Inputs {
  std::vector<float> q;                  // [tokens, 2 * group, head_dim]: the other KV head's queries first
  std::vector<std::vector<float>> k, v;  // [tokens][2, head_dim]
  std::size_t stride = 0;
};

Inputs make_inputs(const Case& c, std::uint64_t seed) {
  RandomFloats random(seed);
  Inputs in;
  in.stride = 2 * c.group * c.head_dim;
  in.q = random.vector(c.tokens * in.stride, 2.0f);
  for (std::size_t t = 0; t < c.tokens; ++t) {
    in.k.push_back(random.vector(2 * c.head_dim, 2.0f));
    in.v.push_back(random.vector(2 * c.head_dim, 2.0f));
  }
  return in;
}

Pages fill(const Case& c, const KernelTable& table, const Inputs& in) {
  Pages pages(c.type, c.head_dim);
  for (std::size_t t = 0; t < c.tokens; ++t) pages.append(table, in.k[t], in.v[t]);
  return pages;
}

// Attention of rows [begin, begin + rows), all spans merged in order; pages that no row sees are null.
std::vector<float> attend(const Case& c, const KernelTable& table, const Inputs& in, const Pages& pages,
                          std::size_t begin, std::size_t rows) {
  const std::size_t all = rows * c.group;
  std::vector<float> max(all, -kInfinity), sum(all), accumulator(all * c.head_dim), out(all * c.head_dim);
  std::vector<float> span_max(all), span_sum(all), span_accumulator(all * c.head_dim);
  const std::uint64_t oldest = c.window != 0 && begin + 1 > c.window ? begin + 1 - c.window : 0;
  for (std::uint64_t span = 0; span * kTokensPerSpan < begin + rows + kTokensPerSpan; ++span) {  // one span too many
    const std::byte* bases[2 * kPagesPerSpan] = {};
    for (std::size_t i = 0; i < 2 * kPagesPerSpan; ++i) {
      const std::size_t page = span * kPagesPerSpan + i;
      if (page * 16 < begin + rows && page * 16 + 16 > oldest) bases[i] = pages.page(page);
    }
    std::fill(span_max.begin(), span_max.end(), 7.0f);  // whatever was there
    std::fill(span_sum.begin(), span_sum.end(), std::nanf(""));
    std::fill(span_accumulator.begin(), span_accumulator.end(), std::nanf(""));
    SpanAttention task;
    task.q = in.q.data() + begin * in.stride + c.group * c.head_dim;
    task.q_stride = in.stride;
    task.query_rows = rows;
    task.group = c.group;
    task.first_position = begin;
    task.window = c.window;
    task.scale = 1.0f / std::sqrt(static_cast<float>(c.head_dim));
    task.softcap = c.softcap;
    task.span = span;
    task.pages = bases;
    task.next_pages = span % 2 == 0 ? bases + kPagesPerSpan : nullptr;
    task.k_offset = pages.k_offset();
    task.v_offset = pages.v_offset();
    task.max = span_max.data();
    task.sum = span_sum.data();
    task.accumulator = span_accumulator.data();
    table.attend_span(pages.layout(), task);
    table.merge_span(all, c.head_dim, span_max.data(), span_sum.data(), span_accumulator.data(), max.data(), sum.data(),
                     accumulator.data());
  }
  table.finish_attention(all, c.head_dim, sum.data(), accumulator.data(), out.data());
  return out;
}

std::vector<double> reference(const Case& c, const Inputs& in, const Pages& pages, std::size_t position,
                              std::size_t head) {
  const std::size_t oldest = c.window != 0 && position + 1 > c.window ? position + 1 - c.window : 0;
  const float* q = in.q.data() + position * in.stride + (c.group + head) * c.head_dim;
  std::vector<double> scores;
  for (std::size_t t = oldest; t <= position; ++t) {
    double dot = 0;
    for (std::size_t d = 0; d < c.head_dim; ++d) dot += double{q[d]} * pages.key(t, d);
    double score = dot / std::sqrt(static_cast<double>(c.head_dim));
    if (c.softcap > 0) score = c.softcap * std::tanh(score / c.softcap);
    scores.push_back(score);
  }
  const double max = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  std::vector<double> out(c.head_dim);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp(scores[i] - max);
    sum += weight;
    for (std::size_t d = 0; d < c.head_dim; ++d) out[d] += weight * pages.value(oldest + i, d);
  }
  for (double& x : out) x /= sum;
  return out;
}

void expect_same(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(same_bits(a[i], b[i])) << what << " [" << i << "] " << a[i] << ' ' << b[i];
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    for (const std::size_t group : {1u, 3u, 4u, 8u})
      result.push_back({.type = type, .group = group, .tokens = 277, .rows = 21});
    for (const std::uint64_t window : {1u, 2u, 15u, 16u, 17u, 100u, 256u, 257u}) {
      result.push_back({.type = type, .head_dim = 32, .tokens = 290, .rows = 40, .window = window});
    }
    for (const std::size_t head_dim : {32u, 96u, 128u, 256u, 576u})
      result.push_back({.type = type, .head_dim = head_dim, .tokens = 33, .rows = 33});
    for (const std::size_t tokens : {1u, 15u, 16u, 17u}) result.push_back({.type = type, .tokens = tokens, .rows = tokens});
    result.push_back({.type = type, .tokens = 530, .rows = 9});
    result.push_back({.type = type, .tokens = 40, .rows = 40, .softcap = 5.0f});
    if (type == KvType::q8_0) continue;  // its blocks are of 32 dimensions
    for (const std::size_t head_dim : {1u, 16u, 40u, 80u, 100u, 300u}) {
      result.push_back({.type = type, .head_dim = head_dim, .tokens = 45, .rows = 30, .window = 20});
    }
  }
  return result;
}

TEST(Attention, IsThatOfTheReferenceAndTheSameBitsEverywhere) {
  for (const Case& c : cases()) {
    const Inputs in = make_inputs(c, c.head_dim * 1000 + c.group);
    const KernelTable& scalar = *find_table("scalar");
    const std::size_t begin = c.tokens - c.rows;
    const std::vector<float> expected = attend(c, scalar, in, fill(c, scalar, in), begin, c.rows);
    for (const KernelTable* table : available_tables()) {
      const Pages pages = fill(c, *table, in);
      const std::vector<float> out = attend(c, *table, in, pages, begin, c.rows);
      if (table->numerics_class == NumericsClass::fma) {
        expect_same(out, expected, table->name + (": " + c.name()));
        if (table != &scalar && table != available_tables().front()) continue;  // same bits as what is checked below
      }
      for (std::size_t row = 0; row < c.rows; row += 7) {
        for (std::size_t head = 0; head < c.group; ++head) {
          const std::vector<double> truth = reference(c, in, pages, begin + row, head);
          for (std::size_t d = 0; d < c.head_dim; ++d) {
            ASSERT_NEAR(out[(row * c.group + head) * c.head_dim + d], truth[d], 4e-6)
                << table->name << ' ' << c.name() << " row " << row;
          }
        }
      }
    }
  }
}

TEST(Attention, ARowDoesNotDependOnTheRowsBesideIt) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    for (const std::uint64_t window : {0u, 3u, 40u}) {
      const Case c{.type = type, .head_dim = 32, .group = 3, .tokens = 300, .rows = 60, .window = window};
      const Inputs in = make_inputs(c, 11);
      for (const KernelTable* table : available_tables()) {
        const Pages pages = fill(c, *table, in);
        const std::vector<float> whole = attend(c, *table, in, pages, c.tokens - c.rows, c.rows);
        for (const std::size_t chunk : {1u, 2u, 3u, 7u, 16u, 17u}) {
          std::vector<float> parts;
          for (std::size_t row = 0; row < c.rows; row += chunk) {
            const std::vector<float> part =
                attend(c, *table, in, pages, c.tokens - c.rows + row, std::min(chunk, c.rows - row));
            parts.insert(parts.end(), part.begin(), part.end());
          }
          expect_same(parts, whole, table->name + (" in chunks of " + std::to_string(chunk)));
        }
      }
    }
  }
}

TEST(Attention, OneHeadOfAGroupIsThatHeadAlone) {
  const Case many{.head_dim = 64, .group = 8, .tokens = 70, .rows = 5};
  const Inputs in = make_inputs(many, 12);
  for (const KernelTable* table : available_tables()) {
    const Pages pages = fill(many, *table, in);
    const std::vector<float> all = attend(many, *table, in, pages, 65, 5);
    for (std::size_t head = 0; head < many.group; ++head) {
      Case one = many;
      one.group = 1;
      Inputs single = in;  // attend() skips `group` heads: move the wanted one there
      single.q.erase(single.q.begin(),
                     single.q.begin() + static_cast<std::ptrdiff_t>((many.group + head - 1) * many.head_dim));
      const std::vector<float> alone = attend(one, *table, single, pages, 65, 5);
      for (std::size_t row = 0; row < 5; ++row) {
        for (std::size_t d = 0; d < 64; ++d) {
          ASSERT_TRUE(same_bits(alone[row * 64 + d], all[(row * 8 + head) * 64 + d]))
              << table->name << " head " << head;
        }
      }
    }
  }
}

// Softcap 5, one visible key with score 1.01366: its weight is 1, though 15 unwritten slots share the page.
TEST(Attention, N03SoftcapDoesNotWakeMaskedKeys) {
  for (const KernelTable* table : available_tables()) {
    Case c{.type = KvType::f32, .head_dim = 1, .group = 1, .tokens = 1, .rows = 1, .softcap = 5.0f};
    Inputs in{.q = {0.0f, 1.01366f}, .k = {{0.0f, 1.0f}}, .v = {{0.0f, 3.0f}}, .stride = 2};
    const Pages pages = fill(c, *table, in);
    EXPECT_EQ(attend(c, *table, in, pages, 0, 1), std::vector<float>{3.0f}) << table->name;

    const std::byte* bases[kPagesPerSpan] = {pages.page(0)};
    float max, sum, accumulator;
    SpanAttention task{.q = &in.q[1],
                       .query_rows = 1,
                       .softcap = 5.0f,
                       .pages = bases,
                       .k_offset = pages.k_offset(),
                       .v_offset = pages.v_offset(),
                       .max = &max,
                       .sum = &sum,
                       .accumulator = &accumulator};
    table->attend_span(pages.layout(), task);
    EXPECT_NEAR(max, 5 * std::tanh(1.01366 / 5), 2e-7) << table->name;
    EXPECT_EQ(sum, 1.0f) << table->name;
  }
}

TEST(Attention, N04RowsThatSeeNothingGiveZeros) {
  for (const KernelTable* table : available_tables()) {
    // All scores are minus infinity.
    const Case c{.type = KvType::f32, .head_dim = 16, .group = 2, .tokens = 20, .rows = 3};
    Inputs in = make_inputs(c, 13);
    for (auto& k : in.k) std::fill(k.begin(), k.end(), -kInfinity);
    for (float& x : in.q) x = std::abs(x) + 0.1f;
    const Pages pages = fill(c, *table, in);
    EXPECT_EQ(attend(c, *table, in, pages, 17, 3), std::vector<float>(3 * 2 * 16)) << table->name;

    // Rows before the span, and rows whose window ends before it, touch nothing: every page is null.
    const std::byte* nowhere[kPagesPerSpan] = {};
    std::vector<float> max(6), sum(6), accumulator(6 * 16);
    SpanAttention task{.q = in.q.data(),
                       .q_stride = in.stride,
                       .query_rows = 3,
                       .group = 2,
                       .first_position = 200,
                       .span = 1,
                       .pages = nowhere,
                       .max = max.data(),
                       .sum = sum.data(),
                       .accumulator = accumulator.data()};
    for (const std::uint64_t first : {200u, 253u, 600u}) {
      std::fill(accumulator.begin(), accumulator.end(), 1.0f);
      task.first_position = first;
      task.window = 80;
      table->attend_span(pages.layout(), task);
      EXPECT_EQ(max, std::vector<float>(6, -kInfinity)) << table->name;
      EXPECT_EQ(sum, std::vector<float>(6)) << table->name;
      EXPECT_EQ(accumulator, std::vector<float>(6 * 16)) << table->name;
    }
  }
}

TEST(Attention, NotANumberIsNotLost) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    for (const float bad : {std::nanf(""), kInfinity}) {
      for (const KernelTable* table : available_tables()) {
        const Case c{.type = type, .head_dim = 32, .group = 2, .tokens = 40, .rows = 2};
        Inputs in = make_inputs(c, 14);
        in.v[9][32 + 5] = bad;
        std::vector<float> out = attend(c, *table, in, fill(c, *table, in), 38, 2);
        EXPECT_FALSE(table->all_finite(out.data(), out.size())) << table->name << " value " << bad;
        in = make_inputs(c, 14);
        in.k[9][32 + 5] = std::nanf("");
        out = attend(c, *table, in, fill(c, *table, in), 38, 2);
        EXPECT_FALSE(table->all_finite(out.data(), out.size())) << table->name << " key " << bad;
      }
    }
  }
}

TEST(StoreKv, RoundsOnceAndTouchesOneSlot) {
  for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    for (const std::size_t head_dim : {32u, 40u, 64u}) {
      if (type == KvType::q8_0 && head_dim % 32 != 0) continue;
      const Case c{.type = type, .head_dim = head_dim, .tokens = 21, .rows = 1};
      Inputs in = make_inputs(c, 15);
      std::fill(in.k[3].begin(), in.k[3].end(), 0.0f);
      for (float& x : in.v[4]) x *= 1e-8f;  // where the scale of q8_0 is a subnormal half or zero
      for (float& x : in.v[5]) x *= 3e-6f;
      const Pages first = fill(c, *find_table("scalar"), in);
      for (const KernelTable* table : available_tables()) {
        const Pages pages = fill(c, *table, in);
        for (std::size_t page = 0; page < 2; ++page) {
          EXPECT_EQ(std::memcmp(pages.page(page), first.page(page), 2 * pages.layout().layer_bytes()), 0)
              << table->name;
        }
        for (std::size_t t = 0; t < c.tokens; ++t) {
          for (std::size_t d = 0; d < head_dim; ++d) {
            for (const bool is_key : {true, false}) {
              const float* x = (is_key ? in.k : in.v)[t].data() + head_dim;
              const float stored = is_key ? pages.key(t, d) : pages.value(t, d);
              if (type == KvType::f32) {
                ASSERT_EQ(stored, x[d]);
              } else if (type == KvType::f16) {
                ASSERT_EQ(stored, f16_to_f32(test::f32_to_f16(x[d])));
              } else {
                const std::size_t block = d / 32 * 32;
                float amax = 0;
                for (std::size_t i = 0; i < 32; ++i) amax = std::max(amax, std::abs(x[block + i]));
                const float scale = f16_to_f32(test::f32_to_f16(amax / 127.0f));
                const float q = scale == 0 ? 0.0f : std::clamp(std::nearbyint(x[d] / scale), -127.0f, 127.0f);
                ASSERT_EQ(stored, q * scale) << table->name << " token " << t << " dim " << d;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Attention, MergeFollowsTheDefinition) {
  for (const KernelTable* table : available_tables()) {
    const std::size_t dim = 19;
    RandomFloats random(16);
    const std::vector<float> a = random.vector(dim, 2.0f), b = random.vector(dim, 2.0f);
    float max = 1.5f, sum = 3.0f;
    std::vector<float> accumulator = a;
    const float span_max = 2.25f, span_sum = 4.0f, nothing = -kInfinity, zero = 0.0f;
    table->merge_span(1, dim, &nothing, &zero, b.data(), &max, &sum, accumulator.data());
    EXPECT_EQ(accumulator, a) << table->name;
    table->merge_span(1, dim, &span_max, &span_sum, b.data(), &max, &sum, accumulator.data());
    EXPECT_EQ(max, 2.25f);
    EXPECT_NEAR(sum, 3.0 * std::exp(-0.75) + 4.0, 1e-6);
    for (std::size_t d = 0; d < dim; ++d) EXPECT_NEAR(accumulator[d], a[d] * std::exp(-0.75) + b[d], 1e-6);
  }
}

constexpr std::uint64_t kFmaDigest = 10558008234331429904u;
constexpr std::uint64_t kSse4Digest = 11855547138560837745u;
// The bits themselves: equal on x86-64 and AArch64, and only changed together with the numerics version.
TEST(Attention, DigestOfAllKernels) {
  for (const KernelTable* table : available_tables()) {
    const ScopedFloatMode mode;
    std::vector<float> all;
    for (const KvType type : {KvType::f32, KvType::f16, KvType::q8_0}) {
      const Case c{
          .type = type, .head_dim = 64, .group = 3, .tokens = 300, .rows = 10, .window = 280, .softcap = 30.0f};
      const Inputs in = make_inputs(c, 17);
      const std::vector<float> out = attend(c, *table, in, fill(c, *table, in), 290, 10);
      all.insert(all.end(), out.begin(), out.end());
    }
    RandomFloats random(18);
    const std::size_t n = 200;
    const std::vector<float> x = random.vector(n, 8.0f), y = random.vector(n, 8.0f);
    std::vector<float> out(n);
    table->rms_norm(x.data(), y.data(), 1e-6f, n, out.data());
    all.insert(all.end(), out.begin(), out.end());
    table->silu_mul(x.data(), y.data(), n, out.data());
    all.insert(all.end(), out.begin(), out.end());
    table->gelu_mul(x.data(), y.data(), n, out.data());
    std::vector<double> frequencies(50);
    std::vector<float> cosine(50), sine(50);
    rope_frequencies(500000.0, 50, nullptr, frequencies.data());
    rope_table(frequencies.data(), 50, 123'456, cosine.data(), sine.data());
    table->rope(out.data(), 2, 100, cosine.data(), sine.data(), 50, true);
    all.insert(all.end(), out.begin(), out.end());
    const std::uint64_t digest = XXH64(all.data(), all.size() * sizeof(float), 0);
    EXPECT_EQ(digest, table->numerics_class == NumericsClass::fma ? kFmaDigest : kSse4Digest) << table->name;
  }
}

}  // namespace
}  // namespace rill::kernels
