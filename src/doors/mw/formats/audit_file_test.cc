#include "doors/mw/formats/audit_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace spate::mw::audit {
namespace {

constexpr Instant kWhen{1795287370'123456789};  // 2026-11-21 18:56:10 UTC

TEST(AuditFileTest, LocalTimeInTwoDigitFields) {
  EXPECT_EQ(Line(kWhen, 0, {"MASTER", "-> CEOF"}), "11/21/2026 18:56:10 [A] MASTER -> CEOF\n");
  EXPECT_EQ(Line(kWhen, 330, GotShutdown()), "11/22/2026 00:26:10 [A] MASTER -> SHUTDOWN\n");
  EXPECT_EQ(Line(kWhen, -300, GotShutdown()), "11/21/2026 13:56:10 [A] MASTER -> SHUTDOWN\n");
  // The new year, seen from the east.
  EXPECT_EQ(Line(Instant{1798761599'000000000}, 60, MasterClosed()),
            "01/01/2027 00:59:59 [A] MASTER -> CEOF\n");
}

TEST(AuditFileTest, Events) {
  struct Case {
    Event event;
    std::string_view text;
  };
  for (const auto& [event, text] : std::vector<Case>{
           {Version("0.4"), "VERSION CL-MW: Version 0.4"},
           {MasterInit("run.17"), "INIT MASTER \"run.17\""},
           {MasterReady("10.0.0.1:47416"), "MASTER READY 10.0.0.1:47416"},
           {NewClient("10.0.0.2:5"), "NEW-CLIENT -> 10.0.0.2:5"},
           {Connecting(1, "10.0.0.2:5", "run.17", Group::kUnordered),
            "SLAVE-1 10.0.0.2:5 -> [\"run.17\"] :connecting [:unordered]"},
           {Connecting(2, "h:5", "x", Group::kIntermingle),
            "SLAVE-2 h:5 -> [\"x\"] :connecting [:intermingle]"},
           {Connecting(3, "h:5", "x", Group::kOrdered),
            "SLAVE-3 h:5 -> [\"x\"] :connecting [:ordered]"},
           {Became(1, State::kIdle), "SLAVE-1 -> :idle"},
           {Became(1, State::kBusy), "SLAVE-1 -> :busy"},
           {Became(1, State::kShuttingDown), "SLAVE-1 -> :shutting-down"},
           {Became(1, State::kDisconnected), "SLAVE-1 -> :disconnected"},
           {SentTasks(1, 100), "SLAVE-1 <- 100 tasks"},
           {GotResults(1, 100), "SLAVE-1 -> 100 results"},
           {TryShutdown(1), "SLAVE-1 <- TRY-SHUTDOWN"},
           {Lost(1, Loss::kTimeout), "SLAVE-1 TIMEOUT -> :disconnected"},
           {Lost(1, Loss::kClosed), "SLAVE-1 CEOF -> :disconnected"},
           {Lost(1, Loss::kProblem, "reset"), "SLAVE-1 PROBLEM -> :disconnecting \"reset\""},
           {Lost(1, Loss::kProtocol), "SLAVE-1 STUPID -> :disconnecting"},
           {Reclaimed(1, 7), "SLAVE-1 R TASK-7"},
           {Freed(1), "SLAVE-1 -> :unordered"},
           {WrongMember("a", "b"), "NEW-CLIENT <- EXPECTED MEMBER \"a\" GOT MEMBER \"b\""},
           {WroteResourceFile("r.rsc"), "RESFILE Generated resource file: \"r.rsc\""},
           {Closed("10.0.0.2:5"), "EOF -> 10.0.0.2:5"},
           {MasterEnd("run.17"), "FINI SHUTDOWN \"run.17\""},
           {SlaveInit("run.17"), "INIT SLAVE \"run.17\""},
           {Connected("10.0.0.1:47416", "10.0.0.2:5"),
            "MASTER <- CONNECTED TO 10.0.0.1:47416 FROM 10.0.0.2:5"},
           {ConnectRefused("head:47416"), "MASTER <- CONNECT REFUSED head:47416"},
           {GotId(1), "MASTER -> ID SLAVE-1"},
           {GotShutdown(), "MASTER -> SHUTDOWN"},
           {MasterClosed(), "MASTER -> CEOF"},
           {SlaveEnd(End::kMasterShutdown, "x"), "FINI MASTER-SHUTDOWN \"x\""},
           {SlaveEnd(End::kMasterDisconnect, "x"), "FINI MASTER-DISCONNECT \"x\""},
           {SlaveEnd(End::kComputationFinished, "x"), "FINI COMPUTATION-FINISHED \"x\""}}) {
    EXPECT_EQ(Line(kWhen, 0, event), "11/21/2026 18:56:10 [A] " + std::string(text) + "\n");
  }
}

// A member id comes from the other side, before it is known to belong here.
TEST(AuditFileTest, AnEventIsOneLine) {
  EXPECT_EQ(Line(kWhen, 0, WrongMember("a\"b", "x\n11/21/2026 18:56:10 [A] FINI\x1b[2J")),
            "11/21/2026 18:56:10 [A] NEW-CLIENT <- EXPECTED MEMBER \"a\\\"b\" GOT MEMBER "
            "\"x\\n11/21/2026 18:56:10 [A] FINI\\x1b[2J\"\n");
}

}  // namespace
}  // namespace spate::mw::audit
