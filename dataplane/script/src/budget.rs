//! How much a script may do in one event.

use std::{
    cell::Cell,
    time::{Duration, Instant},
};

use mlua::{Error, Lua, Result, VmState};

/// Calls, returns, turns of loops, and steps of patterns. Lua counts none of the instructions between two of these, which
/// are eight in a loop that does something.
const STEPS: u32 = 1_000_000 / 8;
/// A worker should stand still for 25 ms at most. What is over the limit is still to unwind, call by call.
const TIME: Duration = Duration::from_millis(18);
/// Over what loaded scripts need. With more, one step may take longer than a worker should stand still: the text that it
/// works on can be as long as half of this.
pub(crate) const BYTES: usize = 1 << 20;
/// How often the clock is read while there is nothing large to work on.
const STEPS_PER_LOOK: u32 = 16;
const SMALL_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(crate) struct Budget {
    left: Cell<u32>,
    since: Cell<Instant>,
    /// What the state needs without any event.
    base_bytes: Cell<usize>,
    over: Cell<Over>,
}

#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Used {
    steps: u32,
    time: Duration,
}

/// Why a script ends early.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Over {
    Not,
    Steps,
    Time,
    /// It has answered the request, or said that it is done.
    Done,
}

impl Budget {
    pub fn new() -> Self {
        Self {
            left: Cell::new(u32::MAX),
            since: Cell::new(Instant::now()),
            base_bytes: Cell::new(0),
            over: Cell::new(Over::Not),
        }
    }

    /// Of all scripts of one event. `before`: what an event has used that shares its budget.
    pub fn begin(&self, before: Used) {
        let now = Instant::now();
        self.left.set(STEPS.saturating_sub(before.steps));
        self.since.set(now.checked_sub(before.time).unwrap_or(now));
        self.over.set(Over::Not);
    }

    /// What the event has used that ran last.
    pub fn used(&self) -> Used {
        match self.left.get() {
            u32::MAX => Used::default(),
            left => Used { steps: STEPS - left, time: self.since.get().elapsed() },
        }
    }

    /// Lets what the engine itself does with the state take as long as it takes.
    pub fn lift(&self) {
        self.left.set(u32::MAX);
        self.over.set(Over::Not);
    }

    pub fn end(&self, over: Over) {
        self.over.set(over);
    }

    pub fn set_base(&self, bytes: usize) {
        self.base_bytes.set(bytes);
    }

    /// Asked at each step. Once it has said no, it says no at each further step, so a script cannot catch that.
    pub fn check(&self, lua: &Lua) -> Result<VmState> {
        let left = self.left.get();
        if self.over.get() != Over::Not {
            return Err(self.error());
        }
        if left == u32::MAX {
            return Ok(VmState::Continue);
        }
        if left == 0 {
            self.over.set(Over::Steps);
            return Err(self.error());
        }
        self.left.set(left - 1);
        let looks = left.is_multiple_of(STEPS_PER_LOOK) || lua.used_memory() > self.base_bytes.get() + SMALL_BYTES;
        if looks && self.since.get().elapsed() > TIME {
            self.over.set(Over::Time);
            return Err(self.error());
        }
        Ok(VmState::Continue)
    }

    #[cold]
    fn error(&self) -> Error {
        Error::runtime(match self.over.get() {
            Over::Not | Over::Done => "the script has ended",
            Over::Steps => "the script does too much: it has used up its steps",
            Over::Time => "the script takes too long: it has used up its 18 ms",
        })
    }
}
