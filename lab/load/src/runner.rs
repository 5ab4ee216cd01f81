//! One thread's run: begins requests when they are due and a lane is free, and takes what comes back.
//!
//! A lane carries one request at a time. It belongs to a link, its connection to the server; links of HTTP/2 have many
//! lanes, each of which uses a stream per request.

mod links;
#[cfg(test)]
mod origin_tests;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    io,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use weir_proxy::io::{Event, Io, Time};
use weir_reactor::{Driver, Limits, Reactor};
use weir_wire::head::FieldTable;

use crate::{
    answer::{Answered, Outcome},
    link::Link,
    tally::{Cause, Tally},
    task::Task,
};

/// How long a lane rests after a failure, so that a dead server is not hammered.
const REST: Duration = Duration::from_millis(10);

/// How many idle connections are being opened at once: more would measure a crowd, not connections that idle.
const OPENING_MAX: usize = 64;

/// How often to look whether there is enough.
pub const LOOK: Duration = Duration::from_millis(100);

pub struct Runner {
    task: Task,
    io: Reactor,
    links: Vec<Option<Link>>,
    /// Links by the slot of their connection.
    link_of: Vec<u32>,
    /// What lanes carry.
    lanes: Vec<Option<UnderWay>>,
    /// Lanes that may carry the next request, each in its turn.
    idle: VecDeque<u32>,
    resting: VecDeque<(Time, u32)>,
    /// Links with something to send.
    dirty: Vec<u32>,
    begun: u64,
    under_way: usize,
    tally: Tally,
    table: FieldTable,
    scratch: Vec<u8>,
    outcomes: Vec<Outcome>,
}

#[derive(Clone, Copy)]
struct UnderWay {
    due: Time,
    begun: Time,
}

impl Runner {
    pub fn new(task: Task) -> io::Result<Self> {
        let mut io = Reactor::new(Limits::default())?;
        io.connect_from(task.sources.clone());
        let links = task.connections + task.idle_connections;
        // The first lane of each connection comes first: with few requests every connection gets some.
        let turns = (0..task.streams).flat_map(|stream| (0..task.connections).map(move |link| (link, stream)));
        Ok(Self {
            io,
            links: (0..links).map(|_| None).collect(),
            link_of: Vec::new(),
            lanes: vec![None; links * task.streams],
            idle: turns.map(|(link, stream)| (link * task.streams + stream) as u32).collect(),
            resting: VecDeque::new(),
            dirty: Vec::new(),
            begun: 0,
            under_way: 0,
            tally: Tally::new(),
            table: FieldTable::new(),
            scratch: Vec::new(),
            outcomes: Vec::new(),
            task,
        })
    }

    /// Opens the connections that idle, with one request on each, and the streams that wait on them.
    pub fn open_idle(&mut self) -> io::Result<()> {
        let mut events = Vec::new();
        let mut opened = self.task.connections;
        self.io.poll(Some(Duration::ZERO), &mut events)?;
        while opened < self.links.len() || self.under_way > 0 {
            while opened < self.links.len() && self.under_way < OPENING_MAX {
                let now = self.io.now();
                self.begin((opened * self.task.streams) as u32, now);
                opened += 1;
            }
            self.turn(self.task.timeout, &mut events)?;
        }
        self.tally.begin();
        self.begun = 0;
        Ok(())
    }

    /// Runs until the time is over, the count is reached, or there is `enough`. What is then under way counts nowhere, unless it is drained.
    pub fn run(&mut self, enough: &AtomicBool) -> io::Result<Tally> {
        let mut events = Vec::new();
        self.io.poll(Some(Duration::ZERO), &mut events)?;
        let start = self.io.now();
        let end = start + self.task.duration;
        if self.task.timeline {
            self.tally.timeline.get_or_insert_default().begin(start);
        }
        while self.io.now() < end && !self.is_done() && !enough.load(Ordering::Relaxed) {
            self.wake_rested();
            let wait = self.begin_due(start);
            self.turn(wait.min(end.since(self.io.now())).min(LOOK), &mut events)?;
        }
        self.tally.missed = self.missed(self.io.now().min(end).since(start));
        while self.task.drain && self.under_way > 0 {
            self.turn(self.task.timeout, &mut events)?;
        }
        self.tally.span = self.io.now().since(start);
        let idle = self.links[self.task.connections..].iter().flatten();
        self.tally.waiting_held = idle.clone().map(|link| link.speaker.waiting() as u64).sum();
        self.tally.idle_held = idle.count() as u64;
        Ok(std::mem::replace(&mut self.tally, Tally::new()))
    }

    /// Sends what is to be sent, waits for events and takes them.
    fn turn(&mut self, wait: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        self.flush();
        self.io.flush();
        self.io.poll(Some(wait), events)?;
        for event in events.drain(..) {
            self.take(event);
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.task.count.is_some_and(|count| self.begun >= count) && self.under_way == 0
    }

    fn wake_rested(&mut self) {
        while let Some(&(until, lane)) = self.resting.front()
            && until <= self.io.now()
        {
            self.resting.pop_front();
            self.release(lane);
        }
    }

    /// Requests that were due in `span` and found no lane free; one that is free would carry them now.
    fn missed(&self, span: Duration) -> u64 {
        if self.idle.is_empty() { self.due(span).saturating_sub(self.begun) } else { 0 }
    }

    /// Requests that should have begun in `span`; without a rate: those that have.
    fn due(&self, span: Duration) -> u64 {
        let due = match self.task.interval {
            Some(interval) => span.as_nanos().div_ceil(interval.as_nanos().max(1)) as u64,
            None => return self.begun,
        };
        due.min(self.task.count.unwrap_or(u64::MAX))
    }

    /// Begins what is due; returns how long nothing more will be.
    fn begin_due(&mut self, start: Time) -> Duration {
        let now = self.io.now();
        let rested = self.resting.front().map(|(until, _)| until.since(now));
        loop {
            let left = self.task.count.is_none_or(|count| self.begun < count);
            if !left || self.idle.is_empty() {
                return rested.unwrap_or(self.task.timeout);
            }
            let due = match self.task.interval {
                Some(interval) => start + interval.mul_f64(self.begun as f64),
                None => now,
            };
            if due > now {
                return rested.unwrap_or(Duration::MAX).min(due.since(now));
            }
            if let Some(lane) = self.idle.pop_front() {
                self.begin(lane, due);
            }
        }
    }

    fn begin(&mut self, lane: u32, due: Time) {
        self.begun += 1;
        self.under_way += 1;
        self.lanes[lane as usize] = Some(UnderWay { due, begun: self.io.now() });
        self.carry(lane);
    }

    /// A lane may carry the next request, unless its connection is there to idle.
    fn release(&mut self, lane: u32) {
        if !self.is_idle_link(self.link_of_lane(lane)) {
            self.idle.push_back(lane);
        }
    }

    /// Idle links stand behind the others; one lane of each carries a request, and then nothing.
    fn is_idle_link(&self, at: usize) -> bool {
        at >= self.task.connections
    }

    fn link_of_lane(&self, lane: u32) -> usize {
        lane as usize / self.task.streams
    }

    fn answered(&mut self, at: usize, lane: u32, answered: Answered) {
        let now = self.io.now();
        let Some(request) = self.lanes[lane as usize].take() else { return };
        let Some(link) = &mut self.links[at] else { return };
        self.under_way -= 1;
        link.under_way -= 1;
        self.tally.bytes += std::mem::take(&mut link.bytes);
        let may_wait = self.task.waiting_streams > 0 && !link.waits;
        let value = link.value.as_deref();
        if answered.status >= 400 {
            self.tally.failed(Cause::Status, now, request.begun, value);
        } else {
            self.tally.answered(now, request.due, request.begun, value);
        }
        if may_wait && self.is_idle_link(at) {
            return self.wait_on(at, lane);
        }
        if !answered.keep_alive {
            self.close(at);
            self.release(lane);
        } else if self.is_full(at) {
            self.park(at, lane);
        } else {
            self.release(lane);
        }
    }

    /// A request fails; its connection stays.
    fn failed(&mut self, at: usize, lane: u32, cause: Cause) {
        let Some(request) = self.lanes[lane as usize].take() else { return };
        let now = self.io.now();
        let link = self.links[at].as_mut();
        self.under_way -= 1;
        let value = link.and_then(|link| {
            link.under_way = link.under_way.saturating_sub(1);
            link.value.as_deref()
        });
        self.tally.failed(cause, now, request.begun, value);
        self.resting.push_back((now + REST, lane));
    }
}
