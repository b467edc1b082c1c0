// MappedFile: a whole regular file, mapped read-only. Move-only; unmaps itself.
//
// Whoever shortens the file while it is mapped makes later reads fail with SIGBUS; build tools
// replace files by rename, which leaves the mapping as it was. Thread-safe after open().
#pragma once

#include <string>
#include <utility>

#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

class MappedFile {
 public:
  // Errors (kInput, file set): missing, unreadable, not a regular file, empty.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    MappedFile moved(std::move(other));  // so that the old mapping goes at once
    std::swap(bytes_, moved.bytes_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  ~MappedFile();

  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  Bytes bytes_;
};

}  // namespace btfloom
