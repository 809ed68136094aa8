// Common parts of the tests of views: a clock set by hand, ends of tasks, a folder of their own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "view/fake_screen.h"
#include "view/run_view.h"

namespace spate::cli {

inline constexpr Instant kTestStart{1'700'000'000'000'000'000};

class TestFolder {
 public:
  TestFolder() {
    std::string name = testing::TempDir() + "spate-view-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::string& path() const { return path_; }
  std::string Put(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary) << bytes;
    return path_ + "/" + name;
  }
  std::string Get(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // Files in the folder, not in those below.
  size_t CountFiles() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      count += entry.is_regular_file();
    }
    return count;
  }

 private:
  std::string path_;
};

inline OutputStream Inline(std::string bytes) {
  uint64_t total = bytes.size();
  return {.bytes = std::move(bytes), .spool = {}, .total = total};
}
inline OutputStream Spooled(const std::string& path, uint64_t total) {
  return {.bytes = {}, .spool = path, .total = total};
}
inline TaskOutputPtr Wrote(std::string out, std::string err = "") {
  return std::make_shared<TaskOutput>(TaskOutput{Inline(std::move(out)), Inline(std::move(err))});
}

// The end of the task with this index, good unless changed.
inline AttemptEnd EndOf(TaskIndex index, uint16_t attempt = 1) {
  AttemptEnd end;
  end.ref = {JobId(12), index, Attempt(attempt)};
  end.slot = 1;
  end.start = kTestStart;
  end.wall = Duration::Millis(1234);
  end.user = Duration::Millis(20);
  end.system = Duration::Millis(4);
  end.peak_memory = 3 << 20;
  end.memory_source = MemorySource::kCgroup;
  return end;
}

inline ViewTexts TestTexts() {
  return {
      .command = [](TaskIndex i) { return "cmd " + std::to_string(i + 1); },
      .values =
          [](TaskIndex i) { return std::vector<std::string>{"v" + std::to_string(i + 1), "w"}; }};
}

inline RunStart StartOf(uint32_t total) {
  RunStart start;
  start.job = JobId(12);
  start.name = "jobs.lst";
  start.slots = 2;
  start.counts.total = start.counts.queued = total;
  start.now = kTestStart;
  return start;
}

}  // namespace spate::cli
