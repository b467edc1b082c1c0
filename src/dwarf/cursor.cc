#include "dwarf/cursor.h"

namespace btfloom {

Cursor::Cursor(const Unit& unit, const AbbrevTable& table)
    : unit_(unit),
      table_(table),
      info_(unit.forms.sections->info),
      at_(info_.data() + unit.first_die),
      end_(info_.data() + unit.end),
      section_end_(info_.data() + info_.size()),
      str_(unit.forms.sections->str),
      line_str_(unit.forms.sections->line_str),
      order_(unit.forms.sections->order) {}

bool Cursor::fail(const Die& die, const char* why) {
  error_ = why;
  error_offset_ = die.offset;
  at_ = end_;
  return false;
}

bool Cursor::skip_string() {
  const void* nul = std::memchr(at_, 0, static_cast<std::size_t>(section_end_ - at_));
  if (nul == nullptr) {
    return false;
  }
  at_ = static_cast<const std::byte*>(nul) + 1;
  return true;
}

bool Cursor::skip_bytes(std::uint64_t count) {
  if (count > static_cast<std::uint64_t>(section_end_ - at_)) {
    return false;
  }
  at_ += count;
  return true;
}

bool Cursor::read_slow(const Step& step, Value& value) {
  Reader reader({at_, section_end_}, order_);
  value = read_form(reader, step.bytes, 0, unit_.forms);
  at_ += reader.position();
  return reader.ok();
}

// One DIE inside its window. After a string or a block the window may have shrunk, so the rest of
// the program is checked against it again; `slack` is what the remaining fixed part may need.
bool Cursor::run(const Abbrev& abbrev, Die& die) {
  const Step* step = table_.steps(abbrev);
  const Step* const last = step + abbrev.step_count;
  const std::size_t window = abbrev.largest_size;
  for (; step != last; ++step) {
    Value& value = die.values[static_cast<unsigned>(step->attribute)];
    bool fits = true;
    switch (step->kind) {
      case Step::Kind::kSkip:
        at_ += step->bytes;
        continue;
      case Step::Kind::kSkipLeb:
        skip_leb_unchecked(at_);
        continue;
      case Step::Kind::kConstant:
        value = {static_cast<std::uint64_t>(table_.constant(step->bytes)), 0, step->form_class};
        continue;
      case Step::Kind::kFixed1:
        value = {static_cast<std::uint64_t>(*at_), 0, step->form_class};
        at_ += 1;
        continue;
      case Step::Kind::kFixed2:
        value = {load<std::uint16_t>(at_, order_), 0, step->form_class};
        at_ += 2;
        continue;
      case Step::Kind::kFixed4:
        value = {load<std::uint32_t>(at_, order_), 0, step->form_class};
        at_ += 4;
        continue;
      case Step::Kind::kFixed8:
        value = {load<std::uint64_t>(at_, order_), 0, step->form_class};
        at_ += 8;
        continue;
      case Step::Kind::kUleb:
        value = {read_uleb_unchecked(at_), 0, step->form_class};
        continue;
      case Step::Kind::kSleb:
        value = {static_cast<std::uint64_t>(read_sleb_unchecked(at_)), 0, step->form_class};
        continue;
      case Step::Kind::kStrp4:
      case Step::Kind::kLineStrp4: {
        const std::uint32_t offset = load<std::uint32_t>(at_, order_);
        const char* text = step->kind == Step::Kind::kStrp4 ? text_at(str_, offset)
                                                            : line_text_at(line_str_, offset);
        if (text == nullptr) [[unlikely]] {
          return fail(die, "a string offset points outside its section");
        }
        // Names lie all over a section of megabytes; whoever reads this one later should not wait.
        __builtin_prefetch(text);
        value = {reinterpret_cast<std::uint64_t>(text), 0, FormClass::kString};
        at_ += 4;
        continue;
      }
      case Step::Kind::kString:
        value = {reinterpret_cast<std::uint64_t>(at_), 0, FormClass::kString};
        fits = skip_string();
        break;
      case Step::Kind::kSkipString:
        fits = skip_string();
        break;
      case Step::Kind::kBlockLeb: {
        const std::uint64_t length = read_uleb_unchecked(at_);
        value = {reinterpret_cast<std::uint64_t>(at_), static_cast<std::uint32_t>(length),
                 FormClass::kBlock};
        fits = skip_bytes(length);
        break;
      }
      case Step::Kind::kSkipBlockLeb:
        fits = skip_bytes(read_uleb_unchecked(at_));
        break;
      case Step::Kind::kSkipBlock1:
        fits = skip_bytes(static_cast<std::uint64_t>(at_[0]) + 1);
        break;
      case Step::Kind::kSkipBlock2:
        fits = skip_bytes(std::uint64_t{load<std::uint16_t>(at_, order_)} + 2);
        break;
      case Step::Kind::kSkipBlock4:
        fits = skip_bytes(std::uint64_t{load<std::uint32_t>(at_, order_)} + 4);
        break;
      case Step::Kind::kSlow:
        fits = read_slow(*step, value);
        break;
      case Step::Kind::kSlowSkip: {
        Value ignored;
        fits = read_slow(*step, ignored);
        break;
      }
    }
    if (!fits) [[unlikely]] {
      return fail(die, "a string or block leaves .debug_info");
    }
    if (static_cast<std::size_t>(section_end_ - at_) < window) [[unlikely]] {
      at_ = info_.data() + die.offset;
      return next_checked(die);
    }
  }
  if (at_ > end_) [[unlikely]] {
    return fail(die, "the DIE leaves its unit");
  }
  return true;
}

// The same steps, every read checked, for DIEs so near the end of the section that their window
// does not fit. One DIE in millions comes here.
bool Cursor::next_checked(Die& die) {
  Reader reader({at_, end_}, order_);
  const std::uint64_t code = reader.uleb();
  const Abbrev& abbrev = table_.find(code);
  if (!reader.ok() || (code != 0 && abbrev.tag == 0)) {
    return fail(die, "the DIE has no abbreviation declaration");
  }
  die.tag = code == 0 ? std::uint16_t{0} : abbrev.tag;
  die.present = code == 0 ? 0 : abbrev.present;
  die.has_children = code != 0 && abbrev.has_children;
  const Step* const first = table_.steps(abbrev);
  for (const Step* step = first; code != 0 && step != first + abbrev.step_count; ++step) {
    Value& value = die.values[static_cast<unsigned>(step->attribute)];
    switch (step->kind) {
      case Step::Kind::kSkip:
        reader.skip(step->bytes);
        break;
      case Step::Kind::kSkipLeb:
        reader.uleb();
        break;
      case Step::Kind::kSkipString:
        reader.string();
        break;
      case Step::Kind::kSkipBlock1:
        reader.skip(reader.u8());
        break;
      case Step::Kind::kSkipBlock2:
        reader.skip(reader.u16());
        break;
      case Step::Kind::kSkipBlock4:
        reader.skip(reader.u32());
        break;
      case Step::Kind::kSkipBlockLeb:
        reader.skip(reader.uleb());
        break;
      case Step::Kind::kConstant:
        value = {static_cast<std::uint64_t>(table_.constant(step->bytes)), 0, step->form_class};
        break;
      case Step::Kind::kSlowSkip:
        read_form(reader, step->bytes, 0, unit_.forms);
        break;
      default:
        value = read_form(reader, step->bytes, 0, unit_.forms);
        break;
    }
  }
  if (!reader.ok()) {
    return fail(die, "the DIE leaves its unit, or a string offset its section");
  }
  at_ += reader.position();
  return true;
}

}  // namespace btfloom
