//! Pins workers to cores. A worker that has a core for itself runs best on it: caches stay warm, and workers do not
//! displace each other. If another process uses the core, the worker's clients would have to wait, so the worker is
//! unpinned and the kernel may move it. The control thread checks all workers once a second.

use std::time::{Duration, Instant};

use weir_api::dataplane::v1::{Finding, WorkerPinning};
use weir_reactor::process::{Scheduled, Thread};

use crate::log;

/// Of the time that a worker wanted to run, in percent: one that waits longer shares its core with another process.
const WAITED_PERCENT_MAX: u32 = 20;
/// Less waiting than this, in percent of all time, does no harm.
const WAITED_PERCENT_MIN: u32 = 1;
/// How long a worker stays unpinned after its core was busy. Doubled each time the core is still busy afterwards.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const PAUSE_MAX: Duration = Duration::from_secs(320);
/// After this long without contention, the next pause is [`FIRST_PAUSE`] again.
const CALM: Duration = Duration::from_secs(60);

/// The cores of the process, and the workers on them.
pub struct Cores {
    all: Vec<usize>,
    wanted: WorkerPinning,
    /// The command line forbids pinning.
    forbidden: bool,
    workers: Vec<WorkerCore>,
}

/// A worker and the core that it is pinned to, if it is.
struct WorkerCore {
    thread: Thread,
    core: usize,
    pinning: Pinning,
    looked: Option<(Instant, Scheduled)>,
}

impl Cores {
    pub fn new(all: Vec<usize>, forbidden: bool) -> Self {
        Self { all, wanted: WorkerPinning::Auto, forbidden, workers: Vec::new() }
    }

    /// Assigns a core to each worker. The first check pins it.
    pub fn assign(&mut self, workers: impl Iterator<Item = Thread>, now: Instant) {
        let cores = self.all.iter().copied().cycle();
        let assigned = |(thread, core)| WorkerCore { thread, core, pinning: Pinning::new(now), looked: None };
        self.workers = workers.zip(cores).map(assigned).collect();
    }

    pub fn want(&mut self, wanted: WorkerPinning, now: Instant) {
        if self.wanted != wanted {
            self.wanted = wanted;
            self.look(now);
        }
    }

    /// Pins and unpins workers as necessary.
    pub fn look(&mut self, now: Instant) {
        if self.forbidden {
            return;
        }
        for (index, worker) in self.workers.iter_mut().enumerate() {
            let seen = worker.see(now);
            let before = worker.pinning.pinned;
            let pinned = worker.pinning.decide(self.wanted, seen, now);
            if pinned == before {
                continue;
            }
            let cores = if pinned { &[worker.core][..] } else { &self.all };
            match worker.thread.keep_on(cores) {
                Ok(()) if pinned => log::info(format!("worker {index} is pinned to core {}", worker.core)),
                Ok(()) => log::info(format!("worker {index} is not pinned: {}", why(self.wanted, seen))),
                Err(why) => {
                    worker.pinning.pinned = false;
                    log::warn(format!("worker {index} cannot be moved to {cores:?}: {why}"));
                }
            }
        }
    }

    /// How many workers are pinned.
    pub fn pinned(&self) -> u32 {
        self.workers.iter().filter(|worker| worker.pinning.pinned).count() as u32
    }
}

/// The setting of a Plan, or a finding if only newer engines know it.
pub fn wanted(plan_says: i32) -> Result<WorkerPinning, Finding> {
    WorkerPinning::try_from(plan_says).map_err(|_| Finding {
        kind: "serviceenginegroup".into(),
        field: "weir_worker_pinning".into(),
        message: "is unknown to this engine; upgrade the engine".into(),
        ..Default::default()
    })
}

fn why(wanted: WorkerPinning, seen: Seen) -> String {
    match (wanted, seen) {
        (WorkerPinning::Auto, Seen::Spent { ran, waited, .. }) => {
            format!("it had to wait for its core for {} ms while it ran for {} ms", waited.as_millis(), ran.as_millis())
        }
        (WorkerPinning::Auto, _) => "the kernel does not report waits for its core (CONFIG_SCHED_INFO)".into(),
        _ => "its engine group is configured so".into(),
    }
}

impl WorkerCore {
    fn see(&mut self, now: Instant) -> Seen {
        let Ok(scheduled) = self.thread.scheduled() else { return Seen::Nothing };
        match self.looked.replace((now, scheduled)) {
            None => Seen::First,
            Some((then, before)) => Seen::Spent {
                span: now.saturating_duration_since(then),
                ran: scheduled.ran.saturating_sub(before.ran),
                waited: scheduled.waited.saturating_sub(before.waited),
            },
        }
    }
}

/// How a worker spent its time since the last check.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// This is the first check.
    First,
    /// The kernel does not report it.
    Nothing,
    Spent {
        span: Duration,
        ran: Duration,
        waited: Duration,
    },
}

impl Seen {
    fn is_contended(self) -> bool {
        let Seen::Spent { span, ran, waited } = self else { return false };
        waited * 100 > span * WAITED_PERCENT_MIN && waited * 100 > (ran + waited) * WAITED_PERCENT_MAX
    }
}

/// Whether one worker is pinned.
#[derive(Debug)]
struct Pinning {
    pinned: bool,
    /// Since when `pinned` has its value.
    since: Instant,
    /// How long it stays unpinned.
    pause: Duration,
}

impl Pinning {
    fn new(now: Instant) -> Self {
        Self { pinned: false, since: now, pause: Duration::ZERO }
    }

    /// Whether the worker should be pinned from now on.
    fn decide(&mut self, wanted: WorkerPinning, seen: Seen, now: Instant) -> bool {
        let held = now.saturating_duration_since(self.since);
        let pinned = match (wanted, seen) {
            (WorkerPinning::Always, _) => true,
            (WorkerPinning::Never, _) | (WorkerPinning::Auto, Seen::Nothing) => false,
            (WorkerPinning::Auto, _) if self.pinned => !seen.is_contended(),
            (WorkerPinning::Auto, _) => held >= self.pause,
        };
        if pinned != self.pinned {
            if !pinned {
                self.pause = if held >= CALM { FIRST_PAUSE } else { (self.pause * 2).clamp(FIRST_PAUSE, PAUSE_MAX) };
            }
            (self.pinned, self.since) = (pinned, now);
        }
        pinned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn spent(ran_ms: u64, waited_ms: u64) -> Seen {
        Seen::Spent { span: SECOND, ran: Duration::from_millis(ran_ms), waited: Duration::from_millis(waited_ms) }
    }

    /// Checks once a second. Returns the seconds in which the worker is pinned.
    fn pinned_in(seconds: u64, mut seen: impl FnMut(u64, bool) -> Seen) -> Vec<u64> {
        let begun = Instant::now();
        let mut pinning = Pinning::new(begun);
        let decide = |second: &u64| {
            let seen = seen(*second, pinning.pinned);
            pinning.decide(WorkerPinning::Auto, seen, begun + SECOND * *second as u32)
        };
        (0..seconds).filter(decide).collect()
    }

    #[test]
    fn waiting_counts_by_what_the_worker_wanted_to_run() {
        assert!(spent(500, 500).is_contended(), "a busy process has half of the core");
        assert!(spent(1, 30).is_contended(), "a worker with little to do waits each time that it has");
        assert!(!spent(980, 20).is_contended(), "the kernel's own threads run now and then");
        assert!(!spent(1, 9).is_contended(), "the wait is too short to matter");
        assert!(!Seen::First.is_contended() && !Seen::Nothing.is_contended());
    }

    #[test]
    fn worker_with_a_core_of_its_own_stays_on_it() {
        assert_eq!(pinned_in(100, |_, _| spent(900, 10)).len(), 100);
    }

    #[test]
    fn worker_leaves_a_busy_core_and_tries_it_again_ever_later() {
        let pinned = pinned_in(1000, |_, pinned| if pinned { spent(500, 500) } else { spent(900, 10) });
        assert_eq!(pinned, [0, 11, 32, 73, 154, 315, 636, 957]);
    }

    #[test]
    fn worker_that_was_alone_for_long_tries_again_soon() {
        let busy = |second| matches!(second, 1..20 | 200);
        let pinned =
            pinned_in(230, |second, pinned| if pinned && busy(second) { spent(500, 500) } else { spent(900, 10) });
        let away: Vec<_> = (0..230).filter(|second| !pinned.contains(second)).collect();
        assert_eq!(away, [(1..11).collect::<Vec<_>>(), (12..32).collect(), (200..210).collect()].concat());
    }

    #[test]
    fn configured_pinning_overrides_measurements() {
        let now = Instant::now();
        let mut pinning = Pinning::new(now);
        assert!(pinning.decide(WorkerPinning::Always, spent(500, 500), now));
        assert!(!pinning.decide(WorkerPinning::Never, spent(500, 0), now));
        assert!(
            !pinning.decide(WorkerPinning::Auto, Seen::Nothing, now + PAUSE_MAX * 2),
            "what cannot be seen may be bad"
        );
    }

    #[test]
    fn pinning_of_a_newer_controller_is_refused_by_name() {
        assert_eq!(wanted(2), Ok(WorkerPinning::Never));
        assert_eq!(wanted(3).unwrap_err().field, "weir_worker_pinning");
    }
}
