#include "remote/pmi.h"

#include <gtest/gtest.h>

namespace spate::remote {
namespace {

std::string Said(PmiSpace& space, uint32_t rank, std::string_view line) {
  std::string text;
  for (const PmiSpace::Line& reply : space.Handle(rank, line).replies) {
    text += std::to_string(reply.to) + ":" + *reply.text;
  }
  return text;
}

TEST(Pmi, WhereProcessesAre) {
  EXPECT_EQ(PmiSpace({2, 2, 2}).Mapping(), "(vector,(0,3,2))");
  EXPECT_EQ(PmiSpace({3, 1, 1, 2}).Mapping(), "(vector,(0,1,3),(1,2,1),(3,1,2))");
  PmiSpace space({3, 1});
  EXPECT_EQ(space.members(), 4u);
  EXPECT_EQ(Said(space, 1, "cmd=get_universe_size"), "1:cmd=universe_size size=4\n");
  EXPECT_EQ(Said(space, 1, "cmd=get kvsname=spate key=PMI_process_mapping"),
            "1:cmd=get_result rc=0 msg=success value=(vector,(0,1,3),(1,1,1))\n");
}

TEST(Pmi, TheyFindEachOther) {
  PmiSpace space({1, 1});
  for (uint32_t rank : {0u, 1u}) {
    EXPECT_EQ(Said(space, rank, "cmd=init pmi_version=1 pmi_subversion=1"),
              std::to_string(rank) + ":cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  }
  EXPECT_EQ(Said(space, 0, "cmd=put kvsname=spate key=P0 value=addr=a:1#x$"),
            "0:cmd=put_result rc=0 msg=success\n");
  EXPECT_EQ(Said(space, 1, "cmd=get kvsname=spate key=P1"),
            "1:cmd=get_result rc=-1 msg=key_P1_not_found value=unknown\n");
  EXPECT_EQ(Said(space, 1, "cmd=barrier_in"), "");
  EXPECT_EQ(Said(space, 0, "cmd=barrier_in"), "0:cmd=barrier_out rc=0\n1:cmd=barrier_out rc=0\n");
  EXPECT_EQ(Said(space, 1, "cmd=get kvsname=spate key=P0"),
            "1:cmd=get_result rc=0 msg=success value=addr=a:1#x$\n");
  EXPECT_EQ(Said(space, 1, "cmd=finalize"), "1:cmd=finalize_ack rc=0\n");
  EXPECT_FALSE(space.Left(1).abort);
}

TEST(Pmi, WhatIsNotHereIsRefused) {
  PmiSpace space({1});
  EXPECT_EQ(Said(space, 0, "mcmd=spawn"), "");
  EXPECT_EQ(Said(space, 0, "nprocs=2"), "");
  EXPECT_EQ(Said(space, 0, "endcmd"), "0:cmd=spawn_result rc=-1 msg=not_here\n");
  EXPECT_EQ(Said(space, 0, "cmd=publish_name service=x port=y"),
            "0:cmd=publish_name_result rc=-1 msg=not_here\n");
  EXPECT_EQ(Said(space, 0, "cmd=put key=" + std::string(65, 'k') + " value=x"),
            "0:cmd=put_result rc=-1 msg=too_long\n");
}

TEST(Pmi, NobodyWaitsForOneThatIsGone) {
  PmiSpace space({2});
  Said(space, 0, "cmd=init");
  Said(space, 1, "cmd=init");
  EXPECT_FALSE(space.Left(1).abort);
  PmiSpace::Step step = space.Handle(0, "cmd=barrier_in");
  EXPECT_EQ(step.abort, 1);
  EXPECT_EQ(step.why, "process 1 has ended without MPI_Finalize, and others wait for it");
  step = space.Handle(0, "cmd=abort exitcode=7 message=x");
  EXPECT_EQ(step.abort, 7);
}

}  // namespace
}  // namespace spate::remote
