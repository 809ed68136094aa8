// A command is `ssh WORDS HOST "sh -s"` with the script on stdin: nothing of it stands on a command
// line, and the login shell may be any.
//
// A start that brings files is a small script of this host, which the shell here runs: it sends the
// start script and the files, and only if the host says that it has not got the program, all of it
// again with the program. Each host is sent a program once, and is connected to twice that time
// alone. Shells read more of stdin than they need, so here the host's `dd` reads the script byte by
// byte, and the files stand behind it.
//
// ssh exits with 255 when it failed itself. What it says before it has logged in is known; all else
// may have come after the script arrived.
#include "pool/ssh/ssh.h"

#include <algorithm>

#include "base/units.h"
#include "pool/parts.h"
#include "pool/process.h"

namespace spate::pool {
namespace {

constexpr int kOfSsh = 255;

constexpr std::string_view kRefused[] = {
    "Permission denied (",
    "Host key verification failed",
    "Could not resolve hostname",
    "Too many authentication failures",
    "Unable to negotiate with",
    "Bad configuration option",
    "Bad owner or permissions on",
    "Can't open user config file",
    "Cannot execute command-line and remote command",
    "usage: ssh",
};
constexpr std::string_view kUnreachable[] = {
    "ssh: connect to host",
    "Temporary failure in name resolution",
    "kex_exchange_identification:",
    "ssh_exchange_identification:",
    "banner exchange",
};
constexpr std::string_view kPerhaps[] = {
    "is being started",
    "client_loop:",
    "packet_write_wait:",
    "not responding",
};

// The first value that ssh hears of an option counts.
constexpr std::string_view kFirst[] = {"-T", "-o", "BatchMode=yes"};
constexpr std::string_view kThen[] = {
    "-a",
    "-x",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ServerAliveInterval=15",
    "-o",
    "ServerAliveCountMax=3",
    // A connection that stays for others would hold our pipes; ports may be taken by it.
    "-o",
    "ControlMaster=no",
    "-o",
    "ClearAllForwardings=yes",
    // Without the host's greeting, which may say anything.
    "-o",
    "LogLevel=ERROR",
};

// Behind assignments of spate_program (or nothing) and functions spate_files, which lists the other
// files, spate_cat, which writes them, and spate_ssh.
constexpr std::string_view kBring = R"sh(
spate_script=$(cat && echo .) || exit
spate_script=${spate_script%.}
spate_bytes_of() {
  spate_size=$(wc -c <"$1") || exit
  spate_size=$((spate_size))
}
spate_sizes=
spate_size_of() {
  spate_bytes_of "$1"
  [ "$spate_size" -le 1048576 ] || {
    echo "spate: $1 has more than 1 MiB: put it on the host, and share it" >&2
    exit 1
  }
  spate_sizes="$spate_sizes$spate_size "
}
spate_files
spate_sum=
if [ -n "$spate_program" ]; then
  spate_sum=$(sha256sum <"$spate_program") || exit
  spate_sum=${spate_sum%% *}
fi
# With $1 bytes of the program, of the file $2.
spate_send() {
  spate_text="spate_sizes='$spate_sizes' spate_sum='$spate_sum' spate_bytes=$1
$spate_script"
  spate_count=$(printf %s "$spate_text" | wc -c)
  {
    printf %s "$spate_text"
    spate_cat "$2"
  } | spate_ssh "sh -c 'eval \"\$(dd bs=1 count=$((spate_count)) 2>/dev/null)\"'"
}
spate_send 0 /dev/null
spate_code=$?
[ -n "$spate_program" ] && [ "$spate_code" -eq 44 ] || exit "$spate_code"
spate_bytes_of "$spate_program"
spate_send "$spate_size" "$spate_program"
)sh";

class Ssh : public PoolDriver {
 public:
  explicit Ssh(Tools tools) : tools_(std::move(tools)) {}

  Result<CommandLine> Submit(const PilotSpec& spec) const override {
    TRY(CheckHost());
    TRY(CheckProcessSpec("ssh", spec));
    std::string script = StartScript("ssh", spec);
    BroughtFiles files = FilesToBring(spec);
    if (files.program.empty() && files.others.empty()) return HostCall(std::move(script));
    CommandLine call;
    call.argv = {"sh", "-c", BringScript(files)};
    call.input = std::move(script);
    return call;
  }

  Submitted ReadSubmit(const Outcome& outcome) const override {
    auto id = ReadId(Whom(), outcome, ReadStarted(outcome.out), {{}, kUnreachable, kPerhaps});
    bool failed = outcome.end == Outcome::End::kExited && outcome.exit_code == kOfSsh;
    if (!id && failed && !ContainsAny(outcome.err, kRefused) &&
        !ContainsAny(outcome.err, kUnreachable)) {
      id.error().kind = SubmitFailure::Kind::kUnavailable;
      id.error().perhaps_there = true;
    }
    return id;
  }

  CommandLine Query(const PilotQuery& query) const override { return HostCall(ListScript(query)); }

  Result<std::vector<ListedPilot>> ReadQuery(const PilotQuery& query,
                                             const Outcome& outcome) const override {
    return ReadListed(Whom(), query, outcome);
  }

  CommandLine Cancel(std::span<const std::string> ids) const override {
    return HostCall(StopScript(ids));
  }

  std::optional<CommandLine> Test(const PilotSpec& spec) const override {
    if (!Submit(spec)) return std::nullopt;
    return HostCall(ProbeScript(spec));
  }

 private:
  std::string ssh() const { return std::string(Or(tools_.submit, "ssh")); }
  std::string Whom() const { return ssh() + " " + EscapeForScreen(tools_.host); }

  Status CheckHost() const {
    bool odd = std::ranges::any_of(tools_.host, [](char c) { return c <= ' ' || c == '\x7f'; });
    if (!tools_.host.empty() && !tools_.host.starts_with('-') && !odd) return {};
    return Fail(ErrorKind::kInvalid, tools_.host.empty()
                                         ? "ssh needs the name of a host"
                                         : "no host: " + EscapeForScreen(tools_.host));
  }

  std::vector<std::string> Words() const {
    std::vector<std::string> words = {ssh()};
    words.insert(words.end(), std::begin(kFirst), std::end(kFirst));
    Append(words, tools_.everywhere);
    words.insert(words.end(), std::begin(kThen), std::end(kThen));
    words.insert(words.end(), {"--", tools_.host});
    return words;
  }

  CommandLine HostCall(std::string script) const {
    CommandLine call;
    call.argv = Words();
    call.argv.push_back("sh -s");
    call.input = std::move(script);
    return call;
  }

  std::string BringScript(const BroughtFiles& files) const {
    std::string text = "spate_program=" + ShellQuote(files.program) + "\nspate_files() { :";
    for (const std::string& path : files.others) text += "; spate_size_of " + ShellQuote(path);
    text += "; }\nspate_cat() { cat";
    for (const std::string& path : files.others) text += " " + ShellQuote(path);
    text += " \"$1\"; }\nspate_ssh() {";
    for (const std::string& word : Words()) text += " " + ShellQuote(word);
    return text.append(" \"$1\"; }").append(kBring);
  }

  Tools tools_;
};

}  // namespace

std::unique_ptr<PoolDriver> MakeSsh(Tools tools) { return std::make_unique<Ssh>(std::move(tools)); }

}  // namespace spate::pool
