// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::traces {

/// A program that the PATH leads to, from which bytes are read or to which they are written while it runs.
class Program {
 public:
  enum class Way : unsigned char {
    kFrom,  ///< its standard output is read, its standard input is empty
    kTo,    ///< its standard input is written
  };

  /// `words` begins with its name. Throws std::system_error if it cannot be started.
  Program(std::vector<std::string> words, Way way);
  /// Ends it.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Waits until there are some; 0 at the end.
  std::size_t read(char* to, std::size_t size);
  /// False if it does not read any more.
  bool write(std::string_view bytes);
  /// Waits for its end, the first time. A program killed by signal S has exit code 128 + S, as in a shell.
  int wait();
  /// What it has said on its standard error, on one line, and where it is written to on its standard output.
  [[nodiscard]] std::string said() const;

  [[nodiscard]] static bool is_installed(const std::string& name);

 private:
  void close_end();

  pid_t process_ = -1;  ///< -1 when it has ended
  int code_ = 0;
  int end_ = -1;   ///< of ours
  int said_ = -1;  ///< a file without a name
};

}  // namespace weft::traces
