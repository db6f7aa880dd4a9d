#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <set>

#include "base/ids.h"

namespace weft {
namespace {

TEST(Code, NamesAreDistinctAndExitCodesAsDocumented) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Code::internal); ++i) names.insert(name(static_cast<Code>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Code::internal) + 1);
  EXPECT_EQ(name(Code::not_found), "not_found");
  EXPECT_EQ(exit_code(Code::conflicts), 1);
  EXPECT_EQ(exit_code(Code::usage), 2);
  EXPECT_EQ(exit_code(Code::invalid), 3);
  EXPECT_EQ(exit_code(Code::io), 3);
  EXPECT_EQ(exit_code(Code::lost_race), 4);
  EXPECT_EQ(exit_code(Code::busy), 4);
  EXPECT_EQ(exit_code(Code::damaged), 5);
  EXPECT_EQ(exit_code(Code::store_failed), 5);
  EXPECT_EQ(exit_code(Code::peer), 6);
}

TEST(SystemError, SaysWhatWhereAndWhy) {
  const Error error = system_error(ENOENT, "open", "a/b");
  EXPECT_EQ(error.message, "cannot open a/b: No such file or directory");
  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_EQ(error.sys_errno, ENOENT);
  EXPECT_EQ(error.details, (std::vector<std::pair<std::string, std::string>>{{"path", "a/b"}}));
  EXPECT_EQ(system_error(EXDEV, "rename to c", "a").message, "cannot rename a to c: Invalid cross-device link");
  EXPECT_EQ(system_error(EIO, "read", "a\nb").message, "cannot read \"a\\nb\": Input/output error");
  EXPECT_EQ(system_error(EMFILE, "make a pipe", "").message, "cannot make a pipe: Too many open files");
  EXPECT_EQ(system_error(9999, "open", "a").message, "cannot open a: error 9999");
}

TEST(SystemError, MapsErrnoToCode) {
  const std::pair<int, Code> known[] = {
      {ENOSPC, Code::no_space},  {EDQUOT, Code::no_space},  {EACCES, Code::permission}, {EPERM, Code::permission},
      {EROFS, Code::permission}, {ENOENT, Code::not_found}, {ENOTDIR, Code::not_found}, {EEXIST, Code::exists},
      {EIO, Code::io},           {ENAMETOOLONG, Code::io}};
  for (const auto& [errnum, code] : known) EXPECT_EQ(system_error(errnum, "open", "a").code, code) << errnum;
}

Result<int> half(int value) {
  if (value % 2 != 0) return make_error(Code::invalid, "odd").with("value", std::to_string(value)).hinted("add one");
  return value / 2;
}

Result<std::string> quarter_text(int value) {
  WEFT_TRY(const int once, half(value));
  WEFT_DO(half(once));
  WEFT_TRY(const int twice, half(once));
  return std::to_string(twice);
}

TEST(Result, CarriesValuesAndErrorsThrough) {
  EXPECT_EQ(quarter_text(12).value(), "3");
  const auto failed = quarter_text(6);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "odd");
  EXPECT_EQ(failed.error().hint, "add one");
  EXPECT_EQ(failed.error().details.at(0).second, "3");
  EXPECT_EQ(half(8).and_then(half).value(), 2);
  EXPECT_FALSE(half(6).and_then(half));
  EXPECT_EQ(half(3).value_or(-1), -1);
  Result<std::unique_ptr<int>> moved = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(moved);
  EXPECT_EQ(*taken, 5);
}

TEST(Check, AbortsAndSaysWhere) {
  EXPECT_DEATH(WEFT_CHECK(1 == 2), "result_test.cc:[0-9]+: check failed: 1 == 2");
  EXPECT_DEATH(NodeId::from_bytes("short"), "check failed");
}

TEST(Ids, PrintAndParse) {
  NodeId id;
  EXPECT_TRUE(id.is_zero());
  id.bytes[0] = 0xab;
  EXPECT_EQ(id.hex(), "ab000000000000000000000000000000");
  EXPECT_EQ(NodeId::parse(id.hex()), id);
  EXPECT_FALSE(NodeId::parse("ab"));
  EXPECT_FALSE(NodeId::parse(std::string(32, 'g')));
  const Bytes raw = Bytes(id.view()) + "x";
  ByteReader reader(raw);
  EXPECT_EQ(read_id<NodeId>(reader), id);
  EXPECT_TRUE(read_id<NodeId>(reader).is_zero());
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace weft
