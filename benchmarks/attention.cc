// How fast is attention over the KV cache? Decode: nanoseconds and bytes per token of context. Prefill: multiply-adds a
// second. One thread, one layer shape (SmolLM2: 3 KV heads of 64, 3 query heads each; Llama-3-8B: 8 of 128, 4 each;
// Gemma: 1 of 256, 4).
//
//   attention [TABLE] [--json FILE]      all tables of the exact class by default
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/float_mode.h"
#include "kernels/kernel_table.h"
#include "support.h"

namespace {

using namespace rill;
using namespace rill::benchmarks;
using namespace rill::kernels;

struct Shape {
  const char* name;
  std::size_t kv_heads, group, head_dim;
};

// Pages of `layers` layers in one slab, so that decode walks through memory as a model does.
class Cache {
 public:
  Cache(const KernelTable& table, KvLayout layout, std::size_t layers, std::size_t tokens)
      : layout_(layout),
        bytes_(Buffer::allocate(layout.layer_stride() * layers).value()) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    std::vector<float> k(layout.kv_heads * layout.head_dim), v(k.size());
    std::generate(k.begin(), k.end(), [&] { return normal(random); });
    std::generate(v.begin(), v.end(), [&] { return normal(random); });
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t layer = 0; layer < layers; ++layer) {
        table.store_kv(layout, k.data(), v.data(), layer_base(t / kTokensPerPage, layer), t % kTokensPerPage);
      }
    }
    for (std::size_t page = 0; page < tokens / kTokensPerPage; ++page) pages_.push_back(layer_base(page, 0));
  }
  std::byte* layer_base(std::size_t page, std::size_t layer) {
    return bytes_.data() + page * layout_.head_bytes() + layer * layout_.layer_stride();
  }
  const std::byte* const* pages() const { return pages_.data(); }

 private:
  KvLayout layout_;
  Buffer bytes_;
  std::vector<const std::byte*> pages_;
};

// One step of one layer: every KV head, every span, merged and divided.
void attend(const KernelTable& table, const KvLayout& layout, const Shape& shape, const Cache& cache, std::size_t layer,
            const std::vector<float>& q, std::size_t rows, std::size_t first_position, std::vector<float>& out) {
  static std::vector<float> max, sum, accumulator, span_max, span_sum, span_accumulator;
  const std::size_t all = rows * shape.group, width = shape.kv_heads * shape.group * shape.head_dim;
  for (std::vector<float>* v : {&max, &sum, &span_max, &span_sum}) v->resize(all);
  for (std::vector<float>* v : {&accumulator, &span_accumulator}) v->resize(all * shape.head_dim);
  for (std::size_t head = 0; head < shape.kv_heads; ++head) {
    std::fill(max.begin(), max.end(), -INFINITY);
    SpanAttention task;
    task.q = q.data() + head * shape.group * shape.head_dim;
    task.q_stride = width;
    task.query_rows = rows;
    task.group = shape.group;
    task.first_position = first_position;
    task.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_dim));
    task.k_offset = layer * layout.layer_stride() + layout.k_offset(head);
    task.v_offset = layer * layout.layer_stride() + layout.v_offset(head);
    task.max = span_max.data();
    task.sum = span_sum.data();
    task.accumulator = span_accumulator.data();
    for (task.span = 0; task.span * kTokensPerSpan < first_position + rows; ++task.span) {
      task.pages = cache.pages() + task.span * kPagesPerSpan;
      table.attend_span(layout, task);
      table.merge_span(all, shape.head_dim, task.max, task.sum, task.accumulator, max.data(), sum.data(),
                       accumulator.data());
    }
    table.finish_attention(all, shape.head_dim, sum.data(), accumulator.data(), out.data());
  }
}

// Median processor seconds of a call: what else runs on the machine takes its share of the caches but not of the time.
template <class F>
double time_of(F call, int repeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t start = std::clock();
    call();
    times.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return median(std::move(times));
}

Json measure(const KernelTable& table, const Shape& shape, KvType type, const char* type_name) {
  Json row = {{"table", table.name}, {"shape", shape.name}, {"kv_type", type_name}};
  constexpr std::size_t kTokens = 8192, kPrefill = 512;
  KvLayout layout{type, shape.kv_heads, shape.head_dim};
  layout.head_stride = kTokens / kTokensPerPage * layout.head_bytes();
  const std::size_t layers =
      std::max<std::size_t>(1, (std::size_t{192} << 20) / (layout.layer_bytes() * kTokens / kTokensPerPage));
  Cache cache(table, layout, layers, kTokens);
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> q(kPrefill * shape.kv_heads * shape.group * shape.head_dim), out(q.size());
  std::generate(q.begin(), q.end(), [&] { return normal(random); });

  std::printf("%-12s %-10s %-5s", table.name, shape.name, type_name);
  // One layer again and again lies in the cache; all layers in turn come from memory.
  for (const std::size_t walk : {std::size_t{1}, layers}) {
    const char* place = walk == 1 ? "cached" : "memory";
    std::printf("  %s", place);
    for (const std::size_t context : {512, 2048, 8192}) {
      if (walk == 1 && context > 512) break;
      std::size_t layer = 0;
      const double seconds = time_of(
          [&] {
            attend(table, layout, shape, cache, layer, q, 1, context - 1, out);
            layer = (layer + 1) % walk;
          },
          static_cast<int>(std::max<std::size_t>(2 * layers, 15)));
      row[std::string(place) + "_" + std::to_string(context) + "_ns"] = seconds / static_cast<double>(context) * 1e9;
      std::printf("  %4zu: %5.2f ns %5.1f GB/s", context, seconds / static_cast<double>(context) * 1e9,
                  static_cast<double>(layout.layer_bytes() / kTokensPerPage * context) / seconds * 1e-9);
    }
  }
  for (const std::size_t first : {std::size_t{0}, std::size_t{4096}}) {
    const double seconds = time_of([&] { attend(table, layout, shape, cache, 0, q, kPrefill, first, out); }, 3);
    const double keys = static_cast<double>(kPrefill) * (static_cast<double>(first) + (kPrefill + 1) / 2.0);
    const double products = 2 * keys * static_cast<double>(shape.kv_heads * shape.group * shape.head_dim);
    row["prefill_" + std::to_string(first) + "_g_s"] = products / seconds * 1e-9;
    std::printf("  prefill at %4zu: %5.1f G/s", first, products / seconds * 1e-9);
  }
  std::printf("\n");
  return row;
}

void run(const Arguments& arguments) {
  const ScopedFloatMode mode;
  constexpr Shape kShapes[] = {{"SmolLM2", 3, 3, 64}, {"Llama-3-8B", 8, 4, 128}, {"Gemma-3", 1, 4, 256}};
  Json rows = Json::array();
  for (const KernelTable* table : available_tables()) {
    const bool wanted = arguments.words() > 0 ? arguments.word(0) == table->name
                                              : table->numerics_class != NumericsClass::sse4;
    if (!wanted) continue;
    for (const Shape& shape : kShapes) {
      rows.push_back(measure(*table, shape, KvType::f16, "f16"));
      rows.push_back(measure(*table, shape, KvType::q8_0, "q8_0"));
    }
    rows.push_back(measure(*table, kShapes[0], KvType::f32, "f32"));
  }
  if (rows.empty()) throw std::invalid_argument("no such table here");
  write_json(arguments.text("json"), {{"benchmark", "attention"}, {"rows", rows}});
  const Json& best = rows.front();
  std::printf("table=%s memory_8192_ns=%.2f prefill_4096_g_s=%.1f\n", best["table"].get<std::string>().c_str(),
              best["memory_8192_ns"].get<double>(), best["prefill_4096_g_s"].get<double>());
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] { run(Arguments(argc, argv, "attention [TABLE] [--json FILE]", {{"json", ""}})); });
}
