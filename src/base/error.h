// Formatted errors, and the guard that turns exceptions into errors at the library's boundary.
#pragma once

#include <new>
#include <system_error>
#include <utility>

#include "base/format.h"
#include "rill/result.h"

namespace rill {

template <typename... Args>
Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, one_line(rill::format(format, std::forward<Args>(args)...))};
}

// Runs `body`, which returns a Result, and turns whatever is thrown inside into its error. Every public entry that
// allocates, starts threads or calls the caller's own code goes through it.
template <typename Body>
auto guarded(Body&& body) -> decltype(body()) {
  try {
    return body();
  } catch (const ErrorException& exception) {
    return exception.error();
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::out_of_memory, "memory could not be allocated"};
  } catch (const std::length_error&) {
    return Error{ErrorCode::out_of_memory, "a size is too large to allocate"};
  } catch (const std::system_error& exception) {
    return make_error(ErrorCode::io, "{}", exception.what());
  } catch (const std::exception& exception) {  // rill itself throws none of these
    return make_error(ErrorCode::callback_failed, "the caller's own code threw: {}", exception.what());
  } catch (...) {
    return Error{ErrorCode::callback_failed, "the caller's own code threw something that is no std::exception"};
  }
}

}  // namespace rill

// Returns the error of `expression` from the enclosing function, if it has one.
#define RILL_TRY(expression)                                      \
  do {                                                            \
    if (auto rill_try_result = (expression); !rill_try_result)    \
      return ::rill::Error(std::move(rill_try_result).error());   \
  } while (false)

#define RILL_CONCAT_INNER(a, b) a##b
#define RILL_CONCAT(a, b) RILL_CONCAT_INNER(a, b)

// RILL_ASSIGN(auto x, expression): `x` is the value of `expression`, or its error is returned from the enclosing
// function.
#define RILL_ASSIGN(declaration, expression) \
  RILL_ASSIGN_INNER(RILL_CONCAT(rill_result_, __LINE__), declaration, expression)
#define RILL_ASSIGN_INNER(name, declaration, expression)      \
  auto name = (expression);                                   \
  if (!name) return ::rill::Error(std::move(name).error());   \
  declaration = *std::move(name)
