// OutputFile: all or nothing. Writes to a temporary beside the target, then fsync and rename; the
// old file stays until then.
//
//   OutputFile output = TRY(OutputFile::create("vmlinux.btf", 0640));
//   TRY(output.write(bytes));
//   return output.commit();
//
// The temporary is created with O_EXCL|O_NOFOLLOW under an unpredictable name in the target's
// folder. It is unlinked when the object dies uncommitted, and by the signal handler of whoever
// uses jobs/on_death.h. A target that is no regular file (/dev/null, /dev/stdout, a FIFO) is
// written directly. Not thread-safe.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>

#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

class OutputFile {
 public:
  // The mode of a new file: `mode` & ~umask. With `like` set (path of an existing file), its mode
  // and, where permitted, owner and group are taken instead (set-user-id and set-group-id bits only
  // together with them). A target that is a symbolic link stays one; what it points to is replaced.
  // Errors: kOutput (folder missing, read-only, ...), with the target and what to do.
  static Result<OutputFile> create(const std::string& target, mode_t mode,
                                   const std::string& like = {});
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  ~OutputFile();

  // Appends; short writes and interruptions are made good.
  Result<> write(Bytes bytes);
  // fsync, rename, fsync of the folder. The object is empty afterwards.
  Result<> commit();

 private:
  OutputFile() = default;
  Result<> open_temporary(mode_t mode, const std::string& like);
  Result<> copy_owner_and_mode(const struct stat& like);
  [[nodiscard]] Error failure(const char* what) const;
  void abandon();

  int fd_ = -1;
  std::string target_;     // links resolved
  std::string temporary_;  // empty: the target is written directly
};

}  // namespace btfloom
