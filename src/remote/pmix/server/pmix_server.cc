// The library calls back on a thread of its own; the main thread only reads. What is sent, and what
// callbacks leave for the main thread, is under one mutex.
#include "remote/pmix/server/pmix_server.h"

#include <fmt/format.h>
#include <pmix.h>
#include <pmix_server.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "remote/pmix/messages.h"

namespace spate::remote {
namespace {

// The library's strings are writable ones by their types.
char* Writable(const char* text) { return const_cast<char*>(text); }

bool Succeeded(pmix_status_t status) {
  return status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED;
}

struct Node {
  std::string name;
  uint32_t first_rank = 0, count = 0;
};

// Data for the library live until the library calls Drop with them.
void Drop(void* kept) { delete static_cast<std::string*>(kept); }
void Deliver(pmix_modex_cbfunc_t to, void* cookie, pmix_status_t status, std::string_view data) {
  if (to == nullptr) return;
  auto* kept = new std::string(data);
  to(status, kept->data(), kept->size(), cookie, Drop, kept);
}

class PmixServer {
 public:
  int Run();

  // ---- Called by the library ----
  static pmix_status_t Connected(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
    return self_->Note("connected", proc);
  }
  static pmix_status_t Finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
    return self_->Note("finalized", proc);
  }
  static pmix_status_t Abort(const pmix_proc_t* proc, void*, int status, const char*, pmix_proc_t[],
                             size_t, pmix_op_cbfunc_t, void*) {
    self_->Send(fmt::format("abort {} {}", proc->rank, static_cast<uint32_t>(status)));
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t Fence(const pmix_proc_t procs[], size_t count, const pmix_info_t[], size_t,
                             char* data, size_t size, pmix_modex_cbfunc_t to, void* cookie) {
    const std::string_view bytes = data == nullptr ? "" : std::string_view(data, size);
    const pmix_status_t status = self_->BeginFence({procs, procs + count}, bytes, {to, cookie});
    if (status == PMIX_SUCCESS) std::free(data);  // it is ours then
    return status;
  }
  static pmix_status_t Get(const pmix_proc_t* proc, const pmix_info_t[], size_t,
                           pmix_modex_cbfunc_t to, void* cookie) {
    return self_->BeginGet(proc, {to, cookie});
  }
  static pmix_status_t Events(pmix_status_t*, size_t, const pmix_info_t[], size_t, pmix_op_cbfunc_t,
                              void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t NoEvents(pmix_status_t*, size_t, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }
  static void Log(const pmix_proc_t*, const pmix_info_t data[], size_t count, const pmix_info_t[],
                  size_t, pmix_op_cbfunc_t done, void* cookie) {
    for (size_t i = 0; i < count; ++i) {
      const bool is_text =
          PMIX_CHECK_KEY(&data[i], PMIX_LOG_STDERR) || PMIX_CHECK_KEY(&data[i], PMIX_LOG_STDOUT);
      if (!is_text || data[i].value.type != PMIX_STRING) continue;
      if (const char* text = data[i].value.data.string) fmt::print(stderr, "{}", text);
    }
    // Not at once: the caller holds a lock that this needs. Such messages are rare.
    if (done != nullptr) std::thread([=] { done(PMIX_SUCCESS, cookie); }).detach();
  }

 private:
  struct Waiter {
    pmix_modex_cbfunc_t to = nullptr;
    void* cookie = nullptr;
  };

  void Send(std::string_view words, std::string_view body = {}) {
    const std::lock_guard lock(mutex_);
    SendLocked(words, body);
  }
  void SendLocked(std::string_view words, std::string_view body) {
    const std::string text = FormatPmix(words, body);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }
  int Failed(std::string_view what, pmix_status_t status) {
    Send("failed", fmt::format("{}: {}", what, PMIx_Error_string(status)));
    return EXIT_FAILURE;
  }

  pmix_status_t Note(std::string_view what, const pmix_proc_t* proc) {
    Send(fmt::format("{} {}", what, proc->rank));
    return PMIX_OPERATION_SUCCEEDED;
  }
  pmix_status_t BeginFence(const std::vector<pmix_proc_t>& procs, std::string_view data,
                           Waiter waiter) {
    std::vector<bool> takes_part(ranks_);
    for (const pmix_proc_t& each : procs) {
      if (space_ != each.nspace) return PMIX_ERR_NOT_SUPPORTED;
      if (each.rank == PMIX_RANK_WILDCARD) {
        takes_part.assign(ranks_, true);
      } else if (each.rank < ranks_) {
        takes_part[each.rank] = true;
      } else {
        return PMIX_ERR_NOT_SUPPORTED;
      }
    }
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      if (takes_part[rank]) ranks.push_back(rank);
    }
    const std::string set = FormatRanks(ranks);
    if (set.empty() || data.size() > kPmixBodyMost) return PMIX_ERR_BAD_PARAM;
    // In the order in which they are sent.
    const std::lock_guard lock(mutex_);
    fences_[set].push_back(waiter);
    SendLocked("fence " + set, data);
    return PMIX_SUCCESS;
  }
  pmix_status_t BeginGet(const pmix_proc_t* proc, Waiter waiter) {
    if (space_ != proc->nspace || proc->rank >= ranks_) return PMIX_ERR_NOT_FOUND;
    const std::lock_guard lock(mutex_);
    const uint32_t id = next_get_++;
    gets_[id] = waiter;
    SendLocked(fmt::format("get {} {}", id, proc->rank), {});
    return PMIX_SUCCESS;
  }

  bool ReadInput(std::string* message);
  bool Take(const PmixMessage& message);
  bool Begin(const PmixMessage& message);
  bool Start(uint32_t uid, uint32_t gid);
  pmix_status_t Init();
  pmix_status_t Register();
  void* JobInfo(const std::string& nodes, const std::string& ranks);
  void AddProcesses(void* list);
  pmix_status_t TellProcess(uint32_t rank, uint32_t uid, uint32_t gid);
  static void GiveData(pmix_status_t status, char* data, size_t size, void* number);

  static inline PmixServer* self_ = nullptr;
  std::string space_;
  std::vector<Node> nodes_;
  uint32_t part_ = 0, ranks_ = 0;
  std::string input_;

  std::mutex mutex_;
  std::map<std::string, std::deque<Waiter>, std::less<>> fences_;  // by set, in the order of fences
  std::map<uint32_t, Waiter> gets_;
  uint32_t next_get_ = 0;
};

pmix_server_module_t Module() {
  pmix_server_module_t module = {};
  module.client_connected = PmixServer::Connected;
  module.client_finalized = PmixServer::Finalized;
  module.abort = PmixServer::Abort;
  module.fence_nb = PmixServer::Fence;
  module.direct_modex = PmixServer::Get;
  module.register_events = PmixServer::Events;
  module.deregister_events = PmixServer::NoEvents;
  module.log = PmixServer::Log;
  // The library refuses what is missing: further processes, names, connecting programs.
  return module;
}

// Arrays of facts, as the library builds them.
class Facts {
 public:
  Facts() : list_(PMIx_Info_list_start()) {}
  ~Facts() { PMIx_Info_list_release(list_); }
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;

  void Number(const char* key, uint32_t value) { Add(key, &value, PMIX_UINT32); }
  void Rank(const char* key, uint32_t value) {
    pmix_rank_t rank = value;
    Add(key, &rank, PMIX_PROC_RANK);
  }
  void Small(const char* key, uint32_t value) {
    auto small = static_cast<uint16_t>(value);
    Add(key, &small, PMIX_UINT16);
  }
  void Text(const char* key, const std::string& value) { Add(key, value.c_str(), PMIX_STRING); }
  void Flag(const char* key) {
    bool on = true;
    Add(key, &on, PMIX_BOOL);
  }
  void Map(const char* key, const char* value) { Add(key, value, PMIX_REGEX); }
  void Array(const char* key, Facts& facts) {
    pmix_data_array_t array = facts.Take();
    Add(key, &array, PMIX_DATA_ARRAY);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
  }
  pmix_data_array_t Take() {
    pmix_data_array_t array = {};
    PMIx_Info_list_convert(list_, &array);
    return array;
  }

 private:
  void Add(const char* key, const void* value, pmix_data_type_t type) {
    PMIx_Info_list_add(list_, Writable(key), const_cast<void*>(value), type);
  }
  void* list_;
};

pmix_status_t PmixServer::Init() {
  Facts facts;
  facts.Text(PMIX_SERVER_NSPACE, space_ + ".server");
  facts.Rank(PMIX_SERVER_RANK, part_);
  facts.Text(PMIX_HOSTNAME, nodes_[part_].name);
  pmix_data_array_t array = facts.Take();
  static pmix_server_module_t module = Module();
  const pmix_status_t status =
      PMIx_server_init(&module, static_cast<pmix_info_t*>(array.array), array.size);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
  return status;
}

pmix_status_t PmixServer::Register() {
  std::string names, ranks;
  for (const Node& node : nodes_) {
    names += (names.empty() ? "" : ",") + node.name;
    ranks += ranks.empty() ? "" : ";";
    for (uint32_t i = 0; i < node.count; ++i) {
      ranks += fmt::format("{}{}", i == 0 ? "" : ",", node.first_rank + i);
    }
  }
  char* node_map = nullptr;
  char* rank_map = nullptr;
  pmix_status_t status = PMIx_generate_regex(names.c_str(), &node_map);
  if (status == PMIX_SUCCESS) status = PMIx_generate_ppn(ranks.c_str(), &rank_map);
  if (status == PMIX_SUCCESS) {
    const Node& here = nodes_[part_];
    std::string peers;
    for (uint32_t i = 0; i < here.count; ++i) {
      peers += fmt::format("{}{}", i == 0 ? "" : ",", here.first_rank + i);
    }
    Facts facts;
    facts.Text(PMIX_JOBID, space_);
    facts.Number(PMIX_UNIV_SIZE, ranks_);
    facts.Number(PMIX_JOB_SIZE, ranks_);
    facts.Number(PMIX_MAX_PROCS, ranks_);
    facts.Number(PMIX_JOB_NUM_APPS, 1);
    facts.Number(PMIX_NUM_NODES, static_cast<uint32_t>(nodes_.size()));
    facts.Number(PMIX_NODE_SIZE, here.count);
    facts.Number(PMIX_LOCAL_SIZE, here.count);
    facts.Number(PMIX_NODEID, part_);
    facts.Text(PMIX_LOCAL_PEERS, peers);
    facts.Rank(PMIX_LOCALLDR, here.first_rank);
    facts.Map(PMIX_NODE_MAP, node_map);
    facts.Map(PMIX_PROC_MAP, rank_map);
    for (uint32_t node = 0; node < nodes_.size(); ++node) {
      for (uint32_t local = 0; local < nodes_[node].count; ++local) {
        const uint32_t rank = nodes_[node].first_rank + local;
        Facts process;
        process.Rank(PMIX_RANK, rank);
        process.Rank(PMIX_GLOBAL_RANK, rank);
        process.Rank(PMIX_APP_RANK, rank);
        process.Number(PMIX_APPNUM, 0);
        process.Small(PMIX_LOCAL_RANK, local);
        process.Small(PMIX_NODE_RANK, local);
        process.Number(PMIX_NODEID, node);
        process.Text(PMIX_HOSTNAME, nodes_[node].name);
        facts.Array(PMIX_PROC_DATA, process);
      }
    }
    pmix_data_array_t array = facts.Take();
    status = PMIx_server_register_nspace(space_.c_str(), static_cast<int>(here.count),
                                         static_cast<pmix_info_t*>(array.array), array.size,
                                         nullptr, nullptr);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
  }
  std::free(node_map);
  std::free(rank_map);
  return status;
}

// Sends the variables that the environment of this process needs.
pmix_status_t PmixServer::TellProcess(uint32_t rank, uint32_t uid, uint32_t gid) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, space_.c_str(), rank);
  pmix_status_t status = PMIx_server_register_client(&proc, uid, gid, nullptr, nullptr, nullptr);
  if (!Succeeded(status)) return status;
  char** variables = nullptr;
  status = PMIx_server_setup_fork(&proc, &variables);
  std::string body;
  for (char** each = variables; each != nullptr && *each != nullptr; ++each) {
    body.append(*each).push_back('\0');
    std::free(*each);
  }
  std::free(variables);
  if (Succeeded(status)) Send(fmt::format("process {}", rank), body);
  return status;
}

bool PmixServer::Begin(const PmixMessage& message) {
  if (message.words.size() != 5) return false;
  space_ = message.words[1];
  const auto part = ParseNumber(message.words[2]);
  const auto uid = ParseNumber(message.words[3]), gid = ParseNumber(message.words[4]);
  for (std::string_view lines = message.body; !lines.empty();) {
    const size_t end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    const size_t blank = line.rfind(' ');
    if (end == std::string_view::npos || blank == std::string_view::npos) return false;
    const auto count = ParseNumber(line.substr(blank + 1));
    if (!count) return false;
    nodes_.push_back({std::string(line.substr(0, blank)), ranks_, *count});
    ranks_ += *count;
    lines.remove_prefix(end + 1);
  }
  if (!part || *part >= nodes_.size() || !uid || !gid) return false;
  part_ = *part;
  if (pmix_status_t status = Init(); status != PMIX_SUCCESS) {
    Failed("libpmix does not start", status);
    return false;
  }
  if (pmix_status_t status = Register(); !Succeeded(status)) {
    Failed("libpmix does not take the gang", status);
    return false;
  }
  for (uint32_t local = 0; local < nodes_[part_].count; ++local) {
    const pmix_status_t status = TellProcess(nodes_[part_].first_rank + local, *uid, *gid);
    if (Succeeded(status)) continue;
    Failed("libpmix does not take a process", status);
    return false;
  }
  Send("ready");
  return true;
}

// The library's answer to a `get`, whose number is the cookie.
void PmixServer::GiveData(pmix_status_t status, char* data, size_t size, void* number) {
  const bool fits = status == PMIX_SUCCESS && size <= kPmixBodyMost;
  self_->Send(fmt::format("data {} {}", reinterpret_cast<uintptr_t>(number), fits ? 0 : 1),
              fits && data != nullptr ? std::string_view(data, size) : std::string_view());
}

bool PmixServer::Take(const PmixMessage& message) {
  const auto& words = message.words;
  if (nodes_.empty()) return words.front() == "begin" && Begin(message);
  const auto number = words.size() == 3 ? ParseNumber(words[1]) : std::nullopt;
  if (words.front() == "fenced" && words.size() == 3) {
    Waiter waiter;
    {
      const std::lock_guard lock(mutex_);
      auto at = fences_.find(words[1]);
      if (at == fences_.end()) return false;
      waiter = at->second.front();
      at->second.pop_front();
      if (at->second.empty()) fences_.erase(at);
    }
    Deliver(waiter.to, waiter.cookie, words[2] == "0" ? PMIX_SUCCESS : PMIX_ERROR, message.body);
    return true;
  }
  if (words.front() == "data" && number) {
    Waiter waiter;
    {
      const std::lock_guard lock(mutex_);
      auto at = gets_.find(*number);
      if (at == gets_.end()) return false;
      waiter = at->second;
      gets_.erase(at);
    }
    Deliver(waiter.to, waiter.cookie, words[2] == "0" ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND,
            message.body);
    return true;
  }
  if (words.front() == "get" && number) {
    const auto rank = ParseNumber(words[2]);
    if (!rank) return false;
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, space_.c_str(), *rank);
    void* cookie = reinterpret_cast<void*>(static_cast<uintptr_t>(*number));
    const pmix_status_t status = PMIx_server_dmodex_request(&proc, GiveData, cookie);
    if (!Succeeded(status)) Send(fmt::format("data {} 1", *number));
    return true;
  }
  return false;
}

// The next message; false: there is none any more.
bool PmixServer::ReadInput(std::string* message) {
  message->clear();
  for (int c; (c = std::getc(stdin)) != EOF;) {
    message->push_back(static_cast<char>(c));
    if (c != '\n') continue;
    auto size = SizeOfPmix(*message);
    if (!size) return false;
    const size_t line = message->size();
    message->resize(*size);
    return std::fread(message->data() + line, 1, *size - line, stdin) == *size - line;
  }
  return false;
}

int PmixServer::Run() {
  self_ = this;
  for (std::string message; ReadInput(&message);) {
    if (!Take(ReadPmix(message))) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int ServePmix() {
  // Facts go by the connections that the processes have anyway, not by files that would stay.
  setenv("PMIX_MCA_gds", "hash", 1);
  static PmixServer server;
  const int code = server.Run();
  // Nobody needs what the library would still do, and its thread may be in the middle of something.
  std::fflush(stdout);
  std::_Exit(code);
}

}  // namespace spate::remote
