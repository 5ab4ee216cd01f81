//! The balancer of one pool on one worker: which servers can be chosen, how busy each is, and the choice.

mod apart;
mod drawing;
pub(crate) mod preview;
pub(crate) mod waiting;
mod watching;

use foldhash::{HashMap, HashMapExt};

use crate::{
    average::{Mean, Rate},
    cores::Cores,
    errors::Errors,
    fill::Fill,
    hash::HashKey,
    health::{Census, Health},
    lots::{Lots, Numbers},
    order::{Order, POSITIONS_MAX, Rank},
    ramp::Ramp,
    ring::Ring,
    tasks::Tasks,
    turns::{Tickets, Turns},
};

/// Servers of one pool; a Plan with more is refused by `snapshot`.
pub const SERVERS_MAX: usize = 16_384;

const _: () = assert!(SERVERS_MAX <= POSITIONS_MAX);

/// The distance between two turns of a server with ratio 1, and the weight of one of its connections. It is twice the
/// least common multiple of 1 to 20. So for these ratios a share of it, and half a share, are whole numbers, and
/// comparisons are exact.
const STRIDE: u64 = 2 * 232_792_560;

/// Turns are counted from the beginning again when one is as late as this. It is far behind what a server may be ahead.
const TURN_MAX: u64 = 1 << 62;
const TURNS_KEPT: u64 = 1 << 48;

/// The shares of servers that come up, or whose responses were errors, change no more often.
const STEP_NS_MIN: u64 = 100_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Algorithm {
    /// The fewest connections in proportion to the ratio; among equals whose turn is next.
    LeastConnections,
    /// In turn, in proportion to the ratio, a heavy server's turns spread over the round.
    RoundRobin,
    /// The server that a key names, in proportion to the ratio, for as long as it is eligible.
    ConsistentHash,
    /// Drawn, in proportion to the ratio.
    Random,
    /// Of two that are drawn, the one with the lower product of its time to the first byte and its open requests, in
    /// proportion to the ratio.
    FastestResponse,
    /// Of two that are drawn, the one that sends fewer bytes per second, in proportion to the ratio.
    LeastLoad,
    /// The first one in the order of the pool that is not full, and whose answers are not slow. If all are: that with
    /// the fewest connections, as above.
    FewestServers,
    /// The fewest [tasks](Balancer::set_tasks) in proportion to the ratio; among equals whose turn is next.
    FewestTasks,
    /// The fewest connections as above, of the servers that the [worker](PoolSpec::cores) uses. While none of these takes
    /// requests: of those that the next worker uses, and so on.
    CoreAffinity,
    /// In turn as above, but the turns are those of [all workers](PoolSpec::tickets).
    RoundRobinOfEngine,
}

/// How a server is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Order,
    Ring,
    Lots,
    Turns,
}

impl Algorithm {
    fn way(self) -> Way {
        match self {
            Self::LeastConnections | Self::RoundRobin | Self::FewestServers => Way::Order,
            Self::FewestTasks | Self::CoreAffinity => Way::Order,
            Self::ConsistentHash => Way::Ring,
            Self::Random | Self::FastestResponse | Self::LeastLoad => Way::Lots,
            Self::RoundRobinOfEngine => Way::Turns,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PoolSpec {
    pub algorithm: Algorithm,
    pub servers: Vec<ServerSpec>,
    /// A server that is new here is down until [`Balancer::set_up`] says otherwise.
    pub monitored: bool,
    /// Servers are suspect by what their new connections come to, and by their responses.
    pub watches: bool,
    /// Shifts the first turns around the pool, so that workers and engines do not choose in step.
    pub offset: u32,
    /// A server that has come up gets its whole share after this time; 0: at once.
    pub ramp_ns: u64,
    /// For [`Algorithm::FewestServers`]: answers that take longer are slow; 0: those that take twice as long as usual.
    pub slow_ns: u64,
    pub ties: Ties,
    pub cores: Cores,
    /// For [`Algorithm::RoundRobinOfEngine`].
    pub tickets: Tickets,
}

/// What becomes of requests that are bound to a server which takes none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Ties {
    pub when_down: WhenDown,
    /// A disabled server still gets them, until it has [left](Balancer::leave).
    pub keeps_disabled: bool,
    /// The key of a request binds it, for [`Algorithm::ConsistentHash`], to the server that it would have if all took requests.
    pub by_key: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum WhenDown {
    /// Another server gets them.
    #[default]
    Another,
    Abort,
    /// The server gets them nevertheless.
    Continue,
}

/// What a request that is bound to a server gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The server at this position.
    Server(usize),
    Another,
    Nothing,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerSpec {
    /// Dense id of the snapshot; stays with the server when the pool changes.
    pub id: u32,
    /// Of the server's name, the same on every engine.
    pub key: HashKey,
    /// At least 1.
    pub ratio: u32,
    pub enabled: bool,
    /// Of this worker; 0: no limit.
    pub max_connections: u32,
}

/// Results are positions in [`PoolSpec::servers`]. Arguments are server ids, which stay the same when the pool changes.
#[derive(Debug)]
pub struct Balancer {
    algorithm: Algorithm,
    monitored: bool,
    servers: Vec<Server>,
    positions: HashMap<u32, usize>,
    /// Of the eligible ones; empty but for [`Way::Order`].
    order: Order,
    /// Of all of them; empty but for [`Way::Ring`].
    ring: Ring,
    /// The set of servers in the ring has changed.
    ring_is_old: bool,
    /// Of those that stand and are not suspect; empty but for [`Way::Lots`].
    lots: Lots,
    /// The servers in the lots, or their shares, have changed.
    lots_are_old: bool,
    numbers: Numbers,
    /// Over all servers: times to the first byte, and bytes of an answer.
    time_ns: Mean,
    bytes: Mean,
    ramp_ns: u64,
    slow_ns: u64,
    ties: Ties,
    /// The share of no server changes before.
    next_step_ns: u64,
    /// The latest turn that was taken.
    now: u64,
    picks: u64,
    watches: bool,
    census: Census,
    /// The sum of the parts of errors of the servers that stand and are not suspect.
    errors: f64,
    /// Parts of errors have changed since the lots were made.
    lots_lag: bool,
    /// Suspect servers are used as the others are.
    needs_all: bool,
    /// No trial of a suspect server is due before.
    next_trial_ns: u64,
    workers: u32,
    /// By position, for [`Algorithm::FewestTasks`]; empty for others.
    tasks: Vec<Tasks>,
    /// What servers say that they have, in the mean and in proportion to the ratio.
    usual_tasks: u64,
    /// By position, for [`Algorithm::CoreAffinity`]: how many workers further on a server is used first.
    distances: Vec<u32>,
    /// For [`Algorithm::RoundRobinOfEngine`], of those that stand and are not suspect.
    turns: Turns,
}

#[derive(Debug)]
struct Server {
    spec: ServerSpec,
    up: bool,
    /// It was up once. Until then, no client can be bound to it.
    was_up: bool,
    /// Disabled for so long that requests bound to it go elsewhere.
    has_left: bool,
    connections: u32,
    /// The server's next turn. Each turn comes a share of [`STRIDE`] after the one before (stride scheduling,
    /// Waldspurger and Weihl 1995).
    turn: u64,
    /// Between two of its turns: a part of [`STRIDE`]. Exact while it has its whole share.
    stride: u64,
    picked: u64,
    health: Health,
    /// Whether its health says so: asked for each request.
    suspect: bool,
    ramp: Ramp,
    /// In percent of its ratio, while it comes up.
    share: u32,
    /// In percent of that, because of its errors.
    kept: u32,
    /// To the first byte of its answers.
    time_ns: Mean,
    /// Bytes of its answers.
    sent: Rate,
    fill: Fill,
}

impl Balancer {
    pub fn new(spec: &PoolSpec) -> Self {
        let mut balancer = Self {
            algorithm: spec.algorithm,
            monitored: spec.monitored,
            servers: Vec::new(),
            positions: HashMap::new(),
            order: Order::default(),
            ring: Ring::default(),
            ring_is_old: false,
            lots: Lots::default(),
            lots_are_old: false,
            numbers: Numbers::of(spec.offset),
            time_ns: Mean::default(),
            bytes: Mean::default(),
            ramp_ns: 0,
            slow_ns: 0,
            ties: Ties::default(),
            next_step_ns: u64::MAX,
            now: 0,
            picks: SERVERS_MAX as u64,
            watches: spec.watches,
            census: Census::default(),
            errors: 0.0,
            lots_lag: false,
            needs_all: false,
            next_trial_ns: u64::MAX,
            workers: 1,
            tasks: Vec::new(),
            usual_tasks: 0,
            distances: Vec::new(),
            turns: Turns::default(),
        };
        balancer.reconcile(spec);
        // They are all new: none has to catch up with others.
        balancer.servers.iter_mut().for_each(|server| {
            server.ramp = Ramp::Over;
            server.set_share(100);
        });
        balancer.next_step_ns = u64::MAX;
        balancer
    }

    /// Takes a changed pool. A server that stays keeps its connections, turn and state. In a pool that has lost its
    /// monitors all servers are up.
    pub fn reconcile(&mut self, spec: &PoolSpec) {
        let adapted = self.set_apart(spec);
        let spec = adapted.as_ref().unwrap_or(spec);
        let mut known: HashMap<u32, Server> = self.servers.drain(..).map(|server| (server.spec.id, server)).collect();
        let count = spec.servers.len();
        let ramps = spec.ramp_ns > 0;
        self.servers = spec
            .servers
            .iter()
            .enumerate()
            .map(|(position, server)| {
                let before = known.remove(&server.id);
                let up = !spec.monitored || before.as_ref().is_some_and(|before| before.up);
                let is_back = server.enabled && before.as_ref().is_none_or(|before| !before.spec.enabled);
                let ramp = match &before {
                    _ if is_back && ramps => Ramp::Due,
                    Some(before) if ramps => before.ramp,
                    _ => Ramp::Over,
                };
                let shown = before.as_ref().filter(|_| spec.algorithm == self.algorithm);
                let share = before.as_ref().filter(|_| ramp != Ramp::Over).map_or(100, |before| before.share);
                let known = before.as_ref().filter(|_| spec.watches);
                let mut health = known.map_or(Health::default(), |before| before.health);
                if is_back {
                    health.errors = Errors::default();
                }
                let first_turns = (position + count - spec.offset as usize % count) % count;
                Server {
                    spec: server.clone(),
                    up,
                    was_up: up || before.as_ref().is_some_and(|before| before.was_up),
                    has_left: !server.enabled && before.as_ref().is_some_and(|before| before.has_left),
                    connections: before.as_ref().map_or(0, |before| before.connections),
                    // In the middle of its share, so that one heavy server does not have all its turns first.
                    turn: before.as_ref().map_or(self.now + stride_of(server.ratio, 100) / 2, |before| before.turn),
                    picked: before.as_ref().map_or(first_turns as u64, |before| before.picked),
                    time_ns: shown.map_or(Mean::default(), |before| before.time_ns),
                    sent: shown.map_or(Rate::default(), |before| before.sent),
                    fill: shown.filter(|_| spec.slow_ns == self.slow_ns).map_or(Fill::default(), |before| before.fill),
                    share,
                    kept: health.errors.percent(),
                    stride: stride_of(server.ratio, part_of(share, health.errors.percent())),
                    suspect: health.is_suspect(),
                    health,
                    ramp,
                }
            })
            .collect();
        self.positions = spec.servers.iter().enumerate().map(|(position, server)| (server.id, position)).collect();
        self.algorithm = spec.algorithm;
        self.monitored = spec.monitored;
        self.watches = spec.watches;
        (self.ramp_ns, self.slow_ns, self.ties) = (spec.ramp_ns, spec.slow_ns, spec.ties);
        let has_errors = self.servers.iter().any(|server| !server.health.errors.are_none());
        self.next_step_ns = if ramps || has_errors { 0 } else { u64::MAX };
        self.ring = match spec.algorithm.way() {
            Way::Ring => Ring::of(spec.servers.iter().map(|server| (server.key, server.ratio))),
            Way::Order | Way::Lots | Way::Turns => Ring::default(),
        };
        (self.ring_is_old, self.lots_are_old) = (true, true);
        self.census = Census {
            standing: self.servers.iter().filter(|server| server.stands()).count(),
            suspect: self.servers.iter().filter(|server| server.is_missed()).count(),
            ejected: self.servers.iter().filter(|server| server.is_ejected()).count(),
        };
        self.errors = self.sum_errors();
        self.needs_all = self.census.needs_all();
        self.next_trial_ns = self.earliest_trial_ns();
        self.order = Order::with_positions(self.servers.len());
        self.follow_tasks();
        (0..self.servers.len()).for_each(|position| self.rank(position));
    }

    /// The position of the server for the next request; its connection counts as in use from now on. `None` if no
    /// server can take the request. `key` is used by [`Algorithm::ConsistentHash`] only. `exclude` holds the ids of
    /// servers that this request has tried without success. A suspect server gets a request now and then, and more only
    /// if too few other servers are left. `now_ns` is the time of a clock that never goes back.
    pub fn pick(&mut self, now_ns: u64, key: HashKey, exclude: &[u32]) -> Option<usize> {
        if self.next_step_ns <= now_ns {
            self.step(now_ns);
        }
        let way = self.algorithm.way();
        let for_trial = match way != Way::Ring && self.next_trial_ns <= now_ns {
            true => self.next_for_trial(now_ns, exclude),
            false => None,
        };
        let position = match way {
            _ if for_trial.is_some() => for_trial,
            Way::Order => self.next_in_order(exclude),
            Way::Ring => match self.bound_by_key(now_ns, key, exclude) {
                Bound::Another => self.next_on_ring(now_ns, key, exclude),
                Bound::Server(position) => Some(position),
                Bound::Nothing => return None,
            },
            Way::Lots => self.next_drawn(now_ns, exclude),
            Way::Turns => self.next_by_ticket(exclude),
        };
        let position = position.or_else(|| self.next_suspect(exclude))?;
        self.begin(position, now_ns);
        Some(position)
    }

    /// The position of a server that the request must go to, whatever the algorithm says, if the server takes requests.
    /// It counts as chosen.
    pub fn take(&mut self, now_ns: u64, id: u32) -> Bound {
        if self.next_step_ns <= now_ns {
            self.step(now_ns);
        }
        let bound = self.bound(now_ns, id);
        if let Bound::Server(position) = bound {
            self.begin(position, now_ns);
        }
        bound
    }

    /// What [`take`](Self::take) would return.
    pub fn bound(&self, now_ns: u64, id: u32) -> Bound {
        self.position(id).map_or(Bound::Another, |position| self.bound_at(now_ns, position))
    }

    /// What a request with this key gets at the server that the key binds it to; [`Bound::Another`] also where keys do not
    /// bind.
    #[inline]
    pub fn bound_by_key(&mut self, now_ns: u64, key: HashKey, exclude: &[u32]) -> Bound {
        if !self.ties.by_key {
            return Bound::Another;
        }
        let Some(owner) = self.owner(key) else { return Bound::Another };
        let server = &self.servers[owner];
        if !server.was_up || exclude.contains(&server.spec.id) {
            return Bound::Another;
        }
        match self.bound_at(now_ns, owner) {
            // It is the pool that has failed, since its key binds each client.
            Bound::Nothing if self.census.standing == 0 => Bound::Another,
            bound => bound,
        }
    }

    /// The position of the server that a key binds a request to; `None`: keys do not bind.
    #[cold]
    pub fn owner(&mut self, key: HashKey) -> Option<usize> {
        if !self.ties.by_key || self.algorithm != Algorithm::ConsistentHash {
            return None;
        }
        self.renew_ring();
        self.ring.nearest(key)
    }

    fn bound_at(&self, now_ns: u64, position: usize) -> Bound {
        if self.servers[position].is_full() { Bound::Another } else { self.bound_beyond_limit(now_ns, position) }
    }

    /// The same, whatever connections the server has.
    fn bound_beyond_limit(&self, now_ns: u64, position: usize) -> Bound {
        let server = &self.servers[position];
        let takes = match (server.up, server.spec.enabled) {
            (true, true) => self.needs_all || server.may_be_asked(now_ns),
            (true, false) => self.ties.keeps_disabled && !server.has_left,
            (false, true) if self.ties.when_down == WhenDown::Abort => return Bound::Nothing,
            (false, true) => self.ties.when_down == WhenDown::Continue,
            (false, false) => false,
        };
        if takes { Bound::Server(position) } else { Bound::Another }
    }

    /// Whether a request would find another server than these, and one that is not suspect.
    pub fn has_other_than(&self, exclude: &[u32]) -> bool {
        let other = |server: &Server| server.is_sound() && !exclude.contains(&server.spec.id);
        self.servers.iter().any(other)
    }

    /// How many servers take requests, as long as they are not full. Those that are suspect do not count, until one of them
    /// is due for a trial: it counts as one.
    pub fn sound_servers(&self, now_ns: u64) -> usize {
        let is_due = self.census.suspect > 0 && self.next_trial_ns <= now_ns;
        self.census.standing - self.census.suspect + usize::from(is_due)
    }

    /// The same, with all that are suspect.
    pub fn standing_servers(&self) -> usize {
        self.census.standing
    }

    /// A connection to a server is in use again, without a choice. A server that has left the pool is ignored.
    pub fn opened(&mut self, id: u32) {
        if let Some(position) = self.position(id) {
            self.servers[position].connections += 1;
            self.rank(position);
        }
    }

    pub fn closed(&mut self, id: u32) {
        if let Some(position) = self.position(id) {
            self.closed_at(position);
        }
    }

    pub fn closed_at(&mut self, position: usize) {
        let server = &mut self.servers[position];
        server.connections = server.connections.saturating_sub(1);
        self.rank(position);
    }

    /// How many requests or connections a server has.
    pub fn connections(&self, id: u32) -> u32 {
        self.position(id).map_or(0, |position| self.servers[position].connections)
    }

    /// A server takes no requests that are bound to it either, as long as it is disabled.
    pub fn leave(&mut self, id: u32) {
        if let Some(position) = self.position(id) {
            let server = &mut self.servers[position];
            server.has_left = !server.spec.enabled;
        }
    }

    /// The verdict of the health monitors; ignored in a pool without monitors. A server that comes up is not suspect.
    pub fn set_up(&mut self, id: u32, up: bool) {
        let (monitored, ramps) = (self.monitored, self.ramp_ns > 0);
        let mut begins = false;
        self.change(id, |server| {
            if !server.up && up {
                server.health = Health::default();
                // What it has shown before is no longer true.
                (server.time_ns, server.sent, server.fill) = Default::default();
                begins = ramps;
            }
            server.up = up || !monitored;
            server.was_up |= server.up;
            if begins {
                server.ramp = Ramp::Due;
            }
        });
        if begins {
            self.next_step_ns = 0;
        }
    }

    /// The ids of the servers that are up.
    pub fn up(&self) -> impl Iterator<Item = u32> {
        self.servers.iter().filter(|server| server.up).map(|server| server.spec.id)
    }

    pub fn position(&self, id: u32) -> Option<usize> {
        self.positions.get(&id).copied()
    }

    /// Whether the server at a position takes requests, as long as it is not full.
    pub fn stands(&self, position: usize) -> bool {
        self.servers.get(position).is_some_and(Server::stands)
    }

    /// Whether it does, and is not full.
    pub fn has_room(&self, position: usize) -> bool {
        self.servers.get(position).is_some_and(Server::eligible)
    }

    /// Whether it takes requests, and is not suspect.
    pub fn is_trusted(&self, position: usize) -> bool {
        self.servers.get(position).is_some_and(|server| server.stands() && !server.suspect)
    }

    /// Whether it is not full either.
    pub fn is_sound(&self, position: usize) -> bool {
        self.servers.get(position).is_some_and(Server::is_sound)
    }

    /// Whether it takes requests as the others do. A suspect server does so where the others are too few.
    pub fn is_used(&self, position: usize) -> bool {
        self.servers.get(position).is_some_and(|server| server.stands() && (self.needs_all || !server.suspect))
    }

    pub fn is_up(&self, id: u32) -> bool {
        self.positions.get(&id).is_some_and(|position| self.servers[*position].up)
    }

    fn change(&mut self, id: u32, change: impl FnOnce(&mut Server)) {
        let Some(position) = self.position(id) else { return };
        let server = &mut self.servers[position];
        let (stood, missed, ejected) = (server.stands(), server.is_missed(), server.is_ejected());
        let errors = server.errors();
        change(server);
        server.suspect = server.health.is_suspect();
        self.lots_lag |= server.follow_errors(self.now);
        let (stands, is_missed, is_ejected) = (server.stands(), server.is_missed(), server.is_ejected());
        self.errors += server.errors() - errors;
        self.ring_is_old |= stood != stands;
        self.lots_are_old |= stood != stands || missed != is_missed;
        self.census.standing = self.census.standing + usize::from(stands) - usize::from(stood);
        self.census.suspect = self.census.suspect + usize::from(is_missed) - usize::from(missed);
        self.census.ejected = self.census.ejected + usize::from(is_ejected) - usize::from(ejected);
        self.rank(position);
        self.follow_need();
    }

    /// A server has been chosen for a request.
    fn begin(&mut self, position: usize, now_ns: u64) {
        let server = &mut self.servers[position];
        server.connections += 1;
        if server.suspect {
            self.begin_trial(position, now_ns);
        }
        self.rank(position);
    }

    /// Puts a server where it belongs in the order, or takes it out.
    fn rank(&mut self, position: usize) {
        let server = &self.servers[position];
        let load = || u64::from(server.connections) * server.stride;
        let (load, turn) = match self.algorithm {
            Algorithm::LeastConnections => (load(), server.turn),
            Algorithm::RoundRobin => (0, server.turn),
            Algorithm::FewestServers if server.fill.has_room(server.connections) => (0, position as u64),
            Algorithm::FewestServers => (1 + load(), server.turn),
            Algorithm::FewestTasks => return self.rank_by_tasks(position),
            Algorithm::CoreAffinity => (self.load_by_distance(position), server.turn),
            Algorithm::ConsistentHash | Algorithm::Random | Algorithm::FastestResponse | Algorithm::LeastLoad => return,
            Algorithm::RoundRobinOfEngine => return,
        };
        if server.eligible() && (self.needs_all || !server.suspect) {
            self.order.put(Rank::new(load, turn, server.picked, position));
        } else {
            self.order.remove(position);
        }
    }

    /// Skips the excluded servers, of which a request has a few at most.
    fn next_in_order(&mut self, exclude: &[u32]) -> Option<usize> {
        let mut excluded = Vec::new();
        let mut found = None;
        while let Some(first) = self.order.first() {
            if !exclude.contains(&self.servers[first.position()].spec.id) {
                found = Some(first.position());
                break;
            }
            self.order.remove(first.position());
            excluded.push(first);
        }
        excluded.into_iter().for_each(|rank| self.order.put(rank));
        self.take_turn(found?);
        found
    }

    /// Its rank changes here. A server does not make up for turns that it missed while it was down, full or busy: that
    /// would overload it.
    fn take_turn(&mut self, position: usize) {
        let server = &mut self.servers[position];
        self.now = self.now.max(server.turn);
        server.turn = self.now + server.stride;
        self.picks += 1;
        server.picked = self.picks;
        if self.now >= TURN_MAX {
            self.turn_back();
        }
    }

    /// Begins to count turns again, before 64 bits wrap. Of servers that have missed turns for days, the one that has
    /// waited longest is still the first.
    #[cold]
    fn turn_back(&mut self) {
        let by = std::mem::replace(&mut self.now, TURNS_KEPT) - TURNS_KEPT;
        self.servers.iter_mut().for_each(|server| server.turn = server.turn.saturating_sub(by));
        (0..self.servers.len()).for_each(|position| self.rank(position));
    }

    /// Many servers may come and go between two picks; the ring follows them once.
    fn next_on_ring(&mut self, now_ns: u64, key: HashKey, exclude: &[u32]) -> Option<usize> {
        self.renew_ring();
        let servers = &self.servers;
        self.ring.find(key, |position| {
            let server = &servers[position];
            let asked = self.needs_all || server.may_be_asked(now_ns);
            server.eligible() && asked && !exclude.contains(&server.spec.id)
        })
    }

    fn renew_ring(&mut self) {
        if std::mem::take(&mut self.ring_is_old) {
            self.ring.stand(|position| self.ties.by_key || self.servers[position].stands());
        }
    }
}

impl Server {
    fn set_share(&mut self, percent: u32) {
        self.share = percent;
        self.stride = stride_of(self.spec.ratio, self.part());
    }

    /// Returns whether that changes its part. `now`: the latest turn that was taken.
    fn follow_errors(&mut self, now: u64) -> bool {
        let kept = self.health.errors.percent();
        if self.kept == kept {
            return false;
        }
        self.kept = kept;
        self.stride = stride_of(self.spec.ratio, self.part());
        // Its next turn would come after a share of the step before.
        self.turn = self.turn.min(now + self.stride);
        true
    }

    /// What it gets of its ratio, in percent.
    pub fn part(&self) -> u32 {
        part_of(self.share, self.kept)
    }

    /// Its part of the requests: its ratio, in percent.
    fn weight(&self) -> u64 {
        u64::from(self.spec.ratio.max(1)) * u64::from(self.part())
    }

    /// Takes requests, as long as it is not full.
    fn stands(&self) -> bool {
        self.up && self.spec.enabled
    }

    fn eligible(&self) -> bool {
        self.stands() && !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.spec.max_connections > 0 && self.connections >= self.spec.max_connections
    }

    fn is_sound(&self) -> bool {
        self.eligible() && !self.suspect
    }

    /// Would take requests if it were not suspect.
    fn is_missed(&self) -> bool {
        self.stands() && self.suspect
    }

    fn is_ejected(&self) -> bool {
        self.is_missed() && self.health.errors.are_ejecting()
    }

    /// The part of errors in its responses, if it takes requests as the others do.
    fn errors(&self) -> f64 {
        if self.stands() && !self.suspect { self.health.errors.part() } else { 0.0 }
    }

    /// Whether a request may go to it where the others suffice.
    fn may_be_asked(&self, now_ns: u64) -> bool {
        debug_assert_eq!(self.suspect, self.health.trial_at_ns().is_some());
        !self.suspect || self.health.is_due(now_ns)
    }
}

/// In percent, of two parts in percent.
fn part_of(share: u32, kept: u32) -> u32 {
    (share * kept / 100).max(1)
}

fn stride_of(ratio: u32, percent: u32) -> u64 {
    match percent {
        100 => STRIDE / u64::from(ratio.max(1)),
        percent => STRIDE * 100 / (u64::from(ratio.max(1)) * u64::from(percent.max(1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a worker picks after a few requests of which some stay open, when its turns begin at `now`.
    fn picked(algorithm: Algorithm, now: u64) -> Vec<Option<usize>> {
        let server = |id: u32| ServerSpec {
            id,
            key: HashKey::of(&id.to_be_bytes()),
            ratio: 1 + id % 3,
            enabled: true,
            max_connections: 0,
        };
        let mut balancer = Balancer::new(&PoolSpec {
            algorithm,
            servers: (0..7).map(server).collect(),
            monitored: false,
            watches: false,
            offset: 3,
            ramp_ns: 0,
            slow_ns: 0,
            ties: Ties::default(),
            cores: Cores::default(),
            tickets: Tickets::default(),
        });
        balancer.now += now;
        balancer.servers.iter_mut().for_each(|server| server.turn += now);
        (0..7).for_each(|position| balancer.rank(position));
        let picks = (0..200).map(|number| {
            let picked = balancer.pick(number, HashKey::default(), &[]);
            if let Some(position) = picked.filter(|_| number % 5 > 0) {
                balancer.closed(position as u32);
            }
            picked
        });
        let picks = picks.collect();
        assert!(balancer.now < TURN_MAX, "turns were not counted again");
        picks
    }

    #[test]
    fn choice_stays_the_same_where_turns_begin_again() {
        for algorithm in [Algorithm::RoundRobin, Algorithm::LeastConnections] {
            let from_the_beginning = picked(algorithm, 0);
            for rounds in [1, 2, 5] {
                assert_eq!(picked(algorithm, TURN_MAX - rounds * STRIDE), from_the_beginning, "{algorithm:?}");
            }
        }
    }
}
