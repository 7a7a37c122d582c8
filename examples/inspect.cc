// What is in a model file, what its KV cache costs, and what fits into this machine's memory.
//
//   inspect MODEL.gguf
#include <rill/rill.h>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <utility>

namespace {

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

int run(const std::string& path) {
  auto model = rill::Model::load(path).value();
  const rill::ModelInfo& info = model->info();
  const rill::Tokenizer& tokenizer = model->tokenizer();

  std::printf("%s (%s)\n", info.name.c_str(), info.architecture.c_str());
  std::printf("  parameters        %.1f M, %.1f MiB in memory: %s\n", static_cast<double>(info.parameters) / 1e6,
              mib(info.weight_bytes), info.file_type.c_str());
  std::printf("  layers            %llu", static_cast<unsigned long long>(info.layers));
  if (info.sliding_layers != 0) {
    std::printf(", %llu of them with a window of %llu tokens", static_cast<unsigned long long>(info.sliding_layers),
                static_cast<unsigned long long>(info.sliding_window));
  }
  std::printf("\n  heads             %llu of %llu, %llu KV heads\n", static_cast<unsigned long long>(info.heads),
              static_cast<unsigned long long>(info.head_dim), static_cast<unsigned long long>(info.kv_heads));
  std::printf("  embedding, FFN    %llu, %llu\n", static_cast<unsigned long long>(info.embedding_length),
              static_cast<unsigned long long>(info.feed_forward_length));
  std::printf("  vocabulary        %zu tokens, ends at:", tokenizer.size());
  for (const rill::Token token : tokenizer.end_tokens()) {
    std::printf(" %d %s", token, std::string(tokenizer.token_bytes(token)).c_str());
  }
  std::printf("\n  chat template     %s\n", model->chat_template() ? "yes" : model->chat_template().error().message.c_str());
  std::printf("  SIMD target       %s, %zu threads\n", info.target.c_str(), model->thread_pool().threads());

  const std::uint64_t available = rill::available_memory();
  std::printf("\n  KV cache          bytes/token   at %llu tokens   tokens in %.0f MiB of free memory\n",
              static_cast<unsigned long long>(info.context_length), mib(available));
  const std::pair<const char*, rill::KvType> types[] = {
      {"f32", rill::KvType::f32}, {"f16", rill::KvType::f16}, {"q8_0", rill::KvType::q8_0}};
  for (const auto& [name, type] : types) {
    const rill::KvShape shape = model->kv_shape();
    std::printf("    %-15s %11llu   %11.1f MiB   %llu\n", name, static_cast<unsigned long long>(kv_bytes_per_token(shape, type)),
                mib(kv_bytes(shape, type, {.tokens = info.context_length})),
                static_cast<unsigned long long>(kv_context(shape, type, {}, 1, available)));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: inspect MODEL.gguf\n";
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const rill::ErrorException& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
