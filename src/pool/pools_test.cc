#include "pool/pools.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "pool/parts.h"

namespace spate::pool {
namespace {

TEST(PoolsTest, DriversByName) {
  for (std::string_view name : DriverNames()) EXPECT_TRUE(MakeDriver(name, {})) << name;
  EXPECT_EQ(DriverNames().size(), 6U);
  auto none = MakeDriver("slrm", {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(none.error().message.contains("did you mean slurm?")) << none.error().message;
}

TEST(PoolsTest, TheSystemAroundUs) {
  struct Case {
    std::vector<std::string> environment;
    std::string system;
  };
  for (const Case& c : std::vector<Case>{
           {{}, ""},
           {{"JOB_ID=5"}, ""},
           {{"SLURM_JOB_ID=5"}, "slurm"},
           {{"PBS_JOBID=5.s", "PBS_ENVIRONMENT=PBS_BATCH"}, "pbs"},
           {{"_CONDOR_JOB_AD=/a", "_CONDOR_MACHINE_AD=/b"}, "htcondor"},
           {{"JOB_ID=5", "SGE_TASK_ID=undefined"}, "gridengine"},
           // Variables that the hub's own allocation left in the environment do not count.
           {{"SLURM_JOB_ID=5", "SPATE_PILOT_SYSTEM=gridengine", "JOB_ID=6"}, "gridengine"},
           {{"SLURM_JOB_ID=5", "SPATE_PILOT_SYSTEM=lsf"}, "slurm"},
           {{"SLURM_JOB_ID=5", "SPATE_PILOT_SYSTEM=local"}, "local"},
           {{"SPATE_PILOT_SYSTEM=ssh"}, "ssh"},
       }) {
    auto grant = GrantOf(os::Environment(c.environment), {});
    EXPECT_EQ(grant ? grant->system : "", c.system);
  }
}

// Pieces of the texts of all systems, so that random texts come near to them.
const std::vector<std::string> kPieces = {"1",
                                          "7",
                                          "12",
                                          "0",
                                          "7.0",
                                          "7.pbs1",
                                          "7[1].pbs1",
                                          "7_1",
                                          "p-1",
                                          "p-2",
                                          "other",
                                          "|",
                                          "|",
                                          "|",
                                          "\n",
                                          "\n",
                                          "\n",
                                          "\t",
                                          "\t",
                                          " ",
                                          "PENDING",
                                          "RUNNING",
                                          "COMPLETED",
                                          "CANCELLED",
                                          "None",
                                          "<job_list state=\"running\">",
                                          "<job_list",
                                          "</job_list>",
                                          "<JB_job_number>",
                                          "</JB_job_number>",
                                          "<JB_name>",
                                          "</JB_name>",
                                          "<state>",
                                          "</state>",
                                          "z",
                                          "qw",
                                          "Eqw",
                                          "r",
                                          "Job Id: ",
                                          "    Job_Name = ",
                                          "    job_state = ",
                                          "    comment = ",
                                          "F",
                                          "Q",
                                          "R",
                                          "qstat: ",
                                          " Job has finished, use -x or -H",
                                          "qstat: Unknown Job Id ",
                                          "4",
                                          "5",
                                          "undefined",
                                          "\"p-1\"",
                                          "\"p-2\"",
                                          "\"\\\"",
                                          "\r\n",
                                          "\xff",
                                          ";",
                                          "Submitted batch job ",
                                          "Your job ",
                                          " - ",
                                          "(\"p-1\") has been submitted",
                                          "-",
                                          "Welcome!\n",
                                          "slurm_load_jobs error: ",
                                          "Invalid job id",
                                          "7.8.0123abcd",
                                          "7.9.0123abcd",
                                          "|running|",
                                          "|ended|",
                                          "\t",
                                          "spate: started ",
                                          "\nspate: these are all\n"};

std::string AnyText() {
  std::string text;
  bool pieces = *rc::gen::inRange(0, 4) != 0;
  if (!pieces) return *rc::gen::string<std::string>();
  for (const auto& piece :
       *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kPieces))) {
    text += piece;
  }
  return text;
}

Outcome AnyOutcome() {
  using End = Outcome::End;
  Outcome outcome;
  outcome.end = *rc::gen::element(End::kExited, End::kExited, End::kTimedOut, End::kNotStarted);
  outcome.exit_code = *rc::gen::element(0, 0, 0, 1, 35, 153, 255);
  outcome.out = AnyText();
  outcome.err = AnyText();
  return outcome;
}

TEST(PoolsTest, NoOutputMakesUpAnEnd) {
  PilotQuery query{.prefix = "p-",
                   .ids = {"1", "7", "12", "7.0", "7.pbs1", "7[1].pbs1", "7_1", "7.8.0123abcd"}};
  for (std::string_view name : DriverNames()) {
    auto driver = *MakeDriver(name, {});
    EXPECT_TRUE(rc::check([&] {
      Outcome outcome = AnyOutcome();
      auto pilots = driver->ReadQuery(query, outcome);
      if (outcome.end != Outcome::End::kExited) RC_ASSERT(!pilots);
      if (!pilots) return;
      std::string text = outcome.out + "\n" + outcome.err;
      std::vector<std::string> seen;
      for (const ListedPilot& pilot : *pilots) {
        // HTCondor prints the two numbers of an id in columns of their own.
        std::string id = pilot.id;
        if (name == "htcondor") id = id.substr(0, id.find('.'));
        RC_ASSERT(text.contains(id));
        bool known = std::ranges::find(query.ids, pilot.id) != query.ids.end();
        RC_ASSERT(known || pilot.tag.starts_with(query.prefix));
        RC_ASSERT(std::ranges::find(seen, pilot.id) == seen.end());
        seen.push_back(pilot.id);
      }
    })) << name;
  }
}

TEST(PoolsTest, NothingIsSaidOfIdsThatTheTextLeavesOut) {
  PilotQuery query{.prefix = "p-", .ids = {"90", "90.0", "90.pbs1", "90.0.0123abcd"}};
  for (std::string_view name : DriverNames()) {
    auto driver = *MakeDriver(name, {});
    EXPECT_TRUE(rc::check([&] {
      auto pilots = driver->ReadQuery(query, AnyOutcome());
      if (!pilots) return;
      for (const ListedPilot& pilot : *pilots) {
        RC_ASSERT(std::ranges::find(query.ids, pilot.id) == query.ids.end());
      }
    })) << name;
  }
}

TEST(PoolsTest, AnIdComesOnlyFromAnExitOfZero) {
  for (std::string_view name : DriverNames()) {
    auto driver = *MakeDriver(name, {});
    EXPECT_TRUE(rc::check([&] {
      Outcome outcome = AnyOutcome();
      auto id = driver->ReadSubmit(outcome);
      bool well = outcome.end == Outcome::End::kExited && outcome.exit_code == 0;
      RC_ASSERT(well || !id);
      if (id) RC_ASSERT(outcome.out.contains(*id));
      // Without an answer nobody knows whether it is there.
      if (!id && (well || outcome.end == Outcome::End::kTimedOut)) {
        RC_ASSERT(id.error().perhaps_there);
      }
    })) << name;
  }
}

TEST(PoolsTest, AnyGrantCanBeRead) {
  const std::vector<std::string> names = {"SLURM_JOB_ID",
                                          "SLURM_JOB_END_TIME",
                                          "SLURM_CPUS_ON_NODE",
                                          "SLURM_MEM_PER_NODE",
                                          "SLURM_MEM_PER_CPU",
                                          "SLURM_JOB_NUM_NODES",
                                          "SPATE_PILOT_LEFT",
                                          "SPATE_PILOT_STARTED",
                                          "SPATE_PILOT_SECONDS",
                                          "PBS_WALLTIME",
                                          "NCPUS",
                                          "NSLOTS",
                                          "SPATE_PILOT_CPUS",
                                          "CUDA_VISIBLE_DEVICES",
                                          "SLURM_JOB_GPUS",
                                          "_CONDOR_AssignedGPUs"};
  const std::vector<std::string> values = {"",
                                           "0",
                                           "-1",
                                           "1",
                                           "99",
                                           "9223372036854775807",
                                           "99999999999",
                                           "4294967296",
                                           "1:00",
                                           "x",
                                           "UNLIMITED",
                                           "1-00:00:00",
                                           "0,1",
                                           ",,",
                                           "9999999999-9",
                                           "CUDA0,GPU-1"};
  EXPECT_TRUE(rc::check([&] {
    std::vector<std::string> entries = {"PE_HOSTFILE=/f", "PBS_NODEFILE=/f",
                                        "_CONDOR_MACHINE_AD=/f", "_CONDOR_JOB_AD=/f"};
    for (const std::string& name : names) {
      entries.push_back(name + "=" + *rc::gen::elementOf(values));
    }
    entries.push_back("SPATE_PILOT_SYSTEM=" +
                      std::string(*rc::gen::elementOf(std::vector<std::string_view>(
                          DriverNames().begin(), DriverNames().end()))));
    std::vector<GrantFile> files = {{"/f", AnyText()}};
    auto grant = GrantOf(os::Environment(entries), files);
    RC_ASSERT(grant.has_value());
    RC_ASSERT(grant->cpus.value_or(1) > 0);  // RC_ASSERT evaluates both sides of ||
    RC_ASSERT(grant->ends.ns >= 0);
  }));
}

}  // namespace
}  // namespace spate::pool
