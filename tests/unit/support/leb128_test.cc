#include "support/leb128.h"

#include <vector>

#include <catch2/catch.hpp>

#include "support/reader.h"

namespace btfloom::test {

namespace {

struct Example {
  std::int64_t number;
  std::vector<std::uint8_t> bytes;
};

Bytes bytes_of(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("The examples of the DWARF standard are read as it says", "[unit][support]") {
  // DWARF 5 section 7.6, tables 7.7 (unsigned) and 7.8 (signed).
  const Example unsigned_example =
      GENERATE(Example{2, {2}}, Example{127, {127}}, Example{128, {0x80, 1}},
               Example{129, {0x81, 1}}, Example{12857, {0xb9, 0x64}});
  const std::byte* at = bytes_of(unsigned_example.bytes).data();
  CHECK(read_uleb_unchecked(at) == static_cast<std::uint64_t>(unsigned_example.number));
  CHECK(at == bytes_of(unsigned_example.bytes).data() + unsigned_example.bytes.size());

  const Example signed_example =
      GENERATE(Example{2, {2}}, Example{-2, {0x7e}}, Example{127, {0xff, 0}},
               Example{-127, {0x81, 0x7f}}, Example{128, {0x80, 1}}, Example{-128, {0x80, 0x7f}},
               Example{129, {0x81, 1}}, Example{-129, {0xff, 0x7e}});
  at = bytes_of(signed_example.bytes).data();
  CHECK(read_sleb_unchecked(at) == signed_example.number);
  Reader reader(bytes_of(signed_example.bytes), ByteOrder::little);
  CHECK(reader.sleb() == signed_example.number);
  CHECK(reader.ok());
  CHECK(reader.at_end());
}

TEST_CASE("A reader that has gone too far stays at 0", "[unit][support]") {
  const std::vector<std::uint8_t> bytes = {0x80, 0x80};
  Reader reader(bytes_of(bytes), ByteOrder::big);
  CHECK(reader.uleb() == 0);
  CHECK_FALSE(reader.ok());
  CHECK(reader.u32() == 0);
  CHECK(reader.string().empty());
  Reader empty(Bytes{}, ByteOrder::little);
  CHECK(empty.string().empty());
  CHECK_FALSE(empty.ok());
}

}  // namespace btfloom::test
