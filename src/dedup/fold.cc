#include "dedup/fold.h"

#include "dedup/forward.h"

namespace btfloom {

namespace {

// How many look-ups ahead a slot is asked for: about the latency of memory.
constexpr std::size_t kAhead = 8;

}  // namespace

Hash128 function_key(const Fragment& fragment, const Shapes& shapes, const Function& function,
                     HashInput& input) {
  const auto link = [&](TypeRef type) {
    return type == kVoid ? kVoidLink : shapes.link[type].hash;
  };
  input.start(32 + function.parameter_count * std::size_t{16} +
              function.tag_count * std::size_t{8});
  input.add(0xfd00U | function.flags);  // no type starts with such a kind
  input.add(function.symbol);
  input.add(function.address);
  input.add(link(function.return_type));
  for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
    const Parameter& parameter = fragment.parameters[function.first_parameter + i];
    input.add(link(parameter.type));
    input.add_text(parameter.name);
  }
  for (std::uint32_t i = 0; i < function.tag_count; ++i) {
    const DeclTag& tag = fragment.function_tags[function.first_tag + i];
    input.add(static_cast<std::uint64_t>(tag.component));
    input.add_text(tag.value);
  }
  return input.hash();
}

void fold(const Table& table, ShapeScratch& scratch, Folded& folded) {
  const Fragment& fragment = folded.fragment;
  compute_shapes(
      fragment, [&](const Hash128& link) { return table.find(bound_key(link)).exists(); }, scratch,
      folded.shapes);
  const std::vector<Hash128>& content = folded.shapes.content;
  folded.node_of.resize(content.size());
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (i + kAhead < content.size()) {
      table.prefetch(content[i + kAhead]);
    }
    folded.node_of[i] = find_node(table, content[i], folded.shapes.flavour[i]);
  }
  folded.new_functions.clear();
  folded.function_keys.clear();
  for (std::uint32_t i = 0; i < fragment.functions.size(); ++i) {
    const Hash128 key = function_key(fragment, folded.shapes, fragment.functions[i], scratch.input);
    if (!table.find(key).exists()) {
      folded.new_functions.push_back(i);
      folded.function_keys.push_back(key);
    }
  }
}

}  // namespace btfloom
