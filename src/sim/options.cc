// Drawing and printing options. A world is small as a rule, because small worlds reach the corners
// sooner and a thousand of them take seconds; one in a hundred is large.
#include "sim/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace spate::sim {
namespace {

uint32_t DrawTasks(Prng& prng) {
  uint64_t kind = prng.Below(100);
  uint64_t most = kind < 60 ? 30 : kind < 90 ? 120 : kind < 99 ? 500 : 3000;
  return static_cast<uint32_t>(prng.Below(most + 1));
}

// From 1 us to `most`, each power of ten as likely as the others.
Duration DrawSpan(Prng& prng, Duration most) {
  int64_t span = 10'000;
  while (span < most.ns && prng.Chance(80)) span *= 10;
  return Duration{static_cast<int64_t>(prng.Below(static_cast<uint64_t>(std::min(span, most.ns))))};
}

unsigned Maybe(Prng& prng, unsigned chance, unsigned most) {
  bool on = prng.Chance(chance);
  auto value = static_cast<unsigned>(1 + prng.Below(most));
  return on ? value : 0;
}

void DrawTaskKinds(Prng& prng, Options& o) {
  o.short_task = Duration::Micros(100) + DrawSpan(prng, Duration::Millis(60));
  o.long_task = Duration::Millis(200) + DrawSpan(prng, Duration::Seconds(100));
  o.long_percent = prng.Chance(50) ? static_cast<unsigned>(prng.Below(101)) : 0;
  o.fail_percent = Maybe(prng, 60, 40);
  o.doomed_percent = Maybe(prng, 40, 30);
  o.odd_percent = Maybe(prng, 30, 30);
  o.vanish_percent = Maybe(prng, 30, 20);
  o.deaf_percent = Maybe(prng, 40, 50);
  o.hog_percent = Maybe(prng, 20, 30);
  o.output_percent = Maybe(prng, 50, 100);
  o.bad_row_percent = Maybe(prng, 10, 10);
  o.live_output = prng.Chance(10);
}

void DrawJobKinds(Prng& prng, Options& o) {
  o.mixed_needs = prng.Chance(50);
  o.retries = prng.Chance(60);
  o.retry_delay = prng.Chance(30);
  o.retry_on_some = prng.Chance(20);
  o.once = prng.Chance(20);
  o.halt = prng.Chance(25);
  o.max_failures = prng.Chance(20);
  o.shuffle = prng.Chance(30);
  o.open = prng.Chance(25);
  o.time_limit = prng.Chance(20);
  o.time_limit_percent = prng.Chance(15);
  o.warn_time = prng.Chance(15);
  o.start_delay = prng.Chance(10);
  o.load_bound = prng.Chance(10);
  o.value_rows = prng.Chance(30);
}

void DrawTroubles(Prng& prng, Options& o) {
  o.ctrl_c = prng.Chance(30);
  o.hold_release = prng.Chance(20);
  o.output_blocked = prng.Chance(15);
  o.list_changes = prng.Chance(30);
  o.redo_failed = prng.Chance(30);
  o.crashes = prng.Chance(75) ? static_cast<uint32_t>(1 + prng.Below(10)) : 0;
  uint64_t work = 10 + uint64_t{o.tasks} * 8;  // about the points of a whole run
  o.crash_after = 2 + prng.Below(prng.Chance(50) ? work : 30);
  o.crash_in_resume = prng.Chance(30);
  o.commit_failures = prng.Chance(15);
  o.clock_steps_back = prng.Chance(20);
  bool cut = prng.Chance(o.nodes > 1 ? 60 : 15);
  int64_t life = 50 + static_cast<int64_t>(prng.Below(prng.Chance(50) ? 2000 : 200'000));
  if (cut) o.node_life = Duration::Millis(life);
  o.orphans_live_on = prng.Chance(40);
  o.echo_percent = Maybe(prng, 20, 50);
}

// Nothing but the black holes gives a task a reason to fail, and there is always a node without.
void DrawBlackHoles(Prng prng, Options& o) {
  o.black_holes = prng.Chance(10);
  if (!o.black_holes) return;
  o.nodes = std::max(o.nodes, 2u);
  o.fail_percent = o.doomed_percent = o.odd_percent = o.vanish_percent = o.hog_percent = 0;
  o.bad_row_percent = o.long_percent = o.node_crashes = o.sick_percent = 0;
  o.node_life = {};
  o.drain = o.remove = o.leaving = o.late_nodes = o.suspend = o.cancel = o.load_bound = false;
  o.once = o.halt = o.max_failures = o.time_limit = o.time_limit_percent = false;
  o.retry_on_some = o.start_delay = o.after = o.mixed_needs = false;
}

// A hub's world has its own people and nodes; what those of a run do is taken back.
void DrawHub(Prng prng, bool tasks_given, Options& o) {
  o.ctrl_c = o.output_blocked = o.list_changes = o.redo_failed = o.orphans_live_on = false;
  o.clock_steps_back = false;
  o.hub = true;
  o.nodes = static_cast<uint32_t>(1 + prng.Below(prng.Chance(80) ? 4 : 8));
  o.jobs = static_cast<uint32_t>(1 + prng.Below(prng.Chance(80) ? 5 : 12));
  o.users = static_cast<uint32_t>(1 + prng.Below(3));
  o.slots = static_cast<uint32_t>(1 + prng.Below(prng.Chance(80) ? 4 : 16));
  o.patience = Duration::Seconds(static_cast<int64_t>(prng.Chance(50) ? 60 : 2));
  o.priorities = prng.Chance(40);
  o.after = prng.Chance(50);
  o.max_running = prng.Chance(30);
  o.user_rules = prng.Chance(30);
  o.cancel = prng.Chance(30);
  o.hold_release = prng.Chance(40);
  o.redo_failed = prng.Chance(50);
  o.late_nodes = prng.Chance(50);
  o.leaving = prng.Chance(30);
  o.drain = prng.Chance(30);
  o.remove = prng.Chance(25);
  o.sick_percent = Maybe(prng, 25, 60);
  o.node_crashes = prng.Chance(60) ? static_cast<uint32_t>(1 + prng.Below(20)) : 0;
  o.adopt_percent = prng.Chance(75) ? static_cast<unsigned>(prng.Below(101)) : 0;
  o.node_clocks = prng.Chance(30);
  o.suspend = prng.Chance(20);
  o.hub_stops = prng.Chance(25);
  o.link_latency = std::max(o.link_latency, Duration::Micros(1));
  o.fair = prng.Chance(10) && !tasks_given;  // it needs many
  if (!o.fair) return DrawBlackHoles(Prng(prng.Next()), o);
  o.users = 2 + static_cast<uint32_t>(prng.Below(2));
  o.jobs = o.users + static_cast<uint32_t>(prng.Below(3));
  o.nodes = std::min(o.nodes, 3u);
  o.slots = 2 + o.slots % 6;
  o.tasks = std::max(o.tasks, 200 * o.users);
  o.long_percent = o.sick_percent = o.odd_percent = 0;  // a job avoids nodes that start nothing
  o.load_bound = false;
  o.node_life = {};  // what a silent node has counts as in use
  o.patience = Duration::Seconds(2);
  o.short_task = Duration::Millis(10) + o.short_task * 4;
  o.commit_max = std::min(o.commit_max, o.commit_min + Duration::Millis(10));
  o.hold_release = o.cancel = o.retry_delay = o.start_delay = o.once = o.priorities = false;
  o.mixed_needs = o.after = o.halt = o.max_failures = o.max_running = o.user_rules = o.open = false;
  o.time_limit = o.time_limit_percent = false;  // some tasks would be far shorter than others
}

void DrawPools(Prng prng, Options& o) {
  o.pools = static_cast<uint32_t>(1 + prng.Below(2));
  o.queue_most = prng.Chance(50) ? Duration::Seconds(300) : Duration::Seconds(4 * 3600);
  o.batch_slow_percent = Maybe(prng, 50, 25);
  o.batch_refuses_percent = Maybe(prng, 40, 40);
  o.batch_garbles_percent = Maybe(prng, 40, 25);
  o.batch_forgets_percent = Maybe(prng, 40, 25);
  o.batch_kills_percent = Maybe(prng, 50, 50);
  o.sick_percent = 0;    // pilots would be so, too, and their work has nowhere else to go
  o.load_bound = false;  // a look each second, for hours
  o.glutton = Prng(Derive(o.seed, 26)).Chance(40);
}

// Shares are judged of single tasks.
void DrawGangs(Prng prng, Options& o) {
  if (o.fair) return;
  o.gangs = prng.Chance(45);
  o.gang_policy = static_cast<GangPolicy>(prng.Below(kCountOf<GangPolicy>));
  if (prng.Chance(40)) o.gang_policy = GangPolicy::kFair;
  if (prng.Chance(o.gangs ? 75 : 20)) o.estimates = static_cast<Estimates>(1 + prng.Below(3));
  o.deadlines = o.hub && prng.Chance(25);
  o.roomless = o.hub && o.gangs && o.nodes > 1 && prng.Chance(30);
}

// Single tasks take every slot that comes free, for longer than the first gang may have to wait;
// nothing else happens.
void DrawStream(Prng prng, Options& o) {
  Options calm;
  calm.seed = o.seed;
  calm.hub = calm.stream = calm.gangs = true;
  calm.cheat = Prng(Derive(o.seed, 43)).Chance(50);
  calm.users = calm.jobs = calm.cheat ? 1 : 2;
  calm.nodes = static_cast<uint32_t>(1 + prng.Below(2));
  calm.slots = static_cast<uint32_t>(2 + prng.Below(3));
  calm.tasks = 300 * calm.slots * calm.nodes;
  calm.short_task = Duration::Seconds(2);
  calm.estimates = Estimates::kRight;
  calm.gang_policy = o.gang_policy;
  calm.patience = Duration::Seconds(60);
  calm.forget_nodes = Duration::Seconds(1800);
  calm.commit_min = std::min(o.commit_min, Duration::Millis(3));
  calm.commit_max = calm.commit_min + Duration::Millis(3);
  calm.link_latency = Duration::Micros(100);
  calm.executor_latency = Duration::Micros(100);
  o = calm;
}

// Shares, and what gangs are told, are judged of jobs that stay as they are.
void DrawChanges(Prng prng, Options& o) {
  const bool calm = o.fair || o.gangs || o.black_holes;
  o.set = prng.Chance(30) && !calm;
  o.withdraw = prng.Chance(20) && !calm;
  Prng steer(Derive(o.seed, 45));
  o.steer = steer.Chance(35) && !o.fair && !o.black_holes;
  if (o.steer && steer.Chance(30))
    o.max_frozen = Duration::Seconds(5 + static_cast<int64_t>(steer.Below(200)));
  o.resize = Prng(Derive(o.seed, 74)).Chance(40) && !calm && o.pools == 0;
  o.forget_nodes = Duration::Seconds(prng.Chance(50) && o.pools == 0 ? 5 : 1800);
}

}  // namespace

Limits Options::limits() const {
  Limits limits;
  limits.lease_tasks = lease_tasks;
  if (hub) limits.node_patience = patience;
  if (max_frozen.ns > 0) limits.max_frozen = max_frozen;
  if (hub) limits.pool_records = 60;  // so that images come often
  return limits;
}

Options DrawOptions(uint64_t seed, std::optional<uint32_t> tasks, Worlds worlds) {
  Prng prng(Derive(seed, 1));
  Options o;
  o.seed = seed;
  o.tasks = DrawTasks(prng);
  if (tasks) o.tasks = *tasks;
  o.jobs = static_cast<uint32_t>(prng.Chance(70) ? 1 : 2 + prng.Below(2));
  o.nodes = static_cast<uint32_t>(prng.Chance(60) ? 1 : 2 + prng.Below(2));
  o.slots = static_cast<uint32_t>(1 + prng.Below(prng.Chance(80) ? 8 : 64));
  constexpr uint32_t kLeases[] = {1, 2, 7, 256, 256, 256};
  o.lease_tasks = kLeases[prng.Below(std::size(kLeases))];
  o.commit_min = DrawSpan(prng, Duration::Millis(3));
  o.commit_max = o.commit_min + DrawSpan(prng, Duration::Millis(prng.Chance(80) ? 10 : 3000));
  if (prng.Chance(60)) o.link_latency = DrawSpan(prng, Duration::Millis(50));
  if (prng.Chance(80)) o.executor_latency = DrawSpan(prng, Duration::Millis(5));
  DrawTaskKinds(prng, o);
  DrawJobKinds(prng, o);
  DrawTroubles(prng, o);
  Prng of_hub(Derive(seed, 9));
  bool hub = of_hub.Chance(50);
  if (worlds != Worlds::kBySeed) hub = worlds == Worlds::kHub;
  if (hub) {
    DrawHub(of_hub, tasks.has_value(), o);
    o.liars = Prng(Derive(seed, 10)).Chance(25);
    o.greedy = Prng(Derive(seed, 13)).Chance(25);
    o.forget = Prng(Derive(seed, 30)).Chance(50);
  }
  o.graph = Prng(Derive(seed, 14)).Chance(30) && !o.fair && !o.black_holes;
  Prng of_pools(Derive(seed, 15));
  if (hub && !o.fair && !o.black_holes && of_pools.Chance(35)) DrawPools(of_pools, o);
  DrawGangs(Prng(Derive(seed, 19)), o);
  if (hub && !tasks && Prng(Derive(seed, 32)).Chance(2)) DrawStream(Prng(Derive(seed, 33)), o);
  if (hub && !o.stream) DrawChanges(Prng(Derive(seed, 31)), o);
  const bool others = hub && o.nodes > 1 && !o.fair && !o.black_holes && !o.stream;
  o.silent_node = others && Prng(Derive(seed, 25)).Chance(20);
  o.full_disk = others && !o.gangs && o.pools == 0 && Prng(Derive(seed, 44)).Chance(20);
  return o;
}

uint64_t PlanCrash(const Options& options, uint32_t lives, uint32_t crashes, Prng& prng) {
  if (options.first_crash > 0) return lives == 0 ? options.first_crash : 0;
  if (crashes == 0) return 0;
  if (options.crash_in_resume && lives > 0 && prng.Chance(40)) return 1 + prng.Below(6);
  return prng.Chance(85) ? 1 + prng.Below(2 * options.crash_after) : 0;
}

namespace {

class Words {
 public:
  explicit Words(const char* indent) : indent_(indent), line_(indent) {}
  void Add(std::string word) {
    constexpr size_t kColumns = 100;
    if (line_.size() + word.size() + 1 > kColumns) Break();
    if (line_.size() > indent_.size()) line_ += ' ';
    line_ += word;
  }
  void Count(const char* name, uint64_t value) {
    if (value > 0) Add(fmt::format("{}={}", name, value));
  }
  void Flag(const char* name, bool on) {
    if (on) Add(name);
  }
  void Time(const char* name, Duration value) {
    if (value.ns > 0) Add(fmt::format("{}={}us", name, value.micros()));
  }
  std::string Take() {
    Break();
    return std::move(text_);
  }

 private:
  void Break() {
    if (line_.size() > indent_.size()) text_ += line_ + "\n";
    line_ = indent_;
  }
  std::string indent_;
  std::string line_;
  std::string text_;
};

void DescribeHub(const Options& o, Words& words) {
  words.Count("hub users", o.users);
  words.Time("patience", o.patience);
  words.Flag("priorities", o.priorities);
  words.Flag("after", o.after);
  words.Flag("max-running", o.max_running);
  words.Flag("user-rules", o.user_rules);
  words.Flag("cancel", o.cancel);
  words.Flag("steer", o.steer);
  words.Time("max-frozen", o.max_frozen);
  words.Flag("forget", o.forget);
  words.Flag("set", o.set);
  words.Flag("withdraw", o.withdraw);
  words.Flag("resize", o.resize);
  words.Time("forget-nodes", o.forget_nodes);
  words.Flag("fair", o.fair);
  words.Flag("black-holes", o.black_holes);
  words.Flag("late-nodes", o.late_nodes);
  words.Flag("leaving", o.leaving);
  words.Flag("liars", o.liars);
  words.Flag("greedy", o.greedy);
  words.Flag("drain", o.drain);
  words.Flag("remove", o.remove);
  words.Count("sick%", o.sick_percent);
  words.Count("adopt%", o.adopt_percent);
  words.Count("node-crashes", o.node_crashes);
  words.Flag("node-clocks", o.node_clocks);
  words.Flag("suspend", o.suspend);
  words.Flag("silent-node", o.silent_node);
  words.Flag("full-disk", o.full_disk);
  words.Flag("hub-stops", o.hub_stops);
  words.Count("pools", o.pools);
  words.Flag("glutton", o.glutton);
  words.Time("queue-most", o.queue_most);
  words.Count("batch-slow%", o.batch_slow_percent);
  words.Count("batch-refuses%", o.batch_refuses_percent);
  words.Count("batch-garbles%", o.batch_garbles_percent);
  words.Count("batch-forgets%", o.batch_forgets_percent);
  words.Count("batch-kills%", o.batch_kills_percent);
}

}  // namespace

std::string Describe(const Options& o, const char* indent) {
  Words words(indent);
  words.Add(fmt::format("tasks={} jobs={} nodes={} slots={} lease-tasks={}", o.tasks, o.jobs,
                        o.nodes, o.slots, o.lease_tasks));
  words.Add(fmt::format("commit={}-{}us", o.commit_min.micros(), o.commit_max.micros()));
  words.Time("link", o.link_latency);
  words.Time("executor", o.executor_latency);
  words.Time("short-task", o.short_task);
  if (o.long_percent > 0) words.Time("long-task", o.long_task);
  words.Count("long%", o.long_percent);
  words.Count("fail%", o.fail_percent);
  words.Count("doomed%", o.doomed_percent);
  words.Count("odd%", o.odd_percent);
  words.Count("vanish%", o.vanish_percent);
  words.Count("deaf%", o.deaf_percent);
  words.Count("hog%", o.hog_percent);
  words.Count("output%", o.output_percent);
  words.Count("bad-row%", o.bad_row_percent);
  words.Flag("live-output", o.live_output);
  words.Flag("mixed-needs", o.mixed_needs);
  words.Flag("graph", o.graph);
  if (o.gangs) words.Add(fmt::format("gangs={}", WordOf(o.gang_policy)));
  constexpr const char* kEstimates[] = {"none", "right", "short", "mixed"};
  if (o.estimates != Estimates::kNone) {
    words.Add(fmt::format("estimates={}", kEstimates[static_cast<size_t>(o.estimates)]));
  }
  words.Flag("deadlines", o.deadlines);
  words.Flag("roomless", o.roomless);
  words.Flag("stream", o.stream);
  words.Flag("cheat", o.cheat);
  words.Flag("retries", o.retries);
  words.Flag("retry-delay", o.retry_delay);
  words.Flag("retry-on-some", o.retry_on_some);
  words.Flag("once", o.once);
  words.Flag("halt", o.halt);
  words.Flag("max-failures", o.max_failures);
  words.Flag("shuffle", o.shuffle);
  words.Flag("open", o.open);
  words.Flag("time-limit", o.time_limit);
  words.Flag("time-limit-percent", o.time_limit_percent);
  words.Flag("warn-time", o.warn_time);
  words.Flag("start-delay", o.start_delay);
  words.Flag("load-bound", o.load_bound);
  words.Flag("value-rows", o.value_rows);
  words.Flag("ctrl-c", o.ctrl_c);
  words.Flag("hold-release", o.hold_release);
  words.Flag("output-blocked", o.output_blocked);
  words.Flag("list-changes", o.list_changes);
  words.Flag("redo-failed", o.redo_failed);
  words.Count("crashes", o.crashes);
  if (o.crashes > 0) words.Count("crash-after", o.crash_after);
  words.Flag("crash-in-resume", o.crash_in_resume && o.crashes > 0);
  words.Flag("commit-failures", o.commit_failures);
  words.Flag("clock-steps-back", o.clock_steps_back);
  words.Time("node-life", o.node_life);
  words.Flag("orphans-live-on", o.orphans_live_on && o.node_life.ns > 0);
  words.Count("echo%", o.echo_percent);
  words.Count("first-crash", o.first_crash);
  DescribeHub(o, words);
  return words.Take();
}

}  // namespace spate::sim
