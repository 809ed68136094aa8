// Master-worker programs: one program that is master and slave at once. The master makes tasks (a
// function and its arguments), slaves anywhere compute them, and results come back.
//
//   const auto square = spate::mw::algorithm<"square">([](int x) { return x * x; });
//
//   int master(spate::mw::master& m) {
//     for (int i = 0; i < 10; ++i) m.submit(square, i);
//     for (int left = 10; left > 0;) {
//       m.wait();
//       for (const auto& r : m.take_results()) std::cout << r.get(square) << '\n', --left;
//     }
//     return 0;
//   }
//
//   int main(int argc, char** argv) { return spate::mw::run(argc, argv, master); }
//
// Started with --mw-master it is the master, with --mw-slave a slave; docs/user/master-worker.md
// has all options, and what is promised when something dies.
//
// Threads: the functions of `master` and `slave` belong to the thread that run() was called on. The
// network has a thread of its own, so a master or a slave may compute for as long as it wants. A
// slave of N slots has N - 1 threads more, which call algorithms only.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "spate/bytes.h"

namespace spate::mw {
inline namespace v1 {

// "1.2.3": of the library that the program is linked with.
std::string version();

// ---- Algorithms --------------------------------------------------------------------------------

// The text of a template argument.
template <std::size_t N>
struct fixed_string {
  // NOLINTNEXTLINE(google-explicit-constructor): algorithm<"name"> needs it.
  constexpr fixed_string(const char (&text)[N]) {
    for (std::size_t i = 0; i < N; ++i) bytes[i] = text[i];
  }
  constexpr std::string_view view() const { return {bytes, N - 1}; }
  char bytes[N] = {};
};

namespace detail {

template <class F>
struct signature_of : signature_of<decltype(&F::operator())> {};
template <class R, class... A>
struct signature_of<R (*)(A...)> {
  using result = std::remove_cvref_t<R>;
  using arguments = std::tuple<std::remove_cvref_t<A>...>;
};
template <class R, class C, class... A>
struct signature_of<R (C::*)(A...)> : signature_of<R (*)(A...)> {};
template <class R, class C, class... A>
struct signature_of<R (C::*)(A...) const> : signature_of<R (*)(A...)> {};
template <class R, class... A>
struct signature_of<R (*)(A...) noexcept> : signature_of<R (*)(A...)> {};
template <class R, class C, class... A>
struct signature_of<R (C::*)(A...) const noexcept> : signature_of<R (*)(A...)> {};

struct argument_bytes {
  std::string bytes;
  constant_list constants;  // that are among the arguments
};

// True if a conversion of From to To can lose a fraction or digits.
template <class To, class From>
inline constexpr bool is_narrowing = std::is_floating_point_v<From> && std::is_arithmetic_v<To> &&
                                     (!std::is_floating_point_v<To> || sizeof(To) < sizeof(From));

// The argument as the algorithm takes it. Throws `error`: an integer does not fit.
template <class To, class From>
To converted(From&& given) {
  using from = std::remove_cvref_t<From>;
  static_assert(!is_narrowing<To, from>,
                "the argument is floating-point, but the algorithm takes an integer or a smaller "
                "floating-point type: convert the argument first (std::lround, static_cast)");
  if constexpr (std::is_integral_v<To> && std::is_integral_v<from>) {
    const To value = static_cast<To>(given);
    if (static_cast<from>(value) != given || (value < 1) != (given < 1)) {
      throw error("the algorithm's parameter type cannot hold the argument " +
                  std::to_string(given));
    }
  }
  return std::forward<From>(given);
}

// The bytes of a tuple of these, without making it: arguments may be large.
template <class Tuple, class... A>
argument_bytes encode_as(A&&... given) {
  static_assert(sizeof...(A) == std::tuple_size_v<Tuple>, "as many arguments as the algorithm has");
  writer to;
  auto put = [&]<class T, class U>(std::type_identity<T>, U&& each) {
    if constexpr (std::same_as<std::remove_cvref_t<U>, T>) {
      to(each);
    } else {
      const T value = converted<T>(std::forward<U>(each));
      to(value);
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (put(std::type_identity<std::tuple_element_t<I, Tuple>>(), std::forward<A>(given)), ...);
  }(std::index_sequence_for<A...>());
  return {to.take(), to.take_constants()};
}

// Bytes of arguments in, bytes of the result out.
using byte_function = std::function<std::string(std::string_view arguments)>;
// Notes an algorithm of this program, which must not be running yet. One that comes twice with the
// same types is one; with others, run() refuses to start.
void add_algorithm(std::string_view name, std::string types, byte_function function);

}  // namespace detail

// A function that slaves compute, under the name that it has on the way. Calling it computes it
// right here.
template <fixed_string Name, class F>
class algorithm_of {
 public:
  using result = typename detail::signature_of<F>::result;
  using arguments = typename detail::signature_of<F>::arguments;
  static constexpr std::string_view name = Name.view();

  explicit algorithm_of(F function) : function_(std::move(function)) {
    describer types;
    types.template add<arguments>();
    std::string text = types.take();
    describer gives;
    gives.template add<result>();
    detail::add_algorithm(name, text + "->" + gives.take(), [f = function_](std::string_view in) {
      arguments given = decode<arguments>(in);
      if constexpr (std::is_void_v<result>) {
        std::apply(f, std::move(given));
        return std::string();
      } else {
        return encode<result>(std::apply(f, std::move(given)));
      }
    });
  }
  template <class... A>
  decltype(auto) operator()(A&&... given) const {
    return function_(std::forward<A>(given)...);
  }

 private:
  F function_;
};

// Makes an algorithm of a function or a lambda without templates, in master and slave alike: best
// as a constant outside of all functions. Arguments and result as spate/bytes.h takes them; what is
// taken by reference is read only. What it throws comes back as the result's error. A slave with
// several slots (--mw-slots) calls algorithms on several threads at once, also the same one.
template <fixed_string Name, class F>
auto algorithm(F function) {
  return algorithm_of<Name, std::decay_t<F>>(std::move(function));
}

// ---- Constants ---------------------------------------------------------------------------------

namespace detail {

// Of the library: the value of a constant, which all that name it share. Thread: any.
class constant_value {
 public:
  // Makes the value from its bytes; throws `error`.
  using decoder = std::shared_ptr<const void> (*)(std::string_view bytes);

  constant_value(std::uint64_t id, std::uint64_t size) : id_(id), size_(size) {}
  virtual ~constant_value() = default;
  constant_value(const constant_value&) = delete;
  constant_value& operator=(const constant_value&) = delete;

  // No other constant has it, of whatever master.
  std::uint64_t id() const { return id_; }
  std::uint64_t size() const { return size_; }  // in bytes, on its way
  // The value, made by the first call; it lives as long as this. Throws `error`: the bytes cannot
  // be read, or are of another type.
  virtual const void* get(const std::type_info& type, decoder make) = 0;

 private:
  const std::uint64_t id_;
  const std::uint64_t size_;
};

// While it lives, arguments that this thread reads may name these constants, which outlive it.
class reading_arguments {
 public:
  explicit reading_arguments(const constant_list& constants);
  ~reading_arguments();
  reading_arguments(const reading_arguments&) = delete;
  reading_arguments& operator=(const reading_arguments&) = delete;

 private:
  const constant_list* before_;
};
// Throws `error`: what this thread reads are no arguments, or none that name this constant.
std::shared_ptr<constant_value> constant_of(std::uint64_t id);

}  // namespace detail

// A value that many tasks have in common, as an argument of each: master::broadcast() makes it, and
// a slave gets the value once, with the first task that needs it. Copies are cheap, and share the
// value. Slaves keep it until no copy of the master and no task has it any more. A constant may be
// a part of arguments (in a struct, a vector), not of results or of other constants.
//
// Thread: any; the value is read only.
template <class T>
class constant {
 public:
  // One without a value, which cannot be an argument.
  constant() = default;
  explicit operator bool() const { return of_ != nullptr; }
  // The value, which lives as long as a copy of the constant. On a master, the first call decodes
  // it from its bytes. Throws `error` without a value.
  const T& operator*() const { return *get(); }
  const T* operator->() const { return get(); }

  template <class Archive>
  void serialize(Archive& archive) {
    if constexpr (std::is_same_v<Archive, describer>) {
      archive(std::uint64_t());
      archive.template add<T>();
    } else if constexpr (Archive::reads) {
      std::uint64_t id = 0;
      archive(id);
      of_ = detail::constant_of(id);
      (void)get();
    } else {
      if (!of_) throw error("a constant without a value cannot be an argument");
      archive(of_->id());
      archive.names(of_);
    }
  }

 private:
  friend class master;
  explicit constant(std::shared_ptr<detail::constant_value> of) : of_(std::move(of)) {}
  const T* get() const {
    if (!of_) throw error("the constant has no value: make it with master::broadcast()");
    return static_cast<const T*>(
        of_->get(typeid(T), [](std::string_view bytes) -> std::shared_ptr<const void> {
          return std::make_shared<const T>(decode<T>(bytes));
        }));
  }
  std::shared_ptr<detail::constant_value> of_;
};

// ---- Tasks and slaves --------------------------------------------------------------------------

// Numbers, from 1, in the order of submission: TASK-m in an audit file. 0 is none.
struct task_id {
  std::uint64_t value = 0;
  friend auto operator<=>(const task_id&, const task_id&) = default;
};
// SLAVE-n, from 1, in the order of arrival at this master. 0 is none.
struct slave_id {
  std::uint64_t value = 0;
  explicit operator bool() const { return value != 0; }
  friend auto operator<=>(const slave_id&, const slave_id&) = default;
};

// What a slave computes:
enum class group : std::uint8_t {
  unordered,    // tasks that are for no particular slave
  intermingle,  // the tasks for this slave first, then others
  ordered,      // only the tasks for this slave
};

// The resources that a task holds while it is computed. Slaves offer them (--mw-slots, --mw-memory,
// --mw-resource, --mw-label); a task waits for a slave that offers enough.
struct needs {
  // So many pieces of a resource, such as "gpus"; names as --mw-resource has them, each once, at
  // most 16. An algorithm asks which ones it has by pieces_of().
  struct resource {
    std::string name;
    std::uint32_t count = 1;  // from 1
    friend bool operator==(const resource&, const resource&) = default;
  };
  // Threads that the task computes with: it takes the room of so many tasks. From 1 to 4096.
  std::uint32_t slots = 1;
  // Bytes. A slave that does not say how much it has takes any. Nothing enforces them.
  std::uint64_t memory = 0;
  std::vector<resource> resources = {};
  std::vector<std::string> labels = {};  // the slave has all of them; at most 16
  friend bool operator==(const needs&, const needs&) = default;
};

// How a task is to be computed.
struct policy {
  // For this slave, which computes its tasks in the order of their submission. None: for any.
  slave_id slave = {};
  // Comes back with the result. For values of other types: encode() and decode().
  std::string tag = {};
  // When its slave has gone, or is not one that takes tasks of its own (any more): any slave may
  // compute it. Else it is handed back (take_unrunnable).
  bool do_it_anyway = false;
  // When the slave that has it goes, another one may compute it. Else it is handed back: it may
  // have been computed, or in part.
  bool retry = true;
  // So often its slave calls an algorithm that throws, at least 1, before the result has its error.
  std::uint32_t tries = 1;
  // Slaves that may be lost while they compute the task; the loss of the last one ends the task
  // with a failure. 0: no limit, another slave always computes it. Slaves that are lost with a
  // packet of several tasks do not count, because another task may be to blame. The loss of a slave
  // counts for each task that its slots compute. Before and after a task with a limit its slot
  // waits once for the master, so that no other task is blamed.
  std::uint32_t losses = 0;
  // The longest that a slave may compute the task, all its tries together; 0: no limit. Then the
  // result has a failure, and the slave ends with 255, because nothing else stops an algorithm.
  std::chrono::nanoseconds time{0};
  // Of the tasks that wait for a slave, the one of the highest priority goes out next; of equal
  // ones the one that was submitted first. Not a number (NaN) is refused.
  double priority = 0;
  // The resources that the task holds. Tasks that have not ended may have 1000 different needs; one
  // with others is handed back. With `slave`, the order holds among tasks of equal needs.
  mw::needs needs = {};
};

// A slave, as it was when this was returned.
struct slave_info {
  slave_id id;
  mw::group group = group::ordered;
  std::string name;  // SLAVE-n, as in the audit file
  // The address and port that it connected from; where it came by a socket, the master's host.
  std::string host;
  // Tasks that it computes at once; 1 until it has said how many, right after its arrival.
  std::uint32_t slots = 1;
  std::size_t tasks = 0;   // that it has and that have not ended
  std::uint64_t done = 0;  // tasks whose results it returned
  bool busy() const { return tasks > 0; }
};

// A task that was handed back.
struct task {
  task_id id;
  std::string algorithm;
  policy how;
  std::string arguments;                 // as bytes
  std::string reason;                    // in words
  detail::constant_list constants = {};  // that the arguments name

  // What it was submitted with.
  template <class Algorithm>
  typename Algorithm::arguments arguments_of(const Algorithm&) const {
    const detail::reading_arguments scope(constants);
    return decode<typename Algorithm::arguments>(arguments);
  }
};

// What became of a task. One comes for each task that is not handed back.
struct result {
  task_id task;
  std::string algorithm;
  slave_id slave;  // who computed it; none: nobody could
  std::string tag;
  std::chrono::nanoseconds compute_time{0};  // of this task alone
  // Empty: it was computed. Else what its algorithm threw at last; or why it could not be computed.
  std::string failure;
  std::string bytes;  // of the value

  bool ok() const { return failure.empty(); }
  template <class Algorithm>
  bool is(const Algorithm&) const {
    return algorithm == Algorithm::name;
  }
  // The value. Throws `error` with the failure, or when it is another algorithm's.
  template <class Algorithm>
  typename Algorithm::result get(const Algorithm& of) const {
    if (!is(of))
      throw error("the result is of '" + algorithm + "', not of '" + std::string(Algorithm::name) +
                  "'");
    if (!ok()) throw error(failure);
    if constexpr (!std::is_void_v<typename Algorithm::result>) {
      return decode<typename Algorithm::result>(bytes);
    }
  }
};

// For algorithms: nobody wants the result of the task that this thread computes any more, because
// it was cancelled, another slave was quicker, or the master was lost. An algorithm that takes long
// may ask now and then, and return whatever it likes. False outside of a slave's algorithm.
bool stop_requested();
// For algorithms: the pieces of this resource that the task has, which this thread computes ("0",
// "1", or names as --mw-resource gave them). No other task of the slave has them meanwhile. Empty:
// its policy::needs has none of them, or this is no slave's algorithm.
std::vector<std::string> pieces_of(std::string_view resource);

// ---- Futures -----------------------------------------------------------------------------------

class master;

namespace detail {

struct slot;  // of the library: a task's result, once it has come

// All of a future but the type of its value.
class any_future {
 public:
  any_future() = default;
  any_future(any_future&&) noexcept = default;
  any_future& operator=(any_future&& other) noexcept {
    if (this != &other) drop();
    slot_ = std::move(other.slot_);
    return *this;
  }
  // The result of a future that was not asked for it is dropped when it comes; the task goes on.
  ~any_future() { drop(); }

  // Whether there is a task whose result was not taken from here.
  bool valid() const { return slot_ != nullptr; }
  // The functions below throw `error` when it is not valid.
  task_id id() const;
  // Whether get() returns at once.
  bool ready() const;
  // Throws as master::wait().
  void wait() const;
  // Whether it is ready, after at most so long.
  bool wait_for(std::chrono::nanoseconds most) const;
  // The result as master::take_results() gives it, after waiting for it. That of a task which was
  // handed back or cancelled has a failure that says so. Not valid afterwards.
  result get_result();
  // As master::cancel(); then the future is ready, with a failure.
  bool cancel();

 private:
  friend class mw::master;
  explicit any_future(std::shared_ptr<slot> of) : slot_(std::move(of)) {}
  void drop() noexcept;
  std::shared_ptr<slot> slot_;
};

}  // namespace detail

// The value of one task, whose result take_results() does not return. It belongs to the thread of
// its master. Once that has ended, its functions throw `error`.
template <class T>
class future : public detail::any_future {
 public:
  future() = default;
  // Waits for the value. Throws `error` with the failure of the task, or the reason why it was
  // handed back. Not valid afterwards.
  T get() {
    const mw::result is = get_result();
    if (!is.ok()) throw error(is.failure);
    if constexpr (!std::is_void_v<T>) return decode<T>(is.bytes);
  }

 private:
  friend class mw::master;
  explicit future(detail::any_future of) : any_future(std::move(of)) {}
};

// ---- The master --------------------------------------------------------------------------------

// What waits to be taken.
struct events {
  std::size_t results = 0;
  std::size_t unrunnable = 0;
  std::size_t arrived = 0;
  std::size_t lost = 0;
  bool any() const { return results + unrunnable + arrived + lost > 0; }
};

// What a master finds that was killed, and started again with the same --mw-state.
struct restored {
  std::string state;        // what checkpoint() was last given
  std::size_t pending = 0;  // tasks that have not ended; they are given out again
  std::size_t results = 0;  // that were not taken before its last checkpoint; they come again
};

class master {
 public:
  // As bytes; what the templates below are made of. Tasks leave with the next wait() or poll(), at
  // the latest. Throws `error`: unknown algorithm, arguments of more than 4 MB (broadcast long
  // values), `tries` 0, needs that no slave can offer, a constant of another master, more than
  // 1,000 constants. `constants`: those that the arguments name, as in task::constants.
  task_id submit_bytes(std::string_view algorithm, const policy& how, std::string arguments,
                       detail::constant_list constants = {});

  // A task: the algorithm with these arguments. Its number. The policy: the default, or given.
  // Throws `error`: an integer does not fit the type that the algorithm takes. Floating-point
  // numbers for integers do not compile.
  template <class Algorithm, class... A>
    requires requires { typename Algorithm::arguments; }
  task_id submit(const Algorithm& algorithm, A&&... given) {
    if constexpr (has_policy<A...>()) {
      return submit_with<Algorithm>(std::forward<A>(given)...);
    } else {
      return submit_with<Algorithm>(policy(), std::forward<A>(given)...);
    }
    (void)algorithm;
  }
  // A function that submits the algorithm under one policy: for std::ranges::for_each and the like.
  // It refers to this master.
  template <class Algorithm>
  auto submitter(const Algorithm&, policy how) {
    return [this, how = std::move(how)](auto&&... given) {
      return this->submit_with<Algorithm>(how, std::forward<decltype(given)>(given)...);
    };
  }

  // Submits a task whose result comes by a future, not by take_results().
  template <class Algorithm, class... A>
    requires requires { typename Algorithm::arguments; }
  [[nodiscard]] future<typename Algorithm::result> async(const Algorithm&, A&&... given) {
    if constexpr (has_policy<A...>()) {
      return async_with<Algorithm>(std::forward<A>(given)...);
    } else {
      return async_with<Algorithm>(policy(), std::forward<A>(given)...);
    }
  }
  // A value for any number of tasks, at most 1 GB as bytes, which each slave gets at most once. Up
  // to 256 MB of all constants are in the master's memory, further ones in files in $TMPDIR. Throws
  // `error`: the value is too long, the disk is full.
  template <class T>
  [[nodiscard]] constant<T> broadcast(const T& value) {
    writer to;
    to(value);
    if (!to.take_constants().empty()) throw error("a constant cannot be a part of another one");
    return constant<T>(broadcast_bytes(to.take()));
  }

  // A future of a task that was submitted and whose result was not taken: after a restart, of one
  // that a checkpoint knows. Throws `error` when there is no such task, it is of another algorithm,
  // or it has a future.
  template <class Algorithm>
  [[nodiscard]] future<typename Algorithm::result> attach(const Algorithm&, task_id task) {
    return future<typename Algorithm::result>(attach_bytes(Algorithm::name, task));
  }
  // Waits for at most this long. The index of the first future that is ready; nullopt: none
  // is. Futures that are not valid are skipped. Throws `error` when none is valid, and as wait().
  template <class Futures>
  std::optional<std::size_t> wait_any(
      const Futures& futures, std::chrono::nanoseconds most = std::chrono::nanoseconds::max()) {
    return wait_until_some(
        [&futures]() -> std::optional<std::size_t> {
          std::size_t place = 0;
          for (const detail::any_future& each : futures) {
            if (each.valid() && each.ready()) return place;
            ++place;
          }
          return std::nullopt;
        },
        [&futures] {
          for (const detail::any_future& each : futures) {
            if (each.valid()) return true;
          }
          return false;
        }(),
        most);
  }

  // Ends a task without a result. False: it has ended before; its result, or the task itself, comes
  // or came as usual. One that no slave has is never computed. A slave that computes it is told
  // (stop_requested), and its result is dropped; so is that of a task in the middle of a packet.
  // The next checkpoint makes it durable.
  bool cancel(task_id task) { return cancel(std::vector<task_id>{task}) == 1; }
  // How many of them it has cancelled.
  std::size_t cancel(const std::vector<task_id>& tasks);
  // All that have not ended.
  std::size_t cancel_all();

  // Waits until something can be taken, for at most so long. Results of futures do not count.
  // Throws `error` when the work cannot go on (the state's disk is full).
  events wait(std::chrono::nanoseconds most = std::chrono::nanoseconds::max());
  events poll() { return wait(std::chrono::nanoseconds(0)); }

  // What has come since, in the order in which it came; it is the caller's.
  // Results that fill their memory (--mw-result-memory) keep slaves from getting tasks until they
  // are taken, or the master waits for a future, or has seen them ten times.
  std::vector<result> take_results();
  std::vector<task> take_unrunnable();
  std::vector<slave_info> take_arrived();  // ordered and intermingle ones alone
  std::vector<slave_info> take_lost();     // likewise

  // Target numbers: so many tasks are to be pending; nothing is enforced. With an algorithm: of it.
  void set_target(std::size_t count) { set_target_of({}, count); }
  std::size_t target() const { return target_of({}); }
  // Tasks that were submitted, and whose results, or themselves, have not been taken.
  std::size_t pending() const { return pending_of({}); }
  // So many may be submitted now until the target is reached.
  std::size_t room() const { return room_of({}); }
  template <class Algorithm>
  void set_target(const Algorithm&, std::size_t count) {
    set_target_of(Algorithm::name, count);
  }
  template <class Algorithm>
  std::size_t target(const Algorithm&) const {
    return target_of(Algorithm::name);
  }
  template <class Algorithm>
  std::size_t pending(const Algorithm&) const {
    return pending_of(Algorithm::name);
  }
  template <class Algorithm>
  std::size_t room(const Algorithm&) const {
    return room_of(Algorithm::name);
  }
  // Tasks that no slave has been given, as of now.
  std::size_t num_runnable() const;
  // Results, and tasks handed back, that wait to be taken.
  std::size_t num_results() const;
  std::size_t num_unrunnable() const;

  // So many more (or fewer) slaves are wanted in a group. Those that arrive fill `ordered`, then
  // `intermingle`, then `unordered`; more than are wanted are unordered. Nobody is sent away.
  void allocate(group which, std::size_t count);
  void deallocate(group which, std::size_t count);
  // An ordered or intermingle slave becomes an unordered one, behind the tasks that it has. False:
  // there is none of this number.
  bool free_slave(slave_id slave);
  // Connected slaves.
  std::size_t slaves() const;
  std::vector<slave_info> list_slaves() const;

  // What an earlier life of this master left; nullopt: this is the first, or there is no
  // --mw-state.
  const std::optional<mw::restored>& restored() const;
  // Durable with one stroke when it returns: the tasks that were submitted, that what was taken
  // does not come again, and `state`, which restored() will give. So a master that was killed goes
  // on where its last checkpoint was. Without --mw-state it does nothing. Throws as wait().
  void checkpoint(std::string state = {});

  class impl;  // of the library
  explicit master(impl& inside) : impl_(inside) {}
  master(const master&) = delete;
  master& operator=(const master&) = delete;

 private:
  template <class First = void, class...>
  static constexpr bool has_policy() {
    return std::is_same_v<std::remove_cvref_t<First>, policy>;
  }
  template <class Algorithm, class... A>
  task_id submit_with(const policy& how, A&&... given) {
    auto with = detail::encode_as<typename Algorithm::arguments>(std::forward<A>(given)...);
    return submit_bytes(Algorithm::name, how, std::move(with.bytes), std::move(with.constants));
  }
  template <class Algorithm, class... A>
  future<typename Algorithm::result> async_with(const policy& how, A&&... given) {
    auto with = detail::encode_as<typename Algorithm::arguments>(std::forward<A>(given)...);
    return future<typename Algorithm::result>(
        async_bytes(Algorithm::name, how, std::move(with.bytes), std::move(with.constants)));
  }
  std::shared_ptr<detail::constant_value> broadcast_bytes(std::string bytes);
  detail::any_future async_bytes(std::string_view algorithm, const policy& how,
                                 std::string arguments, detail::constant_list constants);
  detail::any_future attach_bytes(std::string_view algorithm, task_id task);
  std::optional<std::size_t> wait_until_some(
      const std::function<std::optional<std::size_t>()>& first_ready, bool any_valid,
      std::chrono::nanoseconds most);
  void set_target_of(std::string_view algorithm, std::size_t count);
  std::size_t target_of(std::string_view algorithm) const;
  std::size_t pending_of(std::string_view algorithm) const;
  std::size_t room_of(std::string_view algorithm) const;

  impl& impl_;
};

// ---- The slave ---------------------------------------------------------------------------------

struct slave_status {
  bool shutdown = false;         // the master has told us to end
  bool master_lost = false;      // it cannot be reached, and the resource file names no other one
  bool master_failed = false;    // its function threw: the computation is over, without success
  std::uint64_t computed = 0;    // tasks so far, of all slots
  std::size_t tasks_left = 0;    // at least so many are here, and not computed
  std::size_t results_held = 0;  // that have not left yet
  std::size_t group_size = 0;    // tasks that came together, the last time, to this thread
  bool done() const { return shutdown || master_lost || master_failed; }
  // For the slave function: 0 after a shutdown, 2 when the master has failed, else 255.
  int exit_code() const { return shutdown ? 0 : master_failed ? 2 : 255; }
};

// With several slots (--mw-slots), the calling thread computes for one of them, and the threads of
// the others compute from the first of these calls on, also in between. When the slave's function
// returns, they finish what they compute, whose results count, and begin nothing more.
class slave {
 public:
  // Computes until the master says that it is over, or is lost.
  slave_status run();
  // Waits for tasks, and computes those that are here for this thread.
  slave_status work();
  // Computes at most one task, which it waits for no longer than this.
  slave_status step(std::chrono::nanoseconds most = std::chrono::milliseconds(50));
  slave_status status() const;
  // 0: it is not known yet.
  slave_id id() const;
  // Tasks that it computes at once.
  std::size_t slots() const;

  class impl;  // of the library
  explicit slave(impl& inside) : impl_(inside) {}
  slave(const slave&) = delete;
  slave& operator=(const slave&) = delete;

 private:
  impl& impl_;
};

// ---- The program -------------------------------------------------------------------------------

namespace detail {

using master_function = std::function<int(master&, int argc, char** argv)>;
using slave_function = std::function<int(slave&, int argc, char** argv)>;
int run(int argc, char** argv, const master_function& as_master, const slave_function& as_slave);

template <class Who, class F>
auto with_arguments(F function) {
  if constexpr (std::is_invocable_r_v<int, F&, Who&, int, char**>) {
    return function;
  } else {
    static_assert(std::is_invocable_r_v<int, F&, Who&>,
                  "int f(master&) or int f(master&, int argc, char** argv); of a slave likewise");
    return [function](Who& who, int, char**) mutable { return function(who); };
  }
}

}  // namespace detail

// The whole program. --mw-master or --mw-slave comes first among the arguments; the functions get
// what is left of them without --mw-... ones. What it returns is for main() to return: of a master
// what its function did (255 where that is not within 0 to 255), when all slaves have been told to
// end; of a slave 0 when it was told so, else 255; 1 for wrong arguments. An exception that leaves
// a function is told on standard error, and counts as 255.
template <class M>
int run(int argc, char** argv, M as_master) {
  return detail::run(argc, argv, detail::with_arguments<master>(std::move(as_master)),
                     [](slave& self, int, char**) { return self.run().exit_code(); });
}
template <class M, class S>
int run(int argc, char** argv, M as_master, S as_slave) {
  return detail::run(argc, argv, detail::with_arguments<master>(std::move(as_master)),
                     detail::with_arguments<slave>(std::move(as_slave)));
}

}  // namespace v1
}  // namespace spate::mw

// Task and slave numbers as keys of unordered containers.
template <>
struct std::hash<spate::mw::task_id> {
  std::size_t operator()(spate::mw::task_id id) const noexcept {
    return std::hash<std::uint64_t>()(id.value);
  }
};
template <>
struct std::hash<spate::mw::slave_id> {
  std::size_t operator()(spate::mw::slave_id id) const noexcept {
    return std::hash<std::uint64_t>()(id.value);
  }
};
