#include "present/text/reason_json.h"

#include <gtest/gtest.h>

namespace spate::present {
namespace {

TEST(ReasonJson, ArgumentsHaveTheirNames) {
  Why why = {{ReasonKind::kSuspectNode, {2}, {Duration::Millis(1500)}, {"n1"}}};
  AppendNext(why, {{ReasonKind::kKeptForGang, {3, 2, 1, 0, 1}, {}, {"ann", "n1", "n2"}}});
  EXPECT_EQ(ReasonsJson(why).text,
            R"([{"kind":"suspect-node","failures":2,"next":1.5,"node":"n1"},)"
            R"({"kind":"kept-for-gang","job":3,"task":2,"count":1,"more":0,"known":1,"left":0,)"
            R"("user":"ann","nodes":["n1","n2"]}])");
  EXPECT_EQ(ReasonsJson({{ReasonKind::kGangOwnJobs, {4, 5}}}).text,
            R"([{"kind":"gang-own-jobs","jobs":[4,5]}])");
  EXPECT_EQ(ReasonsJson({{ReasonKind{255}}}).text, "[]");
}

}  // namespace
}  // namespace spate::present
