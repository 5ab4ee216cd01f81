//! Which core each worker runs on. One of its own is best as long as it has it for itself: caches stay warm, and workers do
//! not push each other around. A worker that has to wait for its core, because another process runs there, would make its
//! clients wait; the kernel finds it a better place. Looked at once a second; the control thread does it for all.

use std::time::{Duration, Instant};

use weir_api::dataplane::v1::{Finding, WorkerPinning};
use weir_reactor::process::{Scheduled, Thread};

use crate::log;

/// Of the time that a worker wanted to run, in percent: who waits longer shares its core with somebody.
const WAITED_PERCENT_MAX: u32 = 20;
/// Less waiting than this, in percent of all time, is no harm.
const WAITED_PERCENT_MIN: u32 = 1;
/// From where a core was found busy to where it is tried again; doubled each time that it is busy still.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const PAUSE_MAX: Duration = Duration::from_secs(320);
/// Who was alone on its core for so long waits for [`FIRST_PAUSE`] only.
const CALM: Duration = Duration::from_secs(60);

/// The cores of the process, and the workers on them.
pub struct Cores {
    all: Vec<usize>,
    wanted: WorkerPinning,
    /// The command line forbids it.
    forbidden: bool,
    seats: Vec<Seat>,
}

struct Seat {
    thread: Thread,
    core: usize,
    pinning: Pinning,
    looked: Option<(Instant, Scheduled)>,
}

impl Cores {
    pub fn new(all: Vec<usize>, forbidden: bool) -> Self {
        Self { all, wanted: WorkerPinning::Auto, forbidden, seats: Vec::new() }
    }

    /// Gives each worker a core; the first look keeps it there.
    pub fn seat(&mut self, workers: impl Iterator<Item = Thread>, now: Instant) {
        let cores = self.all.iter().copied().cycle();
        let seat = |(thread, core)| Seat { thread, core, pinning: Pinning::new(now), looked: None };
        self.seats = workers.zip(cores).map(seat).collect();
    }

    pub fn want(&mut self, wanted: WorkerPinning, now: Instant) {
        if self.wanted != wanted {
            self.wanted = wanted;
            self.look(now);
        }
    }

    /// Moves the workers that have to be.
    pub fn look(&mut self, now: Instant) {
        if self.forbidden {
            return;
        }
        for (worker, seat) in self.seats.iter_mut().enumerate() {
            let seen = seat.see(now);
            let before = seat.pinning.pinned;
            let pinned = seat.pinning.decide(self.wanted, seen, now);
            if pinned == before {
                continue;
            }
            let cores = if pinned { &[seat.core][..] } else { &self.all };
            match seat.thread.keep_on(cores) {
                Ok(()) if pinned => log::info(format!("worker {worker} is kept on core {}", seat.core)),
                Ok(()) => log::info(format!("worker {worker} runs where the kernel says: {}", why(self.wanted, seen))),
                Err(why) => {
                    seat.pinning.pinned = false;
                    log::warn(format!("worker {worker} cannot be moved to {cores:?}: {why}"));
                }
            }
        }
    }

    /// How many workers are kept on a core.
    pub fn pinned(&self) -> u32 {
        self.seats.iter().filter(|seat| seat.pinning.pinned).count() as u32
    }
}

/// What a Plan wants, or that it is from a newer controller.
pub fn wanted(plan_says: i32) -> Result<WorkerPinning, Finding> {
    WorkerPinning::try_from(plan_says).map_err(|_| Finding {
        kind: "serviceenginegroup".into(),
        field: "weir_worker_pinning".into(),
        message: "is one that this engine does not know; upgrade it".into(),
        ..Default::default()
    })
}

fn why(wanted: WorkerPinning, seen: Seen) -> String {
    match (wanted, seen) {
        (WorkerPinning::Auto, Seen::Spent { ran, waited, .. }) => {
            format!("it had to wait for its core for {} ms while it ran for {} ms", waited.as_millis(), ran.as_millis())
        }
        (WorkerPinning::Auto, _) => "what it waits for its core cannot be read (CONFIG_SCHED_INFO)".into(),
        _ => "its engine group wants that".into(),
    }
}

impl Seat {
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

/// How a worker's time was spent since the last look.
#[derive(Clone, Copy, Debug)]
enum Seen {
    /// There was none before this one.
    First,
    /// The kernel does not tell.
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

/// Whether one worker is kept on its core.
#[derive(Debug)]
struct Pinning {
    pinned: bool,
    /// Of `pinned`.
    since: Instant,
    /// How long it stays unpinned.
    pause: Duration,
}

impl Pinning {
    fn new(now: Instant) -> Self {
        Self { pinned: false, since: now, pause: Duration::ZERO }
    }

    /// Whether it shall be pinned from now on.
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

    /// Looks once a second; in which seconds the worker is pinned.
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
        assert!(!spent(1, 9).is_contended(), "nobody notices");
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
    fn operators_word_goes_before_what_is_measured() {
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
