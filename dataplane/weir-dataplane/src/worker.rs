//! One worker's loop: takes events and orders, lets the proxy handle them, and sends what it queued.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use weir_control::{Answer, Counted, Inbox, Order, States, WorkerCounters, explaining, log};
use weir_proxy::{
    Proxy,
    datagrams::io::Arrival,
    io::{Event, TransportAddress},
};
use weir_reactor::{Driver, Limits, SocketOptions, process};
use weir_snapshot::{Listener, Snapshot};

use crate::{containment::Containment, pace::Pace};

/// Why a question has no answer.
const PANICKED: &str = "the question has met a defect of the data plane; its log says which";

pub struct Worker<D> {
    index: u32,
    driver: D,
    proxy: Proxy,
    snapshot: Arc<Snapshot>,
    /// Server states that arrived before the first Plan; at most one frame.
    early_states: States,
    orders: mpsc::Receiver<Order>,
    inbox: Inbox,
    events: Vec<Event>,
    arrivals: Vec<Arrival>,
    containment: Containment,
    draining: Draining,
    /// Turns of its loop.
    batches: u64,
    /// Of connections, and datagrams.
    happened: u64,
    pace: Pace,
}

#[derive(PartialEq, Eq)]
enum Draining {
    No,
    Begun,
    Done,
}

impl<D: Driver> Worker<D> {
    pub fn new(index: u32, driver: D, limits: &Limits, orders: mpsc::Receiver<Order>, inbox: Inbox) -> Self {
        let snapshot = Arc::new(Snapshot::empty());
        // The driver accepts a few more, so that the proxy decides which clients get no place.
        let clients_of = |connections: usize| connections / 2 - connections / 64;
        let limits = weir_proxy::Limits {
            clients: clients_of(limits.connections),
            clients_beside_sessions: clients_of(limits.connections - limits.datagram_sockets),
            buffer_bytes: limits.buffer_bytes,
            session_sockets: limits.datagram_sockets,
            session_ports: limits.datagram_ports,
            ..Default::default()
        };
        Self {
            index,
            driver,
            proxy: Proxy::new(snapshot.clone(), limits),
            snapshot,
            early_states: Arc::default(),
            orders,
            inbox,
            events: Vec::new(),
            arrivals: Vec::new(),
            containment: Containment::new(index),
            draining: Draining::No,
            batches: 0,
            happened: 0,
            pace: Pace::default(),
        }
    }

    /// Runs until the process ends.
    pub fn run(mut self) -> io::Result<()> {
        loop {
            let due = match self.proxy.has_more_to_do() {
                true => Some(Duration::ZERO),
                false => self.proxy.due().map(|due| due.since(self.driver.now())),
            };
            let interrupted = self.driver.poll(due, &mut self.events)?;
            let ready = Instant::now();
            if interrupted {
                while let Ok(order) = self.orders.try_recv() {
                    self.obey(order);
                }
            }
            self.batches += 1;
            self.happened += self.events.len() as u64;
            self.containment.handle(&mut self.proxy, &mut self.driver, &mut self.events)?;
            self.handle_datagrams()?;
            self.driver.flush();
            self.pace.note(ready.elapsed());
            if self.draining == Draining::Begun && self.proxy.is_idle() && self.driver.connections() == 0 {
                self.end();
            }
            if self.proxy.has_many_records() {
                self.hand_over_records(false);
            }
        }
    }

    fn handle_datagrams(&mut self) -> io::Result<()> {
        self.driver.take_arrivals(&mut self.arrivals);
        self.happened += self.arrivals.len() as u64;
        let now = self.driver.now();
        if self.arrivals.is_empty() && self.proxy.datagrams_due().is_none_or(|due| due > now) {
            return Ok(());
        }
        self.containment.handle_datagrams(&mut self.proxy, &mut self.driver, &mut self.arrivals)
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Apply { snapshot, sockets } => self.apply(snapshot, sockets),
            Order::ServerStates(states) if self.snapshot.revision() == 0 => self.early_states = states,
            Order::ServerStates(states) => self.set_servers_up(&states),
            Order::Count(earlier) => {
                self.hand_over_records(false);
                let mut counted = earlier.unwrap_or_default();
                self.count_into(&mut counted);
                self.inbox.answer(Answer::Counted(counted));
            }
            Order::Explain(asked) => {
                let (proxy, now) = (&mut self.proxy, self.driver.now());
                let told = self.containment.ask(|| match asked.draft.clone() {
                    None => proxy.explain(now, &asked.question),
                    Some(draft) => proxy.explain_draft(now, &asked.question, draft),
                });
                let mut answer = match told {
                    Some(told) => explaining::write(asked.id, &told, self.snapshot.revision(), asked.worker),
                    None => explaining::refuse(asked.id, PANICKED),
                };
                answer.of_draft = asked.draft.is_some();
                self.inbox.answer(Answer::Explained(Box::new(answer)));
            }
            Order::Records(batch) => self.proxy.return_records(*batch),
            Order::End => self.end(),
            Order::LetGo => self.proxy.let_go(),
            Order::Drain => {
                self.driver.listeners().into_iter().for_each(|at| self.mute(at));
                self.proxy.drain(&mut self.driver);
                self.proxy.drain_datagrams(self.driver.now());
                self.draining = Draining::Begun;
            }
        }
    }

    fn hand_over_records(&mut self, is_last: bool) {
        if let Some(batch) = self.proxy.take_records(is_last) {
            self.inbox.answer(Answer::Records { worker: self.index, batch: Box::new(batch) });
        }
    }

    fn end(&mut self) {
        self.draining = Draining::Done;
        self.hand_over_records(true);
        self.inbox.answer(Answer::Drained);
    }

    fn apply(&mut self, snapshot: Arc<Snapshot>, sockets: Vec<OwnedFd>) {
        snapshot.difference().listeners_gone.iter().for_each(|at| self.unlisten(*at));
        // The proxy must know a listener before its first connection arrives.
        self.proxy.replace(&mut self.driver, snapshot.clone());
        self.proxy.end_displaced_sessions(&mut self.driver);
        // After a restart, clients are waiting already: servers must be up for the first of them.
        let early_states = std::mem::take(&mut self.early_states);
        self.set_servers_up(&early_states);
        self.snapshot = snapshot.clone();
        if self.draining == Draining::No {
            sockets.into_iter().for_each(|socket| self.listen(socket));
        }
        snapshot.difference().listeners.iter().for_each(|at| self.tune(*at));
        let revision = snapshot.revision();
        self.inbox.answer(Answer::Applied { revision });
    }

    fn set_servers_up(&mut self, states: &States) {
        let verdicts = states.iter().map(|state| (&*state.pool_uuid, &*state.server_id, state.up));
        self.proxy.set_servers_up(&mut self.driver, verdicts);
        for state in states.iter() {
            if let Some(report) = &state.tasks {
                self.proxy.set_tasks(&self.driver, &state.pool_uuid, &state.server_id, report.tasks);
            }
        }
    }

    fn listen(&mut self, socket: OwnedFd) {
        match self.driver.listen(socket, SocketOptions::default()) {
            Ok(at) => {
                log::debug(format!("worker {} listens on {at}", self.index));
                self.tune(at);
            }
            Err(why) => log::error(format!("worker {} cannot use a listening socket: {why}", self.index)),
        }
    }

    fn tune(&mut self, at: TransportAddress) {
        let Some(listener) = self.snapshot.listener(at) else { return };
        if let Err(why) = self.driver.tune(at, options(listener)) {
            log::warn(format!("worker {}: options of {at} not set: {why}", self.index));
        }
    }

    fn unlisten(&mut self, at: TransportAddress) {
        if let Err(why) = self.driver.unlisten(at) {
            log::error(format!("worker {} cannot leave {at}: {why}", self.index));
        }
    }

    fn mute(&mut self, at: TransportAddress) {
        if let Err(why) = self.driver.mute(at) {
            log::error(format!("worker {} cannot leave {at}: {why}", self.index));
        }
    }

    fn count_into(&mut self, counted: &mut Counted) {
        let (ready_ticks_total, longest_ticks) = self.pace.told();
        let itself = WorkerCounters {
            worker: self.index,
            cpu_us: process::thread_cpu_time().unwrap_or_default().as_micros() as u64,
            batches_total: self.batches,
            events_total: self.happened,
            open_connections: self.driver.connections() as u32,
            ready_ticks_total,
            longest_ticks,
        };
        counted.workers.clear();
        counted.workers.push(itself);
        counted.counters.copy(self.proxy.counters());
        counted.up = self.proxy.servers_up().collect();
        counted.suspect.clear();
        counted.suspect.extend(self.proxy.servers_suspect(self.driver.now()));
        counted.ejected.clear();
        counted.ejected.extend(self.proxy.servers_ejected(self.driver.now()));
    }
}

fn options(listener: &Listener) -> SocketOptions {
    let tcp = &listener.service.tcp;
    let idle = tcp.idle_timeout.filter(|_| tcp.keepalive_probes);
    SocketOptions {
        nodelay: !tcp.nagle,
        keepalive_idle_s: idle.map_or(0, |idle| u32::try_from(idle.as_secs()).unwrap_or(u32::MAX)),
        // Without HTTP and TLS, the server may send first. Where the throughput is limited, nothing is read before that is
        // known.
        defer_accept: (listener.tls || listener.service.http().is_some()) && listener.service.bucket().is_none(),
    }
}
