#include "support/threads.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#if defined(__linux__)
#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#else
#include <thread>
#endif

namespace bench {

#if defined(__linux__)
namespace {

// As the process was started (taskset), read before anything is pinned.
const std::vector<int>& cpus() {
  static const std::vector<int> list = [] {
    std::vector<int> found;
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof(set), &set);
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(static_cast<unsigned>(i), &set)) found.push_back(i);
    }
    if (found.empty()) found.push_back(0);
    return found;
  }();
  return list;
}

void pin(int thread, const std::vector<int>& to) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : to) CPU_SET(static_cast<unsigned>(cpu), &set);
  sched_setaffinity(thread, sizeof(set), &set);
}

}  // namespace

unsigned available_cpus() { return static_cast<unsigned>(cpus().size()); }

void pin_caller() { pin(0, {cpus().back()}); }

void unpin_caller() { pin(0, cpus()); }

long preemptions() {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

void pin_pool() {
  if (cpus().size() < 2) return;
  DIR* const tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return;
  std::vector<int> others;
  while (const dirent* entry = readdir(tasks)) {
    const int thread = std::atoi(entry->d_name);
    if (thread > 0 && thread != getpid()) others.push_back(thread);
  }
  closedir(tasks);
  // The youngest threads belong to the pool that is measured now: they are spread first.
  std::sort(others.rbegin(), others.rend());
  for (std::size_t i = 0; i < others.size(); ++i) pin(others[i], {cpus()[1 + i % (cpus().size() - 1)]});
  pin(0, {cpus()[0]});
}

#else
unsigned available_cpus() { return std::max(1u, std::thread::hardware_concurrency()); }
void pin_caller() {}
void unpin_caller() {}
void pin_pool() {}
long preemptions() { return 0; }
#endif

}  // namespace bench
