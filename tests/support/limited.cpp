// SPDX-License-Identifier: Apache-2.0
// limited MILLISECONDS PROGRAM ARGUMENTS ...: becomes the program, which SIGPROF ends after so much processor time of
// its own. A shell's limit is in seconds.
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc < 3) return 127;
  const long milliseconds = std::atol(argv[1]);
  itimerval timer{};
  timer.it_value.tv_sec = milliseconds / 1000;
  timer.it_value.tv_usec = milliseconds % 1000 * 1000;
  if (setitimer(ITIMER_PROF, &timer, nullptr) != 0) return 127;
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 127;
}
