// Result<T>: a value or an Error, never thrown. TRY(expression) unwraps the value or returns the
// error.
//
//   Result<Unit> read_unit(Bytes bytes);
//   const Unit unit = TRY(read_unit(bytes));
//
// An Error's text says what is wrong and what to do about it, lower case, without a full stop;
// `file` and the rest say where. Whoever knows more than the callee adds it with at_file().
// Thread-safe as any value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace btfloom {

enum class ErrorKind : std::uint8_t {
  kInput,      // the input is missing, unreadable or not what it should be
  kNoDebug,    // the input is sound but has no DWARF
  kOutput,     // the output could not be written
  kArgument,   // the request contradicts itself
  kCancelled,  // the caller asked to stop
  kResource,   // out of memory, threads or descriptors
};

struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::kInput;
  std::string text = {};
  std::string file = {};                         // empty if not known
  std::string unit = {};                         // name of the CU, empty if none
  std::optional<std::uint64_t> die_offset = {};  // offset in .debug_info

  Error&& at_file(std::string_view path) && {
    if (file.empty()) {
      file = path;
    }
    return std::move(*this);
  }
};

template <typename T = void>
class [[nodiscard]] Result {
  using Stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

 public:
  Result() requires std::is_void_v<T> : state_(std::in_place_index<0>) {}
  template <typename U = Stored>
  requires(!std::is_void_v<T> && std::is_convertible_v<U&&, Stored> &&
           !std::is_same_v<std::remove_cvref_t<U>, Error> &&
           !std::is_same_v<std::remove_cvref_t<U>, Result>)
      Result(U&& value)  // NOLINT(google-explicit-constructor): a value is a result
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Error error)  // NOLINT(google-explicit-constructor): an error is a result
      : state_(std::in_place_index<1>, std::move(error)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Precondition: ok().
  Stored& value() { return *std::get_if<0>(&state_); }
  const Stored& value() const { return *std::get_if<0>(&state_); }
  // Precondition: !ok().
  Error& error() { return *std::get_if<1>(&state_); }
  const Error& error() const { return *std::get_if<1>(&state_); }

 private:
  std::variant<Stored, Error> state_;
};

// Unwraps a Result in a function that returns a Result. Straight-line code only.
#define TRY(expression)                      \
  ({                                         \
    auto try_result_ = (expression);         \
    if (!try_result_.ok()) {                 \
      return std::move(try_result_.error()); \
    }                                        \
    std::move(try_result_.value());          \
  })

}  // namespace btfloom
