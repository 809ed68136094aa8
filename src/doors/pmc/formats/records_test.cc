#include "doors/pmc/formats/records.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace spate::pmc {
namespace {

constexpr Instant kStart = {1795287370'123'999'999};  // 2026-11-21T18:56:10.123Z

TEST(PmcRecordsTest, LocalTimes) {
  struct Case {
    Instant when;
    UtcOffset offset;
    std::string_view text;
  };
  for (const Case& c : {Case{kStart, 0, "2026-11-21T18:56:10.123+00:00"},
                        {kStart, 60, "2026-11-21T19:56:10.123+01:00"},
                        {kStart, 345, "2026-11-22T00:41:10.123+05:45"},
                        {kStart, -480, "2026-11-21T10:56:10.123-08:00"},
                        {kStart, -30, "2026-11-21T18:26:10.123-00:30"},
                        {{0}, -60, "1969-12-31T23:00:00.000-01:00"},
                        {{-1}, 0, "1969-12-31T23:59:59.999+00:00"}}) {
    EXPECT_EQ(LocalIsoTime(c.when, c.offset), c.text);
  }
}

const ClusterTask kTask = {.id = "1",
                           .name = "A",
                           .start = kStart,
                           .offset = 60,
                           .duration = Duration::Millis(1500),
                           .status = 768,
                           .app = "/bin/echo",
                           .host = "n1",
                           .slot = 2,
                           .cpus = 4,
                           .memory_mb = 1024};

TEST(PmcRecordsTest, ClusterTask) {
  EXPECT_EQ(ClusterTaskRecord(kTask),
            "[cluster-task id=1, name=A, start=\"2026-11-21T19:56:10.123+01:00\", duration=1.500, "
            "status=768, app=\"/bin/echo\", hostname=\"n1\", slot=2, cpus=4, memory=1024]\n");
  ClusterTask plain = kTask;
  plain.id = {};
  EXPECT_TRUE(ClusterTaskRecord(plain).starts_with("[cluster-task name=A, start="));
}

TEST(PmcRecordsTest, ClusterSummary) {
  ClusterSummary summary = {.ok = true,
                            .tasks = 5,
                            .submitted = 4,
                            .succeeded = 3,
                            .failed = 1,
                            .start = kStart,
                            .offset = -480,
                            .duration = Duration::Millis(61001),
                            .pid = 77,
                            .app = "pegasus-mpi-cluster",
                            .runtime = Duration::Micros(2500400),
                            .slots = 2,
                            .cpus = 8};
  EXPECT_EQ(ClusterSummaryRecord(summary),
            "[cluster-summary stat=\"ok\", tasks=5, submitted=4, succeeded=3, failed=1, extra=0, "
            "start=\"2026-11-21T10:56:10.123-08:00\", duration=61.001, pid=77, "
            "app=\"pegasus-mpi-cluster\", runtime=2.500, slots=2, cpus=8]\n");
  summary.ok = false;
  EXPECT_TRUE(ClusterSummaryRecord(summary).starts_with("[cluster-summary stat=\"failed\", "));
}

TEST(PmcRecordsTest, Escapes) {
  ClusterTask task = kTask;
  task.name = "a=b,[c]\"%d";
  task.app = "/a b/,x=\"1\"]\n\x7f";
  task.host = std::string_view("n\0", 2);
  std::string record = ClusterTaskRecord(task);
  EXPECT_NE(record.find("name=a%3Db%2C%5Bc%5D%22%d, "), std::string::npos) << record;
  EXPECT_NE(record.find("app=\"/a b/,x%3D%221%22%5D%0A%7F\", "), std::string::npos) << record;
  EXPECT_NE(record.find("hostname=\"n%00\", "), std::string::npos) << record;
  task.name = "caf\xc3\xa9_1.x:(y)\\'";
  EXPECT_NE(ClusterTaskRecord(task).find("name=caf\xc3\xa9_1.x:(y)\\', "), std::string::npos);
}

// Reads a record like Pegasus: up to the first ']', then a key before each '=', and behind it a
// text in quotes, or one up to a comma.
std::map<std::string, std::string> Pairs(const std::string& text) {
  std::map<std::string, std::string> pairs;
  std::string record = text.substr(0, text.find(']'));
  for (size_t equals = 0; (equals = record.find('=', equals)) != std::string::npos;) {
    size_t key = record.find_last_of(" ,\"", equals) + 1;
    bool quoted = record[equals + 1] == '"';
    size_t value = equals + (quoted ? 2 : 1);
    size_t end = std::min(record.find(quoted ? '"' : ',', value), record.size());
    bool is_new =
        pairs.emplace(record.substr(key, equals - key), record.substr(value, end - value)).second;
    EXPECT_TRUE(is_new) << record.substr(key, end - key);
    equals = end;
  }
  return pairs;
}

TEST(PmcRecordsTest, LongNamesFit) {
  ClusterTask task = kTask;
  const std::string name(100'000, 'x');
  task.name = task.app = name;
  auto pairs = Pairs(ClusterTaskRecord(task));
  EXPECT_EQ(pairs["name"], name);
  EXPECT_EQ(pairs["app"], name);
}

RC_GTEST_PROP(PmcRecordsTest, NoNameBreaksARecord, ()) {
  auto text = rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::element('"', '[', ']', '=', ',', '\n', ' ', 'a', '\\', '%'),
                     rc::gen::arbitrary<char>()));
  const std::string name = *text;
  const std::string app = *text + "\", status=0, slot=9]\n[cluster-summary stat=\"ok\"]";
  ClusterTask task = kTask;
  task.name = name;
  task.app = app;
  std::string record = ClusterTaskRecord(task);
  RC_ASSERT(record.find(']') == record.size() - 2);
  RC_ASSERT(record.find('\n') == record.size() - 1);
  RC_ASSERT(record.rfind('[') == 0u);
  auto pairs = Pairs(record);
  RC_ASSERT(pairs.size() == 10u);
  RC_ASSERT(pairs["status"] == "768");
  RC_ASSERT(pairs["slot"] == "2");
  RC_ASSERT(pairs["hostname"] == "n1");
}

}  // namespace
}  // namespace spate::pmc
