#include "os/process_group.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

constexpr Duration kLong = Duration::Seconds(30);

std::string Script(const TempDir& temp, const std::string& text) {
  std::string path = temp.Write("script", "#!/bin/sh\n" + text);
  EXPECT_EQ(chmod(path.c_str(), 0755), 0);
  return path;
}

TEST(ProcessGroup, TellsHowItsProgramEnded) {
  TempDir temp;
  for (auto [text, status] : {std::pair{"exit 0", 0}, {"exit 3", 3 << 8}, {"kill -9 $$", 9}}) {
    auto group = ProcessGroup::Start(Script(temp, text));
    ASSERT_TRUE(group) << group.error().message;
    EXPECT_EQ(group->Wait(kLong), status) << text;
    group->End(kLong);
  }
  EXPECT_FALSE(ProcessGroup::Start(temp.Path("nothing")));
}

TEST(ProcessGroup, EndsWhatItsProgramHasLeft) {
  TempDir temp;
  // One that hears TERM, and one that does not.
  auto group = ProcessGroup::Start(Script(
      temp, "sleep 1000 & echo $! > " + temp.Path("a") + "; sh -c 'trap \"\" TERM; echo $$ > " +
                temp.Path("b.new") + "; mv " + temp.Path("b.new") + " " + temp.Path("b") +
                "; while :; do sleep 1000; done' & while ! test -e " + temp.Path("b") +
                "; do :; done"));
  ASSERT_TRUE(group) << group.error().message;
  ASSERT_EQ(group->Wait(kLong), 0);
  group->End(Duration::Millis(100));
  for (const char* name : {"a", "b"}) {
    Pid pid = std::stoi(*ReadFile(temp.Path(name), 100));
    auto info = InfoOf(pid);
    EXPECT_TRUE(!info || info->state == 'Z') << name;
  }
}

TEST(ProcessGroup, OneThatHangsIsEnded) {
  TempDir temp;
  auto group = ProcessGroup::Start(Script(temp, "exec sleep 1000"));
  ASSERT_TRUE(group);
  EXPECT_EQ(group->Wait(Duration::Millis(50)), std::nullopt);
  group->End({});
}

}  // namespace
}  // namespace spate::os
