#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "command/spate/top_keys.h"
#include "command/spate/top_view.h"
#include "present/table/text_width.h"

namespace spate::cli {
namespace {

constexpr Instant kNow{1'700'000'000'000'000'000};

TEST(TopKeys, KnowsThemWhole) {
  using enum TopKey;
  struct Case {
    std::vector<std::string> pieces;
    std::vector<TopKey> keys;
  };
  for (const Case& each : std::vector<Case>{{{"q"}, {kQuit}},
                                            {{"\x03"}, {kQuit}},
                                            {{"njx"}, {kNodes, kJobs}},
                                            {{"sckg"}, {kStop, kContinue, kKill, kSignal}},
                                            {{"\x1b[A\x1bOB"}, {kUp, kDown}},
                                            {{"\x1b", "[", "5", "~q"}, {kPageUp, kQuit}},
                                            {{"\x1b[6~"}, {kPageDown}},
                                            {{"\x1b[1;5A"}, {}},
                                            {{"\x1b[200~n"}, {kNodes}},
                                            {{"\x1bq"}, {}},
                                            {{"\x1b\x1b[B"}, {kDown}},
                                            {{"\x1b[" + std::string(40, '1') + "n"}, {kNodes}}}) {
    TopKeys keys;
    std::vector<TopKey> got;
    for (const std::string& piece : each.pieces) {
      for (TopKey key : keys.Feed(piece)) got.push_back(key);
    }
    EXPECT_EQ(got, each.keys) << each.pieces[0];
  }
}

TEST(TopLine, IsTyped) {
  using enum TopLine::Now;
  auto type = [](std::string_view bytes) {
    TopLine line;
    TopLine::Now now = kTyping;
    for (char byte : bytes) now = line.Feed(byte);
    return std::pair(now, line.text());
  };
  EXPECT_EQ(type("12.3"), std::pair(kTyping, std::string("12.3")));
  EXPECT_EQ(type("13\x7f"
                 "2\r"),
            std::pair(kEntered, std::string("12")));
  EXPECT_EQ(type("\x7f\x08\x01"
                 "1\n"),
            std::pair(kEntered, std::string("1")));
  EXPECT_EQ(type("\r").first, kGivenUp);
  EXPECT_EQ(type("1\x1b").first, kGivenUp);
  EXPECT_EQ(type("1\x03").first, kGivenUp);
  EXPECT_EQ(type(std::string(1'000, '1')).second.size(), 200u);
}

TopFacts Example() {
  TopFacts snapshot;
  snapshot.hub = {.life = 2,
                  .since = kNow - Duration::Seconds(3600),
                  .nodes = 2,
                  .away = 1,
                  .jobs = 3,
                  .queued = 4000,
                  .running = 3,
                  .ended = 100,
                  .failed = 1};
  snapshot.nodes = {{.name = "n1", .state = "ready", .slots = 2, .tasks = 3, .used = 1.5},
                    {.name = "n2", .state = "away", .why = "gone"}};
  JobCounts counts = {.total = 200, .queued = 97, .leased = 3, .succeeded = 99, .failed = 1};
  snapshot.jobs = {
      {.job = JobId(1), .user = "ada", .name = "fold", .state = "running", .counts = counts},
      {.job = JobId(2), .user = "bob", .name = {}, .state = "held", .counts = {}}};
  return snapshot;
}

std::string Text(const std::vector<std::string>& lines) {
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

TEST(TopView, ShowsAll) {
  TopView view;
  view.Set(Example(), kNow);
  EXPECT_EQ(Text(view.Draw({}, kNow)),
            "hub of spate, life 2, up 1h00m   100 ended, 1 failed\n"
            "nodes 2 connected, 1 away   tasks 3 running, 4,000 queued   jobs 3\n"
            "\n"
            "NODE  STATE  USED  SLOTS  TASKS  ENDED  FAILED  NOTE\n"
            "n1    ready  100%      2      3      0       0\n"
            "n2    away     0%      0      0      0       0  gone\n"
            "\n"
            "JOB  USER  NAME  DONE               RUNNING  QUEUED  FAILED  RATE   ETA\n"
            "  1  ada   fold  [####......]  49%        3      97       1           -\n"
            "  2  bob   -     [..........]   0%        0       0       0        held\n");
}

TEST(TopView, ShowsPools) {
  TopView view;
  TopFacts snapshot = Example();
  PoolFacts pool;
  pool.policy.name = "lab";
  pool.state = "on";
  pool.queued = 2;
  pool.joined = 1;
  pool.policy.max_pilots = 10;
  pool.nodes = 1;
  snapshot.pools = {pool};
  for (std::string host : {"pc1", "pc2"}) {
    pool.policy.name = "desks-" + host;
    pool.group = "desks";
    pool.policy.max_pilots = 1;
    pool.queued = 0;
    snapshot.pools.push_back(pool);
  }
  snapshot.pools[2].state = "paused";
  snapshot.pools[2].why = "by ann";
  view.Set(snapshot, kNow);
  EXPECT_NE(Text(view.Draw({}, kNow))
                .find("jobs 3\n\n"
                      "POOL   STATE  QUEUED  JOINED  MAX  NODES  NOTE\n"
                      "lab    on          2       1   10      1\n"
                      "desks  on          0       2    2      2  desks-pc2: by ann\n\n"
                      "NODE"),
            std::string::npos)
      << Text(view.Draw({}, kNow));
  for (uint32_t rows = 1; rows < 40; ++rows) {
    EXPECT_EQ(view.Draw({.columns = 80, .rows = rows}, kNow).size(), rows);
  }
  view.Press(TopKey::kNodes);
  EXPECT_EQ(Text(view.Draw({}, kNow)).find("POOL"), std::string::npos);
}

TEST(TopView, MeasuresRates) {
  TopView view;
  TopFacts snapshot = Example();
  Instant now = kNow;
  for (int i = 0; i < 5; ++i, now = now + Duration::Seconds(1)) {
    view.Set(snapshot, now);
    snapshot.hub.ended += 10;
    snapshot.jobs[0].counts.succeeded += 10;
  }
  std::string text = Text(view.Draw({}, now - Duration::Seconds(1)));
  EXPECT_NE(text.find("   10/s   140 ended"), std::string::npos) << text;
  EXPECT_NE(text.find("10/s    6s\n"), std::string::npos) << text;  // 60 of 200 are left
  snapshot.hub.life = 3;                                            // counts from 0 again
  snapshot.hub.ended = 0;
  view.Set(snapshot, now);
  EXPECT_NE(Text(view.Draw({}, now)).find("up 1h00m   0 ended"), std::string::npos);
}

TEST(TopView, FitsAndScrolls) {
  TopView view;
  TopFacts snapshot = Example();
  snapshot.nodes.resize(30, {.name = "other", .state = "ready"});
  for (uint32_t i = 3; i <= 50; ++i) {
    snapshot.jobs.push_back(
        {.job = JobId(i), .user = "ada", .name = "x", .state = "queued", .counts = {}});
  }
  view.Set(snapshot, kNow);
  for (uint32_t rows : {1, 2, 5, 8, 24, 200}) {
    for (uint32_t columns : {20, 80}) {
      auto lines = view.Draw({.columns = columns, .rows = rows}, kNow);
      EXPECT_EQ(lines.size(), rows);
      if (columns < 80) continue;
      for (const std::string& line : lines) EXPECT_LE(present::DisplayWidth(line), columns) << line;
    }
  }
  auto first_job = [&] {
    auto lines = view.Draw({.columns = 80, .rows = 20}, kNow);
    auto at = std::ranges::find_if(lines, [](auto& line) { return line.starts_with("JOB"); });
    return at == lines.end() ? "" : (at + 1)->substr(0, 3);
  };
  EXPECT_EQ(first_job(), "  1");
  view.Press(TopKey::kDown);
  EXPECT_EQ(first_job(), "  2");
  view.Press(TopKey::kPageDown);
  EXPECT_EQ(first_job(), " 11");
  view.Press(TopKey::kPageUp);
  EXPECT_EQ(first_job(), "  2");
  for (int i = 0; i < 20; ++i) view.Press(TopKey::kPageDown);
  EXPECT_EQ(first_job(), " 42");  // not beyond the end
  view.Press(TopKey::kUp);
  EXPECT_EQ(first_job(), " 41");
  view.Press(TopKey::kNodes);
  EXPECT_EQ(first_job(), "");
  view.Press(TopKey::kJobs);
  EXPECT_EQ(first_job(), "  1");
  EXPECT_EQ(Text(view.Draw({}, kNow)).find("NODE"), std::string::npos);
}

TEST(TopView, SaysWhenTheHubIsAway) {
  TopView view;
  view.SetTrouble("no answer\n");
  EXPECT_NE(Text(view.Draw({.rows = 9}, kNow)).find("the hub is unreachable: no answer\\n\n"),
            std::string::npos);
  view.Set(Example(), kNow);
  EXPECT_NE(Text(view.Draw({}, kNow)).find("life 2"), std::string::npos);
  view.SetTrouble("");
  EXPECT_EQ(Text(view.Draw({}, kNow)).find("is unreachable:"), std::string::npos);
}

}  // namespace
}  // namespace spate::cli
