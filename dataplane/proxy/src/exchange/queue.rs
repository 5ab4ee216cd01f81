//! A request that waits in the queue of a pool.

use std::time::Duration;

use weir_wire::head::Method;

use crate::{
    exchange::{Exchange, Phase, Wait, turn::Turn},
    io::Time,
};

impl Exchange {
    /// Whether it may wait until servers have fewer connections. A request to which a server has answered does not wait
    /// for another answer.
    pub fn may_queue(&self) -> bool {
        let is_over = self.aside.as_ref().is_some_and(|aside| matches!(aside.turn, Turn::Over));
        self.method == Method::Get && self.reselects() == 0 && !is_over
    }

    /// Whether it waits so.
    pub fn is_queued(&self) -> bool {
        matches!(self.phase, Phase::Waiting { on: Wait::Turn, .. })
    }

    /// Has it wait so, for `most` from the first time on. True: this is the first time.
    pub fn queue(&mut self, now: Time, most: Option<Duration>) -> bool {
        self.wait_for(Wait::Turn);
        self.aside().turn.begin(now, most)
    }

    /// It waits for a place again.
    pub fn leave_queue(&mut self) {
        self.wait_for(Wait::Place);
    }

    /// It has waited as long as it may.
    pub fn give_up_queues(&mut self) {
        self.aside().turn = Turn::Over;
    }

    /// How much longer it may wait in a queue, if it does, and if there is a limit.
    pub(super) fn patience_in_queue(&self, now: Time) -> Option<Duration> {
        let left = self.aside.as_ref()?.turn.left(now)?;
        self.is_queued().then_some(left)
    }
}
