#include "history/reader.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "client/asker.h"
#include "store/sqlite/testing_hub.h"
#include "wire/frame.h"

namespace spate::history {
namespace {

Source SourceOf(const store::HubWorld& world) {
  Source source(world.place());
  source.viewer = {"root", true};
  source.settings = [](const store::JobRow&) { return Result<JobSettings>(JobSettings()); };
  source.now = [] { return Instant(); };
  return source;
}

// What one user sent must not keep an administrator from the list of all.
TEST(Reader, AnAnswerIsAMessageWhateverASenderMadeUp) {
  store::HubWorld world;
  for (size_t bytes : {100u, 20u << 20, 900u << 10, 7u << 20}) {
    JobId job = world.Submit(1);
    store::JobRow row = store::HubWorld::RowOf(job, 1);
    row.argv = {std::string(bytes, 'x')};
    ASSERT_TRUE(world.Put(std::move(row)));
  }
  wire::ListJobs question;
  question.whole = true;
  std::vector<JobFacts> jobs;
  auto told = Answer(SourceOf(world), question, [&](std::string_view bytes) -> Status {
    EXPECT_LT(bytes.size(), wire::kMaxFrame);
    auto listed = wire::FromBytes<wire::JobsListed>("answer", bytes);
    if (!listed) return std::unexpected(listed.error());
    std::ranges::move(listed->jobs, std::back_inserter(jobs));
    return {};
  });
  ASSERT_TRUE(told) << told.error().message;
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs[0].argv->front().size(), 7u << 20);
  EXPECT_FALSE(jobs[2].argv) << "it would be no message";
  EXPECT_EQ(jobs[3].argv->front().size(), 100u);
}

TEST(Reader, WhatOnlyAHubKnowsIsRefused) {
  store::HubWorld world;
  auto told = Answer(SourceOf(world), wire::LookAtHub(), [](std::string_view) { return Status(); });
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().kind, ErrorKind::kInvalid);
}

}  // namespace
}  // namespace spate::history
