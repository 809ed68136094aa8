// One description of the columns serves both ways: AllColumns(archive,
// message) names them, and the archive is a ColumnWriter or a ColumnReader. Each column has its
// default, its bounds, and the field of AttemptEnd that it is.
//
// A number outside its bounds is sent as the nearest that is inside: a clock that ran backwards
// must not cost the connection. It is received as an error.
//
// Invariant: nothing is allocated for a row before the number of rows is known to be within
// kWireLimits, and each column to have as many values.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "core/model/limits.h"
#include "wire/message_forms.h"

namespace spate::wire {
namespace {

template <typename T>
constexpr T MostOf() {
  return std::numeric_limits<T>::max();
}
template <HasWords E>
constexpr std::underlying_type_t<E> MostOf() {
  return kCountOf<E> - 1;
}
template <typename Field>
struct ColumnBounds {
  using Number = decltype(MostOf<Field>());
  Number least = 0;
  Number most = MostOf<Field>();
  Number fallback = 0;
};

// Bounds of the field that `get` names.
template <typename Get>
using BoundsOf = ColumnBounds<std::decay_t<std::invoke_result_t<Get, AttemptEnd&>>>;

class ColumnWriter {
 public:
  explicit ColumnWriter(const std::vector<AttemptEnd>& rows) : rows_(rows) {}

  template <typename T, typename Get>
  void Column(const char*, std::vector<T>& column, BoundsOf<Get> bounds, Get get) {
    using V = typename BoundsOf<Get>::Number;
    Put(column, static_cast<T>(bounds.fallback), [&](const AttemptEnd& end) {
      return static_cast<T>(std::clamp(static_cast<V>(get(end)), bounds.least, bounds.most));
    });
  }
  // Each value less the one before.
  template <typename T, typename Get>
  void Steps(const char*, std::vector<T>& column, BoundsOf<Get> bounds, Get get) {
    using U = std::make_unsigned_t<T>;
    U last = 0;
    Put(column, T{0}, [&](const AttemptEnd& end) {
      auto value = static_cast<U>(std::clamp(get(end), bounds.least, bounds.most));
      return static_cast<T>(value - std::exchange(last, value));
    });
  }

 private:
  template <typename T, typename Value>
  void Put(std::vector<T>& column, T fallback, Value value) {
    column.reserve(rows_.size());
    bool plain = true;
    for (const AttemptEnd& end : rows_) {
      column.push_back(value(end));
      plain = plain && column.back() == fallback;
    }
    if (plain) column.clear();
  }

  const std::vector<AttemptEnd>& rows_;
};

class ColumnReader {
 public:
  ColumnReader(MessageCheck& in, std::vector<AttemptEnd>& rows) : in_(in), rows_(rows) {}

  template <typename T, typename Get>
  void Column(const char* name, const std::vector<T>& column, BoundsOf<Get> bounds, Get get) {
    using V = typename BoundsOf<Get>::Number;
    if (!Has(name, column)) {
      if (bounds.fallback == V{}) return;  // rows are made so
      for (AttemptEnd& end : rows_) Set(get(end), bounds.fallback);
      return;
    }
    auto value = column.begin();
    for (AttemptEnd& end : rows_) {
      Set(get(end),
          in_.Number<V>(name, *value++, static_cast<T>(bounds.least), static_cast<T>(bounds.most)));
    }
  }
  template <typename T, typename Get>
  void Steps(const char* name, const std::vector<T>& column, BoundsOf<Get> bounds, Get get) {
    using V = typename BoundsOf<Get>::Number;
    using U = std::make_unsigned_t<T>;
    if (!Has(name, column)) return;
    U last = 0;
    auto step = column.begin();
    for (AttemptEnd& end : rows_) {
      last += static_cast<U>(*step++);
      get(end) = in_.Number<V>(name, static_cast<V>(last), bounds.least, bounds.most);
    }
  }

 private:
  template <typename F, typename V>
  static void Set(F& field, V value) {
    field = static_cast<F>(value);
  }
  template <typename T>
  bool Has(const char* name, const std::vector<T>& column) {
    if (column.empty()) return false;
    if (column.size() == rows_.size()) return true;
    in_.Defect(name, "is not one for each end");
    return false;
  }

  MessageCheck& in_;
  std::vector<AttemptEnd>& rows_;
};

void AllColumns(auto& a, auto& m) {
  constexpr ColumnBounds<int64_t> kTime{.most = kWireLimits.longest.ns};
  constexpr ColumnBounds<uint64_t> kSize{.most = kWireLimits.size};
  constexpr ColumnBounds<int64_t> kAsked{-1, static_cast<int64_t>(kWireLimits.size), -1};
  constexpr auto kLeastStatus = std::numeric_limits<int32_t>::min();

  a.Steps("index", m.index, {.most = kLimits.tasks_per_job - 1},
          [](auto& e) -> auto& { return e.ref.index; });
  a.Column("attempt", m.attempt, {.least = 1, .fallback = 1},
           [](auto& e) -> auto& { return e.ref.attempt.value; });
  a.Column("cause", m.cause, {}, [](auto& e) -> auto& { return e.cause; });
  a.Column("status", m.status, {.least = kLeastStatus}, [](auto& e) -> auto& { return e.status; });
  a.Column("slot", m.slot, {.most = kLimits.slots}, [](auto& e) -> auto& { return e.slot; });
  a.Steps("start", m.start, {.most = kWireLimits.latest.ns},
          [](auto& e) -> auto& { return e.start.ns; });
  a.Column("wall", m.wall, kTime, [](auto& e) -> auto& { return e.wall.ns; });
  a.Column("user", m.user, kTime, [](auto& e) -> auto& { return e.user.ns; });
  a.Column("system", m.system, kTime, [](auto& e) -> auto& { return e.system.ns; });
  a.Column("peak_memory", m.peak_memory, kSize, [](auto& e) -> auto& { return e.peak_memory; });
  a.Column("memory_source", m.memory_source, {}, [](auto& e) -> auto& { return e.memory_source; });
  a.Column("left_behind", m.left_behind, {}, [](auto& e) -> auto& { return e.left_behind; });
  a.Column("stdout_total", m.stdout_total, kSize, [](auto& e) -> auto& { return e.stdout_total; });
  a.Column("stderr_total", m.stderr_total, kSize, [](auto& e) -> auto& { return e.stderr_total; });
  a.Column("read_bytes", m.read_bytes, kAsked, [](auto& e) -> auto& { return e.read_bytes; });
  a.Column("written_bytes", m.written_bytes, kAsked,
           [](auto& e) -> auto& { return e.written_bytes; });
  a.Column("not_kept", m.not_kept, {}, [](auto& e) -> auto& { return e.not_kept; });
}

// ---- Writing -----------------------------------------------------------------------------------

void PutJobs(std::vector<uint32_t>& to, const std::vector<AttemptEnd>& ends) {
  for (const AttemptEnd& end : ends) {
    const uint32_t job = end.ref.job.value;
    if (to.empty() || to[to.size() - 2] != job) to.insert(to.end(), {job, 0});
    ++to.back();
  }
}

void PutNotes(EndsForm& to, const std::vector<AttemptEnd>& ends) {
  if (std::ranges::all_of(ends, [](const AttemptEnd& end) { return end.note.empty(); })) return;
  for (const AttemptEnd& end : ends) to.note.push_back(CutText(end.note, kWireLimits.note_bytes));
}

template <typename... T>
void ClearZeros(std::vector<T>&... columns) {
  auto clear = [](auto& column) {
    if (std::ranges::all_of(column, [](auto v) { return v == 0; })) column.clear();
  };
  (clear(columns), ...);
}

void PutProcesses(EndsForm& to, const std::vector<AttemptEnd>& ends) {
  if (std::ranges::all_of(ends, [](const AttemptEnd& end) { return end.processes.empty(); })) {
    return;
  }
  for (const AttemptEnd& end : ends) {
    to.processes.push_back(static_cast<uint32_t>(end.processes.size()));
    for (const ProcessEnd& process : end.processes) {
      to.process_step.push_back(process.step);
      to.process_command.push_back(process.command);
      to.process_rank.push_back(process.rank);
      to.process_status.push_back(process.status);
      to.process_stdout.push_back(std::min(process.stdout_bytes, kWireLimits.size));
      to.process_stderr.push_back(std::min(process.stderr_bytes, kWireLimits.size));
    }
  }
  ClearZeros(to.process_stdout, to.process_stderr);
}

void PutOutputs(EndsForm& to, const std::vector<TaskOutputPtr>& outputs) {
  if (std::ranges::none_of(outputs, [](const TaskOutputPtr& each) { return each != nullptr; })) {
    return;
  }
  const TaskOutput none;
  auto put = [&](const OutputStream& stream, auto& here, auto& apart) {
    bool is_here = stream.bytes.size() == stream.total && !stream.IsApart();
    here.push_back(is_here ? static_cast<uint32_t>(stream.total) : 0);
    apart.push_back(is_here ? 0 : std::min(stream.total, kWireLimits.size));
    if (is_here) to.output += stream.bytes;
  };
  for (const TaskOutputPtr& output : outputs) {
    const TaskOutput& each = output ? *output : none;
    put(each.out, to.stdout_here, to.stdout_apart);
    put(each.err, to.stderr_here, to.stderr_apart);
    put(each.files, to.files_here, to.files_apart);
  }
  ClearZeros(to.stdout_here, to.stderr_here, to.files_here);
  ClearZeros(to.stdout_apart, to.stderr_apart, to.files_apart);
}

// ---- Reading -----------------------------------------------------------------------------------

// Makes the rows, with their jobs.
void TakeJobs(MessageCheck& in, const std::vector<uint32_t>& pairs, std::vector<AttemptEnd>& ends) {
  if (pairs.empty()) in.Defect("job", "is missing");
  if (pairs.size() % 2 != 0) in.Defect("job", "has half a pair");
  uint64_t rows = 0;
  for (size_t i = 1; i < pairs.size(); i += 2) rows += pairs[i];
  if (rows > kWireLimits.ends) in.Defect("job", "has too many ends");
  if (!in.ok()) return;
  ends.resize(rows);
  auto end = ends.begin();
  for (size_t i = 0; i < pairs.size(); i += 2) {
    auto job = in.Id<JobId>("job", pairs[i]);
    if (pairs[i + 1] == 0) in.Defect("job", "has an empty range");
    for (uint32_t k = 0; k < pairs[i + 1]; ++k) (end++)->ref.job = job;
  }
}

void TakeNotes(MessageCheck& in, std::vector<std::string>& notes, std::vector<AttemptEnd>& ends) {
  if (notes.empty()) return;
  if (notes.size() > ends.size()) in.Defect("note", "has too many texts");
  if (notes.size() != ends.size()) return in.Defect("note", "is not one for each end");
  for (size_t i = 0; i < notes.size(); ++i) {
    if (notes[i].size() > kWireLimits.note_bytes) in.Defect("note", "has a text that is too long");
    ends[i].note = std::move(notes[i]);
  }
}

// A column of lengths, `rows` of them; empty: none.
template <typename T>
struct Lengths {
  const std::vector<T>& column;
  T operator[](size_t row) const { return column.empty() ? 0 : column[row]; }
};

void TakeProcesses(MessageCheck& in, const EndsForm& from, std::vector<AttemptEnd>& ends) {
  uint64_t sum = 0;
  for (uint32_t count : from.processes) sum += count;
  if (sum > kWireLimits.processes) in.Defect("processes", "are too many");
  if (from.processes.size() != 0 && from.processes.size() != ends.size()) {
    in.Defect("processes", "is not one for each end");
  }
  auto check = [&](const char* name, size_t size) {
    if (size != sum) in.Defect(name, "is not one for each process");
  };
  check("process_step", from.process_step.size());
  check("process_command", from.process_command.size());
  check("process_rank", from.process_rank.size());
  check("process_status", from.process_status.size());
  if (from.process_stdout.size() != 0) check("process_stdout", from.process_stdout.size());
  if (from.process_stderr.size() != 0) check("process_stderr", from.process_stderr.size());
  if (!in.ok()) return;
  constexpr uint32_t kMost = std::numeric_limits<uint16_t>::max();
  const Lengths<uint64_t> out{from.process_stdout};
  const Lengths<uint64_t> err{from.process_stderr};
  auto length = [&](const char* name, const Lengths<uint64_t>& column, size_t row) {
    return in.Number<uint64_t>(name, column[row], 0, kWireLimits.size);
  };
  size_t at = 0;
  for (size_t row = 0; row < from.processes.size(); ++row) {
    auto& processes = ends[row].processes;
    processes.reserve(from.processes[row]);
    for (uint32_t k = 0; k < from.processes[row]; ++k, ++at) {
      processes.push_back(
          {.step = in.Number<uint16_t>("process_step", from.process_step[at], 0, kMost),
           .command = in.Number<uint16_t>("process_command", from.process_command[at], 0, kMost),
           .rank = from.process_rank[at],
           .status = from.process_status[at],
           .stdout_bytes = length("process_stdout", out, at),
           .stderr_bytes = length("process_stderr", err, at)});
    }
  }
}

void TakeOutputs(MessageCheck& in, const EndsForm& from, std::vector<TaskOutputPtr>& outputs) {
  auto check = [&](const char* name, size_t size) {
    if (size != 0 && size != outputs.size()) {
      in.Defect(name, "is not one for each end");
    }
  };
  check("stdout_here", from.stdout_here.size());
  check("stderr_here", from.stderr_here.size());
  check("stdout_apart", from.stdout_apart.size());
  check("stderr_apart", from.stderr_apart.size());
  check("files_here", from.files_here.size());
  check("files_apart", from.files_apart.size());
  if (!in.ok()) return;
  std::string_view rest = from.output;
  auto take = [&](const char* here_name, uint32_t here, const char* apart_name, uint64_t apart) {
    OutputStream stream;
    if (here > kWireLimits.inline_bytes) in.Defect(here_name, "is too long");
    if (here > rest.size()) in.Defect("output", "has fewer bytes than its lengths say");
    if (here != 0 && apart != 0) in.Defect(apart_name, "occurs twice");
    stream.total = here + in.Number<uint64_t>(apart_name, apart, 0, kWireLimits.size);
    if (!in.ok()) return stream;
    stream.bytes = rest.substr(0, here);
    rest.remove_prefix(here);
    return stream;
  };
  Lengths<uint32_t> out_here{from.stdout_here}, err_here{from.stderr_here},
      files_here{from.files_here};
  Lengths<uint64_t> out_apart{from.stdout_apart}, err_apart{from.stderr_apart},
      files_apart{from.files_apart};
  for (size_t i = 0; i < outputs.size() && in.ok(); ++i) {
    if ((out_here[i] | err_here[i] | files_here[i] | out_apart[i] | err_apart[i] |
         files_apart[i]) == 0) {
      continue;
    }
    TaskOutput output;
    output.out = take("stdout_here", out_here[i], "stdout_apart", out_apart[i]);
    output.err = take("stderr_here", err_here[i], "stderr_apart", err_apart[i]);
    output.files = take("files_here", files_here[i], "files_apart", files_apart[i]);
    outputs[i] = std::make_shared<const TaskOutput>(std::move(output));
  }
  if (!rest.empty()) in.Defect("output", "has more bytes than its lengths say");
}

}  // namespace

EndsForm FormOf<Ends>::ToForm(const Ends& ends) {
  CHECK(ends.outputs.size() == ends.ends.size());
  EndsForm to;
  to.number = ends.number;
  PutJobs(to.job, ends.ends);
  ColumnWriter writer(ends.ends);
  AllColumns(writer, to);
  PutNotes(to, ends.ends);
  PutProcesses(to, ends.ends);
  PutOutputs(to, ends.outputs);
  return to;
}

Ends FormOf<Ends>::FromForm(MessageCheck& in, EndsForm&& from) {
  Ends ends;
  ends.number = from.number;
  TakeJobs(in, from.job, ends.ends);
  if (!in.ok()) return {};
  ends.outputs.resize(ends.ends.size());
  ColumnReader reader(in, ends.ends);
  AllColumns(reader, from);
  TakeNotes(in, from.note, ends.ends);
  TakeProcesses(in, from, ends.ends);
  TakeOutputs(in, from, ends.outputs);
  return ends;
}

}  // namespace spate::wire
