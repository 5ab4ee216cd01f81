//! The control thread: handles messages of agents and workers, one at a time, and decides what follows.

use std::{
    collections::VecDeque,
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use weir_api::dataplane::v1::{
    Ack, FromDataplane, Hello, Nack, Question, Sockets, from_dataplane::Frame as Reply, to_dataplane::Frame,
};
use weir_rate::Tallies;
use weir_reactor::process_nanos;
use weir_snapshot::{Change, Snapshot};

use crate::{
    Error, Server,
    applying::{Applying, Prepared, Served},
    explaining, frame,
    held::Held,
    hot_keys,
    inbox::{Inbox, Message, Received},
    log,
    order::{Answer, Asked, Counted, Order, WorkerLink},
    pinning::Cores,
    records::Outbox,
    sample::{Collecting, Rows},
};

const SAMPLE_EVERY: Duration = Duration::from_secs(1);
/// How often what is asked of hot keys is told.
const DEMANDS_EVERY: Duration = Duration::from_millis(100);
/// Between two walks over what scripts keep, which forget values that have ended.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Between two steps of such a walk: workers need the processors, too.
const SWEEP_PAUSE: Duration = Duration::from_millis(10);
/// How long connections may take to end after SIGTERM.
const TERMINATE_MAX: Duration = Duration::from_secs(30);
/// How long the agent may need to take the last records.
const RECORDS_MAX: Duration = Duration::from_secs(2);

pub struct Control {
    inbox: Inbox,
    messages: mpsc::Receiver<Message>,
    version: &'static str,
    workers: Vec<WorkerLink>,
    cores: Cores,
    held: Held,
    served: Served,
    agent: Option<(u64, Arc<UnixStream>)>,
    applying: Option<Applying>,
    /// Messages of agents that arrived while a Plan was being applied: from each connected agent at most that it came and
    /// one frame.
    deferred: VecDeque<Message>,
    collecting: Option<Collecting>,
    /// Answers of workers that are written anew.
    #[expect(clippy::vec_box, reason = "they go back to the workers as they came")]
    spare: Vec<Box<Counted>>,
    records: Outbox,
    /// The number of the last shares of hot keys that this agent has sent.
    shares_heard: u64,
    /// Rows for the snapshots in force.
    rows: Rows,
    /// Server states have changed since the workers were asked for the counters being collected.
    count_again: bool,
    ending: Option<Ending>,
}

/// When the control thread does what it does again and again.
struct Due {
    sample: Instant,
    demands: Instant,
    sweep: Instant,
}

struct Ending {
    at: Instant,
    /// Workers that still have connections.
    waiting: usize,
}

impl Control {
    pub fn new(version: &'static str, cores: Cores) -> Self {
        let (inbox, messages) = Inbox::new();
        Self {
            inbox,
            messages,
            version,
            workers: Vec::new(),
            cores,
            held: Held::new(0),
            served: Served::new(0),
            agent: None,
            applying: None,
            deferred: VecDeque::new(),
            collecting: None,
            spare: Vec::new(),
            records: Outbox::new(),
            shares_heard: 0,
            rows: Rows::of(&Snapshot::empty(), 0),
            count_again: false,
            ending: None,
        }
    }

    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }

    /// Serves agents at `server` and gives orders to `workers`, until drained.
    pub fn run(mut self, server: Server, workers: Vec<WorkerLink>) -> Result<(), Error> {
        self.cores.assign(workers.iter().map(|worker| worker.thread), Instant::now());
        self.cores.look(Instant::now());
        self.employ(workers);
        let _name = server.start(self.inbox.clone())?;
        let now = Instant::now();
        let mut due = Due { sample: now + SAMPLE_EVERY, demands: now + DEMANDS_EVERY, sweep: now + SWEEP_EVERY };
        while !self.ended() {
            self.turn(&mut due);
        }
        self.send_last_records();
        Ok(())
    }

    /// Takes a message, if one comes before something is due, and does what is due.
    fn turn(&mut self, due: &mut Due) {
        let mut until = due.sample.min(due.sweep);
        if let Some(ending) = &self.ending {
            until = until.min(ending.at);
        }
        if self.has_spread_limits() {
            until = until.min(due.demands);
        }
        match self.messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
        let now = Instant::now();
        if due.sample <= now {
            due.sample = now + SAMPLE_EVERY;
            self.cores.look(now);
            self.count();
        }
        if due.demands <= now {
            due.demands = now + DEMANDS_EVERY;
            self.tell_demands();
        }
        if due.sweep <= now {
            let goes_on = self.served.worker().is_some_and(|worker| worker.stores.sweep(process_nanos()));
            due.sweep = now + if goes_on { SWEEP_PAUSE } else { SWEEP_EVERY };
        }
    }

    /// Waits until the agent has all records, but not for long.
    fn send_last_records(&mut self) {
        if let Some(ending) = &mut self.ending
            && ending.waiting > 0
        {
            ending.waiting = self.workers.len();
            self.order(std::iter::repeat_with(|| Order::End));
        }
        let until = Instant::now() + RECORDS_MAX;
        let is_done = |control: &Self| {
            control.ending.as_ref().is_none_or(|ending| ending.waiting == 0)
                && (control.records.is_empty() || control.agent.is_none())
        };
        while !is_done(self)
            && let Ok(message) = self.messages.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            self.take(message);
        }
    }

    fn employ(&mut self, workers: Vec<WorkerLink>) {
        let count = workers.len() as u32;
        (self.workers, self.held, self.served) = (workers, Held::new(count), Served::new(count));
        self.rows = Rows::of(&Snapshot::empty(), count);
    }

    fn ended(&self) -> bool {
        self.ending.as_ref().is_some_and(|ending| ending.waiting == 0 || ending.at <= Instant::now())
    }

    fn take(&mut self, message: Message) {
        match message {
            // Its Hello names the Plan in force, and that Plan's sockets follow.
            Message::AgentCame { .. } | Message::Frame(_) if self.applying.is_some() => {
                self.deferred.push_back(message)
            }
            Message::AgentCame { agent, stream } => self.agent_came(agent, stream),
            Message::AgentGone { agent, why } => self.agent_gone(agent, &why),
            Message::Frame(received) => self.frame(*received),
            Message::Answer(Answer::Applied { revision }) => self.applied(revision),
            Message::Answer(Answer::Counted(counted)) => self.counted(counted),
            Message::Answer(Answer::Explained(explanation)) => self.tell(Reply::Explanation(*explanation)),
            Message::Answer(Answer::Records { worker, batch }) => {
                self.records.add(worker, *batch);
                self.send_records();
            }
            Message::Answer(Answer::Drained) => {
                if let Some(ending) = &mut self.ending {
                    ending.waiting = ending.waiting.saturating_sub(1);
                }
            }
            Message::Terminate if self.ending.is_some() => self.end_within(Duration::ZERO),
            Message::Terminate => self.end_within(TERMINATE_MAX),
        }
    }

    fn agent_came(&mut self, agent: u64, stream: Arc<UnixStream>) {
        log::info("agent connected");
        if let Some((_, older)) = self.agent.replace((agent, stream)) {
            log::info("it takes over from the previous agent");
            shut_down(&older);
        }
        self.shares_heard = 0;
        let applied_revision = self.served.revision();
        let workers = self.workers.len() as u32;
        self.tell(Reply::Hello(Hello {
            pid: std::process::id(),
            version: self.version.into(),
            workers,
            applied_revision,
            takes_changes: true,
        }));
        self.hand_back();
        self.send_records_again();
    }

    fn hand_back(&mut self) {
        let Some((_, stream)) = self.agent.clone() else { return };
        let handed = self.held.hand_back().into_iter().try_for_each(|(sockets, fds)| {
            frame::write(&stream, &FromDataplane { frame: Some(Reply::Sockets(sockets)) }, &fds)
        });
        self.lose_agent_if(handed);
    }

    fn agent_gone(&mut self, agent: u64, why: &Error) {
        self.deferred.retain(|message| message.agent() != Some(agent));
        if self.agent.as_ref().is_some_and(|(current, _)| *current == agent) {
            log::warn(format!("agent disconnected: {why}; traffic goes on with the current Plan"));
            self.agent = None;
        }
    }

    fn frame(&mut self, mut received: Received) {
        if self.agent.as_ref().is_none_or(|(current, _)| *current != received.agent) {
            return;
        }
        match &mut received.frame {
            Frame::Sockets(sockets) => {
                let (sockets, fds) = (std::mem::take(sockets), std::mem::take(&mut received.fds));
                self.sockets(&sockets, fds);
            }
            Frame::Plan(plan) => {
                let change = Change::whole(std::mem::take(plan));
                self.change(&change, received);
            }
            Frame::PlanChange(change) => {
                let change = Change::from(std::mem::take(change));
                self.change(&change, received);
            }
            Frame::ServerStates(news) => {
                let states = std::mem::take(&mut news.states).into();
                self.order(std::iter::repeat_with(|| Order::ServerStates(Arc::clone(&states))));
                // A worker handles its orders in sequence, so the next Sample shows these states. The agent may wait for
                // that.
                if !news.sample_later {
                    self.count_again = self.collecting.is_some();
                    self.count();
                }
            }
            // Handled already: the greeting has made this agent the current one.
            Frame::Greeting(_) => {}
            Frame::RecordsTaken(taken) => {
                for (worker, batch) in self.records.taken(taken) {
                    if let Some(worker) = self.workers.get(worker as usize) {
                        worker.give(Order::Records(Box::new(batch)));
                    }
                }
                self.send_records();
            }
            Frame::Question(question) => self.ask(question),
            Frame::KeyShares(shares) => {
                self.shares_heard = shares.number;
                if let Some(tallies) = self.served.tallies() {
                    hot_keys::hear(tallies, shares, process_nanos());
                }
            }
            Frame::LetGo(_) => self.order(std::iter::repeat_with(|| Order::LetGo)),
            Frame::Drain(drain) => self.end_within(Duration::from_millis(drain.timeout_ms.into())),
        }
    }

    /// One worker answers for all: they have the same snapshot. How busy servers are, each knows for itself.
    fn ask(&mut self, asked: &mut Question) {
        let id = asked.id;
        let refuse = |error: String| Reply::Explanation(explaining::refuse(id, error));
        let draft = asked.draft.take().map(|draft| self.served.draft(&Change::from(draft))).transpose();
        let (question, draft) = match explaining::read(asked).and_then(|question| Ok((question, draft?))) {
            Ok(both) => both,
            Err(error) => return self.tell(refuse(error)),
        };
        let worker = (0, self.workers.len() as u32);
        let order = Order::Explain(Box::new(Asked { id, question, draft, worker }));
        if !self.workers.first().is_some_and(|worker| worker.give(order)) {
            self.tell(refuse("there is no worker".into()));
        }
    }

    fn sockets(&mut self, frame: &Sockets, fds: Vec<OwnedFd>) {
        match self.held.take(frame, fds) {
            Ok(changed) => self.served.renew(changed),
            Err(why) => {
                log::error(&why);
                self.lose_agent_if(Err(why));
            }
        }
    }

    fn change(&mut self, change: &Change, received: Received) {
        let revision = change.revision();
        if !self.served.has_base(change, received.agent) {
            log::warn(format!(
                "Plan {revision} changes a Plan that this data plane does not serve; requesting the whole Plan"
            ));
            return self.refuse(Nack { revision, resync: true, errors: Vec::new() });
        }
        match self.served.prepare(change, &self.held) {
            Err(errors) => {
                log::warn(format!("Plan {revision} refused: {}", errors[0].message));
                self.refuse(Nack { revision, errors, resync: false });
            }
            Ok(Prepared { snapshots, sockets, pinning, warnings }) => {
                log::info(format!("Plan {revision} is being applied"));
                let parts = snapshots.iter().cloned().zip(sockets);
                self.order(parts.map(|(snapshot, sockets)| Order::Apply { snapshot, sockets }));
                self.served.accept(snapshots, received.agent);
                self.cores.want(pinning, Instant::now());
                let waiting = self.workers.len();
                self.applying = Some(Applying { revision, warnings, waiting, received });
            }
        }
    }

    /// Drops the sockets that came for the Plan: otherwise they would collect connections that nobody accepts.
    fn refuse(&mut self, nack: Nack) {
        self.held.settle(&self.served.listening, []);
        self.tell(Reply::Nack(nack));
    }

    /// A worker has swapped its snapshot. When the last one has, the Plan is applied.
    fn applied(&mut self, revision: u64) {
        let Some(applying) = self.applying.as_mut().filter(|applying| applying.revision == revision) else { return };
        applying.waiting -= 1;
        if applying.waiting > 0 {
            return;
        }
        let Some(Applying { warnings, received, .. }) = self.applying.take() else { return };
        // No agent has come since.
        debug_assert!(self.agent.as_ref().is_none_or(|(current, _)| *current == received.agent));
        self.held.settle(&self.served.listening, self.served.left());
        // Not earlier: counters that the workers gave before they swapped their snapshots belong to the rows before.
        if let Some(snapshot) = self.served.snapshots.first() {
            self.rows.follow(snapshot);
        }
        log::info(format!("Plan {revision} is in force, {} warnings", warnings.len()));
        self.tell(Reply::Ack(Ack { revision, warnings: warnings.to_vec() }));
        drop(received);
        while self.applying.is_none()
            && let Some(message) = self.deferred.pop_front()
        {
            self.take(message);
        }
    }

    fn count(&mut self) {
        if self.agent.is_some() && self.collecting.is_none() {
            self.collecting = Some(Collecting::new(self.workers.len()));
            let mut spare = std::mem::take(&mut self.spare);
            self.order(std::iter::repeat_with(|| Order::Count(spare.pop())));
        }
    }

    fn counted(&mut self, counted: Box<Counted>) {
        let Some(collecting) = &mut self.collecting else { return };
        let Some(sum) = collecting.add(counted, &mut self.spare) else { return };
        self.collecting = None;
        self.tell_sample(&sum);
        self.spare.push(sum);
        if std::mem::take(&mut self.count_again) {
            self.count();
        }
    }

    fn tell_sample(&mut self, counted: &Counted) {
        let message = FromDataplane { frame: Some(Reply::Sample(self.rows.fill(counted, self.cores.pinned()))) };
        self.write(&message);
        if let Some(Reply::Sample(sample)) = message.frame {
            self.rows.put_back(sample);
        }
    }

    fn has_spread_limits(&self) -> bool {
        self.served.tallies().is_some_and(Tallies::is_spread)
    }

    /// Without an agent, nobody is told, and keys fall back or end.
    fn tell_demands(&mut self) {
        if let Some(tallies) = self.served.tallies().filter(|tallies| tallies.is_spread())
            && let Some(demands) = hot_keys::demands(tallies, self.shares_heard, process_nanos())
            && self.agent.is_some()
        {
            self.tell(Reply::KeyDemands(demands));
        }
    }

    fn send_records(&mut self) {
        while let Some((_, stream)) = self.agent.clone()
            && let Some(message) = self.records.next()
        {
            let told = frame::write(&stream, message, &[]);
            self.lose_agent_if(told);
        }
    }

    /// To an agent that may not have got what the one before it got.
    fn send_records_again(&mut self) {
        let Some((_, stream)) = self.agent.clone() else { return };
        let told = self.records.unconfirmed().try_for_each(|message| frame::write(&stream, message, &[]));
        self.lose_agent_if(told);
        self.send_records();
    }

    fn end_within(&mut self, span: Duration) {
        let at = Instant::now() + span;
        match &mut self.ending {
            Some(ending) => ending.at = ending.at.min(at),
            None => {
                log::info(format!("draining for at most {} ms", span.as_millis()));
                self.ending = Some(Ending { at, waiting: self.workers.len() });
                self.order(std::iter::repeat_with(|| Order::Drain));
            }
        }
    }

    /// Gives each worker an order.
    fn order(&self, orders: impl Iterator<Item = Order>) {
        for (index, (worker, order)) in self.workers.iter().zip(orders).enumerate() {
            if !worker.give(order) {
                log::error(format!("worker {index} has ended"));
            }
        }
    }

    fn tell(&mut self, reply: Reply) {
        self.write(&FromDataplane { frame: Some(reply) });
    }

    fn write(&mut self, message: &FromDataplane) {
        let Some((_, stream)) = self.agent.clone() else { return };
        let told = frame::write(&stream, message, &[]);
        self.lose_agent_if(told);
    }

    fn lose_agent_if(&mut self, outcome: Result<(), Error>) {
        let Err(why) = outcome else { return };
        if let Some((_, stream)) = self.agent.take() {
            log::warn(format!("link to the agent closed: {why}"));
            shut_down(&stream);
        }
    }
}

fn shut_down(stream: &UnixStream) {
    // Fails only if the link is closed already.
    let _ = stream.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests;
