// The one channel for what users should hear: severity, file, unit, DIE, text, handed to a
// callback.
//
// Thread-safe: any worker may report; the callback runs under a lock, one call at a time.
// Diagnostics that arise while a unit is read in parallel are collected in a DiagnosticList and
// reported in link order, so that the log is the same at every job count.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace btfloom {

struct Error;

enum class Severity : std::uint8_t { kNote, kWarning, kError };

struct Diagnostic {
  Severity severity = Severity::kWarning;
  std::string file = {};                         // input path, empty if none
  std::string unit = {};                         // DW_AT_name of the CU, empty if none
  std::optional<std::uint64_t> die_offset = {};  // in .debug_info of `file`
  std::string text = {};                         // lower case, no full stop
};

// file: unit: DIE 0x1234: text
std::string to_text(const Diagnostic& diagnostic);

using DiagnosticList = std::vector<Diagnostic>;

class Diagnostics {
 public:
  using Callback = std::function<void(const Diagnostic&)>;

  explicit Diagnostics(Callback callback = {}) : callback_(std::move(callback)) {}

  void report(const Diagnostic& diagnostic);
  void report(const DiagnosticList& list);
  void report(const Error& error);
  [[nodiscard]] std::uint64_t warnings() const { return warnings_; }
  [[nodiscard]] std::uint64_t errors() const { return errors_; }

 private:
  std::mutex mutex_;
  Callback callback_;           // const after construction, called under mutex_
  std::uint64_t warnings_ = 0;  // needs mutex_ while workers run
  std::uint64_t errors_ = 0;    // needs mutex_ while workers run
};

}  // namespace btfloom
