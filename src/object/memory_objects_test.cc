#include "object/memory_objects.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "object/byte_source.h"

namespace weft::object {
namespace {

TEST(MemoryObjects, KeepsKindsApartAndCounts) {
  MemoryObjects objects;
  const ObjectId id = objects.put(ObjectKind::blob, "abc").value();
  EXPECT_EQ(id, sha256("abc"));
  EXPECT_EQ(objects.read(ObjectKind::blob, id).value(), "abc");
  EXPECT_EQ(objects.read(ObjectKind::tree, id).error().code, Code::not_found);
  EXPECT_FALSE(objects.contains(ObjectKind::change, id).value());
  EXPECT_EQ(objects.blob_size(id).value(), 3u);
  ASSERT_TRUE(objects.put(ObjectKind::blob, "abc").has_value());
  const auto counts = objects.counts();
  EXPECT_EQ(counts.puts, 2u);
  EXPECT_EQ(counts.stored, 1u);
  EXPECT_EQ(counts.stored_bytes, 3u);
  EXPECT_EQ(counts.reads, 1u);
  EXPECT_EQ(counts.read_bytes, 3u);
  objects.reset_counts();
  EXPECT_EQ(objects.counts().puts + objects.counts().reads, 0u);
}

TEST(MemoryObjects, StreamsBlobs) {
  MemoryObjects objects;
  const Bytes content(200'000, 'x');
  ViewSource source(content);
  const auto stored = objects.put_blob(source).value();
  EXPECT_EQ(stored.id, sha256(content));
  EXPECT_EQ(stored.size, content.size());
  const auto opened = objects.open_blob(stored.id).value();
  EXPECT_EQ(read_all(*opened, content.size()).value(), content);
}

TEST(ByteSource, ReadAllRefusesMoreThanItsLimit) {
  ViewSource source("abcdef");
  EXPECT_EQ(read_all(source, 5).error().code, Code::invalid);
  ViewSource fits("abcdef");
  EXPECT_EQ(read_all(fits, 6).value(), "abcdef");
}

}  // namespace
}  // namespace weft::object
