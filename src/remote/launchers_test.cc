#include "remote/launchers.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace spate::remote {
namespace {

bool Has(const std::vector<std::string>& variables, const std::string& one) {
  return std::ranges::find(variables, one) != variables.end();
}

TEST(Launchers, NameTheAgentAndTheHosts) {
  GangPart part;
  part.hosts = {{"n1", 2, "10.0.0.1:7"}, {"n2", 2, "10.0.0.2:7"}};
  auto variables = LauncherVariables(part, {"/p/spate-remote", "/p/hosts", "/p/machines"}, {});
  for (const char* each :
       {"SPATE_RSH=/p/spate-remote", "OMPI_MCA_plm_rsh_agent=/p/spate-remote",
        "OMPI_MCA_orte_default_hostfile=/p/hosts", "PRTE_MCA_plm_ssh_agent=/p/spate-remote",
        "HYDRA_LAUNCHER_EXEC=/p/spate-remote", "HYDRA_HOST_FILE=/p/machines"}) {
    EXPECT_TRUE(Has(variables, each)) << each;
  }
  EXPECT_FALSE(Has(variables, "OMPI_MCA_btl=^vader,sm"));
}

TEST(Launchers, APartOfAGangThatStartsByItselfHasNoServer) {
  GangPart part;
  part.hosts = {{"n1", 2, ""}, {"n2", 2, ""}};
  for (auto start : {GangShape::Start::kEach, GangShape::Start::kFirst, GangShape::Start::kNode}) {
    part.start = start;
    part.secret = "";
    EXPECT_FALSE(HasServer(part));
    part.secret = std::string(32, 'x');
    EXPECT_EQ(HasServer(part), start != GangShape::Start::kEach);
  }
}

TEST(Launchers, NodesOfOneMachineShareNoMemory) {
  GangPart part;
  part.hosts = {{"n1", 2, "10.0.0.1:7,127.0.0.1:7"}, {"n2", 2, "10.0.0.1:8"}};
  EXPECT_TRUE(SharesMachine(part));
  auto variables = LauncherVariables(part, {"/agent", "/hosts", "/machines", "/own"},
                                     {"OMPI_MCA_btl_base_verbose=1", "TMPDIR=/theirs"});
  EXPECT_TRUE(Has(variables, "OMPI_MCA_btl=^vader,sm"));
  EXPECT_TRUE(Has(variables, "TMPDIR=/own"));
  variables = LauncherVariables(part, {"/agent", "/hosts", "/machines", "/own"},
                                {"A=b", "OMPI_MCA_btl=self,tcp"});
  EXPECT_FALSE(Has(variables, "OMPI_MCA_btl=^vader,sm"));
  EXPECT_TRUE(Has(variables, "TMPDIR=/own"));
  part.hosts[1].remote = "";
  EXPECT_FALSE(SharesMachine(part));
  // Only what is on the same machine can reach the second one.
  part.hosts[1].remote = "127.0.0.1:7";
  EXPECT_TRUE(SharesMachine(part));
  part.hosts = {{"n1", 2, "127.0.0.1:7"}};
  EXPECT_FALSE(SharesMachine(part));
}

}  // namespace
}  // namespace spate::remote
