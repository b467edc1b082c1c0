// OutputFile: all or nothing. Writes to a temporary beside the target, then fsync and rename; the old file stays until then.
//
//   OutputFile output = TRY(OutputFile::create("vmlinux.btf", {}));
//   TRY_VOID(output.write(bytes)); TRY_VOID(output.commit());
//
// The temporary is created with O_EXCL|O_NOFOLLOW under an unpredictable name in the target's folder; the destructor unlinks
// it unless committed, and jobs/on_death does on a signal. Not thread-safe.
#pragma once

#include <string>
#include <sys/types.h>

#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

class OutputFile {
 public:
  // The mode of a new file: `mode` & ~umask. With `like` set (path of an existing file), its mode and, where permitted,
  // owner and group are taken instead. A target that is a symbolic link is followed (the link stays, its target is
  // replaced). Errors: kOutput (folder missing, read-only, disk full ...), naming the target and what to do.
  static Result<OutputFile> create(const std::string& target, mode_t mode, const std::string& like = {});
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  OutputFile(const OutputFile&) = delete;
  ~OutputFile();

  Result<> write(Bytes bytes);   // appends; handles short writes and EINTR
  Result<> commit();             // fsync, rename, fsync of the folder

 private:
  OutputFile() = default;
  void abandon();
  int fd_ = -1;
  std::string target_;     // real path, links resolved
  std::string temporary_;
};

}  // namespace btfloom
