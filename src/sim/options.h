// Options of one simulated world, drawn from its seed: swarm style, so that each seed has some of
// the troubles and no seed has all of them (with all on at once, some would hide others).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "base/prng.h"
#include "base/time.h"
#include "core/model/gang.h"
#include "core/model/limits.h"

namespace spate::sim {

// An independent seed for each salt. (A Prng's own stream is its seed plus multiples of one number,
// so seeds must not be made by adding.)
constexpr uint64_t Derive(uint64_t seed, uint64_t salt) {
  return Prng(Prng(seed).Next() ^ Prng(~salt).Next()).Next();
}

// Estimates that classes give for the time of their tasks (Needs::time).
enum class Estimates : uint8_t {
  kNone,   // nothing
  kRight,  // as long as any of them may take
  kShort,  // too little, of some
  kMixed,  // nothing of some
};

struct Options {
  uint64_t seed = 1;

  // Work and machines.
  uint32_t tasks = 0;
  uint32_t jobs = 1;
  uint32_t nodes = 1;
  uint32_t slots = 1;  // of the largest node
  uint32_t lease_tasks = 256;

  // How slow the parts are.
  Duration commit_min;
  Duration commit_max;
  Duration link_latency;      // largest, one way
  Duration executor_latency;  // largest, one way

  // Properties of tasks. Percentages are chances of an attempt, or of a task where stated.
  Duration short_task;  // largest duration
  Duration long_task;
  unsigned long_percent = 0;
  unsigned fail_percent = 0;    // exit
  unsigned doomed_percent = 0;  // of tasks: fail always
  unsigned odd_percent = 0;     // signal, failed check, could not be started
  unsigned vanish_percent = 0;  // its shepherd is killed
  unsigned deaf_percent = 0;    // ignores TERM
  unsigned hog_percent = 0;     // uses more memory than it asked for
  unsigned output_percent = 0;
  unsigned bad_row_percent = 0;  // of tasks: a line that cannot be expanded
  bool live_output = false;

  // Needs and policies of jobs.
  bool mixed_needs = false;
  bool retries = false;
  bool retry_delay = false;
  bool retry_on_some = false;
  bool once = false;
  bool halt = false;
  bool max_failures = false;
  bool shuffle = false;
  bool open = false;
  bool time_limit = false;
  bool time_limit_percent = false;
  bool warn_time = false;
  bool start_delay = false;
  bool load_bound = false;
  bool value_rows = false;

  // Actions of the person.
  bool ctrl_c = false;
  bool hold_release = false;
  bool output_blocked = false;
  bool list_changes = false;  // between two lives: tasks withdrawn, tasks added
  bool redo_failed = false;

  // Faults.
  uint32_t crashes = 0;      // at most
  uint64_t crash_after = 0;  // points, on average
  bool crash_in_resume = false;
  uint64_t first_crash = 0;  // the first life dies at exactly this point; 0: as the rest say
  bool commit_failures = false;
  bool clock_steps_back = false;  // between two lives, by up to a minute
  Duration node_life;             // on average; zero: its link is never cut
  unsigned echo_percent = 0;      // of ends and returned tasks: the hub hears them again, late
  bool orphans_live_on = false;   // a node that was cut off goes on for a while

  // A hub's world (hub_world.h): its nodes are machines of their own, and its users come and go.
  bool hub = false;
  uint32_t users = 0;
  Duration patience;  // Limits::node_patience
  bool priorities = false;
  bool graph = false;  // tasks wait for others of their job
  bool after = false;
  bool max_running = false;
  bool user_rules = false;
  bool cancel = false;
  bool steer = false;        // people stop, continue, kill and signal
  Duration max_frozen;       // Limits::max_frozen; zero: as usual
  bool fair = false;         // equal tasks, and enough of them
  bool black_holes = false;  // one or two nodes fail all at once; no task is to blame for anything
  bool late_nodes = false;   // they join while there is work
  bool leaving = false;      // nodes say goodbye, and come again
  bool drain = false;
  bool liars = false;          // nodes tell of what others run
  bool greedy = false;         // somebody asks the hub for what is not theirs
  bool forget = false;         // people have jobs removed that have ended
  bool set = false;            // they change weight and max_running of jobs
  bool withdraw = false;       // they take back what waits of jobs
  bool resize = false;         // they change what tasks may use
  Duration forget_nodes;       // the hub forgets nodes that are away for so long
  bool remove = false;         // by name; and a node takes another name
  unsigned sick_percent = 0;   // of nodes: nearly all fails there
  unsigned adopt_percent = 0;  // of node processes that die: their shepherds go on
  uint32_t node_crashes = 0;   // at most
  bool node_clocks = false;    // the hub's clock differs from theirs, and is set now and then
  bool suspend = false;        // the hub's process, or its machine, stands still for a while
  bool silent_node =
      false;               // the connection of one stays, and nothing comes of it or arrives there
  bool full_disk = false;  // of one node, on and off
  bool hub_stops = false;  // it is asked to end, and does so in order

  // Pools of a batch system (sim_batch.h), with work that only their pilots can do.
  uint32_t pools = 0;
  bool glutton = false;                // somebody has two more, and asks for all that they may give
  Duration queue_most;                 // that a pilot waits
  unsigned batch_slow_percent = 0;     // of commands: answered late or never, carried out or not
  unsigned batch_refuses_percent = 0;  // of submits: refused, over a limit, or not taken now
  unsigned batch_garbles_percent = 0;  // of answers: cut off, garbage, or an error
  unsigned batch_forgets_percent = 0;  // of lists: one pilot is left out for a while, or for long
  unsigned batch_kills_percent = 0;    // of pilots: killed early, requeued, never heard of

  // Gangs, what is said of how long tasks take, and deadlines.
  bool gangs = false;
  GangPolicy gang_policy = GangPolicy::kFair;
  Estimates estimates = Estimates::kNone;
  bool deadlines = false;
  bool roomless = false;  // one node finds no room for gangs, for a while
  bool stream = false;    // single tasks for minutes, and gangs that want a whole node
  bool cheat = false;     // such tasks, and a user who lies about times or has a silent node

  // No attempt takes longer by itself.
  Duration longest() const {
    return std::max(short_task, long_percent > 0 ? long_task : Duration{});
  }
  // Nodes report what runs, and somebody looks at it.
  bool watched() const { return full_disk || node_clocks || suspend; }
  // Commits stand in line behind each other, so what was decided comes about at any time later.
  bool slow_disk() const { return commit_max > Duration::Millis(500); }
  Limits limits() const;
};

enum class Worlds : uint8_t { kBySeed, kHub, kRun };

// `tasks`: the number of tasks, whatever the seed says.
Options DrawOptions(uint64_t seed, std::optional<uint32_t> tasks, Worlds worlds = Worlds::kBySeed);

// At which point (faults.h) a life that begins now dies, after so many; 0: it does not. At most
// `crashes` more may.
uint64_t PlanCrash(const Options& options, uint32_t lives, uint32_t crashes, Prng& prng);

// "name=value ..." in lines of at most 100 columns, each with `indent` in front.
std::string Describe(const Options& options, const char* indent);

}  // namespace spate::sim
