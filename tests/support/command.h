// Commands and folders for tests: run a program without a shell, keep files in a folder that goes
// away.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace btfloom::test {

struct CommandResult {
  int status = 0;  // exit code; 128 + signal if a signal ended it; 127 if it could not start
  std::string out;
  std::string err;
};

// Runs argv[0], found in PATH, and waits for it.
CommandResult run(const std::vector<std::string>& argv, const std::string& stdin_text = {});

// Whether PATH has such a program.
bool has_program(const std::string& name);

// The bytes of a file; empty if it cannot be read.
std::vector<std::byte> read_file(const std::string& path);

class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(std::string_view name) const;
  // Writes a file in the folder and returns its path.
  std::string write(std::string_view name, std::string_view text) const;

 private:
  std::string path_;
};

}  // namespace btfloom::test
