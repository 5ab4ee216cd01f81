//! The network: datagrams under way, and the sockets of the engine. It loses, doubles and delays them.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use weir_proxy::{
    Limits,
    buf::Buf,
    datagrams::io::{Arrival, Datagram, DatagramIo, ListenerId, NotOpened, ServerSocket},
    io::{After, Close, Conn, Gone, Io, Time, TransportAddress},
};

use crate::rng::Rng;

const LISTENER: ListenerId = ListenerId(1);
pub const BYTES: u32 = 64;

/// What a datagram says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Note {
    /// The client that asks.
    pub peer: SocketAddr,
    pub number: u64,
    /// Who answers; `None` in a question.
    pub server: Option<SocketAddr>,
}

pub enum Act {
    Ask(Note),
    Arrive(Arrival),
    AtServer(SocketAddr, ServerSocket, Note),
    AtClient(SocketAddr, Note),
    Change,
}

/// Each in percent of the datagrams.
pub struct Weather {
    pub calm: bool,
    lost: u64,
    doubled: u64,
    /// The longest time on the way, in milliseconds. Whoever takes longer is overtaken.
    slow_ms: u64,
}

impl Weather {
    pub fn of(rng: &mut Rng) -> Self {
        match rng.chance(30) {
            true => Self { calm: true, lost: 0, doubled: 0, slow_ms: rng.between(1, 20) },
            false => {
                Self { calm: false, lost: rng.length(30), doubled: rng.length(30), slow_ms: rng.between(1, 3_000) }
            }
        }
    }
}

/// A datagram on its way to a server.
#[derive(Clone)]
pub struct Forward {
    pub note: Note,
    pub address: SocketAddr,
    /// The client that the server sees; `None`: it sees the engine.
    pub from: Option<SocketAddr>,
}

/// Where a socket is connected, and the client whose address it has.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Ends {
    to: SocketAddr,
    from: Option<SocketAddr>,
}

pub struct Ether {
    pub weather: Weather,
    pub arrivals: Vec<Arrival>,
    /// To servers, in this batch.
    pub forwards: Vec<Forward>,
    pub received: u64,
    pub replied: u64,
    rng: Rng,
    now: Time,
    agenda: BTreeMap<(Time, u64), Act>,
    acts: u64,
    /// All datagrams ever received, by index.
    notes: Vec<Note>,
    /// By slot: the generation, and the ends of the socket if it is open.
    sockets: Vec<(u32, Option<Ends>)>,
    /// Closed in this batch.
    shut: Vec<ServerSocket>,
    /// For all sockets, and for those that have no client's address and need a port of the engine.
    rooms: [Room; 2],
    /// A socket could not be opened, because there were too many.
    pub ran_short: bool,
    faults: Vec<String>,
}

struct Room {
    most: usize,
    /// In this batch.
    opened: usize,
}

impl Ether {
    pub fn new(rng: Rng, weather: Weather, limits: &Limits) -> Self {
        let rooms = [limits.session_sockets, limits.session_ports].map(|most| Room { most, opened: 0 });
        Self {
            weather,
            arrivals: Vec::new(),
            forwards: Vec::new(),
            received: 0,
            replied: 0,
            rng,
            now: Time::default(),
            agenda: BTreeMap::new(),
            acts: 0,
            notes: Vec::new(),
            sockets: Vec::new(),
            shut: Vec::new(),
            rooms,
            ran_short: false,
            faults: Vec::new(),
        }
    }

    pub fn after(&mut self, span: Duration, act: Act) {
        self.acts += 1;
        self.agenda.insert((self.now + span, self.acts), act);
    }

    /// Goes on to the next moment at which something happens, or at which the proxy wants a batch. `None`: nothing more
    /// will happen.
    pub fn next(&mut self, due: Option<Time>) -> Option<Vec<Act>> {
        let first = self.agenda.keys().next().map(|(at, _)| *at);
        self.now = self.now.max([first, due].into_iter().flatten().min()?);
        let mut acts = Vec::new();
        while let Some(entry) = self.agenda.first_entry()
            && entry.key().0 <= self.now
        {
            acts.push(entry.remove());
        }
        Some(acts)
    }

    pub fn ask(&mut self, note: Note) {
        let peer = note.peer;
        let datagram = self.datagram(note);
        self.travel(|| Act::Arrive(Arrival::FromClient { listener: LISTENER, peer, datagram }));
    }

    pub fn answer(&mut self, socket: ServerSocket, note: Note) {
        let datagram = self.datagram(note);
        self.travel(|| Act::Arrive(Arrival::FromServer { socket, datagram }));
    }

    pub fn refuse(&mut self, socket: ServerSocket) {
        self.travel(|| Act::Arrive(Arrival::Refused { socket, why: Gone::Refused }));
    }

    pub fn end_batch(&mut self) {
        self.forwards.clear();
        self.rooms.iter_mut().for_each(|room| room.opened = 0);
        for socket in std::mem::take(&mut self.shut) {
            self.sockets[socket.slot as usize] = (socket.generation + 1, None);
        }
        // What comes to a closed socket is dropped by the kernel.
        let sockets = &self.sockets;
        self.agenda.retain(|_, act| match act {
            Act::Arrive(Arrival::FromServer { socket, .. } | Arrival::Refused { socket, .. }) => {
                sockets[socket.slot as usize].0 == socket.generation
            }
            _ => true,
        });
    }

    pub fn leftovers(&self) -> Vec<String> {
        let [open, _] = self.open_sockets();
        let open = (open > 0).then(|| format!("{open} sockets are left open"));
        self.faults.iter().cloned().chain(open).collect()
    }

    /// By room.
    fn open_sockets(&self) -> [usize; 2] {
        let open = self.sockets.iter().filter_map(|(_, ends)| ends.as_ref());
        [open.clone().count(), open.filter(|ends| ends.from.is_none()).count()]
    }

    fn datagram(&mut self, note: Note) -> Datagram {
        self.notes.push(note);
        Datagram { at: self.notes.len() as u32 - 1, bytes: BYTES }
    }

    /// A datagram is under way: it arrives once, twice or never, and may overtake others.
    fn travel(&mut self, act: impl Fn() -> Act) {
        let copies = match () {
            () if self.rng.chance(self.weather.lost) => 0,
            () if self.rng.chance(self.weather.doubled) => 2,
            () => 1,
        };
        for _ in 0..copies {
            let span = Duration::from_millis(self.rng.length(self.weather.slow_ms));
            let act = act();
            self.received += u64::from(matches!(act, Act::Arrive(Arrival::FromClient { .. })));
            self.after(span, act);
        }
    }

    fn ends_of(&mut self, socket: ServerSocket) -> Option<Ends> {
        let (generation, ends) = self.sockets[socket.slot as usize];
        let ends = ends.filter(|_| generation == socket.generation);
        if ends.is_none() || self.shut.contains(&socket) {
            self.faults.push(format!("the proxy uses {socket:?}, which is closed"));
        }
        ends
    }

    /// Another socket that is not about to be closed has the same client and server.
    fn is_taken(&self, wanted: Ends) -> bool {
        let shut = |slot: usize| self.shut.iter().any(|socket| socket.slot as usize == slot);
        let mut open = self.sockets.iter().enumerate().filter(|(slot, _)| !shut(*slot));
        wanted.from.is_some() && open.any(|(_, (_, ends))| *ends == Some(wanted))
    }
}

impl DatagramIo for Ether {
    fn bound_to(&self, listener: ListenerId) -> Option<TransportAddress> {
        (listener == LISTENER).then(|| TransportAddress::udp(SocketAddr::from(([10, 0, 0, 1], 53))))
    }

    fn open(&mut self, to: SocketAddr, from: Option<SocketAddr>) -> Result<ServerSocket, NotOpened> {
        let ends = Ends { to, from };
        if self.is_taken(ends) {
            self.faults.push(format!("another session has {from:?} towards {to}"));
            return Err(NotOpened::ClientAddress);
        }
        let needed = if from.is_some() { 1 } else { 2 };
        let open = self.open_sockets();
        let lacks = [NotOpened::NoSocket, NotOpened::NoPort];
        let mut rooms = self.rooms.iter().zip(open).zip(lacks).take(needed);
        if let Some(((Room { most, opened }, _), lack)) = rooms.find(|((room, open), _)| *open >= room.most) {
            self.ran_short = true;
            if *opened < most / 2 {
                self.faults.push(format!("{opened} of {most} sockets or ports were kept free"));
            }
            return Err(lack);
        }
        self.rooms.iter_mut().take(needed).for_each(|room| room.opened += 1);
        if let Some(slot) = self.sockets.iter().position(|(_, open)| open.is_none()) {
            self.sockets[slot].1 = Some(ends);
            return Ok(ServerSocket { slot: slot as u32, generation: self.sockets[slot].0 });
        }
        self.sockets.push((0, Some(ends)));
        Ok(ServerSocket { slot: self.sockets.len() as u32 - 1, generation: 0 })
    }

    fn forward(&mut self, datagram: Datagram, to: ServerSocket) {
        let Some(Ends { to: address, from }) = self.ends_of(to) else { return };
        let note = self.notes[datagram.at as usize].clone();
        self.forwards.push(Forward { note: note.clone(), address, from });
        self.travel(|| Act::AtServer(address, to, note.clone()));
    }

    fn reply(&mut self, datagram: Datagram, from: ListenerId, to: SocketAddr) {
        debug_assert_eq!(from, LISTENER);
        let note = self.notes[datagram.at as usize].clone();
        self.replied += 1;
        self.travel(|| Act::AtClient(to, note.clone()));
    }

    fn shut(&mut self, socket: ServerSocket) {
        if self.ends_of(socket).is_some() {
            self.shut.push(socket);
        }
    }
}

/// There are no connections here.
impl Io for Ether {
    fn now(&self) -> Time {
        self.now
    }

    fn random(&mut self) -> [u8; 16] {
        u128::from(self.rng.next()).to_be_bytes()
    }

    fn unix_s(&self) -> u64 {
        0
    }

    fn unix_us(&self) -> u64 {
        self.now().nanos / 1_000
    }

    fn buffer(&mut self) -> Buf {
        Buf::with_room(0)
    }

    fn buffered_bytes(&self) -> usize {
        0
    }

    fn connect(&mut self, to: SocketAddr) -> Conn {
        unreachable!("a connection to {to}")
    }

    fn send(&mut self, conn: Conn, _buf: Buf) {
        unreachable!("bytes for {conn:?}")
    }

    fn queued(&self, _conn: Conn) -> usize {
        0
    }

    fn round_trip(&self, _conn: Conn) -> Option<Duration> {
        None
    }

    fn local_address(&self, _conn: Conn) -> Option<SocketAddr> {
        None
    }

    fn reading(&mut self, _conn: Conn, _on: bool) {}

    fn relay(&mut self, _from: Conn, _to: Conn, _bytes: u64, _after: After) {}

    fn finish(&mut self, _conn: Conn) {}

    fn deadline(&mut self, _conn: Conn, _at: Option<Time>) {}

    fn close(&mut self, _conn: Conn, _how: Close) {}
}
