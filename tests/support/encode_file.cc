#include "tests/support/encode_file.h"

#include <map>
#include <sstream>

#include <catch2/catch.hpp>

namespace btfloom::test {

bool Encoded::says(std::string_view text) const {
  for (const Diagnostic& diagnostic : diagnostics) {
    if (diagnostic.text.find(text) != std::string::npos) {
      return true;
    }
  }
  return false;
}

std::string Program::compile(const std::string& name, const std::string& source,
                             const std::vector<std::string>& flags) {
  const std::string input = folder_.write(name, source);
  const std::string output = input + ".o";
  std::vector<std::string> command = {compiler_, "-c", input, "-o", output, "-g"};
  command.insert(command.end(), flags.begin(), flags.end());
  const CommandResult result = run(command);
  INFO(result.err);
  REQUIRE(result.status == 0);
  return output;
}

std::string Program::link(const std::string& name, const std::vector<std::string>& objects,
                          const std::vector<std::string>& flags) {
  std::string output = folder_.path(name);
  std::vector<std::string> command = {compiler_, "-shared", "-o", output};
  command.insert(command.end(), objects.begin(), objects.end());
  command.insert(command.end(), flags.begin(), flags.end());
  const CommandResult result = run(command);
  INFO(result.err);
  REQUIRE(result.status == 0);
  return output;
}

Encoded Program::run_encode(EncodeOptions options, unsigned slots) {
  Encoded encoded;
  options.output = folder_.path("out" + std::to_string(outputs_++) + ".btf");
  Diagnostics diagnostics([&](const Diagnostic& d) { encoded.diagnostics.push_back(d); });
  const auto source = fixed_slots(slots);
  const Result<> done = btfloom::encode(options, *source, diagnostics, encoded.result);
  encoded.ok = done.ok();
  if (!done.ok()) {
    encoded.error = done.error();
    return encoded;
  }
  encoded.path = options.output;
  encoded.btf = read_file(options.output);
  if (!has_program("bpftool")) {
    return encoded;
  }
  if (options.base.empty()) {
    encoded.dump = run({"bpftool", "btf", "dump", "file", options.output}).out;
  } else {
    encoded.dump = run({"bpftool", "btf", "dump", "file", options.base}).out +
                   run({"bpftool", "btf", "dump", "file", options.output, "-B", options.base}).out;
  }
  return encoded;
}

Encoded Program::encode(const std::vector<std::string>& inputs, const Features& features,
                        unsigned slots) {
  EncodeOptions options;
  options.inputs = inputs;
  options.features = features;
  return run_encode(options, slots);
}

Encoded Program::encode_split(const std::vector<std::string>& inputs, const std::string& base,
                              const Features& features) {
  EncodeOptions options;
  options.inputs = inputs;
  options.base = base;
  options.features = features;
  return run_encode(options, 1);
}

Encoded Program::encode_source(const std::string& source, const std::vector<std::string>& flags,
                               const Features& features) {
  return encode({compile("source" + std::to_string(outputs_) + ".c", source, flags)}, features);
}

std::vector<std::string> lines_of(const std::string& dump) {
  std::vector<std::string> lines;
  std::istringstream stream(dump);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

namespace {

struct DumpedType {
  std::string head;                // behind "[12] "
  std::vector<std::string> parts;  // members, enumerators, parameters
};

// bpftool's text by type number.
std::map<int, DumpedType> parse(const std::string& dump) {
  std::map<int, DumpedType> types;
  int number = 0;
  for (const std::string& line : lines_of(dump)) {
    if (line.starts_with('[')) {
      number = std::stoi(line.substr(1));
      types[number].head = line.substr(line.find("] ") + 2);
    } else if (!line.empty()) {
      types[number].parts.push_back(line.substr(1));
    }
  }
  return types;
}

// The number behind `key` in `text`, -1 if there is none.
int number_after(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  return at == std::string::npos ? -1 : std::stoi(text.substr(at + key.size()));
}

std::string kind_and_name(const std::string& head) {
  const std::size_t quote = head.find('\'');
  const std::size_t end = head.find('\'', quote + 1);
  const std::string kind = head.substr(0, quote - 1);
  const std::string name = head.substr(quote, end - quote + 1);
  return name == "'(anon)'" ? kind : kind + " " + name;
}

std::string describe(const std::map<int, DumpedType>& types, int number, int depth);

std::string describe_parts(const std::map<int, DumpedType>& types, const DumpedType& type,
                           int depth) {
  std::string text;
  for (const std::string& part : type.parts) {
    const std::string name = part.substr(0, part.find('\'', 1) + 1);
    text += text.empty() ? "" : "; ";
    text += name == "'(anon)'" ? "" : name + " ";
    if (const int target = number_after(part, "type_id="); target >= 0) {
      text += describe(types, target, depth + 1);
    }
    if (const int offset = number_after(part, "bits_offset="); offset >= 0) {
      text += " @" + std::to_string(offset);
    }
    if (const int bits = number_after(part, "bitfield_size="); bits >= 0) {
      text += ":" + std::to_string(bits);
    }
    if (const std::size_t value = part.find("val="); value != std::string::npos) {
      text += "= " + part.substr(value + 4);
    }
  }
  return text;
}

// One level of detail for nameless types and everything that has one target; named ones by name.
std::string describe(const std::map<int, DumpedType>& types, int number, int depth) {
  if (number == 0) {
    return "void";
  }
  const DumpedType& type = types.at(number);
  const std::string& head = type.head;
  std::string text = kind_and_name(head);
  const std::string kind = head.substr(0, head.find(' '));
  const bool is_named = text.find('\'') != std::string::npos;
  if (kind == "ARRAY") {
    return text + "[" + std::to_string(number_after(head, "nr_elems=")) + "] " +
           describe(types, number_after(head, " type_id="), depth + 1);
  }
  if (kind == "FUNC_PROTO") {
    return "(" + describe_parts(types, type, depth) + ") -> " +
           describe(types, number_after(head, "ret_type_id="), depth + 1);
  }
  if (kind == "FWD") {
    return text + " " + head.substr(head.find("fwd_kind="));
  }
  const bool has_one_target = head.find(" type_id=") != std::string::npos;
  if (has_one_target && (depth == 0 || !is_named || kind == "TYPE_TAG")) {
    return text + " " + describe(types, number_after(head, " type_id="), depth + 1);
  }
  if ((depth > 0 && is_named) || type.parts.empty()) {
    return text;
  }
  return text + " { " + describe_parts(types, type, depth) + " }";
}

}  // namespace

int count(const Encoded& encoded, const std::string& start) {
  int found = 0;
  for (const auto& [number, type] : parse(encoded.dump)) {
    found += type.head.starts_with(start) ? 1 : 0;
  }
  return found;
}

namespace {

std::string text_of(const std::map<int, DumpedType>& types, int number) {
  const std::string& head = types.at(number).head;
  std::string text = describe(types, number, 0);
  const std::size_t size = head.find("size=");
  if (size != std::string::npos) {
    const std::size_t end = std::min(head.find(' ', size), head.size());
    text.insert(kind_and_name(head).size(), " " + head.substr(size, end - size));
  }
  return text;
}

}  // namespace

std::multiset<std::string> type_set(const std::string& dump) {
  const std::map<int, DumpedType> types = parse(dump);
  std::multiset<std::string> texts;
  for (const auto& [number, type] : types) {
    texts.insert(text_of(types, number));
  }
  return texts;
}

std::string type_text(const Encoded& encoded, const std::string& start) {
  const std::map<int, DumpedType> types = parse(encoded.dump);
  for (const auto& [number, type] : types) {
    if (type.head.starts_with(start)) {
      return text_of(types, number);
    }
  }
  return "";
}

}  // namespace btfloom::test
