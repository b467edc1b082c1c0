#include "plugin/feature_names.h"

#include <string_view>

#include "plugin/btfloom.h"

namespace btfloom {

namespace {

struct Row {
  const char* name;
  std::uint64_t bit;
};

// The order in which pahole lists them (--supported_btf_features).
constexpr Row kRows[] = {
    {"encode_force", BTFLOOM_FEATURE_ENCODE_FORCE},
    {"var", BTFLOOM_FEATURE_VAR},
    {"float", BTFLOOM_FEATURE_FLOAT},
    {"decl_tag", BTFLOOM_FEATURE_DECL_TAG},
    {"type_tag", BTFLOOM_FEATURE_TYPE_TAG},
    {"enum64", BTFLOOM_FEATURE_ENUM64},
    {"optimized_func", BTFLOOM_FEATURE_OPTIMIZED_FUNC},
    {"consistent_func", BTFLOOM_FEATURE_CONSISTENT_FUNC},
    {"decl_tag_kfuncs", BTFLOOM_FEATURE_DECL_TAG_KFUNCS},
    {"reproducible_build", BTFLOOM_FEATURE_REPRODUCIBLE_BUILD},
    {"distilled_base", BTFLOOM_FEATURE_DISTILLED_BASE},
    {"global_var", BTFLOOM_FEATURE_GLOBAL_VAR},
    {"attributes", BTFLOOM_FEATURE_ATTRIBUTES},
    {"true_signature", BTFLOOM_FEATURE_TRUE_SIGNATURE},
    {"layout", BTFLOOM_FEATURE_LAYOUT},
};

constexpr std::uint64_t all_features() {
  std::uint64_t bits = 0;
  for (const Row& row : kRows) {
    bits |= row.bit;
  }
  return bits;
}

bool add_feature(std::string_view name, std::uint64_t& features) {
  if (name == "default") {
    features |= BTFLOOM_FEATURES_DEFAULT;
    return true;
  }
  if (name == "all") {
    features |= all_features();
    return true;
  }
  for (const Row& row : kRows) {
    if (name == row.name) {
      features |= row.bit;
      return true;
    }
  }
  return name.empty();
}

}  // namespace

Features features_of(std::uint64_t bits) {
  const auto has = [&](std::uint64_t bit) { return (bits & bit) != 0; };
  return {.encode_force = has(BTFLOOM_FEATURE_ENCODE_FORCE),
          .var = has(BTFLOOM_FEATURE_VAR),
          .floats = has(BTFLOOM_FEATURE_FLOAT),
          .decl_tag = has(BTFLOOM_FEATURE_DECL_TAG),
          .type_tag = has(BTFLOOM_FEATURE_TYPE_TAG),
          .enum64 = has(BTFLOOM_FEATURE_ENUM64),
          .consistent_func = has(BTFLOOM_FEATURE_CONSISTENT_FUNC),
          .decl_tag_kfuncs = has(BTFLOOM_FEATURE_DECL_TAG_KFUNCS),
          .distilled_base = has(BTFLOOM_FEATURE_DISTILLED_BASE),
          .global_var = has(BTFLOOM_FEATURE_GLOBAL_VAR),
          .attributes = has(BTFLOOM_FEATURE_ATTRIBUTES),
          .true_signature = has(BTFLOOM_FEATURE_TRUE_SIGNATURE),
          .layout = has(BTFLOOM_FEATURE_LAYOUT)};
}

}  // namespace btfloom

extern "C" const char* btfloom_parse_features(const char* text, std::uint64_t* features) {
  const char* unknown = nullptr;
  std::string_view rest(text);
  if (rest.starts_with('+')) {
    *features |= BTFLOOM_FEATURES_DEFAULT;
    rest.remove_prefix(1);
  }
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    if (!btfloom::add_feature(name, *features) && unknown == nullptr) {
      unknown = name.data();
    }
    rest.remove_prefix(name.size() < rest.size() ? name.size() + 1 : rest.size());
  }
  return unknown;
}

extern "C" const char* btfloom_feature_name(unsigned index) {
  return index < std::size(btfloom::kRows) ? btfloom::kRows[index].name : nullptr;
}
