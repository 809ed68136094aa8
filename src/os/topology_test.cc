#include "os/topology.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

namespace spate::os {
namespace {

struct Counts {
  size_t units = 0, cores = 0, nodes = 0, packages = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};
void PrintTo(const Counts& counts, std::ostream* out) {
  *out << counts.units << " units, " << counts.cores << " cores, " << counts.nodes << " nodes, "
       << counts.packages << " packages";
}

Counts CountsOf(const Topology& topology) {
  std::set<uint32_t> cores, nodes, packages;
  for (const ProcessingUnit& unit : topology.units) {
    cores.insert(unit.core);
    nodes.insert(unit.numa);
    packages.insert(unit.package);
  }
  return {topology.units.size(), cores.size(), nodes.size(), packages.size()};
}

std::vector<int> CpusOf(const Topology& topology) {
  std::vector<int> cpus;
  for (const ProcessingUnit& unit : topology.units) cpus.push_back(unit.cpu);
  return cpus;
}

TEST(Topology, Synthetic) {
  struct Case {
    std::string description;
    Counts expected;
  };
  for (const auto& [description, expected] : {
           Case{"pack:1 core:2 pu:1", {2, 2, 1, 1}},
           Case{"pack:2 core:4 pu:2", {16, 8, 1, 2}},
           Case{"pack:2 numa:2 l3:2 core:8 pu:2", {128, 64, 4, 2}},
           // The node's memory reaches over both packages.
           Case{"numa:1 pack:2 core:2 pu:1", {4, 4, 1, 2}},
           // Fast memory beside the usual one: the units count once.
           Case{"pack:2 [numa] [numa] core:2 pu:1", {4, 4, 2, 2}},
           Case{"pu:3", {3, 3, 1, 1}},
       }) {
    auto topology = TopologyOfSynthetic(description);
    ASSERT_TRUE(topology) << description << ": " << topology.error().message;
    EXPECT_EQ(CountsOf(*topology), expected) << description;
  }
}

// Intel's numbers: a core's siblings are half the machine apart.
TEST(Topology, NumbersAreTheSystems) {
  auto topology =
      TopologyOfSynthetic("pack:2 core:4 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)");
  ASSERT_TRUE(topology);
  ASSERT_EQ(topology->units.size(), 16u);
  for (size_t i = 0; i < 16; ++i) {
    const ProcessingUnit& unit = topology->units[i];
    EXPECT_EQ(unit.cpu, static_cast<int>(i));
    EXPECT_EQ(unit.core, topology->units[i % 8].core);
    EXPECT_EQ(unit.package, i % 8 / 4);
  }
}

TEST(Topology, WrongTextsAreRefused) {
  for (const char* text : {"", "pack:", "pack:0", "people:3"}) {
    auto topology = TopologyOfSynthetic(text);
    ASSERT_FALSE(topology) << text;
    EXPECT_EQ(topology.error().kind, ErrorKind::kInvalid);
  }
  for (const char* text : {"", "<topology>", "pack:2 core:4", "<?xml version=\"1.0\"?><a></a>"}) {
    auto topology = TopologyOfXml(text);
    ASSERT_FALSE(topology) << text;
    EXPECT_EQ(topology.error().kind, ErrorKind::kInvalid);
  }
}

std::string Unit(int cpu) {
  char hex[16];
  std::snprintf(hex, sizeof hex, "0x%08x", 1u << cpu);
  return std::string("<object type=\"PU\" os_index=\"") + std::to_string(cpu) + "\" cpuset=\"" +
         hex + "\" complete_cpuset=\"" + hex +
         "\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"" +
         std::to_string(100 + cpu) + "\"/>";
}

std::string Core(int index, int first, int count) {
  unsigned bits = ((1u << count) - 1) << first;
  char hex[16];
  std::snprintf(hex, sizeof hex, "0x%08x", bits);
  std::string text = std::string("<object type=\"Core\" os_index=\"") + std::to_string(index) +
                     "\" cpuset=\"" + hex + "\" complete_cpuset=\"" + hex +
                     "\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\" gp_index=\"" +
                     std::to_string(200 + first) + "\">";
  for (int i = 0; i < count; ++i) text += Unit(first + i);
  return text + "</object>";
}

// Two cores of two threads, two of one, and core numbers that repeat and are unsorted; cpu 5 is
// not in the cpuset.
TEST(Topology, XmlOfAHybridMachineWithAHole) {
  std::string xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
      "<topology version=\"2.0\">"
      "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x0000003f\""
      " complete_cpuset=\"0x0000003f\" allowed_cpuset=\"0x0000001f\" nodeset=\"0x00000001\""
      " complete_nodeset=\"0x00000001\" allowed_nodeset=\"0x00000001\" gp_index=\"1\">"
      "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x0000003f\""
      " complete_cpuset=\"0x0000003f\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\""
      " gp_index=\"2\" local_memory=\"1073741824\"/>"
      "<object type=\"Package\" os_index=\"7\" cpuset=\"0x0000003f\""
      " complete_cpuset=\"0x0000003f\" nodeset=\"0x00000001\" complete_nodeset=\"0x00000001\""
      " gp_index=\"3\">" +
      Core(9, 0, 2) + Core(4, 2, 2) + Core(9, 4, 1) + Core(0, 5, 1) +
      "</object></object></topology>\n";
  auto topology = TopologyOfXml(xml);
  ASSERT_TRUE(topology) << topology.error().message;
  EXPECT_EQ(topology->units,
            (std::vector<ProcessingUnit>{
                {0, 0, 0, 0}, {1, 0, 0, 0}, {2, 1, 0, 0}, {3, 1, 0, 0}, {4, 2, 0, 0}}));
}

TEST(Topology, OfThisMachineHasWhatWeMayUse) {
  MachineTopology machine = ReadTopology();
  EXPECT_EQ(machine.problem, "");
  EXPECT_EQ(CpusOf(machine.topology), AllowedCpus().Cpus());
  CpuMask one = CpuMask::Of({AllowedCpus().Cpus().back()});
  machine = ReadTopology(one);
  EXPECT_EQ(machine.problem, "");
  EXPECT_EQ(CpusOf(machine.topology), one.Cpus());
}

TEST(Topology, IsFlatWhereHwlocKnowsLessThanWeMayUse) {
  std::vector<int> cpus = {0, 5000, 5001};
  MachineTopology machine = ReadTopology(CpuMask::Of(cpus));
  EXPECT_NE(machine.problem, "");
  EXPECT_EQ(machine.topology, FlatTopology(cpus));
  EXPECT_EQ(CountsOf(machine.topology), (Counts{3, 3, 1, 1}));
}

TEST(Topology, ReadingLeavesTheAffinityAlone) {
  CpuMask before = AllowedCpus();
  ReadTopology();
  EXPECT_EQ(AllowedCpus(), before);
}

}  // namespace
}  // namespace spate::os
