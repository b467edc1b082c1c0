#include "elf/output_file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "support/temporary_files.h"

namespace btfloom {

namespace {

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string base_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Follows symbolic links of an existing target, so that the rename replaces the file and not the
// link.
std::string resolve_links(const std::string& path) {
  char* resolved = ::realpath(path.c_str(), nullptr);
  std::string result = resolved != nullptr ? resolved : path;
  std::free(resolved);
  return result;
}

std::string random_suffix() {
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuv";
  unsigned char bytes[12] = {};
  std::string suffix;
  if (::getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes)) {
    return suffix;
  }
  for (const unsigned char byte : bytes) {
    suffix += kDigits[byte % 32];
  }
  return suffix;
}

const char* advice(int error) {
  switch (error) {
    case ENOENT:
      return "; create the folder first";
    case EACCES:
    case EPERM:
      return "; check who owns the folder";
    case EROFS:
      return "; choose a folder that can be written";
    case ENOSPC:
    case EDQUOT:
      return "; free some space";
    default:
      return "";
  }
}

}  // namespace

Error OutputFile::failure(const char* what) const {
  const int error = errno;
  return Error{.kind = ErrorKind::kOutput,
               .text = std::string(what) + ": " + std::generic_category().message(error) +
                       advice(error) + "; nothing was written",
               .file = target_};
}

Result<OutputFile> OutputFile::create(const std::string& target, mode_t mode,
                                      const std::string& like) {
  OutputFile output;
  output.target_ = target;
  if (target.empty()) {
    return Error{.kind = ErrorKind::kOutput, .text = "the output has no name; give one"};
  }
  struct stat status {};
  const bool exists = ::stat(target.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return output.failure("cannot write the output");
  }
  if (exists && !S_ISREG(status.st_mode)) {
    output.fd_ = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
    if (output.fd_ < 0) {
      return output.failure("cannot open the output");
    }
    return output;
  }
  output.target_ = exists ? resolve_links(target) : target;
  TRY(output.open_temporary(mode, like));
  return output;
}

Result<> OutputFile::open_temporary(mode_t mode, const std::string& like) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string base = base_of(target_);
    base.resize(std::min<std::size_t>(base.size(), NAME_MAX - 20));
    std::string path = folder_of(target_) + "/." + base + "." + random_suffix();
    register_temporary(path);
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                 like.empty() ? mode : S_IRUSR | S_IWUSR);
    if (fd_ >= 0) {
      temporary_ = std::move(path);
      break;
    }
    forget_temporary(path);
    if (errno != EEXIST && errno != EINTR) {
      return failure("cannot create the output");
    }
  }
  if (fd_ < 0) {
    return failure("cannot create the output");
  }
  struct stat status {};
  if (!like.empty() && ::stat(like.c_str(), &status) == 0) {
    TRY(copy_owner_and_mode(status));
  }
  return {};
}

// The owner first: changing it clears set-user-id bits. Only root may give files away; others keep
// their own, and then the file must not run with the rights of the wrong user or group.
Result<> OutputFile::copy_owner_and_mode(const struct stat& like) {
  mode_t mode = like.st_mode & 07777;
  if (::fchown(fd_, like.st_uid, like.st_gid) != 0) {
    // EINVAL: an owner that this user namespace (a container) does not know.
    if (errno != EPERM && errno != EINVAL) {
      return failure("cannot set the owner of the output");
    }
    mode &= ~static_cast<mode_t>(S_ISUID);
    if (::fchown(fd_, static_cast<uid_t>(-1), like.st_gid) != 0) {
      mode &= ~static_cast<mode_t>(S_ISGID);
    }
  }
  if (::fchmod(fd_, mode) != 0) {
    return failure("cannot set the mode of the output");
  }
  return {};
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      target_(std::move(other.target_)),
      temporary_(std::exchange(other.temporary_, {})) {}

OutputFile::~OutputFile() {
  abandon();
}

void OutputFile::abandon() {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    forget_temporary(temporary_);
    temporary_.clear();
  }
}

Result<> OutputFile::write(Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return failure("cannot write the output");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<> OutputFile::commit() {
  if (!temporary_.empty() && ::fsync(fd_) != 0) {
    return failure("cannot write the output to disk");
  }
  if (::close(std::exchange(fd_, -1)) != 0) {
    return failure("cannot write the output");
  }
  if (temporary_.empty()) {
    return {};
  }
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    return failure("cannot move the output into place");
  }
  forget_temporary(temporary_);
  temporary_.clear();
  // The rename is done and visible; that it also survives a power failure is worth a try, not an
  // error.
  const int folder = ::open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    ::fsync(folder);
    ::close(folder);
  }
  return {};
}

}  // namespace btfloom
