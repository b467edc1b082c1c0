// What a caller may ask of encode(): plain data, parsed at the edge (plugin/), const afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace btfloom {

// The features of pahole's --btf_features, by its names (docs/encoding-choices.md). Two more change
// nothing: optimized_func has no effect in the peer either, and every output is a
// reproducible_build.
struct Features {
  bool encode_force = true;
  bool var = true;
  bool floats = true;  // "float"
  bool decl_tag = true;
  bool type_tag = true;
  bool enum64 = true;
  bool consistent_func = true;
  bool decl_tag_kfuncs = true;
  bool distilled_base = false;
  bool global_var = false;
  bool attributes = false;
  bool true_signature = false;
  bool layout = false;
};

enum class OutputKind : std::uint8_t {
  kDetached,  // raw BTF in a file of its own
  kInPlace,   // a .BTF section in the (first) input file
};

struct EncodeOptions {
  std::vector<std::string> inputs;
  OutputKind output_kind = OutputKind::kDetached;
  std::string output;       // path of the detached file
  std::string output_base;  // path of a detached file for a distilled base; empty: none
  std::string base;         // path of the base of a split BTF; empty: none
  std::string base_cache;   // folder for the index of the base (base/index.h); empty: none
  Features features;
  std::vector<std::uint16_t> exclude_languages;  // DW_LANG_* codes of units to leave out
  bool keep_going = false;  // write although a unit was broken (the status still tells)
  // Another thread may set it to anything but 0: the run then ends soon with kCancelled.
  const volatile int* cancel = nullptr;
  std::function<void(std::size_t done, std::size_t total)> progress;
  // Test build option: called around every stage of every unit (jobs/pool.h). Null in production.
  void (*schedule_hook)(void* context, int stage, std::size_t index) = nullptr;
  void* schedule_hook_context = nullptr;
};

}  // namespace btfloom
