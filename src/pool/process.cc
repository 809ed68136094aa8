// On the host, of the user alone, below ~/.local/state/spate/pilots:
//
//   programs/NAME-SHA256   programs that were brought; pilots have hard links to them
//   host-NAME/TAG/         a pilot; NAME is the host's, since many hosts may share a home
//     id                   PID.START.BOOT, by rename
//     script, output       its script, and a link to its output file; the file itself where it is
//                          another machine's folder that is named
//     files/               what was brought for it, the credential too; goes with its end
//     ended                its exit status, empty when nobody heard it
//
// Making the folder TAG is what makes a tag start once. The pilot writes its id before it does
// anything else, and the starter answers after that. So a pilot that runs is listed, whatever has
// become of the starter and its connection.
//
// A pilot has ended when its id's process is not there; that it is not is never the answer of a
// command that might have failed for lack of memory or processes, so the shell itself looks.
// Answers end with a line of their own: what was cut off, or came from something else than the
// script, is no answer.
//
// Ends are told for an hour, then the folder goes, at the next start or list of any pilot there.
#include "pool/process.h"

#include <algorithm>

#include "base/units.h"
#include "pool/parts.h"
#include "pool/script.h"

namespace spate::pool {
namespace {

constexpr std::string_view kStarted = "spate: started ";
constexpr std::string_view kWholeList = "spate: these are all";

// Names begin with spate_: a variable that the user exports would be changed for the pilot.
constexpr std::string_view kBegin = R"sh(
spate_fail() {
  echo "spate: $1" >&2
  exit 1
}
spate_clock() {
  { read -r spate_boot </proc/sys/kernel/random/boot_id; } 2>/dev/null ||
    spate_fail "the host has no /proc: pilots run on Linux"
  spate_boot=${spate_boot%%-*}
}
spate_places() {
  [ -n "$HOME" ] || spate_fail "HOME is not set"
  spate_root=$HOME/.local/state/spate/pilots
  spate_host=$(uname -n) || spate_fail "the host does not know its name"
  spate_host=$spate_root/host-$spate_host
}
# What the process of an id does: running, ended, or unknown.
spate_look() {
  spate_state=ended
  spate_pid=${1%%.*}
  spate_when=${1#*.}
  [ "${spate_when#*.}" = "$spate_boot" ] || return 0
  spate_when=${spate_when%%.*}
  [ -d "/proc/$spate_pid" ] || return 0
  if { read -r spate_stat <"/proc/$spate_pid/stat"; } 2>/dev/null; then
    set -f
    set -- ${spate_stat##*) }
    set +f
    case $1 in Z | X) return 0 ;; esac
    [ "${20}" != "$spate_when" ] || spate_state=running
  elif [ -d "/proc/$spate_pid" ]; then
    spate_state=unknown
  fi
}
spate_sweep() {
  find "$spate_host" -mindepth 2 -maxdepth 2 -name ended -mmin +60 \
    -exec sh -c 'rm -rf "${1%/*}"' sh {} \;
  find "$spate_host" -mindepth 1 -maxdepth 1 -type d -mmin +60 \
    -exec sh -c '[ -f "$1/id" ] || rm -rf "$1"' sh {} \;
}
)sh";

constexpr std::string_view kStart = R"sh(
spate_undo() {
  rm -rf "$spate_dir"
  spate_fail "$1"
}
spate_old() {
  { read -r spate_id <"$spate_dir/id"; } 2>/dev/null
}
# Whether the program of this name is there, or comes.
spate_has() {
  [ -n "$spate_name" ] || return 0
  spate_program=$spate_root/programs/$spate_name-$spate_sum
  if [ -x "$spate_program" ]; then
    touch "$spate_program"
  elif [ "$spate_bytes" -eq 0 ]; then
    exit 44
  fi
}
# The rest of stdin becomes the program, if it is not there, whole and of the right sum.
spate_take_program() {
  spate_part=$spate_program.${spate_host##*/}.$$.part
  if [ ! -x "$spate_program" ]; then
    cat >"$spate_part" || spate_undo "the program could not be written to $spate_part"
    if [ "$(sha256sum <"$spate_part")" != "$spate_sum  -" ]; then
      rm -f "$spate_part"
      spate_undo "the program did not arrive whole"
    fi
    chmod 700 "$spate_part" && mv -f "$spate_part" "$spate_program" ||
      spate_undo "the program could not be put to $spate_program"
  fi
  ln "$spate_program" "$spate_dir/files/$spate_name" 2>/dev/null ||
    cp "$spate_program" "$spate_dir/files/$spate_name" ||
    spate_undo "the program could not be put to the pilot's files"
}
spate_take() {
  spate_size=${spate_sizes%% *}
  spate_sizes=${spate_sizes#* }
  dd bs=1 count="$spate_size" >"$spate_dir/files/$1" 2>/dev/null
  [ "$(wc -c <"$spate_dir/files/$1")" -eq "$spate_size" ] ||
    spate_undo "the file $1 did not arrive whole"
}
spate_start() {
  spate_clock
  spate_places
  spate_mask=$(umask)
  umask 077
  mkdir -p "$spate_host" "$spate_root/programs" || spate_fail "no folder for pilots in $HOME"
  spate_sweep
  find "$spate_root/programs" -type f -links 1 \( -name '*.part' -mmin +60 -o -mtime +30 \) \
    -exec rm -f {} +
  spate_dir=$spate_host/$spate_tag
  if spate_old; then
    echo "spate: started $spate_id"
    return 0
  fi
  spate_has
  if ! mkdir "$spate_dir"; then
    [ -d "$spate_dir" ] || spate_fail "no folder for the pilot"
    spate_fail "the pilot $spate_tag is being started"
  fi
  mkdir "$spate_dir/files" || spate_undo "no folder for the pilot's files"
  spate_bring
  spate_write >"$spate_dir/script" || spate_undo "the pilot's script could not be written"
  spate_kept=${spate_out:-$spate_dir/output}
  mkdir -p "${spate_kept%/*}/" && : >"$spate_kept" &&
    { [ -z "$spate_out" ] || ln -s "$spate_out" "$spate_dir/output"; } ||
    spate_undo "the pilot's output file $spate_kept could not be made"
  cd "$spate_where" || spate_undo "the pilot has no folder to start in"
  umask "$spate_mask"
  spate_id=$(setsid sh "$spate_dir/script" 3>&1 >"$spate_kept" 2>&1 </dev/null &)
  [ -n "$spate_id" ] || spate_undo "the pilot did not start: $(tail -n 3 "$spate_kept")"
  echo "spate: started $spate_id"
}
spate_start
)sh";

// Within the pilot's own script. The starter reads descriptor 3 until it is closed.
constexpr std::string_view kPilotLines = R"sh(spate_home=${0%/*}
spate_number() {
  read -r spate_stat <"/proc/$$/stat" && read -r spate_boot </proc/sys/kernel/random/boot_id ||
    return
  set -- ${spate_stat##*) }
  SPATE_PILOT_ID=$$.${20}.${spate_boot%%-*}
}
spate_left() {
  echo "$1" >"$spate_home/ended"
  rm -rf "$spate_home/files"
}
spate_number && echo "$SPATE_PILOT_ID" >"$spate_home/id.new" &&
  mv -f "$spate_home/id.new" "$spate_home/id" || exit
export SPATE_PILOT_ID
unset SPATE_PILOT_PART SPATE_PILOT_CPUS
trap 'spate_left $?' EXIT
echo "$SPATE_PILOT_ID" >&3
exec 3>&-
)sh";

constexpr std::string_view kList = R"sh(
spate_end_of() {
  spate_status=
  if [ -f "$1/ended" ]; then
    { read -r spate_status <"$1/ended"; } 2>/dev/null
  else
    : >"$1/ended"
  fi
  [ ! -d "$1/files" ] || rm -rf "$1/files"
  if [ -n "$spate_status" ]; then
    spate_reason="exit status $spate_status"
  elif [ "${spate_id##*.}" != "$spate_boot" ]; then
    spate_reason="the host was started again"
  else
    spate_reason="killed"
  fi
}
spate_list() {
  spate_clock
  spate_places
  umask 077
  [ ! -d "$spate_host" ] || spate_sweep
  spate_seen=" "
  for spate_dir in "$spate_host"/*/; do
    spate_dir=${spate_dir%/}
    spate_tag=${spate_dir##*/}
    { read -r spate_id <"$spate_dir/id"; } 2>/dev/null || continue
    spate_look "$spate_id"
    [ "$spate_state" != ended ] || spate_end_of "$spate_dir"
    spate_ours=
    [ -z "$spate_prefix" ] || case $spate_tag in "$spate_prefix"*) spate_ours=1 ;; esac
    case " $spate_ids " in *" $spate_id "*) spate_ours=1 ;; esac
    [ -n "$spate_ours" ] || continue
    spate_seen="$spate_seen$spate_id "
    [ "$spate_state" = ended ] || spate_reason=
    echo "$spate_id|$spate_tag|$spate_state|$spate_reason"
    [ "$spate_state" != ended ] || tail -c 600 "$spate_dir/output" 2>/dev/null | tail -n 3 |
      while read -r spate_line || [ -n "$spate_line" ]; do printf '\t%s\n' "$spate_line"; done
  done
  # Without its folder, only what runs is sure: the id may be of another host with this name.
  for spate_id in $spate_ids; do
    case $spate_seen in *" $spate_id "*) continue ;; esac
    spate_look "$spate_id"
    [ "$spate_state" != running ] || echo "$spate_id||running|"
  done
  echo "spate: these are all"
}
spate_list
)sh";

constexpr std::string_view kStop = R"sh(
spate_stop() {
  spate_clock
  for spate_id in $spate_ids; do
    spate_look "$spate_id"
    [ "$spate_state" != running ] || kill -TERM "$spate_pid"
  done
  return 0
}
spate_stop
)sh";

constexpr std::string_view kProbe = R"sh(
spate_probe() {
  spate_clock
  spate_places
  umask 077
  for spate_need in setsid dd find tail mkdir mv ln $spate_needs; do
    command -v "$spate_need" >/dev/null || spate_fail "the host has no command $spate_need"
  done
  mkdir -p "$spate_host" && : >"$spate_host/probe.$$" && rm -f "$spate_host/probe.$$" ||
    spate_fail "pilots cannot write to $spate_root"
  if [ -n "$spate_shared" ]; then
    [ -x "$spate_shared" ] ||
      spate_fail "the host has no program $spate_shared: name the \
one there (--program), or bring it (--no-shared-files)"
    spate_trial=$spate_folder/probe.$$
    { mkdir -p "$spate_folder" && : >"$spate_trial" && rm -f "$spate_trial"; } 2>/dev/null ||
      spate_fail "pilots cannot write to $spate_folder there: name a folder that both machines \
have (--folder), or use --no-shared-files"
  fi
  spate_machine=$(uname -m) || spate_fail "the host does not know what it is"
  [ -z "$spate_ours" ] || [ "$spate_machine" = "$spate_ours" ] ||
    spate_fail "the host is $spate_machine, and this program is for $spate_ours"
  uname -sm
}
spate_probe
)sh";

// The machine's name as in `uname -m`; "" for those whose names are not known here.
#if defined(__x86_64__)
constexpr std::string_view kMachine = "x86_64";
#elif defined(__aarch64__)
constexpr std::string_view kMachine = "aarch64";
#else
constexpr std::string_view kMachine = "";
#endif

void Set(std::string& script, std::string_view name, std::string_view value) {
  script.append(name).append("=").append(ShellQuote(value)).append("\n");
}

std::string_view NameInScript(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string Ids(std::span<const std::string> ids) {
  std::string text;
  for (const std::string& id : ids) {
    if (IsProcessId(id)) text += (text.empty() ? "" : " ") + id;
  }
  return text;
}

}  // namespace

Status CheckProcessSpec(std::string_view system, const PilotSpec& spec) {
  auto invalid = [system](std::string text) {
    return Fail(ErrorKind::kInvalid, std::string(system) + std::move(text));
  };
  TRY(CheckSpec(spec));
  if (spec.nodes > 1) {
    return invalid(" starts a pilot on one host; name more hosts instead of more nodes per pilot");
  }
  if (!spec.options.empty()) {
    return invalid(" accepts no options for submitting: " + EscapeForScreen(spec.options[0]));
  }
  if (spec.output_file.ends_with('/')) {
    return invalid(": the output file is a folder: " + EscapeForScreen(spec.output_file));
  }
  if (spec.shared_files) return {};
  std::vector<std::string_view> names;
  for (const std::string& path : spec.files) {
    if (!path.starts_with('/') || path.ends_with('/')) {
      return invalid(" cannot copy this file: " + EscapeForScreen(path));
    }
    names.push_back(NameInScript(path));
  }
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) == names.end()) return {};
  return invalid(" copies files to one folder, but two files of a pilot have the same name");
}

bool IsProcessId(std::string_view id) {
  constexpr size_t kDigitsMost = 20, kBootDigits = 8;
  std::string_view pid = NextField(id, '.'), start = NextField(id, '.');
  return IsDigits(pid) && IsDigits(start) && pid.size() <= kDigitsMost &&
         start.size() <= kDigitsMost && id.size() == kBootDigits &&
         id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

BroughtFiles FilesToBring(const PilotSpec& spec) {
  BroughtFiles files;
  if (spec.shared_files) return files;
  for (const std::string& path : spec.files) {
    if (path == spec.command[0]) {
      files.program = path;
    } else {
      files.others.push_back(path);
    }
  }
  return files;
}

std::string StartScript(std::string_view system, const PilotSpec& spec) {
  BroughtFiles files = FilesToBring(spec);
  std::string script(kBegin.substr(1));
  Set(script, "spate_tag", spec.tag);
  // A folder of the hub's machine means nothing on one that shares no files with it.
  Set(script, "spate_out", spec.shared_files ? spec.output_file : "");
  Set(script, "spate_name", NameInScript(files.program));
  // The function that sets the folder where PilotScript starts, and brings the files there.
  script += "spate_bring() {\n";
  script += spec.shared_files ? "  spate_where=$HOME\n" : "  spate_where=$spate_dir/files\n";
  for (const std::string& path : files.others) {
    script += "  spate_take " + ShellQuote(NameInScript(path)) + "\n";
  }
  if (!files.program.empty()) script += "  spate_take_program\n";
  script += "}\nspate_write() {\n  printf %s ";
  script += ShellQuote(PilotScript(spec, {system, spec.time_limit, kPilotLines}));
  script += "\n}\n";
  return script.append(kStart.substr(1));
}

std::optional<std::string> ReadStarted(std::string_view out) {
  std::optional<std::string> id;
  for (std::string_view line : WholeLines(out)) {
    if (!line.starts_with(kStarted)) continue;
    line.remove_prefix(kStarted.size());
    if (IsProcessId(line)) id = std::string(line);
  }
  return id;
}

std::string ListScript(const PilotQuery& query) {
  std::string script(kBegin.substr(1));
  Set(script, "spate_prefix", ValidTag(query.prefix) ? query.prefix : "");
  Set(script, "spate_ids", Ids(query.ids));
  return script.append(kList.substr(1));
}

Result<std::vector<ListedPilot>> ReadListed(std::string_view whom, const PilotQuery& query,
                                            const Outcome& outcome) {
  auto lines = WholeLines(outcome.out);
  if (outcome.end != Outcome::End::kExited || outcome.exit_code != 0) {
    return Fail(ErrorKind::kUnavailable, Describe(whom, outcome));
  }
  if (lines.empty() || lines.back() != kWholeList) {
    return Fail(ErrorKind::kUnavailable,
                std::string(whom) + " returned an incomplete list of its pilots" +
                    (lines.empty() ? "" : ": " + EscapeForScreen(lines.back().substr(0, 200))));
  }
  lines.pop_back();
  Listing listing(query);
  std::optional<ListedPilot> pilot;
  auto add = [&] {
    if (pilot) listing.Add(std::move(*pilot));
    pilot.reset();
  };
  for (std::string_view line : lines) {
    if (line.starts_with('\t')) {
      std::string_view said = Trimmed(line);
      if (!pilot || pilot->state != PilotState::kEnded || said.empty()) continue;
      pilot->reason += "; " + EscapeForScreen(said);
      continue;
    }
    add();
    std::string_view id = NextField(line, '|'), tag = NextField(line, '|');
    std::string_view state = NextField(line, '|');
    if (!IsProcessId(id)) continue;
    pilot =
        ListedPilot{std::string(id), std::string(tag), PilotState::kUnknown, EscapeForScreen(line)};
    if (state == "running") pilot->state = PilotState::kRunning;
    if (state == "ended") pilot->state = PilotState::kEnded;
  }
  add();
  return listing.Take();
}

std::string StopScript(std::span<const std::string> ids) {
  std::string script(kBegin.substr(1));
  Set(script, "spate_ids", Ids(ids));
  return script.append(kStop.substr(1));
}

std::string ProbeScript(const PilotSpec& spec) {
  bool program = !FilesToBring(spec).program.empty();
  std::string script(kBegin.substr(1));
  Set(script, "spate_needs", program ? "sha256sum" : "");
  Set(script, "spate_ours", kMachine);
  const bool shared = spec.shared_files && spec.command.front().starts_with('/');
  Set(script, "spate_shared", shared ? spec.command.front() : "");
  Set(script, "spate_folder", spec.output_file.substr(0, spec.output_file.rfind('/')));
  return script.append(kProbe.substr(1));
}

Grant GrantOfProcess(std::string_view system, const GrantInput& input) {
  Grant grant = input.Begin(system, "SPATE_PILOT_ID");
  grant.cpus.reset();
  return grant;
}

}  // namespace spate::pool
