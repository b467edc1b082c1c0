// Inside load/: the walk over one unit, shared by the files that handle one family of tags each.
//
// Pass 1 (load_unit.cc, aggregates.cc, functions.cc, variables.cc) runs the cursor over the unit
// once and fills the fragment, with references still being DIE offsets. Pass 2 (references.cc, then
// functions.cc and variables.cc) turns offsets into indices and settles what needs the whole unit.
#pragma once

#include <string>
#include <vector>

#include "dwarf/cursor.h"
#include "load/entry_map.h"
#include "load/load_unit.h"

namespace btfloom {

// Offset of a DIE from its unit header; kVoid: none. The form references have during pass 1.
using DieRef = std::uint32_t;

inline constexpr std::uint32_t kNoMember = 0xffffffff;

struct LoadedParameter {
  const char* name = "";
  DieRef type = kVoid;
  DieRef origin = kVoid;  // DW_AT_abstract_origin
  std::uint32_t function = 0;
  std::uint32_t position = 0;  // among the parameters of its function
  bool has_location = false;
  bool has_constant = false;
  bool is_optimized = false;  // not where a caller would put it
  bool is_on_stack = false;   // its first location is relative to the frame
  bool is_constant = false;   // its first location is a number
  int register_number = -1;   // where it is on entry
  // Which bytes of a struct of two words are in registers, by word: bit X is the piece that starts
  // at byte X of the word.
  std::uint8_t pieces[2] = {0, 0};
  // true_signature: the only member of the struct that is passed, in Fragment::members.
  std::uint32_t member = kNoMember;
  Value location;
};

// On the stack until its function is complete: where in the entry map it stands.
struct PlacedParameter {
  LoadedParameter parameter;
  std::size_t place = 0;
};

struct LoadedFunction {
  const char* name = "";
  DieRef type = kVoid;
  DieRef origin = kVoid;  // DW_AT_abstract_origin
  DieRef specification = kVoid;
  std::uint64_t address = 0;
  std::uint32_t die = 0;
  std::uint32_t symbol = FunctionSymbols::kNotFound;
  std::uint32_t first_parameter = 0;
  std::uint32_t parameter_count = 0;
  std::uint32_t first_tag = 0;
  std::uint32_t tag_count = 0;
  bool is_variadic = false;
  bool is_declaration = false;
  bool is_inline = false;  // has DW_AT_inline: an abstract instance
  bool is_nocall = false;  // DW_AT_calling_convention is DW_CC_nocall
  bool is_reordered = false;
};

struct LoadedVariable {
  const char* name = "";
  DieRef type = kVoid;
  DieRef specification = kVoid;
  std::uint32_t die = 0;
  std::uint32_t first_tag = 0;
  std::uint32_t tag_count = 0;
  Value location;
  bool has_location = false;
  bool is_declaration = false;
  bool is_external = false;
  bool is_artificial = false;
  bool is_top_level = false;
};

// A type whose target is another type of the fragment, not a DIE.
struct DirectTarget {
  std::uint32_t type = 0;
  TypeRef target = kVoid;
};

struct LoadScratch::Parts {
  AbbrevTable abbrevs;
  EntryMap entries;
  std::vector<DieRef> aliases;
  std::vector<DirectTarget> direct_targets;
  std::vector<LoadedFunction> functions;
  std::vector<LoadedParameter> parameters;
  std::vector<LoadedVariable> variables;
  // Stacks: aggregates nest, and what belongs to one must end up contiguous.
  std::vector<Member> member_stack;
  std::vector<Enumerator> enumerator_stack;
  std::vector<Parameter> parameter_stack;
  std::vector<PlacedParameter> function_parameter_stack;
  std::vector<DeclTag> tag_stack;
  void clear();
};

// Where a DIE stands; decides what a variable or parameter in it means.
enum class Scope : std::uint8_t { kUnit, kNamespace, kType, kFunction };

class UnitLoader {
 public:
  UnitLoader(const Unit& unit, const LoadContext& context, LoadScratch::Parts& scratch,
             Fragment& fragment)
      : unit_(unit),
        context_(context),
        scratch_(scratch),
        fragment_(fragment),
        cursor_(unit, scratch.abbrevs) {}

  Result<> run();

 private:
  // load_unit.cc
  void load_children(Scope scope);
  void load_die(Scope scope);
  void skip_children();
  void load_base_type();
  void load_qualifier(Kind kind);
  void load_reference_as_pointer(const char* what);
  void load_void_type();
  void load_alias(const char* why);
  void load_opaque(const char* why, std::uint32_t size);
  bool enter();
  bool peek(DieRef reference, Die& die) const;
  template <typename F>
  void for_each_child(F&& f);
  void leave() { --depth_; }
  // aggregates.cc
  void load_struct(Kind kind);
  bool load_plain_member();
  void load_member(std::int32_t component);
  [[nodiscard]] std::uint64_t member_bit_offset(std::uint64_t bit_size) const;
  [[nodiscard]] std::uint64_t peek_size(DieRef type) const;
  void finish_members(std::size_t mark, Type& type);
  void load_enumeration();
  void load_enumerator();
  void finish_enumerators(std::size_t mark, Type& type, bool is_signed);
  [[nodiscard]] bool is_signed_type(DieRef type) const;
  void load_array();
  void load_subroutine();
  // tags.cc
  DieRef load_type_tags(bool has_children, DieRef pointee);
  TypeRef load_gnu_type_tags(DieRef link, DieRef pointee, std::uint32_t origin);
  std::uint32_t add_type_tag(const char* value, std::uint32_t origin);
  void set_target(std::uint32_t type, TypeRef target, DieRef otherwise);
  void load_decl_tag(std::int32_t component);
  void load_gnu_decl_tags(DieRef first, std::int32_t component);
  void load_tag_children(std::int32_t component);
  void flush_type_tags(std::size_t mark, std::uint32_t target);
  // functions.cc
  void load_function();
  void load_function_parameter(std::uint32_t position);
  void finish_function(std::size_t place, std::size_t parameter_mark, std::size_t tag_mark,
                       LoadedFunction& function);
  void settle_functions();
  void settle_name(LoadedFunction& function);
  void settle_parameters(LoadedFunction& function);
  void settle_locations(LoadedFunction& function);
  void emit_function(const LoadedFunction& function);
  void emit_parameter(const LoadedFunction& function, const LoadedParameter& parameter,
                      std::uint8_t flags);
  void locate(LoadedParameter& parameter);
  std::uint8_t judge(const LoadedFunction& function, bool signature_changed);
  bool judge_parameter(LoadedParameter& parameter, bool signature_changed, unsigned& next);
  // true_signature.cc
  bool judge_true_parameter(LoadedParameter& parameter, const LoadedParameter* following,
                            unsigned& next);
  [[nodiscard]] std::uint32_t passed_member(const LoadedParameter& parameter);
  bool takes_struct(const LoadedFunction& function) const;
  bool has_packed_stack_struct(const LoadedFunction& function) const;
  [[nodiscard]] const LoadedFunction* origin_of(const LoadedFunction& function) const;
  // variables.cc
  void load_variable(Scope scope);
  void settle_variables();
  void settle_variable(const LoadedVariable& variable);
  bool is_encodable(const LoadedVariable& variable, const char* name, TypeRef type);
  // references.cc
  void resolve_references();
  TypeRef resolve(DieRef reference, std::uint32_t from);
  DieRef reference_of(Attribute attribute);
  // sizes.cc
  [[nodiscard]] std::uint64_t size_of(TypeRef type) const;
  [[nodiscard]] std::uint64_t variable_size(TypeRef type) const;
  [[nodiscard]] bool is_inferred_packed(const Type& type) const;
  [[nodiscard]] std::uint64_t natural_alignment(TypeRef type, unsigned depth) const;
  [[nodiscard]] TypeRef strip_qualifiers(TypeRef type) const;

  std::uint32_t add_type(std::size_t place, const Type& type);
  [[nodiscard]] std::uint32_t relative(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(offset - unit_.offset);
  }
  void warn(std::uint32_t die, std::string text);
  void degrade(std::uint32_t die, std::string text);
  void fail(std::uint64_t die, std::string text);

  const Unit& unit_;
  const LoadContext& context_;
  LoadScratch::Parts& scratch_;
  Fragment& fragment_;
  Cursor cursor_;
  Die die_;
  unsigned depth_ = 0;
  bool failed_ = false;
  Error error_;
};

}  // namespace btfloom
