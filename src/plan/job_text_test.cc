#include "plan/job_text.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "wire/client_codec.h"

namespace spate::run {
namespace {

TEST(RowSettings, DamageIsTold) {
  for (const char* text : {"", "x", "{}"}) {
    JobSettings settings;
    EXPECT_FALSE(DecodeRowSettings(text, settings)) << text;
  }
}

// Settings that the command line has keep their present values.
TEST(RowSettings, AreWhatTheCommandLineDoesNotTell) {
  JobSettings stored;
  stored.cwd = "/then";
  stored.nice = 3;
  stored.row_kind = RowKind::kValues;
  stored.command = {"ls", "\xff"};
  stored.has_source = false;
  stored.bash = true;
  JobSettings settings;
  settings.cwd = "/now";
  ASSERT_TRUE(DecodeRowSettings(wire::EncodeSettings(stored), settings));
  EXPECT_EQ(settings.cwd, "/now");
  EXPECT_EQ(settings.nice, 0);
  EXPECT_EQ(settings.row_kind, RowKind::kValues);
  EXPECT_EQ(settings.command, stored.command);
  EXPECT_FALSE(settings.has_source);
  EXPECT_TRUE(settings.bash);
  stored.bash = false;  // a job of before, or of a machine without bash
  ASSERT_TRUE(DecodeRowSettings(wire::EncodeSettings(stored), settings));
  EXPECT_FALSE(settings.bash);
}

// Command lines are longer than lists of a message may be.
TEST(RowSettings, ALongCommandIsReadAgain) {
  JobSettings stored;
  stored.cwd = "/";
  stored.command.assign(300'000, "a");
  JobSettings settings;
  ASSERT_TRUE(DecodeRowSettings(wire::EncodeSettings(stored), settings));
  EXPECT_EQ(settings.command, stored.command);
}

// A limit may be longer than times that peers tell each other.
TEST(RowSettings, ALongTimeIsReadAgain) {
  JobSettings stored;
  stored.cwd = "/";
  stored.command = {"true"};
  stored.time_limit = Duration::Seconds(int64_t{40'000} * 86'400);
  JobSettings settings;
  ASSERT_TRUE(DecodeRowSettings(wire::EncodeSettings(stored), settings));
  EXPECT_EQ(settings.command, stored.command);
}

// Texts of a task for its view, of rows that the test gives.
struct Job {
  JobSettings settings;
  cli::RunOptions options;
  std::vector<std::string> rows;

  cli::ViewTexts Texts() {
    return MakeTexts({.settings = settings,
                      .options = options,
                      .job = JobId(1),
                      .cwd = "/",
                      .row = [this](TaskIndex i) -> std::optional<std::string> {
                        if (i >= rows.size()) return std::nullopt;
                        return rows[i];
                      }})
        .value();
  }
};

TEST(MakeTexts, ShowsCommandsValuesAndTags) {
  Job job;
  job.settings.row_kind = RowKind::kValues;
  job.settings.has_source = true;
  job.settings.command = {"echo", "{2}", "{1}"};
  job.options.show.tag_text = "t={1}";
  job.rows = {std::string("a\0b c", 5)};
  const cli::ViewTexts texts = job.Texts();
  EXPECT_EQ(texts.command(0), "echo 'b c' a");
  EXPECT_EQ(texts.values(0), (std::vector<std::string>{"a", "b c"}));
  EXPECT_EQ(texts.tag(0), "t=a");
  EXPECT_EQ(texts.places, nullptr);
  // A task that was added elsewhere.
  EXPECT_EQ(texts.command(1), "");
  EXPECT_EQ(texts.values(1), std::vector<std::string>());
  EXPECT_EQ(texts.tag(1), "");
}

TEST(MakeTexts, KnowsLinesByTheirNames) {
  Job job;
  job.settings.row_kind = RowKind::kListLine;
  job.settings.has_source = true;
  job.rows = {"{name sort} sort in", "true"};
  const cli::ViewTexts texts = job.Texts();
  ASSERT_NE(texts.name, nullptr);
  EXPECT_EQ(texts.name(0), "sort");
  EXPECT_EQ(texts.name(1), "");
  EXPECT_EQ(texts.tag, nullptr);
  EXPECT_NE(texts.places, nullptr);
}

}  // namespace
}  // namespace spate::run
