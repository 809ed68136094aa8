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
#include "core/model/why.h"

namespace spate {

struct NamedCount {
  std::string name;
  uint64_t count = 0;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "count", self.count);
  }
};

// The wall clock was set: what it showed before, and what it showed then.
struct ClockChange {
  Instant from, to;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "from", self.from);
    visit(2, "to", self.to);
  }
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

  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "program", self.program);
    visit(2, "life", self.life);
    visit(3, "since", self.since);
    visit(4, "nodes", self.nodes);
    visit(5, "away", self.away);
    visit(6, "jobs", self.jobs);
    visit(7, "queued", self.queued);
    visit(8, "running", self.running);
    visit(9, "ended", self.ended);
    visit(10, "failed", self.failed);
    visit(11, "clients", self.clients);
    visit(12, "refused", self.refused);
    visit(13, "breaches", self.breaches);
    visit(14, "folder", self.folder);
    visit(15, kNotInJson, self.addresses);
    visit(16, kNotInJson, self.metrics);
    visit(17, kNotInJson, self.accepted);
    visit(18, kNotInJson, self.strangers);
    visit(19, kNotInJson, self.ends);
    visit(20, kNotInJson, self.standings);
    visit(21, kNotInJson, self.backlog);
    visit(22, kNotInJson, self.journal_bytes);
    visit(23, kNotInJson, self.lag);
    visit(24, kNotInJson, self.host);
    visit(25, kNotInJson, self.site);
    visit(26, "pools", self.pools);
    visit(27, "pilots", self.pilots);
    visit(28, "policy", self.policy);
    visit(29, "stuck", self.stuck);
    visit(30, "kept_bytes", self.kept);
    visit(31, "keep_most_bytes", self.keep_most);
    visit(32, "disk_free_bytes", self.disk_free);
    visit(33, "disk", self.disk);
    visit(34, "held", self.held);
    visit(35, kNotInJson, self.came);
    visit(36, kNotInJson, self.went);
    visit(37, kNotInJson, self.lost_ends);
    visit(38, "oldest_queued", self.oldest_queued);
    visit(39, "keep_for", self.keep_for);
    visit(40, "clock", self.clock);
  }
};

// An attempt that runs, or the part of a gang that one node runs, as the node has told: short ones
// are not told of.
struct RunningFacts {
  uint32_t task = 0;  // from 1
  uint32_t attempt = 0;
  std::string node;
  Instant since;            // by the node's clock
  uint32_t first_rank = 0;  // of a gang
  uint32_t ranks = 0;       // 0: it is none
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "task", self.task);
    visit(2, "attempt", self.attempt);
    visit(3, "node", self.node);
    visit(4, "since", self.since);
    visit(5, "first_rank", self.first_rank);
    visit(6, "ranks", self.ranks);
  }
  friend bool operator==(const RunningFacts&, const RunningFacts&) = default;
};

// A task whose command has ended well, while processes that the command left running are waited for
// (core/model/leftovers.h).
struct LeftRunningFacts {
  uint32_t task = 0;  // from 1
  uint32_t attempt = 0;
  std::string node;
  std::string processes;  // "sort (pid 12), cat (pid 13)"
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "task", self.task);
    visit(2, "attempt", self.attempt);
    visit(3, "node", self.node);
    visit(4, "processes", self.processes);
  }
  friend bool operator==(const LeftRunningFacts&, const LeftRunningFacts&) = default;
};

// A task that runs on a node.
struct RunFacts {
  JobId job;
  uint32_t task = 0;  // from 1
  Instant since;
  std::string left;  // LeftRunningFacts::processes; empty: its command runs
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "task", self.task);
    visit(3, "since", self.since);
    visit(4, "left_running", self.left);
  }
};

struct OfferFacts {
  std::string name;
  std::vector<std::string> pieces;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "name", self.name);
    visit(2, "pieces", self.pieces);
  }
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
  uint32_t next = 0;  // tasks that it was given and has not started

  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "node", self.name);
    visit(2, "state", self.state);
    visit(3, "user", self.user);
    visit(4, "slots", self.slots);
    visit(5, "cpus", self.cpus);
    visit(6, "memory", self.memory);
    visit(7, "tasks", self.tasks);
    visit(8, "used", self.used);
    visit(9, "ended", self.ended);
    visit(10, "failed", self.failed);
    visit(11, kInto, self.machine);
    visit(12, "from", self.from);
    visit(13, "program", self.program);
    visit(14, "why", self.why);
    visit(15, kNotInJson, self.since);
    visit(16, kNotInJson, self.offers);
    visit(17, kNotInJson, self.labels);
    visit(18, kNotInJson, self.until);
    visit(19, kNotInJson, self.runs);
    visit(20, kNotInJson, self.temp_dir);
    visit(21, "refused_protocol", self.speaks);
    visit(22, kNotInJson, self.features);
    visit(23, "next", self.next);
  }
};

// The answer of a node to LookAtNode.
struct NodeReport {
  struct Ended {
    std::string what;    // as of `running`
    int32_t status = 0;  // as wait(2) gives it
    Duration user, system;
    template <typename Self, typename Visit>
    static void Fields(Self& self, Visit&& visit) {
      visit(1, "what", self.what);
      visit(2, "status", self.status);
      visit(3, "user", self.user);
      visit(4, "system", self.system);
    }
  };
  uint32_t slots = 0;
  std::vector<std::string> running;  // a task's id, and what its door says of it
  std::vector<Ended> ended;          // the newest comes last
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "slots", self.slots);
    visit(2, "running", self.running);
    visit(3, "ended", self.ended);
  }
};

// A job that has not ended, as everybody may see it.
struct JobGlance {
  JobId job;
  std::string user;
  std::optional<std::string> name;  // nullopt: it is not for who asks
  std::string state;                // "queued", "running", "held"
  JobCounts counts;
  std::vector<LeftRunningFacts> left;  // as in JobNow; none when it is not for who asks
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "user", self.user);
    visit(3, "name", self.name);
    visit(4, "state", self.state);
    visit(5, kInto, self.counts);
    visit(6, "left_running", self.left);
  }
};

// The hub, its pools that who asks may see, and some of the nodes and jobs, those at work first.
struct TopFacts {
  HubFacts hub;
  std::vector<NodeFacts> nodes;
  std::vector<JobGlance> jobs;
  std::vector<PoolFacts> pools;  // by name, without their pilots
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "hub", self.hub);
    visit(2, kNotInJson, self.nodes);
    visit(3, kNotInJson, self.jobs);
    visit(4, kNotInJson, self.pools);
  }
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
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "user", self.user);
    visit(2, "jobs", self.jobs);
    visit(3, "running", self.running);
    visit(4, "queued", self.queued);
    visit(5, kNotInJson, self.cpus);
    visit(6, kInto, self.rule);
    visit(7, "use_s", self.use);
    visit(8, "kept_cpus", self.kept);
  }
};

// A credential that the hub gave out.
struct AccessFacts {
  uint64_t serial = 0;
  std::string role;  // "node", "client", "admin"
  std::string user;
  std::string state;  // "good", "expired", "revoked"
  Instant made;
  std::optional<Instant> expires;
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "serial", self.serial);
    visit(2, "role", self.role);
    visit(3, "user", self.user);
    visit(4, "state", self.state);
    visit(5, kNotInJson, self.made);
    visit(6, kNotInJson, self.expires);
  }
};

// Why a task of a job that has not ended is in the state it is in.
struct TaskWhy {
  JobId job;
  uint32_t task = 0;  // from 1
  Why why;
  std::vector<RunningFacts> running = {};  // of a gang for each of its nodes
  template <typename Self, typename Visit>
  static void Fields(Self& self, Visit&& visit) {
    visit(1, "job", self.job);
    visit(2, "task", self.task);
    visit(4, "why", self.why);
    visit(5, "running", self.running);
  }
};

}  // namespace spate
