#include "elf/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace btfloom {

namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

Error input_error(const std::string& path, std::string text) {
  return Error{.kind = ErrorKind::kInput, .text = std::move(text), .file = path};
}

Error system_error(const std::string& path, const char* what) {
  return input_error(path, std::string(what) + ": " + std::generic_category().message(errno));
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer; it is refused below.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) {
    return system_error(path, "cannot open the input");
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    return system_error(path, "cannot examine the input");
  }
  if (S_ISDIR(status.st_mode)) {
    return input_error(path, "the input is a folder; name an ELF file");
  }
  if (!S_ISREG(status.st_mode)) {
    return input_error(path, "the input is no regular file; copy it to one first");
  }
  if (status.st_size == 0) {
    return input_error(path, "the input is empty; rebuild it");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) {
    return system_error(path, "cannot map the input");
  }
  MappedFile file;
  file.bytes_ = {static_cast<const std::byte*>(address), size};
  return file;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) {
    ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
}

}  // namespace btfloom
