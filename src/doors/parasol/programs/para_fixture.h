// Runs para in a folder of its own, with a hub that the test plays.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "doors/parasol/programs/para.h"
#include "doors/parasol/programs/para_fake_hub.h"
#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::parasol {

class ParaFixture : public testing::Test {
 protected:
  static constexpr int32_t kExit3 = 3 << 8;
  struct Ran {
    int code = 0;
    std::string out, err;
  };

  ParaFixture() { world_.results = Path("para.results"); }

  std::string Path(const std::string& name) { return dir_.Path(name); }
  std::string Read(const std::string& name) {
    return os::ReadFile(Path(name), 1 << 20).value_or("none");
  }
  ParaParts Parts() {
    ParaParts parts;
    parts.state_root = state_.path();
    parts.open_hub = [&](const ParaState& state) -> Result<std::unique_ptr<BatchHub>> {
      EXPECT_EQ(state.name(), world_.results);
      if (no_hub_) return Fail(ErrorKind::kUnavailable, "no hub");
      return std::make_unique<FakeHub>(world_);
    };
    parts.why_file_fails = [&](CheckKind, const char* file) {
      ++looks_;
      on_look_();
      return os::Exists(Path(file)) ? "" : fmt::format("{} does not exist", file);
    };
    parts.now = [&] { return world_.now; };
    parts.local = [](int64_t seconds) {
      std::time_t time = seconds;
      std::tm fields{};
      gmtime_r(&time, &fields);
      return fields;
    };
    return parts;
  }
  // Another para, while one is at work.
  int Inner(std::vector<std::string> args) {
    args.push_back("-batch=" + dir_.path());
    return RunPara(args, Parts()).value_or(255);
  }
  Ran Para(std::vector<std::string> args) {
    args.push_back("-batch=" + dir_.path());
    ParaParts parts = Parts();
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    auto code = RunPara(args, parts);
    Ran ran{.code = code.value_or(255), .out = Hide(testing::internal::GetCapturedStdout())};
    ran.err = Hide(testing::internal::GetCapturedStderr());
    if (!code) ran.err += Hide(code.error().message) + "\n";
    return ran;
  }
  // The text, with the batch's folder as DIR, and that of its state as STATE.
  std::string Hide(std::string text) {
    std::string of_batch = os::DirName(State().Marks());
    for (const std::string& path : {of_batch, dir_.path()}) {
      std::string_view name = path == of_batch ? "STATE" : "DIR";
      for (size_t at; (at = text.find(path)) != std::string::npos;) {
        text.replace(at, path.size(), name);
      }
    }
    return text;
  }
  Ran Create(const std::string& list) { return Para({"create", dir_.Write("list", list)}); }
  void MustCreate(const std::string& list) {
    Ran ran = Create(list);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  std::string Check() { return Para({"check"}).out; }
  std::vector<std::string> Log() { return std::exchange(world_.log, {}); }
  using Lines = std::vector<std::string>;

  ParaState State() { return ParaState::Find(state_.path(), Path("para.results")); }
  std::string Marks() { return os::ReadFile(State().Marks(), 1 << 20).value_or("none"); }

  os::TempDir dir_, state_;
  FakeHubWorld world_;
  bool no_hub_ = false;
  int looks_ = 0;  // at files
  std::function<void()> on_look_ = [] {};
};

}  // namespace spate::parasol
