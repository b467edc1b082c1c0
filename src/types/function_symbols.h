// FunctionSymbols: what the symbol tables of the input files say about functions, by stem.
//
// The compiler makes variants of a function (foo.constprop.0, foo.isra.0): they share the stem
// "foo", the name up to the first '.'. Parts of a function that it moved away (.cold, .part) are no
// functions. A stem whose symbols have different addresses is ambiguous: nobody can tell which
// function a FUNC would describe.
//
//   FunctionSymbols symbols;
//   symbols.add_file();
//   symbols.add("foo", 0x1000);  symbols.add("foo.isra.0", 0x1040);
//   symbols.finish_file();
//   symbols.find(0, "foo")        // index of the stem, kNotFound if the file has no such function
//
// Const after the last finish_file(): then any thread may call find(). Names are views into the
// string tables of the files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace btfloom {

struct FunctionSymbol {
  std::string_view stem;
  std::uint32_t first_member = 0;  // chain through Member::next, in symbol table order
  std::uint32_t last_member = 0;
  bool is_ambiguous = false;
};

class FunctionSymbols {
 public:
  static constexpr std::uint32_t kNotFound = 0xffffffff;

  struct Member {
    std::string_view name;
    std::uint64_t value = 0;
    std::uint32_t next = kNotFound;
  };

  // Starts the table of the next input file. `expected` is a hint: how many functions it has about.
  void add_file(std::size_t expected = 0);
  // A function symbol of that file, in symbol table order.
  void add(std::string_view name, std::uint64_t value);
  void finish_file();

  [[nodiscard]] std::uint32_t find(std::uint32_t file, std::string_view stem) const;
  [[nodiscard]] const FunctionSymbol& operator[](std::uint32_t index) const {
    return symbols_[index];
  }
  [[nodiscard]] const Member& member(std::uint32_t index) const { return members_[index]; }
  [[nodiscard]] std::size_t size() const { return symbols_.size(); }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t symbol = kNotFound;
  };
  struct File {
    std::vector<Slot> slots;  // open addressing, a power of two
    std::uint32_t first_symbol = 0;
  };
  void grow(File& file) const;
  [[nodiscard]] static std::size_t probe(const File& file, std::uint64_t hash,
                                         std::string_view stem,
                                         const std::vector<FunctionSymbol>& symbols);

  std::vector<File> files_;
  std::vector<FunctionSymbol> symbols_;
  std::vector<Member> members_;
};

}  // namespace btfloom
