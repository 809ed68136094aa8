#include "doors/mw/run/state_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <map>

#include "base/prng.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::mw {
namespace {

constexpr uint64_t kFileMost = 100'000'000;

task TaskOf(uint64_t id) {
  return {.id = {id},
          .algorithm = fmt::format("algorithm-{}", id % 3),
          .how = {.slave = {id % 5},
                  .tag = std::string(id % 4, 't'),
                  .do_it_anyway = id % 2 == 0,
                  .retry = id % 3 == 0,
                  .tries = static_cast<uint32_t>(1 + id % 7),
                  .losses = static_cast<uint32_t>(id % 6),
                  .time = std::chrono::seconds(id % 9),
                  .priority = static_cast<double>(id % 11) / 4 - 1,
                  .needs = {.slots = static_cast<uint32_t>(1 + id % 4),
                            .memory = (id % 3) << 40,
                            .resources = {{"gpus", static_cast<uint32_t>(id % 2 + 1)}},
                            .labels = std::vector<std::string>(id % 3, "fast")}},
          .arguments = std::string(id % 5000, static_cast<char>(id)),
          .reason = {}};
}

result ResultOf(uint64_t id) {
  return {.task = {id},
          .algorithm = fmt::format("algorithm-{}", id % 3),
          .slave = {id % 5},
          .tag = std::string(id % 4, 't'),
          .compute_time = std::chrono::nanoseconds(id * 1000),
          .failure = id % 7 == 0 ? "it threw" : "",
          .bytes = std::string(id * 37 % 9000, static_cast<char>(id))};
}

std::string Words(const task& each) {
  std::string needs = fmt::format("{} {}", each.how.needs.slots, each.how.needs.memory);
  for (const auto& [name, count] : each.how.needs.resources) {
    needs += fmt::format(" {}={}", name, count);
  }
  for (const std::string& label : each.how.needs.labels) needs += " " + label;
  return fmt::format("task {} {} slave {} '{}' {} {} {} {} {} {} {} ({})", each.id.value,
                     each.algorithm, each.how.slave.value, each.how.tag, each.how.do_it_anyway,
                     each.how.retry, each.how.tries, each.how.losses, each.how.time.count(),
                     each.how.priority, each.arguments, needs);
}

std::string Words(const result& each) {
  return fmt::format("result {} {} slave {} '{}' {} '{}' {}", each.task.value, each.algorithm,
                     each.slave.value, each.tag, each.compute_time.count(), each.failure,
                     each.bytes);
}

// The expected contents of a file.
struct Model {
  std::map<uint64_t, bool> tasks;  // and whether they were given
  std::map<uint64_t, bool> results;
  std::string state;
  uint64_t last_task = 0;
  bool found = false;

  void Apply(const StateChange& change) {
    found = found || change.state || change.last_task > 0;
    for (const task& each : change.tasks) tasks[each.id.value] = false;
    for (task_id each : change.given) {
      if (tasks.contains(each.value)) tasks[each.value] = true;
    }
    for (const result& each : change.results) {
      tasks.erase(each.task.value);
      results[each.task.value] = true;
    }
    for (task_id each : change.taken) {
      tasks.erase(each.value);
      results.erase(each.value);
    }
    if (change.state) state = *change.state;
    if (change.last_task > 0) last_task = change.last_task;
  }
  std::vector<std::string> All() const {
    std::vector<std::string> lines = {fmt::format("{} {} {}", found, last_task, state)};
    for (auto [id, given] : tasks) {
      lines.push_back(Words(TaskOf(id)) + (given ? " given" : ""));
    }
    for (auto [id, there] : results) lines.push_back(Words(ResultOf(id)));
    return lines;
  }
};

std::vector<std::string> All(const StateFile::Kept& kept) {
  std::vector<std::string> lines = {
      fmt::format("{} {} {}", kept.found, kept.last_task, kept.state)};
  for (const auto& each : kept.tasks) {
    lines.push_back(Words(each.what) + (each.given ? " given" : ""));
  }
  for (const result& each : kept.results) lines.push_back(Words(each));
  return lines;
}

std::string Shown(const detail::constant_list& constants) {
  std::string text;
  for (const auto& each : constants) {
    const auto bytes = static_cast<const MasterConstant&>(*each).Read(0, each->size());
    text += fmt::format("{:x}:{:x} ", each->id(), XXH3_64bits(bytes->data(), bytes->size()));
  }
  return text;
}

// Copies what a kill leaves: the files, without the lock.
void CopyFiles(const std::string& from, const std::string& to) {
  ASSERT_TRUE(os::MakeDirs(to, 0700));
  for (const char* name : {"state.db", "state.db-journal"}) {
    if (!os::Exists(os::JoinPath(from, name))) continue;
    auto bytes = os::ReadFile(os::JoinPath(from, name), kFileMost);
    ASSERT_TRUE(bytes);
    ASSERT_TRUE(os::WriteFile(os::JoinPath(to, name), *bytes, 0600));
  }
}

std::string OpenAndLoad(const std::string& dir, std::vector<std::string>* lines = nullptr,
                        std::string* constants = nullptr) {
  auto file = StateFile::Open(dir);
  if (!file) return file.error().message;
  auto kept = (*file)->Load(*MasterConstants::Make());
  if (!kept) return kept.error().message;
  if (lines != nullptr) *lines = All(*kept);
  if (constants == nullptr) return "";
  constants->clear();
  for (const auto& each : kept->tasks) *constants += Shown(each.what.constants);
  return "";
}

TEST(StateFileTest, ANewOneIsEmpty) {
  os::TempDir dir;
  std::vector<std::string> lines;
  EXPECT_EQ(OpenAndLoad(dir.Path("a/b"), &lines), "");
  EXPECT_EQ(lines, Model().All());
  EXPECT_EQ(OpenAndLoad(dir.Path("a/b"), &lines), "");
  EXPECT_EQ(lines, Model().All());
}

TEST(StateFileTest, OthersStayOut) {
  os::TempDir dir;
  ASSERT_TRUE(os::MakeDir(dir.Path("open"), 0700));
  ASSERT_TRUE(os::SetPermissions(dir.Path("open"), 0711));
  EXPECT_NE(OpenAndLoad(dir.Path("open")).find("chmod go-rwx"), std::string::npos);
  ASSERT_TRUE(os::SetPermissions(dir.Path("open"), 0700));
  EXPECT_EQ(OpenAndLoad(dir.Path("open")), "");
}

TEST(StateFileTest, WhateverIsWrittenIsFoundAfterAKillBetweenAnyTwoWrites) {
  os::TempDir dir;
  Prng chance(1);
  const std::string at = dir.Path("state");
  Model model;
  uint64_t last = 0;
  {
    auto file = StateFile::Open(at);
    ASSERT_TRUE(file);
    for (int step = 0; step < 60; ++step) {
      StateChange change;
      for (uint64_t n = chance.Next() % 5; n > 0; --n) change.tasks.push_back(TaskOf(++last));
      for (auto [id, given] : model.tasks) {
        if (chance.Next() % 5 == 0) change.given.push_back({id});
        if (chance.Next() % 4 == 0) change.results.push_back(ResultOf(id));
      }
      for (auto [id, there] : model.results) {
        if (chance.Next() % 2 == 0) change.taken.push_back({id});
      }
      change.taken.push_back({last + 1000});  // of which nobody knows
      if (chance.Next() % 2 == 0) change.state = std::string(chance.Next() % 20'000, 's');
      change.last_task = last;
      ASSERT_TRUE((*file)->Write(change));
      model.Apply(change);
      const std::string copy = dir.Path(fmt::format("copy-{}", step));
      CopyFiles(at, copy);
      std::vector<std::string> lines;
      ASSERT_EQ(OpenAndLoad(copy, &lines), "") << step;
      ASSERT_EQ(lines, model.All()) << step;
    }
  }
  std::vector<std::string> lines;
  EXPECT_EQ(OpenAndLoad(at, &lines), "");
  EXPECT_EQ(lines, model.All());
}

TEST(StateFileTest, LargeValuesComeBack) {
  os::TempDir dir;
  const std::string large(5'000'000, 'x');
  {
    auto file = StateFile::Open(dir.Path("s"));
    ASSERT_TRUE(file);
    StateChange change{.state = large};
    change.results.push_back(ResultOf(1));
    change.results[0].bytes = large;
    ASSERT_TRUE((*file)->Write(change));
  }
  auto file = StateFile::Open(dir.Path("s"));
  ASSERT_TRUE(file);
  auto kept = (*file)->Load(*MasterConstants::Make());
  ASSERT_TRUE(kept);
  EXPECT_TRUE(kept->state == large);
  ASSERT_EQ(kept->results.size(), 1u);
  EXPECT_TRUE(kept->results[0].bytes == large);
}

TEST(StateFileTest, OneMasterAtATime) {
  os::TempDir dir;
  {
    auto first = StateFile::Open(dir.Path("s"));
    ASSERT_TRUE(first);
    auto second = StateFile::Open(dir.Path("s"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
    EXPECT_NE(second.error().message.find("another master runs"), std::string::npos);
  }
  EXPECT_TRUE(StateFile::Open(dir.Path("s")));
}

TEST(StateFileTest, OfANewerVersion) {
  os::TempDir dir;
  EXPECT_EQ(OpenAndLoad(dir.Path("s")), "");
  {
    auto db = store::Database::Open(dir.Path("s/state.db"), store::DbMode::kWrite);
    ASSERT_TRUE(db);
    ASSERT_TRUE(db->Run("PRAGMA user_version = 2"));
  }
  EXPECT_NE(OpenAndLoad(dir.Path("s")).find("newer version"), std::string::npos);
}

// And only as long as a task names them.
TEST(StateFileTest, ConstantsAreKeptWithTheTasksThatNameThem) {
  os::TempDir dir;
  auto constants = MasterConstants::Make({.memory = 2'000'000});
  const std::shared_ptr<detail::constant_value> small = constants->Add("small").value(),
                                                none = constants->Add("").value();
  std::shared_ptr<detail::constant_value> large =
      constants->Add(std::string(3'500'000, 'x')).value();
  auto with = [](uint64_t id, detail::constant_list named) {
    task what = TaskOf(id);
    what.constants = std::move(named);
    return what;
  };
  auto found = [&] {
    auto file = StateFile::Open(dir.Path("s"));
    auto again = MasterConstants::Make();
    auto kept = (*file)->Load(*again);
    EXPECT_TRUE(kept) << kept.error().message;
    std::vector<std::string> all;
    for (const auto& each : kept->tasks) {
      all.push_back(fmt::format("{} {}", each.what.id.value, Shown(each.what.constants)));
    }
    return all;
  };
  auto pieces = [&] {
    auto db = store::Database::Open(dir.Path("s/state.db"), store::DbMode::kRead);
    return db->QueryInt("SELECT count(*) FROM constant").value();
  };
  auto write = [&](const StateChange& change) {
    auto file = StateFile::Open(dir.Path("s"));
    auto again = MasterConstants::Make();
    auto kept = (*file)->Load(*again);
    ASSERT_TRUE(kept);
    ASSERT_TRUE((*file)->Write(change));
  };
  StateChange change;
  change.tasks = {with(1, {small, large}), with(2, {large}), TaskOf(3), with(4, {none})};
  write(change);
  EXPECT_EQ(found(), (std::vector<std::string>{"1 " + Shown({small, large}), "2 " + Shown({large}),
                                               "3 ", "4 " + Shown({none})}));
  EXPECT_EQ(pieces(), 1 + 4 + 1);
  write({.results = {ResultOf(1)}});
  EXPECT_EQ(found(), (std::vector<std::string>{"2 " + Shown({large}), "3 ", "4 " + Shown({none})}));
  EXPECT_EQ(pieces(), 4 + 1) << "the small one has gone";
  change.tasks = {with(5, {large})};
  write(change);
  EXPECT_EQ(pieces(), 4 + 1) << "it is there once";
  write({.taken = {{2}, {4}, {5}}});
  EXPECT_EQ(found(), std::vector<std::string>{"3 "});
  EXPECT_EQ(pieces(), 0);
}

TEST(StateFileTest, TheAlgorithmsOfTheLastBuild) {
  os::TempDir dir;
  const std::vector<std::string> words = {"mw:a(i32)->i32", "mw:b()->void"};
  {
    auto file = StateFile::Open(dir.Path("s"));
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->Write({.state = "x", .algorithms = {"mw:old()->void"}}));
    ASSERT_TRUE((*file)->Write({.algorithms = words}));
    ASSERT_TRUE((*file)->Write({.state = "y"}));
  }
  auto file = StateFile::Open(dir.Path("s"));
  ASSERT_TRUE(file);
  auto kept = (*file)->Load(*MasterConstants::Make());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->algorithms, words);
}

TEST(StateFileTest, RowsThatAreNoneOfOurs) {
  for (const char* damage : {"INSERT INTO task VALUES (1, 0, x'00')",
                             "INSERT INTO result VALUES (1, x'ffffffffffffffffffff')",
                             "INSERT INTO meta VALUES ('last_task', x'01')",
                             "INSERT INTO named VALUES (1, x'00ffffffffffffffff')",
                             "INSERT INTO constant VALUES (1, 0, x'00')",
                             "INSERT INTO constant VALUES (2147483649, 1, x'00')"}) {
    os::TempDir dir;
    EXPECT_EQ(OpenAndLoad(dir.Path("s")), "");
    {
      auto db = store::Database::Open(dir.Path("s/state.db"), store::DbMode::kWrite);
      ASSERT_TRUE(db);
      ASSERT_TRUE(db->Run(damage));
    }
    EXPECT_NE(OpenAndLoad(dir.Path("s")).find("is damaged"), std::string::npos) << damage;
  }
}

// Whatever bytes there are: an error that names the file, or what was written.
TEST(StateFileTest, FlippedBytesNeverGiveAnythingElse) {
  os::TempDir dir;
  Model model;
  std::string shown;
  {
    auto file = StateFile::Open(dir.Path("s"));
    ASSERT_TRUE(file);
    StateChange change{.state = "here", .last_task = 40};
    for (uint64_t id = 1; id <= 40; ++id) change.tasks.push_back(TaskOf(id));
    const auto constants = MasterConstants::Make();
    for (uint64_t id = 20; id < 30; ++id) {
      change.tasks[id].constants = {constants->Add(std::string(9000 + id, 'x')).value()};
      shown += Shown(change.tasks[id].constants);
    }
    for (uint64_t id = 1; id <= 10; ++id) change.results.push_back(ResultOf(id));
    ASSERT_TRUE((*file)->Write(change));
    model.Apply(change);
  }
  const std::string whole = os::ReadFile(dir.Path("s/state.db"), kFileMost).value();
  Prng chance(2);
  int told = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    bytes[chance.Next() % bytes.size()] ^= static_cast<char>(1 << chance.Next() % 8);
    ASSERT_TRUE(os::WriteFile(dir.Path("s/state.db"), bytes, 0600));
    std::vector<std::string> lines;
    std::string constants;
    const std::string problem = OpenAndLoad(dir.Path("s"), &lines, &constants);
    if (problem.empty()) {
      ASSERT_EQ(lines, model.All()) << i;
      ASSERT_EQ(constants, shown) << i;
    } else {
      EXPECT_NE(problem.find("state.db"), std::string::npos) << problem;
      ++told;
    }
  }
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace spate::mw
