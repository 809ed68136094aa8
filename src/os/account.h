// The users of this machine. A static program cannot load the modules of the C library, so
// /etc/passwd is read here, and what that does not know (LDAP, sssd) is asked of the host's
// getent, which may take as long as the network does: never on the thread of a loop that serves
// others. From any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace spate::os {

struct Account {
  std::string name;
  uint32_t user = 0, group = 0;
  std::string home, shell;
};

// So long a user database may take to answer.
inline constexpr Duration kAccountPatience = Duration::Seconds(10);

// kNotFound: there is no such user. kUnavailable and others: nobody can tell, and why.
Result<Account> AccountByName(const std::string& name);
Result<Account> AccountById(uint32_t user);
// For messages; "uid 12" where there is none.
std::string AccountName(uint32_t user);
// One line of passwd(5). kCorrupt.
Result<Account> ParseAccount(std::string_view line);

// All groups of a user, as the host's `id` knows them.
Result<std::vector<uint32_t>> GroupsOf(const Account& account);

// The standard output of a program of the host, until it closes that. kUnavailable: it takes longer
// than `patience`, and was killed.
Result<std::string> OutputWithin(std::vector<std::string> words, Duration patience);

uint32_t EffectiveUser();

}  // namespace spate::os
