// Where messages go: nowhere, unless a sink is given. The library never writes to a file descriptor of its own accord.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace rill {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

// Called on the thread that made the call into rill, never concurrently for one call. Must not throw.
using LogSink = std::function<void(LogLevel level, std::string_view message)>;

}  // namespace rill
