// The functions of spate/mw.h.
#include <spate/mw.h>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <utility>

#include "doors/mw/formats/options.h"
#include "doors/mw/formats/packet.h"
#include "doors/mw/run/algorithms.h"
#include "doors/mw/run/master_impl.h"
#include "doors/mw/run/slave_impl.h"
#include "os/file.h"
#include "os/file_size.h"
#include "os/process.h"
#include "os/terminal.h"
#include "os/thread.h"
#include "wire/limits.h"

namespace spate::mw {
inline namespace v1 {

std::string version() { return SPATE_VERSION; }

void detail::add_algorithm(std::string_view name, std::string types, byte_function function) {
  Algorithms::Get().Add(name, std::move(types), std::move(function));
}

// ---- Constants ---------------------------------------------------------------------------------

namespace {

thread_local const detail::constant_list* readable = nullptr;  // by this thread

}  // namespace

detail::reading_arguments::reading_arguments(const constant_list& constants)
    : before_(std::exchange(readable, &constants)) {}
detail::reading_arguments::~reading_arguments() { readable = before_; }

std::shared_ptr<detail::constant_value> detail::constant_of(std::uint64_t id) {
  if (readable == nullptr) {
    throw error("a constant can be a part of arguments only, not of results or other values");
  }
  auto at = std::ranges::find(*readable, id, &constant_value::id);
  if (at != readable->end()) return *at;
  throw error(
      "arguments name a constant that did not come with them: submit them with task::constants");
}

// ---- The master --------------------------------------------------------------------------------

task_id master::submit_bytes(std::string_view algorithm, const policy& how, std::string arguments,
                             detail::constant_list constants) {
  return impl_.Submit(algorithm, how, std::move(arguments), std::move(constants));
}

std::shared_ptr<detail::constant_value> master::broadcast_bytes(std::string bytes) {
  auto made = impl_.constants->Add(std::move(bytes));
  if (!made) throw error(made.error().message);
  return *made;
}

events master::wait(std::chrono::nanoseconds most) { return impl_.Wait(most); }
std::vector<result> master::take_results() { return impl_.TakeResults(); }
std::vector<task> master::take_unrunnable() { return impl_.Drain(&Inbox::unrunnable); }
std::vector<slave_info> master::take_arrived() { return impl_.Drain(&Inbox::arrived); }
std::vector<slave_info> master::take_lost() { return impl_.Drain(&Inbox::lost); }

void master::set_target_of(std::string_view algorithm, std::size_t count) {
  impl_.targets[std::string(algorithm)] = count;
}

std::size_t master::target_of(std::string_view algorithm) const {
  auto at = impl_.targets.find(algorithm);
  return at == impl_.targets.end() ? 0 : at->second;
}

std::size_t master::pending_of(std::string_view algorithm) const {
  auto at = impl_.pending.find(algorithm);
  return at == impl_.pending.end() ? 0 : at->second;
}

std::size_t master::room_of(std::string_view algorithm) const {
  const std::size_t target = target_of(algorithm);
  return target - std::min(target, pending_of(algorithm));
}

std::size_t master::num_results() const {
  std::lock_guard lock(impl_.inbox.mutex);
  return impl_.inbox.results.size();
}

std::size_t master::num_runnable() const {
  std::lock_guard lock(impl_.inbox.mutex);
  return impl_.unsent.size() + impl_.inbox.runnable;
}

std::size_t master::num_unrunnable() const {
  std::lock_guard lock(impl_.inbox.mutex);
  return impl_.inbox.unrunnable.size();
}

std::size_t master::slaves() const {
  std::lock_guard lock(impl_.inbox.mutex);
  return impl_.inbox.slaves;
}

void master::allocate(group which, std::size_t count) {
  impl_.hub->AdjustWanted(which, static_cast<int64_t>(count));
}

void master::deallocate(group which, std::size_t count) {
  impl_.hub->AdjustWanted(which, -static_cast<int64_t>(count));
}

bool master::free_slave(slave_id slave) {
  impl_.Send();
  return impl_.hub->Free(slave);
}

std::vector<slave_info> master::list_slaves() const { return impl_.hub->ListSlaves(); }

std::size_t master::cancel(const std::vector<task_id>& tasks) { return impl_.Cancel(tasks); }
std::size_t master::cancel_all() { return impl_.Cancel(std::nullopt); }

const std::optional<mw::restored>& master::restored() const { return impl_.left; }

void master::checkpoint(std::string state) {
  impl_.Send();
  if (!impl_.hub->has_state()) return;
  auto written =
      impl_.hub->Checkpoint(std::exchange(impl_.taken, {}), std::move(state), impl_.last_task);
  if (!written) throw error(written.error().message);
  impl_.kept_up_to = {impl_.last_task};
}

// ---- The slave ---------------------------------------------------------------------------------

namespace {

// The packet in work on this thread.
struct Computing {
  const Workbench& bench;
  const Workbench::Packet& packet;
};
thread_local const Computing* computing = nullptr;

}  // namespace

bool stop_requested() {
  return computing != nullptr && computing->bench.IsStopped(computing->packet.slot);
}

std::vector<std::string> pieces_of(std::string_view resource) {
  if (computing == nullptr) return {};
  const std::vector<NamedOffer>& all = computing->packet.pieces;
  auto at = std::ranges::find(all, resource, &NamedOffer::name);
  return at == all.end() ? std::vector<std::string>() : at->indices;
}

bool Seat::Step(std::chrono::nanoseconds most) {
  if (!packet_) {
    packet_ = bench_.Dequeue(slot_, most);
    if (!packet_) return false;
    auto calls = ReadCalls(packet_->calls);
    calls_ = calls ? std::move(*calls) : std::vector<Call>();
    next_ = 0;
    group_ = calls_.size();
    // A slave that is lost counts for the packet that it was in, not for the one before.
    const bool counts = !calls_.empty() && calls_.front().counts_losses;
    const bool waits = std::exchange(counts_losses_, counts) || counts;
    if (waits && !bench_.AwaitGo(*packet_)) next_ = calls_.size();
    began_ = os::MonotonicNanos();
    start_ = clock_.Now();
  }
  // Tasks that nobody waits for any more are not computed.
  if (next_ < calls_.size() && !Compute(calls_[next_++])) next_ = calls_.size();
  left_.store(calls_.size() - next_, std::memory_order_relaxed);
  if (next_ < calls_.size()) return true;
  bench_.Finish(std::move(*packet_), std::exchange(answers_, {}), start_,
                {os::MonotonicNanos() - began_});
  packet_.reset();
  calls_.clear();
  return true;
}

bool Seat::Compute(const Call& call) {
  mw::Answer answer{.task = call.task};
  std::string bytes;
  const detail::byte_function* algorithm = Algorithms::Get().Find(call.algorithm);
  if (algorithm == nullptr) answer.end = CallEnd::kUnknown;
  const Computing now{bench_, *packet_};
  computing = &now;
  detail::constant_list constants;
  // The time that it takes to get them does not count.
  if (!call.constants.empty()) bytes = Fetch(call, constants);
  const bool lacks = !bytes.empty();
  if (lacks) answer.end = CallEnd::kThrew;
  const detail::reading_arguments scope(constants);
  bench_.Compute(slot_, call.algorithm, call.task, call.limit);
  for (uint32_t left = lacks ? 0 : call.tries; algorithm != nullptr && left > 0; --left) {
    const int64_t began = os::MonotonicNanos();
    try {
      bytes = (*algorithm)(call.arguments);
      answer.end = bytes.size() > kResultBytes ? CallEnd::kTooLong : CallEnd::kDone;
      if (answer.end == CallEnd::kTooLong) bytes.clear();
    } catch (const std::exception& thrown) {
      answer.end = CallEnd::kThrew;
      bytes = thrown.what();
    } catch (...) {
      answer.end = CallEnd::kThrew;
      bytes = "the algorithm threw something other than a std::exception";
    }
    answer.time = {os::MonotonicNanos() - began};
    if (answer.end != CallEnd::kThrew || bench_.IsStopped(slot_)) break;
  }
  computing = nullptr;
  answer.bytes = bytes;
  AddAnswer(answers_, answer);
  computed_.store(computed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return bench_.Computed(*packet_);
}

std::string Seat::Fetch(const Call& call, detail::constant_list& constants) {
  return bench_.constants().Await(call.constants, constants,
                                  [this] { return bench_.IsStopped(slot_); });
}

slave::impl::impl(uint16_t slots) : bench(slots) {
  for (uint32_t slot = 1; slot <= slots; ++slot) {
    seats_.push_back(std::make_unique<Seat>(bench, static_cast<uint16_t>(slot)));
  }
}

Seat& slave::impl::First() {
  while (threads_.size() + 1 < seats_.size()) {
    threads_.push_back(os::ThreadWithoutSignals([seat = seats_[threads_.size() + 1].get()] {
      while (seat->Step(std::chrono::nanoseconds::max())) {
      }
    }));
  }
  return *seats_.front();
}

void slave::impl::Close() {
  bench.Close();
  for (std::thread& each : threads_) each.join();
  threads_.clear();
}

slave_status slave::impl::Status() const {
  slave_status status = bench.Status();
  status.group_size = seats_.front()->group();
  for (const auto& each : seats_) {
    status.computed += each->computed();
    status.tasks_left += each->left();
  }
  return status;
}

slave_status slave::run() {
  Seat& seat = impl_.First();
  while (seat.Step(std::chrono::nanoseconds::max())) {
  }
  return status();
}

slave_status slave::work() {
  Seat& seat = impl_.First();
  bool more = seat.Step(std::chrono::nanoseconds::max());
  while (more) more = seat.Step(std::chrono::nanoseconds(0));
  return status();
}

slave_status slave::step(std::chrono::nanoseconds most) {
  (void)impl_.First().Step(most);
  return status();
}

slave_status slave::status() const { return impl_.Status(); }
slave_id slave::id() const { return impl_.bench.id(); }
std::size_t slave::slots() const { return impl_.bench.slots(); }

// ---- The program -------------------------------------------------------------------------------

namespace {

constexpr int kUsage = 1;
constexpr int kMasterFailed = 2;
constexpr int kFailed = 255;
// For values on their way, of which a few are there at once.
constexpr size_t kFreedMemory = 32 << 20;

void Say(const std::string& program, const std::string& text) {
  (void)os::WriteAll(os::kStderr, fmt::format("{}: {}\n", program, text), "standard error");
}

// The result of the application's function; nullopt: it threw something, which is reported.
std::optional<int> Called(const std::string& program, const std::function<int()>& function) {
  try {
    return function();
  } catch (const std::exception& thrown) {
    Say(program, fmt::format("ended by an exception: {}", thrown.what()));
  } catch (...) {
    Say(program, "ended by an exception");
  }
  return std::nullopt;
}

int RunMaster(const Options& options, const std::function<int(master&)>& function) {
  const std::string& program = options.rest.front();
  auto inside = master::impl::Open(options);
  if (!inside) {
    Say(program, inside.error().message);
    return kFailed;
  }
  master self(**inside);
  const std::optional<int> code = Called(program, [&] { return function(self); });
  // One that was to go on after whatever comes has not finished: its slaves look for the next one.
  if (code || options.state_dir.empty()) (*inside)->hub->Finish(/*failed=*/!code);
  return code && *code >= 0 && *code <= kFailed ? *code : kFailed;
}

int RunSlave(const Options& options, const std::function<int(slave&)>& function) {
  const std::string& program = options.rest.front();
  slave::impl inside(static_cast<uint16_t>(options.slots));
  auto node = SlaveNode::Open(options, inside.bench,
                              [program](const std::string& text) { Say(program, text); });
  if (!node) {
    Say(program, node.error().message);
    return kFailed;
  }
  inside.node = std::move(*node);
  slave self(inside);
  const std::optional<int> code = Called(program, [&] { return function(self); });
  inside.Close();  // results of other slots leave, too
  inside.node.reset();
  if (auto why = inside.bench.why_lost(); !why.empty()) Say(program, why);
  // However it was computed: a batch system is to start it again unless it is over.
  if (code && *code == 0) return 0;
  return code && inside.bench.Status().master_failed ? kMasterFailed : kFailed;
}

}  // namespace

int detail::run(int argc, char** argv, const master_function& as_master,
                const slave_function& as_slave) {
  os::FillStandardStreams();
  os::FailBeyondFileSize();
  os::KeepFreedMemory(kFreedMemory);
  const std::vector<std::string> args(argv, argv + argc);
  auto options = ReadOptions(args, SPATE_VERSION);
  if (!options) {
    const int where = options.error().is_error ? os::kStderr : os::kStdout;
    (void)os::WriteAll(where, options.error().text, "the usage");
    return kUsage;
  }
  if (auto sound = Algorithms::Get().Check(); !sound) {
    Say(args.front(), sound.error().message);
    return kFailed;
  }
  std::vector<char*> rest;
  for (std::string& each : options->rest) rest.push_back(each.data());
  rest.push_back(nullptr);
  const int count = static_cast<int>(options->rest.size());
  if (options->is_master) {
    return RunMaster(*options, [&](master& self) { return as_master(self, count, rest.data()); });
  }
  return RunSlave(*options, [&](slave& self) { return as_slave(self, count, rest.data()); });
}

}  // namespace v1
}  // namespace spate::mw
