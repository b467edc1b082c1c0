// Source text in, BTF out: compiles with a real compiler and encodes with btfloom's encode().
#pragma once

#include <set>
#include <string>
#include <vector>

#include "encode.h"
#include "support/diagnostics.h"
#include "tests/support/command.h"

namespace btfloom::test {

struct Encoded {
  bool ok = false;
  Error error;  // if not ok
  EncodeResult result;
  std::vector<Diagnostic> diagnostics;
  std::vector<std::byte> btf;
  std::string path;  // of the file that holds them
  std::string dump;  // `bpftool btf dump file`, "" without bpftool or output

  // Whether some diagnostic's text has `text` in it.
  [[nodiscard]] bool says(std::string_view text) const;
};

class Program {
 public:
  explicit Program(std::string compiler = "gcc") : compiler_(std::move(compiler)) {}

  // Compiles `source` to an object; flags as on the command line. Fails the test if that fails.
  std::string compile(const std::string& name, const std::string& source,
                      const std::vector<std::string>& flags = {});
  // Links objects to a shared library.
  std::string link(const std::string& name, const std::vector<std::string>& objects,
                   const std::vector<std::string>& flags = {});
  Encoded encode(const std::vector<std::string>& inputs, const Features& features = {},
                 unsigned slots = 1);
  // The same on a base, the path of a BTF; the dump shows the base's types too.
  Encoded encode_split(const std::vector<std::string>& inputs, const std::string& base,
                       const Features& features = {});
  // compile() and encode() of one source.
  Encoded encode_source(const std::string& source, const std::vector<std::string>& flags = {},
                        const Features& features = {});
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

 private:
  Encoded run_encode(EncodeOptions options, unsigned slots);

  std::string compiler_;
  TemporaryFolder folder_;
  unsigned outputs_ = 0;
};

// Lines of a dump, numbers of types left out of the way: "STRUCT 'name' size=8 vlen=2" and so on.
std::vector<std::string> lines_of(const std::string& dump);

// Every type of a dump as type_text() would give it: a set that two numberings of the same types
// share.
std::multiset<std::string> type_set(const std::string& dump);

// How many types of the dump begin so, for example "STRUCT 'foo' ".
int count(const Encoded& encoded, const std::string& start);

// A type of the dump with its members on the same line, references written out as the kinds and
// names that they lead to:
//   type_text(e, "STRUCT 'foo'") == "STRUCT 'foo' size=8 { 'a' INT 'int' @0; 'next' PTR STRUCT
//   'foo' @64 }"
// "" if there is no such type; the first one if there are several.
std::string type_text(const Encoded& encoded, const std::string& start);

}  // namespace btfloom::test
