// One transaction, several threads putting (T-1): everything is there once, whoever put it first and wherever it lies.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "base/hash.h"
#include "base/testing/temp_dir.h"
#include "object/byte_source.h"
#include "store/store.h"

namespace weft::store {
namespace {

Bytes content(std::size_t number) {
  // Small and plain, compressible, large enough for a pack of its own; enough together to leave the frame.
  const std::size_t size = number % 40 == 7 ? (1u << 20) + number : number % 3 == 0 ? 100 : 20'000;
  Bytes out;
  out.reserve(size + 32);
  for (std::size_t i = 0; out.size() < size; ++i) out += sha256(std::to_string(number * 1000 + i % 50)).view();
  out.resize(size);
  return out;
}

// T-1
TEST(TransactionThreads, PutAndReadAtTheSameTime) {
  constexpr std::size_t kObjects = 400;
  constexpr std::size_t kThreads = 4;
  TempDir temp;
  auto store = Store::create(system_env(), temp / "s");
  ASSERT_TRUE(store.has_value()) << store.error().message;
  {
    auto transaction = store->begin();
    ASSERT_TRUE(transaction.has_value());
    std::vector<std::thread> threads;
    std::vector<std::string> problems(kThreads);
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t i = 0; i < kObjects; ++i) {
          // Each from another end, so that they meet; every object is put by two of them.
          const std::size_t number = thread % 2 == 0 ? i : kObjects - 1 - i;
          if (number % 2 != thread / 2) continue;
          const Bytes bytes = content(number);
          object::OwnedSource source{Bytes(bytes)};
          bool put = false;
          if (number % 5 == 0) {
            const auto stored = transaction->put_blob(source);
            put = stored && stored->id == sha256(bytes) && stored->size == bytes.size();
          } else {
            const auto id = transaction->put(ObjectKind::blob, bytes);
            put = id && *id == sha256(bytes);
          }
          if (!put) problems[thread] = "put " + std::to_string(number);
          const std::size_t other = (number * 7) % kObjects;
          const auto read = transaction->reader().read(ObjectKind::blob, sha256(content(other)));
          if (read ? *read != content(other) : read.error().code != Code::not_found) {
            problems[thread] = "read " + std::to_string(other);
          }
        }
      });
    }
    for (auto& thread : threads) thread.join();
    for (const std::string& problem : problems) EXPECT_EQ(problem, "");
    ASSERT_TRUE(transaction->commit().has_value());
  }
  const auto snapshot = store->snapshot();
  std::set<ObjectId> objects;
  for (std::size_t number = 0; number < kObjects; ++number) {
    const auto read = snapshot->read(ObjectKind::blob, sha256(content(number)));
    ASSERT_TRUE(read.has_value()) << number;
    EXPECT_EQ(*read, content(number)) << number;
    const auto chunks = snapshot->chunks_of(sha256(content(number)));
    ASSERT_TRUE(chunks.has_value());
    objects.insert(sha256(content(number)));
    objects.insert(chunks->begin(), chunks->end());
  }
  EXPECT_EQ(store->info()->objects, objects.size());  // each once
  const auto report = store->verify(true, {});
  ASSERT_TRUE(report.has_value());
  EXPECT_TRUE(report->clean());
}

}  // namespace
}  // namespace weft::store
