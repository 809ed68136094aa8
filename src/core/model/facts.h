// Facts about a hub, its nodes, users and jobs: answers to wire/questions.h, shown by
// commands as tables and as JSON (docs/formats/json.md), and read by monitors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/model/fields.h"
#include "core/model/job.h"
#include "core/model/machine_load.h"
#include "core/model/pool_facts.h"
#include "core/model/slowed.h"
#include "core/model/steer.h"
#include "core/model/why.h"

namespace spate {

struct NamedCount {
  std::string name;
  uint64_t count = 0;
  SPATE_FIELDS(1, name, 2, count);
};

// The wall clock was set: what it showed before, and what it showed then.
struct ClockChange {
  Instant from, to;
  SPATE_FIELDS(1, from, 2, to);
};

// Numbers only, but for where it is: no names of people, jobs or commands.
struct HubFacts {
  std::string program;  // its version
  uint64_t life = 0;    // how often the hub has been started
  Instant since;        // the start of this life
  uint64_t nodes = 0;   // connected
  uint64_t away = 0;
  uint64_t jobs = 0;  // that have not ended
  uint64_t queued = 0;
  uint64_t running = 0;  // tasks that nodes hold
  uint64_t ended = 0;    // attempts, in this life
  uint64_t failed = 0;   // of them
  uint64_t clients = 0;
  uint64_t refused = 0;   // peers
  uint64_t breaches = 0;  // peers that broke the protocol
  std::string folder;
  std::vector<std::string> addresses;  // where it listens
  std::string metrics;                 // where monitors ask; empty: nowhere
  uint64_t accepted = 0;               // peers
  uint64_t strangers = 0;              // who have not said yet who they are
  std::vector<NamedCount> ends;        // of attempts in this life, by verdict
  std::vector<NamedCount> standings;   // of nodes, by state
  uint64_t backlog = 0;                // bytes that wait to be written
  uint64_t journal_bytes = 0;          // on disk
  Duration lag;                        // by which the loop was late at the last look
  std::string host;                    // the name of its machine
  std::string site;  // what a door that started the hub has its own programs know; empty: none did
  uint64_t pools = 0;
  std::vector<NamedCount> pilots;  // of all pools, by state (PilotFacts)
  std::string policy;              // for gangs: "fair", "easy", ...
  Duration stuck;                  // so long nothing that waits could be stored; 0: it goes on
  uint64_t kept = 0;               // bytes of disk that jobs and their output take, now
  uint64_t keep_most = 0;          // so much is kept (--keep); 0: there is no bound
  uint64_t disk_free = 0;          // on the disk of its folder
  uint64_t held = 0;               // of the jobs that have not ended
  uint64_t came = 0;               // nodes that have joined in this life,
  uint64_t went = 0;               // and that were disconnected
  uint64_t lost_ends = 0;          // attempts that ended because their node was lost, in this life
  std::optional<ClockChange> clock;  // the last time in this life that the clock was set
  Duration oldest_queued;  // since the oldest job that waits for nodes was submitted; 0: none waits
  std::string disk;        // low: output of tasks is not kept; full: nothing is accepted; empty
  Duration keep_for;       // so long ended jobs are kept (--keep)
  std::vector<std::string> full_nodes;  // they get no tasks, because their disks have no room

  SPATE_FIELDS(1, program, 2, life, 3, since, 4, nodes, 5, away, 6, jobs, 7, queued, 8, running,
               9, ended, 10, failed, 11, clients, 12, refused, 13, breaches, 14, folder,
               15, NotInJson(addresses), 16, NotInJson(metrics), 17, NotInJson(accepted),
               18, NotInJson(strangers), 19, NotInJson(ends), 20, NotInJson(standings),
               21, NotInJson(backlog), 22, NotInJson(journal_bytes), 23, NotInJson(lag),
               24, NotInJson(host), 25, NotInJson(site), 26, pools, 27, pilots, 28, policy,
               29, stuck, 30, Named(kept, "kept_bytes"), 31, Named(keep_most, "keep_most_bytes"),
               32, Named(disk_free, "disk_free_bytes"), 33, disk, 34, held, 35, NotInJson(came),
               36, NotInJson(went), 37, NotInJson(lost_ends), 38, oldest_queued, 39, keep_for,
               40, clock, 41, full_nodes);
};

// An attempt that runs, or the part of a gang that one node runs, as the node has told: short ones
// are not told of.
struct RunningFacts {
  uint32_t task = 0;  // from 1
  uint32_t attempt = 0;
  std::string node;
  Instant since;                       // by the node's clock
  uint32_t first_rank = 0;             // of a gang
  uint32_t ranks = 0;                  // 0: it is none
  Freezing stopped = Freezing::kNone;  // the whole task, by `job stop`
  SPATE_FIELDS(1, task, 2, attempt, 3, node, 4, since, 5, first_rank, 6, ranks, 7, stopped);
  friend bool operator==(const RunningFacts&, const RunningFacts&) = default;
};

// A task whose command has ended well, while processes that the command left running are waited for
// (core/model/leftovers.h).
struct LeftRunningFacts {
  uint32_t task = 0;  // from 1
  uint32_t attempt = 0;
  std::string node;
  std::string processes;  // "sort (pid 12), cat (pid 13)"
  SPATE_FIELDS(1, task, 2, attempt, 3, node, 4, processes);
  friend bool operator==(const LeftRunningFacts&, const LeftRunningFacts&) = default;
};

// A task that runs on a node.
struct RunFacts {
  JobId job;
  uint32_t task = 0;  // from 1
  Instant since;
  std::string left;  // LeftRunningFacts::processes; empty: its command runs
  SPATE_FIELDS(1, job, 2, task, 3, since, 4, Named(left, "left_running"));
};

struct OfferFacts {
  std::string name;
  std::vector<std::string> pieces;
  SPATE_FIELDS(1, name, 2, pieces);
};

struct NodeFacts {
  std::string name;
  std::string state;  // "ready", "away", "silent", "drained", "sick", "full", "joining", "removed"
  std::string user;   // whose tasks it takes; "*": everybody's
  uint32_t slots = 0;
  double cpus = 0;
  uint64_t memory = 0;                 // bytes; 0: not known
  uint32_t tasks = 0;                  // that it runs
  double used = 0;                     // the part of it that they take
  uint64_t ended = 0;                  // attempts, in this life of the hub
  uint64_t failed = 0;                 // of them
  std::optional<MachineLoad> machine;  // while it is there
  std::string from;                    // its address
  std::string program;                 // its version
  std::string why;                     // it is sick or full, or set aside for somebody
  std::optional<uint32_t> speaks;      // the protocol for which the hub refuses it
  Instant since;                       // it came, or went
  std::vector<OfferFacts> offers;      // beside slots, processors and memory
  std::vector<std::string> labels;
  std::optional<Instant> until;  // its machine is taken away
  std::vector<RunFacts> runs;
  std::string temp_dir;  // of its tasks
  // Features that depend on the node's machine, such as kPmixFeature.
  std::vector<std::string> features;
  uint32_t next = 0;                // tasks that it was given and has not started
  std::vector<PartedFacts> parted;  // jobs that have slowed each other here

  SPATE_FIELDS(1, Named(name, "node"), 2, state, 3, user, 4, slots, 5, cpus, 6, memory, 7, tasks,
               8, used, 9, ended, 10, failed, 11, Into(machine), 12, from, 13, program, 14, why,
               15, NotInJson(since), 16, NotInJson(offers), 17, NotInJson(labels),
               18, NotInJson(until), 19, NotInJson(runs), 20, NotInJson(temp_dir),
               21, Named(speaks, "refused_protocol"), 22, NotInJson(features), 23, next,
               24, parted);
};

// The answer of a node to LookAtNode.
struct NodeReport {
  struct Ended {
    std::string what;    // as of `running`
    int32_t status = 0;  // as wait(2) gives it
    Duration user, system;
    SPATE_FIELDS(1, what, 2, status, 3, user, 4, system);
  };
  uint32_t slots = 0;
  std::vector<std::string> running;  // a task's id, and what its door says of it
  std::vector<Ended> ended;          // the newest comes last
  SPATE_FIELDS(1, slots, 2, running, 3, ended);
};

// A job that has not ended, as everybody may see it.
struct JobGlance {
  JobId job;
  std::string user;
  std::optional<std::string> name;  // nullopt: it is not for who asks
  std::string state;                // "queued", "running", "held"
  JobCounts counts;
  std::vector<LeftRunningFacts> left;  // as in JobNow; none when it is not for who asks
  SPATE_FIELDS(1, job, 2, user, 3, name, 4, state, 5, Into(counts), 6, Named(left, "left_running"));
};

// The hub, its pools that who asks may see, and some of the nodes and jobs, those at work first.
struct TopFacts {
  HubFacts hub;
  std::vector<NodeFacts> nodes;
  std::vector<JobGlance> jobs;
  std::vector<PoolFacts> pools;  // by name, without their pilots
  SPATE_FIELDS(1, hub, 2, NotInJson(nodes), 3, NotInJson(jobs), 4, NotInJson(pools));
};

struct UserFacts {
  std::string user;
  uint32_t jobs = 0;  // that have not ended
  uint32_t running = 0;
  uint32_t queued = 0;
  double cpus = 0;  // that its tasks take
  UserRule rule;
  double use = 0;   // processor seconds that count for its share: of late, and less of long ago
  double kept = 0;  // processors that stand idle for its gangs
  SPATE_FIELDS(1, user, 2, jobs, 3, running, 4, queued, 5, NotInJson(cpus), 6, Into(rule),
               7, Named(use, "use_s"), 8, Named(kept, "kept_cpus"));
};

// A credential that the hub gave out.
struct AccessFacts {
  uint64_t serial = 0;
  std::string role;  // "node", "client", "admin"
  std::string user;
  std::string state;  // "good", "expired", "revoked"
  Instant made;
  std::optional<Instant> expires;
  SPATE_FIELDS(1, serial, 2, role, 3, user, 4, state, 5, NotInJson(made), 6, NotInJson(expires));
};

// Why a task of a job that has not ended is in the state it is in.
struct TaskWhy {
  JobId job;
  uint32_t task = 0;  // from 1
  Why why;
  std::vector<RunningFacts> running = {};  // of a gang for each of its nodes
  SPATE_FIELDS(1, job, 2, task, 4, why, 5, running);
};

}  // namespace spate
