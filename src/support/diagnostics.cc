#include "support/diagnostics.h"

#include <cstdio>

#include "support/result.h"

namespace btfloom {

std::string to_text(const Diagnostic& diagnostic) {
  std::string text;
  const auto add = [&text](std::string_view part) {
    if (!part.empty()) {
      text += part;
      text += ": ";
    }
  };
  add(diagnostic.file);
  add(diagnostic.unit);
  if (diagnostic.die_offset) {
    char number[32];
    std::snprintf(number, sizeof number, "DIE 0x%llx",
                  static_cast<unsigned long long>(*diagnostic.die_offset));
    add(number);
  }
  return text + diagnostic.text;
}

void Diagnostics::report(const Diagnostic& diagnostic) {
  const std::lock_guard lock(mutex_);
  warnings_ += diagnostic.severity == Severity::kWarning;
  errors_ += diagnostic.severity == Severity::kError;
  if (callback_) {
    callback_(diagnostic);
  }
}

void Diagnostics::report(const DiagnosticList& list) {
  for (const Diagnostic& diagnostic : list) {
    report(diagnostic);
  }
}

void Diagnostics::report(const Error& error) {
  report({Severity::kError, error.file, error.unit, error.die_offset, error.text});
}

}  // namespace btfloom
