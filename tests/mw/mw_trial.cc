// A master and its slaves for tests: the master does what a script says, line by line, and prints
// what happens as lines of words; slaves do odd things.
//
//   mw_trial --mw-master [OPTION VALUE]... LINE...      `-` stands for the lines of standard input
//
// Of a submitted task come "task ID", later "result ID ALG SLAVE ok|failed TAG TEXT" or "unrunnable
// ID ALG TAG REASON"; of slaves "arrived ID GROUP" and "lost ID GROUP". A TAG of none is "-".
#include <spate/mw.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace mw = spate::mw;
namespace {

using Words = std::vector<std::string>;

// ---- What slaves do ----------------------------------------------------------------------------

bool Exists(const std::string& path) {
  struct stat seen = {};
  return stat(path.c_str(), &seen) == 0;
}

// One write, so that lines of several processes do not mix.
void AddLine(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "a");
  if (file == nullptr) throw std::runtime_error("cannot open " + path);
  std::fputs((text + "\n").c_str(), file);
  std::fclose(file);
}

long LinesOf(const std::string& path) {
  std::ifstream file(path);
  long lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  return lines;
}

void Sleep(long milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

void AwaitFile(const std::string& path) {
  while (!Exists(path)) Sleep(2);
}

// The same bytes for the same size, and no others for another.
std::string Pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + (i * 31 + size) % 26);
  return text;
}

const auto echo = mw::algorithm<"echo">([](const Words& w) { return w.at(0); });
const auto pid = mw::algorithm<"pid">([](const Words&) { return std::to_string(getpid()); });
const auto nap = mw::algorithm<"sleep">([](const Words& w) {
  Sleep(std::stol(w.at(0)));
  return w.at(0);
});
const auto throws = mw::algorithm<"throw">(
    [](const Words& w) -> std::string { throw std::runtime_error(w.at(0)); });
const auto throws_a_number =
    mw::algorithm<"throw-number">([](const Words&) -> std::string { throw 7; });
// FILE N: throws until it has been called more than N times.
const auto throws_first = mw::algorithm<"throw-first">([](const Words& w) {
  AddLine(w.at(0), "called");
  const long calls = LinesOf(w[0]);
  if (calls <= std::stol(w.at(1))) throw std::runtime_error("call " + std::to_string(calls));
  return "call " + std::to_string(calls);
});
const auto crash = mw::algorithm<"crash">([](const Words& w) -> std::string {
  std::signal(std::stoi(w.at(0)), SIG_DFL);
  std::raise(std::stoi(w.at(0)));
  return "alive";
});
// FILE N: kills its slave until it has been called more than N times.
const auto crash_first = mw::algorithm<"crash-first">([](const Words& w) {
  AddLine(w.at(0), "called");
  if (LinesOf(w[0]) <= std::stol(w.at(1))) std::raise(SIGKILL);
  return w[1];
});
const auto leave =
    mw::algorithm<"leave">([](const Words& w) -> std::string { std::_Exit(std::stoi(w.at(0))); });
const auto big = mw::algorithm<"big">([](const Words& w) { return Pattern(std::stoul(w.at(0))); });
// FILE N: the same, and a line in FILE.
const auto big_note = mw::algorithm<"big-note">([](const Words& w) {
  AddLine(w.at(0), w.at(1));
  return Pattern(std::stoul(w[1]));
});
const auto size_of =
    mw::algorithm<"size">([](const Words& w) { return std::to_string(w.at(0).size()); });
// FILE TEXT [MS]: so often was it computed.
const auto note = mw::algorithm<"note">([](const Words& w) {
  if (w.size() > 2) Sleep(std::stol(w[2]));
  AddLine(w.at(0), w.at(1));
  return w[1];
});
// FILE TEXT: tells in FILE.begun that it has begun, and ends when FILE is there.
const auto hold = mw::algorithm<"hold">([](const Words& w) {
  AddLine(w.at(0) + ".begun", w.at(1) + " " + std::to_string(getpid()));
  AwaitFile(w[0]);
  return w[1];
});
// FILE: tells in FILE.begun that it has begun, and ends when nobody wants it, which FILE tells
// then.
const auto until_stopped = mw::algorithm<"until-stopped">([](const Words& w) {
  AddLine(w.at(0) + ".begun", std::to_string(getpid()));
  while (!mw::stop_requested()) Sleep(2);
  AddLine(w.at(0), "stopped");
  return std::string("stopped");
});
// FILE N: ends when N of them are there.
const auto meet = mw::algorithm<"meet">([](const Words& w) {
  AddLine(w.at(0), "here");
  while (LinesOf(w[0]) < std::stol(w.at(1)) && !mw::stop_requested()) Sleep(2);
  return w[1];
});
// FILE SLOTS MS: tells in FILE when it begins and ends, with the slots that it takes.
const auto take = mw::algorithm<"take">([](const Words& w) {
  AddLine(w.at(0), "+ " + w.at(1));
  Sleep(std::stol(w.at(2)));
  AddLine(w[0], "- " + w[1]);
  return w[1];
});
// FILE: as `hold`; gives its GPUs.
const auto gpus = mw::algorithm<"gpus">([](const Words& w) {
  AddLine(w.at(0) + ".begun", std::to_string(getpid()));
  AwaitFile(w[0]);
  std::string all = "gpus";
  for (const std::string& each : mw::pieces_of("gpus")) all += "," + each;
  return all;
});
// FILE TEXT: as `hold` for the first that comes; the others end at once.
const auto first_holds = mw::algorithm<"first-holds">([](const Words& w) {
  AddLine(w.at(0) + ".begun", std::to_string(getpid()));
  if (LinesOf(w[0] + ".begun") == 1) AwaitFile(w[0]);
  return w.at(1);
});

// A constant, FILE MS: its size, and whether some bytes of it are right; a line with the process in
// FILE.
const auto with = mw::algorithm<"with">([](const mw::constant<std::string>& text, const Words& w) {
  AddLine(w.at(0), std::to_string(getpid()));
  Sleep(std::stol(w.at(1)));
  const std::size_t size = text->size();
  bool whole = true;
  for (std::size_t i = 0; i < size; i += 1 + size / 5000) {
    whole = whole && (*text)[i] == static_cast<char>('a' + (i * 31 + size) % 26);
  }
  return std::to_string(size) + (whole ? " whole" : " damaged");
});

// ---- The master --------------------------------------------------------------------------------

template <class... T>
void Tell(const T&... words) {
  std::ostringstream line;
  ((line << words << ' '), ...);
  std::string text = line.str();
  if (!text.empty()) text.back() = '\n';
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string Shown(const std::string& tag) { return tag.empty() ? "-" : tag; }

// Large ones by their size, and whether they are whole.
std::string ShownValue(const std::string& value) {
  if (value.size() <= 200) return value;
  return std::to_string(value.size()) + (value == Pattern(value.size()) ? " whole" : " damaged");
}

const char* NameOf(mw::group which) {
  const char* const names[] = {"unordered", "intermingle", "ordered"};
  return names[static_cast<int>(which)];
}

mw::group GroupOf(const std::string& name) {
  for (mw::group each : {mw::group::unordered, mw::group::intermingle, mw::group::ordered}) {
    if (name == NameOf(each)) return each;
  }
  throw std::invalid_argument("no group " + name);
}

// What a master that counts must know to go on.
struct Counted {
  int next = 0;
  std::vector<int> seen;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(next, seen);
  }
};

class Script {
 public:
  explicit Script(mw::master& m) : m_(m) {}

  // The exit code, when the line says that it is over.
  std::optional<int> Do(const std::string& line);

 private:
  void Submit(Words words, bool as_future = false);
  bool DoWithFutures(const std::string& what, const Words& w);
  bool DoWithConstants(const std::string& what, const Words& w);
  void TellValue(mw::future<std::string>& of);
  void Count(int all, int window, const std::string& file, const std::string& ms);
  void Look(std::chrono::nanoseconds most);
  template <class Condition>
  void Until(Condition holds) {
    while (!holds()) Look(std::chrono::milliseconds(20));
  }

  mw::master& m_;
  std::vector<mw::future<std::string>> futures_;
  std::vector<mw::constant<std::string>> constants_;
  std::size_t results_ = 0, unrunnable_ = 0, arrived_ = 0, lost_ = 0;
};

void Script::Look(std::chrono::nanoseconds most) {
  m_.wait(most);
  for (const mw::slave_info& each : m_.take_arrived()) {
    ++arrived_;
    Tell("arrived", each.id.value, NameOf(each.group));
  }
  for (const mw::slave_info& each : m_.take_lost()) {
    ++lost_;
    Tell("lost", each.id.value, NameOf(each.group));
  }
  for (const mw::result& each : m_.take_results()) {
    ++results_;
    const std::string text =
        each.ok() ? ShownValue(mw::decode<std::string>(each.bytes)) : each.failure;
    Tell("result", each.task.value, each.algorithm, each.slave.value, each.ok() ? "ok" : "failed",
         Shown(each.tag), text);
  }
  for (const mw::task& each : m_.take_unrunnable()) {
    ++unrunnable_;
    Tell("unrunnable", each.id.value, each.algorithm, Shown(each.how.tag), each.reason);
  }
}

// NAME=N of the needs; false: the word is none of them.
bool TakeNeed(mw::needs& needs, const std::string& key, const std::string& value) {
  if (key == "slots") {
    needs.slots = static_cast<std::uint32_t>(std::stoul(value));
  } else if (key == "memory") {
    needs.memory = std::stoull(value);
  } else if (key == "gpus") {
    needs.resources.push_back({"gpus", static_cast<std::uint32_t>(std::stoul(value))});
  } else if (key == "label") {
    needs.labels.push_back(value);
  } else {
    return false;
  }
  return true;
}

// ALG ARG... with slave=N tag=T tries=N losses=N time=MS priority=X times=N slots=N memory=BYTES
// gpus=N label=L anyway once among them; @N stands for N bytes.
void Script::Submit(Words words, bool as_future) {
  mw::policy how;
  Words arguments;
  long times = 1;
  for (std::string& word : words) {
    const std::size_t at = word.find('=');
    const std::string key = word.substr(0, at);
    const std::string value = at == word.npos ? "" : word.substr(at + 1);
    if (word == "anyway") {
      how.do_it_anyway = true;
    } else if (word == "once") {
      how.retry = false;
    } else if (key == "slave" && at != word.npos) {
      how.slave = {std::stoull(value)};
    } else if (key == "tag" && at != word.npos) {
      how.tag = value;
    } else if (key == "tries" && at != word.npos) {
      how.tries = static_cast<std::uint32_t>(std::stoul(value));
    } else if (key == "losses" && at != word.npos) {
      how.losses = static_cast<std::uint32_t>(std::stoul(value));
    } else if (key == "time" && at != word.npos) {
      how.time = std::chrono::milliseconds(std::stol(value));
    } else if (key == "priority" && at != word.npos) {
      how.priority = std::stod(value);
    } else if (key == "times" && at != word.npos) {
      times = std::stol(value);
    } else if (at != word.npos && TakeNeed(how.needs, key, value)) {
    } else if (word.starts_with('@')) {
      arguments.push_back(Pattern(std::stoul(word.substr(1))));
    } else {
      arguments.push_back(std::move(word));
    }
  }
  const std::string algorithm = arguments.front();
  arguments.erase(arguments.begin());
  try {
    for (; times > 0; --times) {
      if (!as_future) {
        Tell("task", m_.submit_bytes(algorithm, how, mw::encode(arguments)).value);
        continue;
      }
      auto submit = [&](const auto& named) {
        if (algorithm == named.name) futures_.push_back(m_.async(named, how, arguments));
      };
      submit(echo), submit(hold), submit(nap), submit(throws), submit(note), submit(until_stopped),
          submit(crash), submit(big_note);
      Tell("future", futures_.size() - 1, futures_.back().id().value);
    }
  } catch (const mw::error& why) {
    Tell("error", why.what());
  }
}

// Numbers below `all`, each once by way of a slave: so many are pending, and each that comes is
// checkpointed. A master that was killed goes on.
void Script::Count(int all, int window, const std::string& file, const std::string& ms) {
  Counted now;
  if (const auto& last = m_.restored(); last && !last->state.empty()) {
    now = mw::decode<Counted>(last->state);
    const std::size_t lacks = static_cast<std::size_t>(now.next) - now.seen.size();
    if (last->pending + last->results != lacks) Tell("lacks", lacks);
    if (m_.pending() != lacks) Tell("pending", m_.pending(), "not", lacks);
  }
  while (now.seen.size() < static_cast<std::size_t>(all)) {
    for (; now.next < all && m_.pending() < static_cast<std::size_t>(window); ++now.next) {
      m_.submit(note, Words{file, std::to_string(now.next), ms});
    }
    m_.checkpoint(mw::encode(now));
    m_.wait();
    for (const mw::result& each : m_.take_results()) {
      const int value = std::stoi(each.get(note));
      if (std::ranges::find(now.seen, value) != now.seen.end()) Tell("twice", value);
      now.seen.push_back(value);
    }
  }
  m_.checkpoint(mw::encode(now));
  long long sum = 0;
  for (int each : now.seen) sum += each;
  Tell("counted", now.seen.size(), sum);
}

void Script::TellValue(mw::future<std::string>& of) {
  const auto id = of.id().value;
  try {
    Tell("value", id, ShownValue(of.get()));
  } catch (const mw::error& why) {
    Tell("failure", id, why.what());
  }
}

// Futures have the numbers in which they were made, from 0.
bool Script::DoWithFutures(const std::string& what, const Words& w) {
  auto nth = [&](std::size_t i) -> mw::future<std::string>& {
    return futures_.at(std::stoul(w.at(i)));
  };
  if (what == "async") {
    Submit(w, /*as_future=*/true);
  } else if (what == "get") {
    TellValue(nth(0));
  } else if (what == "ready") {
    Tell("ready", nth(0).ready());
  } else if (what == "wait-for") {
    Tell("waited", nth(0).wait_for(std::chrono::milliseconds(std::stol(w.at(1)))));
  } else if (what == "drop") {
    nth(0) = {};
  } else if (what == "any") {
    const auto place = w.empty()
                           ? m_.wait_any(futures_)
                           : m_.wait_any(futures_, std::chrono::milliseconds(std::stol(w[0])));
    if (!place) Tell("any none");
    if (place) Tell("any", *place);
    if (place) TellValue(futures_[*place]);
  } else if (what == "attach") {
    futures_.push_back(m_.attach(note, {std::stoull(w.at(0))}));
    Tell("attached", futures_.size() - 1);
  } else if (what == "cancel-future") {
    Tell("cancelled", nth(0).cancel());
  } else if (what == "cancel") {
    std::vector<mw::task_id> ids;
    for (const std::string& each : w) ids.push_back({std::stoull(each)});
    Tell("cancelled", m_.cancel(ids));
  } else if (what == "cancel-all") {
    Tell("cancelled", m_.cancel_all());
  } else if (what == "slaves") {
    for (const mw::slave_info& each : m_.list_slaves()) {
      Tell("slave", each.id.value, NameOf(each.group), each.name, each.host,
           each.busy() ? "busy" : "idle", each.tasks, each.done, each.slots);
    }
  } else {
    return false;
  }
  return true;
}

// Constants have the numbers in which they were made, from 0.
bool Script::DoWithConstants(const std::string& what, const Words& w) {
  auto number = [&w](std::size_t i) { return std::stoul(w.at(i)); };
  if (what == "constant") {
    constants_.push_back(m_.broadcast(Pattern(number(0))));
    Tell("constant", constants_.size() - 1);
  } else if (what == "with") {  // N FILE MS TIMES [LIMIT]
    mw::policy how;
    if (w.size() > 4) how.time = std::chrono::milliseconds(number(4));
    for (std::size_t i = 0; i < number(3); ++i) {
      m_.submit(with, how, constants_.at(number(0)), Words{w[1], w[2]});
    }
  } else if (what == "forget") {
    constants_.at(number(0)) = {};
  } else {
    return false;
  }
  return true;
}

std::optional<int> Script::Do(const std::string& line) {
  std::istringstream in(line);
  std::string what;
  in >> what;
  Words w;
  for (std::string word; in >> word;) w.push_back(word);
  auto number = [&w](std::size_t i) { return std::stoull(w.at(i)); };
  try {
    if (DoWithFutures(what, w) || DoWithConstants(what, w)) return std::nullopt;
  } catch (const mw::error& why) {
    Tell("error", why.what());
    return std::nullopt;
  }
  if (what == "submit") {
    Submit(w);
  } else if (what == "count") {
    Count(std::stoi(w.at(0)), std::stoi(w.at(1)), w.at(2), w.at(3));
  } else if (what == "allocate") {
    m_.allocate(GroupOf(w.at(0)), number(1));
  } else if (what == "deallocate") {
    m_.deallocate(GroupOf(w.at(0)), number(1));
  } else if (what == "free") {
    Tell("freed", m_.free_slave({number(0)}));
  } else if (what == "wait-results") {
    Until([&] { return results_ >= number(0); });
  } else if (what == "wait-untaken") {
    while (m_.wait(std::chrono::milliseconds(20)).results < number(0)) Sleep(2);
  } else if (what == "wait-unrunnable") {
    Until([&] { return unrunnable_ >= number(0); });
  } else if (what == "wait-arrived") {
    Until([&] { return arrived_ >= number(0); });
  } else if (what == "wait-lost") {
    Until([&] { return lost_ >= number(0); });
  } else if (what == "wait-slaves") {
    Until([&] { return m_.slaves() >= number(0); });
  } else if (what == "wait-pending") {
    Until([&] { return m_.pending() <= number(0); });
  } else if (what == "wait-runnable") {
    Until([&] { return m_.num_runnable() <= number(0); });
  } else if (what == "wait-file") {
    Until([&] { return Exists(w.at(0)); });
  } else if (what == "poll") {
    Look(std::chrono::nanoseconds(0));
  } else if (what == "busy") {
    Sleep(std::stol(w.at(0)));
  } else if (what == "busy-until") {
    AwaitFile(w.at(0));
  } else if (what == "target") {
    m_.set_target(number(0));
  } else if (what == "show") {
    Tell("shown", "pending", m_.pending(), "room", m_.room(), "slaves", m_.slaves());
  } else if (what == "checkpoint") {
    m_.checkpoint(w.empty() ? "" : w[0]);
    Tell("checkpointed");
  } else if (what == "restored") {
    const auto& last = m_.restored();
    if (!last) Tell("restored none");
    if (last) Tell("restored", last->pending, last->results, Shown(last->state));
  } else if (what == "say") {
    Tell("said", w.at(0));
  } else if (what == "throw") {
    throw std::runtime_error(w.at(0));
  } else if (what == "exit") {
    return std::stoi(w.at(0));
  } else {
    throw std::invalid_argument("no such line: " + line);
  }
  return std::nullopt;
}

int Master(mw::master& m, int argc, char** argv) {
  Script script(m);
  for (int i = 1; i < argc; ++i) {
    const std::string line = argv[i];
    if (line != "-") {
      if (auto code = script.Do(line)) return *code;
      continue;
    }
    script.Do("poll");  // what was submitted leaves
    for (std::string given; std::getline(std::cin, given); script.Do("poll")) {
      if (auto code = script.Do(given)) return *code;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  // As another build has it: with a type of the same width.
  if (std::getenv("MW_TRIAL_OTHER_BUILD") == nullptr) {
    mw::algorithm<"typed">([](int n) { return n; });
  } else {
    mw::algorithm<"typed">([](float n) { return static_cast<int>(n); });
  }
  return mw::run(argc, argv, Master);
}
