#include "pool/environment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::pool {
namespace {

using Words = std::vector<std::string>;

Words Kept(Words entries) {
  return CommandEnvironment(os::Environment(std::move(entries))).entries();
}

TEST(Decisive, VariablesComeAsTheShellPrintsThem) {
  const std::vector<std::string> words = PrintDecisive("slurm");
  ASSERT_EQ(words.size(), 5u);
  EXPECT_EQ(words[2],
            "command -v \"$1\"; printf '\\0'; printf '%s\\0' \"${SLURM_CONF-}\"; printf "
            "'%s\\0' \"${SLURM_CLUSTERS-}\"");
  EXPECT_EQ(words[4], "sbatch");
  using std::string_literals::operator""s;
  const auto read = ReadDecisive("slurm", "/usr/bin/sbatch\n\0/etc/a\nb\0\0"s);
  EXPECT_EQ(read, (std::vector<PoolVariable>{{"sbatch", "/usr/bin/sbatch"},
                                             {"SLURM_CONF", "/etc/a\nb"},
                                             {"SLURM_CLUSTERS", ""}}));
  EXPECT_TRUE(ReadDecisive("slurm", "sh: no printf\n").empty());
  EXPECT_TRUE(ReadDecisive("slurm", "").empty());
  EXPECT_TRUE(SubmitCommandOf("local").empty());
}

TEST(Decisive, DifferencesAreNamed) {
  const std::vector<PoolVariable> hub = {
      {"qsub", "/usr/bin/qsub"}, {"SGE_ROOT", "/sge"}, {"SGE_CELL", ""}};
  EXPECT_TRUE(DifferencesOf(hub, hub).empty());
  EXPECT_TRUE(DifferencesOf(std::vector<PoolVariable>{{"qsub", ""}}, hub).empty())
      << "who has no command cannot know better";
  EXPECT_TRUE(DifferencesOf(hub, {}).empty());
  const std::vector<PoolVariable> other = {
      {"qsub", "/opt/sge/bin/qsub"}, {"SGE_ROOT", "/sge"}, {"SGE_CELL", "b"}, {"MORE", "x"}};
  const auto differences = DifferencesOf(other, hub);
  EXPECT_EQ(differences,
            (std::vector<PoolDifference>{{"qsub", "/opt/sge/bin/qsub", "/usr/bin/qsub"},
                                         {"SGE_CELL", "b", ""}}));
  EXPECT_EQ(TextOf(differences),
            "\nthe hub does not look for the batch system as this shell does:"
            "\n  qsub: here '/opt/sge/bin/qsub', for the hub '/usr/bin/qsub'"
            "\n  SGE_CELL: here 'b', for the hub not set"
            "\n  the hub's values are used; to change them, restart the hub from this shell (jobs "
            "and nodes continue)");
  EXPECT_EQ(TextOf({}), "");
}

TEST(CommandEnvironment, DropsWhatAJobHasSet) {
  struct Case {
    std::string what;
    Words given, kept;
  };
  const Case cases[] = {
      {"a login", {"PATH=/bin", "LC_ALL=de_DE.UTF-8"}, {"PATH=/bin", "LC_ALL=de_DE.UTF-8"}},
      {"slurm",
       {"SLURM_JOB_ID=1", "SLURM_CONF=/c", "SLURM_NTASKS=2", "SLURMD_NODENAME=n",
        "SBATCH_ACCOUNT=a", "SLURM_CLUSTERS=x", "SLURM_JWT=t", "CUDA_VISIBLE_DEVICES=0",
        "SLURM_CONFIG_FETCH=1"},
       {"SLURM_CONF=/c", "SBATCH_ACCOUNT=a", "SLURM_CLUSTERS=x", "SLURM_JWT=t"}},
      {"devices without a job", {"CUDA_VISIBLE_DEVICES=0"}, {"CUDA_VISIBLE_DEVICES=0"}},
      {"pbs",
       {"PBS_JOBID=1.s", "PBS_NODEFILE=/n", "PBS_O_PATH=/bin", "PBS_CONF_FILE=/c", "PBS_SERVER=s",
        "PBS_DEFAULT=d", "PBS_EXEC=/e", "NCPUS=4", "ENVIRONMENT=BATCH", "HIP_VISIBLE_DEVICES=1"},
       {"PBS_CONF_FILE=/c", "PBS_SERVER=s", "PBS_DEFAULT=d", "PBS_EXEC=/e"}},
      {"NCPUS of somebody else", {"NCPUS=4", "PBS_EXEC=/e"}, {"NCPUS=4", "PBS_EXEC=/e"}},
      {"grid engine",
       {"SGE_ROOT=/r", "SGE_CELL=c", "SGE_QMASTER_PORT=1", "SGE_EXECD_PORT=2", "SGE_CLUSTER_NAME=n",
        "SGE_TASK_ID=undefined", "SGE_O_HOST=h", "JOB_ID=7", "JOB_NAME=j", "QUEUE=q", "PE=p",
        "PE_HOSTFILE=/h", "NSLOTS=2", "NHOSTS=1", "ROCR_VISIBLE_DEVICES=0"},
       {"SGE_ROOT=/r", "SGE_CELL=c", "SGE_QMASTER_PORT=1", "SGE_EXECD_PORT=2",
        "SGE_CLUSTER_NAME=n"}},
      {"names like grid engine's, where it is",
       {"SGE_ROOT=/r", "JOB_ID=mine", "QUEUE=q"},
       {"SGE_ROOT=/r", "JOB_ID=mine", "QUEUE=q"}},
      {"grid engine's site alone", {"SGE_TASK_ID=1", "QUEUE=q"}, {"QUEUE=q"}},
      {"htcondor",
       {"_CONDOR_JOB_AD=/a", "_CONDOR_SCRATCH_DIR=/s", "_CONDOR_SLOT=slot1",
        "_CONDOR_AssignedGPUs=GPU-1", "_CONDOR_ANCESTOR_12=12:1:2", "_CONDOR_COLLECTOR_HOST=h",
        "CUDA_VISIBLE_DEVICES=GPU-1", "CONDOR_CONFIG=/c"},
       {"_CONDOR_COLLECTOR_HOST=h", "CONDOR_CONFIG=/c"}},
      {"a pilot",
       {"SPATE_PILOT=p", "SPATE_PILOT_SYSTEM=slurm", "SPATE_STATE=/s"},
       {"SPATE_STATE=/s"}},
  };
  for (const Case& each : cases) EXPECT_EQ(Kept(each.given), each.kept) << each.what;
}

}  // namespace
}  // namespace spate::pool
