// threads.hpp: which CPU runs what, so that a measurement is not at the mercy of the scheduler.
#pragma once

namespace bench {

/// The CPUs this process may use.
unsigned available_cpus();
/// The calling thread on one CPU (the last one it may use): single-threaded measurements.
void pin_caller();
/// The calling thread on the first CPU, every other thread of the process spread over the rest: called once a peer's
/// pool is there, else the system may keep both on one CPU for milliseconds.
void pin_pool();
/// How often the calling thread has been stopped in favour of another so far (0 where the system does not say).
long preemptions();
/// Everything free again: threads created from here on may run anywhere.
void unpin_caller();

}  // namespace bench
