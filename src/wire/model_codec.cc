// Needs and JobSettings, which hub, nodes and clients all send.
#include "wire/model_codec.h"

#include <cmath>
#include <utility>

#include "core/model/limits.h"

namespace spate::wire {

void PutNeeds(pb::Needs& to, const Needs& needs) {
  to.set_milli_cpus(needs.milli_cpus);
  to.set_memory(needs.memory);
  for (const NamedNeed& named : needs.named) {
    to.mutable_name()->add_length(static_cast<uint32_t>(named.name.size()));
    to.mutable_name()->mutable_bytes()->append(named.name);
    to.add_count(named.count);
  }
  to.set_time(needs.time.ns);
  if (!needs.labels.empty()) PutTexts(*to.mutable_label(), needs.labels);
  to.set_on_node(needs.on_node);
  if (!needs.not_on.empty()) PutTexts(*to.mutable_not_on(), needs.not_on);
}

Needs TakeNeeds(FieldReader& in, const pb::Needs& from) {
  Needs needs;
  needs.milli_cpus = from.milli_cpus();
  needs.memory = in.Number<uint64_t>("needs.memory", from.memory(), 0, kWireLimits.size);
  auto names = in.Texts("needs.name", from.name(), kWireLimits.name_bytes);
  in.Sorted("needs.name", names);
  if (names.size() != static_cast<size_t>(from.count_size())) {
    in.Defect("needs.count", "is not one for each name");
    return needs;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    uint32_t count = from.count(static_cast<int>(i));
    if (count == 0) in.Defect("needs.count", "has a zero");
    needs.named.push_back({.name = std::move(names[i]), .count = count});
  }
  needs.time = in.Time("needs.time", from.time());
  needs.labels = in.Texts("needs.label", from.label(), kWireLimits.name_bytes);
  in.Sorted("needs.label", needs.labels);
  needs.on_node = in.Text("needs.on_node", from.on_node(), kWireLimits.name_bytes);
  needs.not_on = in.Texts("needs.not_on", from.not_on(), kWireLimits.name_bytes);
  in.Sorted("needs.not_on", needs.not_on);
  return needs;
}

void PutSettings(pb::JobSettings& to, const JobSettings& s) {
  to.set_name(s.name);
  to.set_cwd(s.cwd);
  to.set_row_kind(static_cast<uint32_t>(s.row_kind));
  PutTexts(*to.mutable_command(), s.command);
  PutTexts(*to.mutable_value_names(), s.value_names);
  to.set_record_values(s.record_values);
  to.set_has_source(s.has_source);
  to.set_repeat_context(s.repeat_context);
  to.set_replace(s.replace);
  to.set_shell(s.shell);
  PutTexts(*to.mutable_environment(), s.environment);
  to.set_stdin_pattern(s.stdin_pattern);
  to.set_stdout_pattern(s.stdout_pattern);
  to.set_stderr_pattern(s.stderr_pattern);
  to.set_nice(s.nice);
  to.set_measure_io(s.measure_io);
  to.set_live_output(s.live_output);
  to.set_time_limit(s.time_limit.ns);
  to.set_time_limit_percent(s.time_limit_percent);
  to.set_warn_time(s.warn_time.ns);
  to.set_kill_grace(s.kill_grace.ns);
  to.set_start_delay(s.start_delay.ns);
  to.set_min_free_memory(s.min_free_memory);
  to.set_max_load(s.max_load);
  to.set_check_patience(s.check_patience.ns);
  to.set_user(s.user);
  to.set_umask_plus_1(static_cast<uint32_t>(s.umask + 1));
  if (!s.put_patterns.empty()) PutTexts(*to.mutable_put_patterns(), s.put_patterns);
  if (!s.get_patterns.empty()) PutTexts(*to.mutable_get_patterns(), s.get_patterns);
  for (const PutFile& file : s.puts) {
    to.mutable_put_name()->add_length(static_cast<uint32_t>(file.name.size()));
    to.mutable_put_name()->mutable_bytes()->append(file.name);
    to.add_put_mode(file.mode);
    to.add_put_size(file.size);
    to.add_put_first_piece(file.first_piece);
  }
}

// What a hub and a node believe of it: names that stay in a folder, and pieces in small numbers.
std::vector<PutFile> TakePuts(FieldReader& in, const pb::JobSettings& from) {
  std::vector<PutFile> puts;
  auto names =
      in.Texts("settings.put_name", from.put_name(), kWireLimits.text_bytes, kLimits.put_files);
  in.Sorted("settings.put_name", names);
  auto count = static_cast<int>(names.size());
  if (from.put_mode_size() != count || from.put_size_size() != count ||
      from.put_first_piece_size() != count) {
    in.Defect("settings.put_name", "is not one for each file");
    return puts;
  }
  for (int i = 0; i < count; ++i) {
    std::string& name = names[static_cast<size_t>(i)];
    if (!CheckTaskFileName(name)) in.Defect("settings.put_name", "leads out of the folder");
    puts.push_back(
        {.name = std::move(name),
         .mode = in.Number<uint32_t>("settings.put_mode", from.put_mode(i), 0, 0777),
         .size = in.Number<uint64_t>("settings.put_size", from.put_size(i), 0, kLimits.file_bytes),
         .first_piece = in.Number<uint32_t>("settings.put_first_piece", from.put_first_piece(i), 0,
                                            kMostPieces)});
  }
  return puts;
}

JobSettings TakeSettings(FieldReader& in, const pb::JobSettings& from) {
  constexpr uint64_t kMost = kWireLimits.text_bytes;
  JobSettings s;
  s.name = in.Text("settings.name", from.name(), kMost);
  s.cwd = in.Text("settings.cwd", from.cwd(), kMost, true);
  s.row_kind = in.Number<RowKind>("settings.row_kind", from.row_kind(), 0,
                                  static_cast<uint32_t>(RowKind::kInput));
  s.command = in.Texts("settings.command", from.command(), kMost);
  s.value_names = in.Texts("settings.value_names", from.value_names(), kMost);
  s.record_values = from.record_values();
  s.has_source = from.has_source();
  s.repeat_context = from.repeat_context();
  s.replace = in.Text("settings.replace", from.replace(), kMost);
  s.shell = in.Text("settings.shell", from.shell(), kMost);
  s.environment = in.Texts("settings.environment", from.environment(), kMost);
  s.stdin_pattern = in.Text("settings.stdin_pattern", from.stdin_pattern(), kMost);
  s.stdout_pattern = in.Text("settings.stdout_pattern", from.stdout_pattern(), kMost);
  s.stderr_pattern = in.Text("settings.stderr_pattern", from.stderr_pattern(), kMost);
  s.nice = in.Number<int>("settings.nice", from.nice(), -20, 19);
  s.measure_io = from.measure_io();
  s.live_output = from.live_output();
  s.time_limit = in.Time("settings.time_limit", from.time_limit());
  s.time_limit_percent = from.time_limit_percent();
  s.warn_time = in.Time("settings.warn_time", from.warn_time());
  s.kill_grace = in.Time("settings.kill_grace", from.kill_grace());
  s.start_delay = in.Time("settings.start_delay", from.start_delay());
  s.min_free_memory =
      in.Number<uint64_t>("settings.min_free_memory", from.min_free_memory(), 0, kWireLimits.size);
  s.max_load = from.max_load();
  if (!std::isfinite(s.max_load) || s.max_load < 0) {
    in.Defect("settings.max_load", "is out of range");
  }
  s.check_patience = in.Time("settings.check_patience", from.check_patience());
  s.user = in.Text("settings.user", from.user(), kMost);
  s.umask = in.Number<int>("settings.umask_plus_1", from.umask_plus_1(), 0, 0777 + 1) - 1;
  s.put_patterns =
      in.Texts("settings.put_patterns", from.put_patterns(), kMost, kLimits.file_options);
  s.get_patterns =
      in.Texts("settings.get_patterns", from.get_patterns(), kMost, kLimits.file_options);
  s.puts = TakePuts(in, from);
  return s;
}

}  // namespace spate::wire
