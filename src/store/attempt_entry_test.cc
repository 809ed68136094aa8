#include "store/attempt_entry.h"

#include <gtest/gtest.h>

#include <functional>

namespace spate::store {
namespace {

AttemptEntry Example() {
  AttemptEntry entry;
  AttemptEnd& end = entry.record.end;
  end.ref = {JobId(3), 41, Attempt(2)};
  end.start = {1'700'000'000'123'456'789};
  end.wall = {2'000'999};
  end.peak_memory = 1025;
  entry.record.ended = {1'700'000'000'999'999'999};
  return entry;
}

TEST(AttemptEntry, RoundingIsToMicrosecondsAndKilobytes) {
  AttemptEntry entry = Example();
  RoundToStored(entry.record);
  EXPECT_EQ(entry.record.end.start.ns, 1'700'000'000'123'456'000);
  EXPECT_EQ(entry.record.end.wall.ns, 2'000'000);
  EXPECT_EQ(entry.record.end.peak_memory, 2048u);
  EXPECT_EQ(entry.record.ended.ns, 1'700'000'000'125'456'000);
  engine::AttemptEnded once = entry.record;
  RoundToStored(entry.record);
  EXPECT_EQ(entry.record.ended, once.ended);
  EXPECT_EQ(entry.record.end.start, once.end.start);
}

TEST(AttemptEntry, RetryKeepsItsExactEnd) {
  AttemptEntry entry = Example();
  entry.record.verdict = engine::Verdict::kRetry;
  RoundToStored(entry.record);
  EXPECT_EQ(entry.record.ended.ns, 1'700'000'000'999'999'999);
}

TEST(AttemptEntry, ChecksumCoversEveryField) {
  const AttemptEntry entry = Example();
  const uint32_t sum = AttemptChecksum(9, entry);
  EXPECT_EQ(sum, AttemptChecksum(9, entry));
  EXPECT_LT(sum, 1u << kAttemptChecksumBits);
  EXPECT_NE(sum, AttemptChecksum(10, entry));
  std::vector<std::function<void(AttemptEntry&)>> changes = {
      [](auto& e) { e.record.end.ref.job = JobId(4); },
      [](auto& e) { e.record.end.ref.index++; },
      [](auto& e) { e.record.end.ref.attempt = Attempt(3); },
      [](auto& e) { e.record.node = NodeId(1); },
      [](auto& e) { e.record.end.slot = 1; },
      [](auto& e) { e.record.end.cause = Cause::kExit; },
      [](auto& e) { e.record.end.status = 1; },
      [](auto& e) { e.record.verdict = engine::Verdict::kFailed; },
      [](auto& e) { e.record.counts = false; },
      [](auto& e) { e.record.end.memory_source = MemorySource::kCgroup; },
      [](auto& e) { e.record.end.start.ns++; },
      [](auto& e) { e.record.end.wall.ns++; },
      [](auto& e) { e.record.end.user.ns++; },
      [](auto& e) { e.record.end.system.ns++; },
      [](auto& e) { e.record.end.peak_memory++; },
      [](auto& e) { e.record.end.read_bytes = 0; },
      [](auto& e) { e.record.end.written_bytes = 0; },
      [](auto& e) { e.record.end.left_behind = 1; },
      [](auto& e) { e.record.end.stdout_total = 1; },
      [](auto& e) { e.record.end.stderr_total = 1; },
      [](auto& e) { e.record.end.note = "n"; },
      [](auto& e) { e.record.end.processes.push_back({}); },
      [](auto& e) { e.record.end.not_kept = NotKept::kShare; },
      [](auto& e) { e.kept.position = 1; },
      [](auto& e) { e.kept.stdout_bytes = 1; },
      [](auto& e) { e.kept.stderr_bytes = 1; }};
  for (size_t i = 0; i < changes.size(); ++i) {
    AttemptEntry changed = entry;
    changes[i](changed);
    EXPECT_NE(sum, AttemptChecksum(9, changed)) << "change " << i;
  }
}

TEST(AttemptEntry, Processes) {
  std::vector<ProcessEnd> processes = {{0, 1, 2, -3}, {65535, 65535, 4294967295u, 137}};
  std::string bytes = EncodeProcesses(processes);
  std::vector<ProcessEnd> back;
  ASSERT_TRUE(DecodeProcesses(bytes, back));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[1].rank, 4294967295u);
  EXPECT_EQ(back[0].status, -3);
  bytes.pop_back();
  EXPECT_FALSE(DecodeProcesses(bytes, back));
}

TEST(AttemptEntry, ProcessesOfAGangWithTheirOutput) {
  std::vector<ProcessEnd> processes = {{0, 0, 7, 0, 5, 0}, {0, 1, 8, 1, 0, UINT64_MAX}};
  std::string bytes = EncodeProcesses(processes);
  std::vector<ProcessEnd> back;
  ASSERT_TRUE(DecodeProcesses(bytes, back));
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(back[0].rank, 7u);
  EXPECT_EQ(back[0].stdout_bytes, 5u);
  EXPECT_EQ(back[1].stderr_bytes, UINT64_MAX);
  EXPECT_EQ(EncodeProcesses(back), bytes);
  bytes.pop_back();
  EXPECT_FALSE(DecodeProcesses(bytes, back));
}

TEST(AttemptEntry, ProcessesWithoutOutputAreAsEarlierJournalsHaveThem) {
  EXPECT_EQ(EncodeProcesses({{0, 0, 0, 0}, {0, 1, 0, 141}}),
            std::string("\0\0\0\0\0\1\0\x9a\2", 9));
}

}  // namespace
}  // namespace spate::store
