#include <gtest/gtest.h>

#include "core/model/job.h"
#include "core/model/ranges.h"
#include "core/model/shared_texts.h"
#include "present/why.h"

namespace spate {
namespace {

Offer TwoCores() {
  Offer offer;
  offer.node_name = "this machine";
  offer.slots = 8;
  offer.milli_cpus = 2000;
  offer.memory = 4096;
  offer.named = {{"gpus", {"0", "1", "2"}}};
  return offer;
}

TEST(Needs, FitCountTakesTheScarcestResource) {
  EXPECT_EQ(FitCount(TwoCores(), Needs{}), 2u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{500, 0, {}})), 4u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{0, 0, {}})), 8u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{0, 1500, {}})), 2u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{0, 0, {{"gpus", 2}}})), 1u);
  EXPECT_EQ(FitCount(TwoCores(), (Needs{0, 0, {{"licence", 1}}})), 0u);
}

TEST(Needs, WhyNeverNamesTheResource) {
  EXPECT_FALSE(WhyNever(TwoCores(), Needs{}));
  EXPECT_EQ(present::TextOf({WhyNever(TwoCores(), (Needs{8000, 0, {}})).value()}),
            "needs 8 cpus, this machine offers 2");
  EXPECT_EQ(present::TextOf({WhyNever(TwoCores(), (Needs{0, 0, {{"licence", 1}}})).value()}),
            "needs 1 of 'licence', this machine offers 0");
}

TEST(Needs, LabelsAndNamesOfNodesExcludeWholeNodes) {
  Offer offer = TwoCores();
  offer.labels = {"@gang", "big", "fast"};
  offer.features = {"links"};
  struct Case {
    Needs needs;
    const char* why;  // empty: it fits
  };
  for (const auto& [needs, why] : {
           Case{{.named = {}, .labels = {"fast"}}, ""},
           Case{{.named = {}, .labels = {"fast", "gpu"}},
                "needs a node with label 'gpu'; this machine does not have it"},
           Case{{.named = {}, .labels = {"@links", "big"}}, ""},
           // The owner of a node cannot state by a label what its program can do.
           Case{{.named = {}, .labels = {"@gang"}},
                "needs a node whose spate supports 'gang', and that of this machine is too old: "
                "update it"},
           Case{{.named = {}, .on_node = "this machine"}, ""},
           Case{{.named = {}, .on_node = "n7"}, "must run on node n7, which is not connected"},
           Case{{.named = {}, .not_on = {"n7"}}, ""},
           Case{{.named = {}, .not_on = {"n7", "this machine"}},
                "must not run on node this machine"},
       }) {
    EXPECT_EQ(FitCount(offer, needs), *why == 0 ? 2u : 0u) << why;
    auto reason = WhyNever(offer, needs);
    EXPECT_EQ(reason ? present::TextOf({*reason}) : "", why);
  }
}

TEST(Offer, TakesItsUserAndTasksThatEndInItsLife) {
  Offer offer = TwoCores();
  EXPECT_TRUE(TakesUser(offer, "ada"));
  offer.user = "*";
  EXPECT_TRUE(TakesUser(offer, "ada"));
  offer.user = "bob";
  EXPECT_FALSE(TakesUser(offer, "ada"));
  EXPECT_TRUE(TakesUser(offer, "bob"));

  Instant now{1'000'000'000'000};
  Needs hour{.named = {}, .time = Duration::Seconds(3600)};
  EXPECT_TRUE(OutlivesTask(offer, hour, now));
  offer.end_of_life = now + Duration::Seconds(3599);
  EXPECT_FALSE(OutlivesTask(offer, hour, now));
  EXPECT_TRUE(OutlivesTask(offer, Needs{}, now));
  offer.end_of_life = now + Duration::Seconds(3600);
  EXPECT_TRUE(OutlivesTask(offer, hour, now));
}

TEST(Names, CoverEveryCause) {
  for (int c = 0; c < kCauseCount; ++c) EXPECT_STRNE(WordOf(static_cast<Cause>(c)), "?");
  EXPECT_STREQ(WordOf(static_cast<Cause>(kCauseCount)), "?");
}

TEST(SharedTexts, EqualOnesAreOneAndGoWithTheirLastOwner) {
  SharedTexts shared;
  auto first = shared.Share({"A=1", "B=2"});
  EXPECT_EQ(shared.Share({"A=1", "B=2"}), first);
  auto other = shared.Share({"A=1B=2"});
  EXPECT_NE(other, first);
  EXPECT_EQ(*other, SharedTexts::Texts{"A=1B=2"});
  EXPECT_EQ(shared.size(), 2u);
  other.reset();
  EXPECT_EQ(shared.size(), 1u);
  first.reset();
  EXPECT_EQ(shared.size(), 0u);
  std::shared_ptr<const SharedTexts::Texts> kept;
  {
    SharedTexts gone;
    kept = gone.Share({"C=3"});
  }
  EXPECT_EQ(*kept, SharedTexts::Texts{"C=3"});
}

TEST(Ranges, WithoutTakesWhatIsTaken) {
  using Ranges = std::vector<TaskRange>;
  const Ranges all = {{0, 100'000'000}};
  EXPECT_EQ(Without(all, {}), all);
  EXPECT_EQ(Without({}, all), Ranges());
  EXPECT_EQ(Without(all, all), Ranges());
  EXPECT_EQ(Without(all, {{3, 2}, {9, 1}}), (Ranges{{0, 3}, {5, 4}, {10, 99'999'990}}));
  EXPECT_EQ(Without({{2, 3}, {7, 3}, {20, 5}}, {{0, 3}, {4, 4}, {22, 1}}),
            (Ranges{{3, 1}, {8, 2}, {20, 2}, {23, 2}}));
  EXPECT_EQ(Without({{4'000'000'000u, 5}}, {{4'000'000'002u, 294'967'293u}}),
            (Ranges{{4'000'000'000u, 2}}));
}

TEST(NeedsChangeTest, WhatIsNotThereStays) {
  Needs needs{.milli_cpus = 2000,
              .memory = 1 << 20,
              .named = {{"disks", 1}, {"gpus", 2}},
              .time = Duration::Seconds(9),
              .labels = {"fast"},
              .on_node = "n1",
              .not_on = {"n2"}};
  EXPECT_TRUE(NeedsChange().empty());
  EXPECT_EQ(Changed(needs, {}), needs);
  using Named = std::vector<NamedNeed>;
  auto change = NeedsChange()
                    .With<&Needs::memory>(uint64_t{2} << 20)
                    .With<&Needs::named>(Named{{"gpus", 0}, {"cards", 3}})
                    .With<&Needs::time>(Duration());
  EXPECT_FALSE(change.empty());
  Needs wanted = needs;
  wanted.memory = 2 << 20;
  wanted.named = {{"cards", 3}, {"disks", 1}};
  wanted.time = Duration();
  EXPECT_EQ(Changed(needs, change), wanted);
  using Names = std::vector<std::string>;
  change = NeedsChange()
               .With<&Needs::milli_cpus>(500u)
               .With<&Needs::labels>(Names())
               .With<&Needs::on_node>(std::string("n3"))
               .With<&Needs::not_on>(Names{"n1"});
  wanted = needs;
  wanted.milli_cpus = 500;
  wanted.labels = {};
  wanted.on_node = "n3";
  wanted.not_on = {"n1"};
  EXPECT_EQ(Changed(needs, change), wanted);
}

TEST(NeedsChangeTest, FeaturesThatTheTasksNeedStay) {
  const Needs needs{.named = {}, .labels = {"@bash", "fast"}};
  auto change = NeedsChange().With<&Needs::labels>(std::vector<std::string>{"2x", "big"});
  EXPECT_EQ(Changed(needs, change).labels, (std::vector<std::string>{"2x", "@bash", "big"}));
  change.values.labels.clear();
  EXPECT_EQ(Changed(needs, change).labels, std::vector<std::string>{"@bash"});
}

}  // namespace
}  // namespace spate
