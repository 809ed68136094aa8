// The environment of an allocation of two nodes, recorded from a private Slurm 22.05.8; what newer
// versions add, from sbatch(1) of 25.05.
#include "pool/slurm/grant.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace spate::pool {
namespace {

const std::vector<std::string> kTwoNodes = {
    "SLURM_CPUS_ON_NODE=4",     "SLURM_CPUS_PER_TASK=2",
    "SLURM_JOBID=10",           "SLURM_JOB_CPUS_PER_NODE=4(x2)",
    "SLURM_JOB_ID=10",          "SLURM_JOB_NODELIST=n[1-2]",
    "SLURM_JOB_NUM_NODES=2",    "SLURM_MEM_PER_NODE=1000",
    "SLURM_NNODES=2",           "SLURM_NODEID=0",
    "SLURM_PROCID=0",           "SPATE_PILOT=spate-a-1",
    "SPATE_PILOT_SYSTEM=slurm", "SPATE_PILOT_STARTED=1795450631",
};

Grant Of(std::vector<std::string> entries) {
  os::Environment environment(std::move(entries));
  return GrantOfSlurm({environment, {}});
}
Grant With(std::vector<std::string> more) {
  more.insert(more.end(), kTwoNodes.begin(), kTwoNodes.end());
  return Of(more);
}

TEST(SlurmGrantTest, TwoNodes) {
  Grant grant = Of(kTwoNodes);
  EXPECT_EQ(grant.id, "10");
  EXPECT_EQ(grant.tag, "spate-a-1");
  EXPECT_EQ(grant.cpus, 4);
  EXPECT_EQ(grant.memory, 1000ULL << 20);
  EXPECT_FALSE(grant.gpus);
  EXPECT_EQ(grant.ends, Instant::Never());
  ASSERT_EQ(grant.launches.size(), 1U);
  const auto& argv = grant.launches[0].argv;
  EXPECT_EQ(argv[0], "srun");
  EXPECT_EQ(argv[1], "--nodes=2");
  EXPECT_NE(std::ranges::find(argv, "SPATE_PILOT=spate-a-1"), argv.end());
  EXPECT_FALSE(grant.launches[0].quoted);
  EXPECT_EQ(grant.host, "");
  EXPECT_EQ(With({"SLURMD_NODENAME=n2"}).host, "n2");
  // A node that was started so starts no others.
  EXPECT_TRUE(With({"SPATE_PILOT_PART=1"}).launches.empty());
  EXPECT_TRUE(With({"SLURM_JOB_NUM_NODES=1"}).launches.empty());
}

TEST(SlurmGrantTest, Ends) {
  struct Case {
    std::vector<std::string> more;
    int64_t after;  // the start; -1: never
  };
  for (const Case& c : std::vector<Case>{
           {{"SLURM_JOB_END_TIME=1795450731"}, 100},
           {{"SLURM_JOB_END_TIME=1795450731", "SPATE_PILOT_LEFT=1:00"}, 100},
           {{"SPATE_PILOT_LEFT=1-02:04:00"}, 93840},
           {{"SPATE_PILOT_LEFT=0:59"}, 59},
           {{"SPATE_PILOT_LEFT=UNLIMITED", "SPATE_PILOT_SECONDS=50"}, -1},
           {{"SPATE_PILOT_LEFT=", "SPATE_PILOT_SECONDS=50"}, 50},
           {{"SPATE_PILOT_LEFT=INVALID"}, -1},
           {{"SLURM_JOB_END_TIME=never"}, -1},
       }) {
    Instant want =
        c.after < 0 ? Instant::Never() : Instant{1795450631'000000000} + Duration::Seconds(c.after);
    EXPECT_EQ(With(c.more).ends, want) << c.more[0];
  }
}

TEST(SlurmGrantTest, MemoryAndGpus) {
  EXPECT_EQ(Of({"SLURM_CPUS_ON_NODE=3", "SLURM_MEM_PER_CPU=100"}).memory, 300ULL << 20);
  EXPECT_FALSE(Of({"SLURM_CPUS_ON_NODE=3", "SLURM_MEM_PER_NODE=0"}).memory);
  using Gpus = std::vector<std::string>;
  EXPECT_EQ(Of({"SLURM_JOB_GPUS=2,3"}).gpus, (Gpus{"2", "3"}));
  EXPECT_EQ(Of({"SLURM_JOB_GPUS=2,3", "CUDA_VISIBLE_DEVICES=0,1"}).gpus, (Gpus{"0", "1"}));
  EXPECT_EQ(Of({"SLURM_JOB_GPUS=2,3", "ROCR_VISIBLE_DEVICES=0,1"}).gpus, (Gpus{"0", "1"}));
  EXPECT_EQ(Of({"SLURM_JOB_GPUS=2", "ZE_AFFINITY_MASK=0.1"}).gpus, (Gpus{"0.1"}));
  EXPECT_EQ(Of({"CUDA_VISIBLE_DEVICES=NoDevFiles"}).gpus, Gpus{});
  EXPECT_FALSE(Of({"SLURM_CPUS_ON_NODE=3"}).gpus);
}

}  // namespace
}  // namespace spate::pool
