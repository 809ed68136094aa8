#include "pool/own_options.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace spate::pool {
namespace {

using Words = std::vector<std::string>;

TEST(OwnOptions, ATimeLimitIsReadAndTranslated) {
  struct Case {
    std::string_view system;
    Words typed, given;
    int64_t seconds = 0;  // 0: none
    std::string_view said;
  };
  const Case kCases[] = {
      {"slurm", {"-p", "short", "-t", "1h"}, {"-p", "short", "-t", "1:00:00"}, 3600, "-t 1:00:00"},
      {"slurm", {"-t90m"}, {"-t1:30:00"}, 5400, "-t 1:30:00"},
      {"slurm", {"--time", "2d"}, {"--time", "48:00:00"}, 172'800, "--time 48:00:00"},
      {"slurm", {"--time=1.5s"}, {"--time=0:00:02"}, 2, "--time=0:00:02"},
      {"slurm", {"--time=30"}, {"--time=30"}, 1800, "--time=30"},
      {"slurm", {"-t", "1-12"}, {"-t", "1-12"}, 129'600, "-t 1-12"},
      {"slurm", {"-t", "10:00"}, {"-t", "10:00"}, 600, "-t 10:00"},
      {"slurm", {"-t", "10", "-t", "20"}, {"-t", "10", "-t", "20"}, 1200, "-t 20"},
      {"slurm", {"-t", "UNLIMITED"}, {"-t", "UNLIMITED"}},
      {"slurm", {"-t", "0"}, {"-t", "0"}},
      {"slurm", {"-t"}, {"-t"}},
      {"slurm", {"-p", "1h"}, {"-p", "1h"}},
      {"slurm", {"-l", "h_rt=1h"}, {"-l", "h_rt=1h"}},
      {"gridengine", {"-l", "h_rt=1h"}, {"-l", "h_rt=1:00:00"}, 3600, "-l h_rt=1:00:00"},
      {"gridengine",
       {"-lh_vmem=4G,h_rt=600,s_rt=2h"},
       {"-lh_vmem=4G,h_rt=600,s_rt=2h"},
       600,
       "-l h_rt=600"},
      {"gridengine", {"-l"}, {"-l"}},
      {"gridengine", {"-t", "1h"}, {"-t", "1h"}},  // an array
      {"pbs",
       {"-l", "select=1:ncpus=4", "-l", "walltime=30m,mem=1gb"},
       {"-l", "select=1:ncpus=4", "-l", "walltime=0:30:00,mem=1gb"},
       1800,
       "-l walltime=0:30:00"},
      {"htcondor", {"-t", "1h"}, {"-t", "1h"}},
  };
  for (const Case& each : kCases) {
    OwnOptions own = ReadOwnOptions(each.system, each.typed);
    EXPECT_EQ(own.words, each.given) << each.typed.front();
    EXPECT_EQ(own.limit.value_or(Duration()), Duration::Seconds(each.seconds)) << each.typed.back();
    if (own.limit) EXPECT_EQ(own.limit_word, each.said);
  }
}

}  // namespace
}  // namespace spate::pool
