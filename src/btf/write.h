// write_btf(): the graph becomes the bytes of a BTF. Numbers follow from the order of the graph
// alone.
//
// Of a split BTF only what the base does not have is written; its numbers and string offsets go on
// where those of the base end.
//
// Order of the records: types of the units with their tags and variables, functions by name (each
// with its prototype if that is new, and its tags), then one DATASEC per section, by section index.
// Format: Documentation/bpf/btf.rst. Thread-safe (pure).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "btf/functions.h"
#include "btf/strings.h"
#include "support/bytes.h"
#include "support/frozen_map.h"
#include "support/result.h"
#include "types/graph.h"
#include "types/variable_sections.h"

namespace btfloom {

// What the kernel's BTF_SET8 macros say of a function: it is a kfunc, with these flags. Key: index
// in FunctionSymbols.
using Kfuncs = std::unordered_map<std::uint32_t, std::uint32_t>;
// Of include/linux/btf.h.
inline constexpr std::uint32_t kKfuncFast = 1U << 12;         // KF_FASTCALL
inline constexpr std::uint32_t kKfuncArenaReturn = 1U << 13;  // KF_ARENA_RET
inline constexpr std::uint32_t kKfuncArenaFirst = 1U << 14;   // KF_ARENA_ARG1; the next bit: ARG2

// What the writer knows of the base of a split BTF.
struct WriteBase {
  std::uint32_t end_id = 1;  // where the numbers go on
  const StringIndex& strings;
  const FrozenMap& known;  // under the keys of record_keys.h
};

struct WriteInput {
  const Graph& graph;
  const std::vector<ChosenFunction>& functions;
  const VariableSections& sections;
  const Kfuncs& kfuncs;
  const WriteBase* base = nullptr;
  bool decl_tags = true;
  bool attributes = false;  // tag the arena pointers of kfuncs with their address space
  bool layout = false;      // say how large the records of each kind are
  ByteOrder order = ByteOrder::little;
};

struct WrittenBtf {
  std::vector<std::byte> bytes;
  std::uint32_t types = 0;
  std::uint32_t functions = 0;
  std::uint32_t variables = 0;
};

// Makes a BTF larger without changing what it says: its string section ends with more NULs.
// Precondition: `size` is at least the size that it has, and fits into 32 bits.
void pad_btf(WrittenBtf& btf, std::size_t size, ByteOrder order);

// Errors: kInput if the result would not fit into BTF's 32-bit offsets or a section holds more than
// 65,535 variables.
Result<WrittenBtf> write_btf(const WriteInput& input);

}  // namespace btfloom
