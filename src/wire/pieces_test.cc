#include "wire/pieces.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "wire/codec.h"
#include "wire/frame.h"
#include "wire/limits.h"

namespace spate::wire {
namespace {

template <typename T>
size_t SizeOf(const T& message) {
  std::string bytes;
  Append(bytes, message);
  return bytes.size();
}

TEST(Pieces, WhatFitsStaysWhole) {
  Lease lease{Epoch(1), JobId(2), Attempt(1), {}, {{5, 2}, {9, 1}}, {"a", "b", "c"}};
  EXPECT_EQ(Split(ToNode(lease)).size(), 1u);
  EXPECT_EQ(Split(ToNode(Stop{Epoch(1), JobId(1), {}})).size(), 1u);
  EXPECT_EQ(Split(ToHub(Ends{1, {AttemptEnd{}}, {nullptr}})).size(), 1u);
  EXPECT_EQ(Split(ToHub(Paused{"full"})).size(), 1u);
}

TEST(Pieces, ALeaseIsCutBetweenTasks) {
  Lease lease{Epoch(1), JobId(2), Attempt(3), {.memory = 7}, {{100, 40}, {10, 1}, {20, 30}}, {}};
  for (int i = 0; i < 71; ++i) lease.rows.emplace_back(100'000, static_cast<char>('A' + i % 26));
  lease.rows[3].assign(kPieceBytes * 2, 'x');  // one that is longer than a piece
  std::vector<TaskIndex> tasks;
  std::vector<std::string> rows;
  auto pieces = Split(ToNode(lease));
  EXPECT_GT(pieces.size(), 7u);
  for (const ToNode& message : pieces) {
    EXPECT_TRUE(SizeOf(message) <= kPieceBytes + 100 || std::get<Lease>(message).rows.size() == 1);
    auto back = DecodeToNode([&] {
      std::string bytes;
      Append(bytes, message);
      return bytes;
    }());
    ASSERT_TRUE(back.has_value()) << back.error().message;
    const auto& piece = std::get<Lease>(*back);
    EXPECT_EQ(piece.attempt, lease.attempt);
    EXPECT_EQ(piece.needs, lease.needs);
    rows.insert(rows.end(), piece.rows.begin(), piece.rows.end());
    for (TaskRange range : piece.tasks) {
      for (uint32_t k = 0; k < range.count; ++k) tasks.push_back(range.first + k);
    }
  }
  EXPECT_EQ(rows, lease.rows);
  std::vector<TaskIndex> all;
  for (TaskRange range : lease.tasks) {
    for (uint32_t k = 0; k < range.count; ++k) all.push_back(range.first + k);
  }
  EXPECT_EQ(tasks, all);
}

TEST(Pieces, EndsAreCutBetweenEnds) {
  Ends ends{.number = 7};
  for (uint32_t i = 0; i < 20'000; ++i) {
    ends.ends.push_back({.ref = {JobId(1), i, Attempt(1)}});
    ends.outputs.push_back(nullptr);
  }
  for (size_t i = 0; i < 400; ++i) {
    std::string text(kInlineOutput, 'o');
    ends.outputs[i] = std::make_shared<const TaskOutput>(
        TaskOutput{{text, "", text.size()}, {text, "", text.size()}});
  }
  EXPECT_GT(SizeOf(ToHub(ends)), kMaxFrame);
  TaskIndex next = 0;
  auto pieces = Split(ToHub(ends));
  for (const ToHub& message : pieces) {
    EXPECT_LE(SizeOf(message), kPieceBytes + 100);
    const auto& piece = std::get<Ends>(message);
    EXPECT_LE(piece.ends.size(), kWireLimits.ends);
    EXPECT_EQ(piece.number, &message == &pieces.back() ? 7u : 6u);
    ASSERT_EQ(piece.outputs.size(), piece.ends.size());
    for (size_t i = 0; i < piece.ends.size(); ++i, ++next) {
      EXPECT_EQ(piece.ends[i].ref.index, next);
      EXPECT_EQ(piece.outputs[i], ends.outputs[next]);
    }
  }
  EXPECT_EQ(next, 20'000u);
}

TEST(Pieces, NoneHasTwoEndsWithOutputApart) {
  Ends ends{.number = 3};
  for (uint32_t i = 0; i < 6; ++i) {
    ends.ends.push_back({.ref = {JobId(1), i, Attempt(1)}});
    auto output = std::make_shared<TaskOutput>();
    if (i % 2 == 1) output->err = {"", "/spool/1", 100'000};
    ends.outputs.push_back(std::move(output));
  }
  auto pieces = Split(ToHub(std::move(ends)));
  ASSERT_EQ(pieces.size(), 3u);
  for (const ToHub& message : pieces) {
    const auto& piece = std::get<Ends>(message);
    EXPECT_EQ(piece.number, &message == &pieces.back() ? 3u : 2u);
    EXPECT_EQ(std::ranges::count_if(piece.outputs,
                                    [](const TaskOutputPtr& o) { return !o->err.spool.empty(); }),
              1);
  }
}

}  // namespace
}  // namespace spate::wire
