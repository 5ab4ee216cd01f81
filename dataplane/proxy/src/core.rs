//! What all sessions of a worker share.

use std::{net::SocketAddr, sync::Arc};

use foldhash::{HashMap, HashMapExt};
use weir_policy::Date;
use weir_rate::Place;
use weir_rules::{Arriving, Scratch};
use weir_script::{Ending, Seen};
use weir_snapshot::Snapshot;
use weir_telemetry::{Cause, Counters, Happening};
use weir_wire::head::FieldTable;

use crate::{
    cache::stored::Cache,
    carrier::Departed,
    client::token::Admission,
    exchange::{Exchange, table::ExchangeId},
    groups::Groups,
    io::{Conn, Time},
    limits::{Limits, Room},
    pool::Pools,
    queues::Queues,
    records::{Noted, Recorder},
    scripting::Scripting,
    shortage::Shortage,
};

pub(crate) struct Core {
    pub snapshot: Arc<Snapshot>,
    /// The number of snapshots so far.
    pub epoch: u32,
    pub pools: Pools,
    pub queues: Queues,
    pub counters: Counters,
    pub records: Recorder,
    pub limits: Limits,
    /// The maximum of client connections beside what the snapshot needs for datagrams.
    pub clients_max: usize,
    /// How much each connection may queue in this batch, out of `limits`.
    pub room: Room,
    pub shortage: Shortage,
    pub draining: bool,
    /// Of clients whose virtual services may have only so many connections.
    pub places: HashMap<Conn, Place>,
    /// How many connections of clients were accepted; begins again at 0.
    pub accepted: u32,
    pub fields: FieldTable,
    /// For the rules that are tried on a request.
    pub rules: Scratch,
    pub scripts: Scripting,
    /// Tokens of clients.
    pub admission: Admission,
    /// The date in this batch.
    pub date: Date,
    /// Bytes that TLS wants to send; empty between uses.
    pub scratch: Vec<u8>,
    /// A Set-Cookie of persistence that says the time.
    pub cookie_line: Vec<u8>,
    /// Exchanges of streams, which choose a server at the end of the batch.
    pub opened: Vec<ExchangeId>,
    /// Exchanges whose request goes to an idle server connection at the end of the batch.
    pub starting: Vec<ExchangeId>,
    /// Exchanges whose response the driver may relay from the end of the batch on.
    pub relayable: Vec<ExchangeId>,
    /// Exchanges whose encoders hold something back, or have more to do.
    pub coding: Vec<ExchangeId>,
    /// Those that go on in the next batch.
    pub paced: Vec<ExchangeId>,
    pub coders: weir_coding::Pool,
    pub cache: Cache,
    /// Clients whose tunnel the driver may relay from the end of the batch on.
    pub in_bulk: Vec<Conn>,
    /// Connections, of both kinds, with plaintext that is not encrypted yet, and streams with output that their carriers
    /// have not taken yet.
    pub unflushed: Vec<Conn>,
    /// Streams whose clients are gone.
    pub departed: Vec<Departed>,
    /// Clients whose connections carry streams, with frames to send.
    pub carriers: Vec<Conn>,
    /// Those of them that had no room to send all.
    pub full_carriers: Vec<Conn>,
}

impl Core {
    pub fn new(snapshot: Arc<Snapshot>, limits: Limits) -> Self {
        let cache = Cache::new(limits.cache_bytes);
        let mut pools = Pools::default();
        snapshot.pools().for_each(|pool| pools.bring(pool, &mut Vec::new(), Time::default()));
        pools.groups = Groups::of(&snapshot);
        pools.observe_groups();
        let mut records = Recorder::default();
        records.begin(&snapshot);
        Self {
            snapshot,
            epoch: 0,
            pools,
            queues: Queues::default(),
            counters: Counters::default(),
            records,
            room: limits.room(0),
            shortage: Shortage::new(limits.clients),
            clients_max: limits.clients_max(false),
            limits,
            draining: false,
            places: HashMap::new(),
            accepted: 0,
            fields: FieldTable::new(),
            rules: Scratch::default(),
            scripts: Scripting::default(),
            admission: Admission::default(),
            date: Date::at(0),
            scratch: Vec::new(),
            cookie_line: Vec::new(),
            opened: Vec::new(),
            starting: Vec::new(),
            relayable: Vec::new(),
            coding: Vec::new(),
            paced: Vec::new(),
            coders: weir_coding::Pool::default(),
            cache,
            in_bulk: Vec::new(),
            unflushed: Vec::new(),
            departed: Vec::new(),
            carriers: Vec::new(),
            full_carriers: Vec::new(),
        }
    }

    /// A request or a connection of a client is refused.
    pub fn count_failure(&mut self, service: u32, cause: Cause) {
        self.counters.note(Happening::Failed { service, cause });
        if let Cause::ClientRequestRate | Cause::ClientConnectionRate = cause
            && let Some(limited) = self.records.limited.take()
        {
            self.counters.note(Happening::Limited { service, limited });
        }
    }

    /// Keeps what scripts for a response have left: what later ones see, an answer of theirs, and what they have said.
    #[inline]
    pub fn follow_scripts(
        &mut self,
        exchange: &mut Exchange,
        noted: Noted,
        seen: Option<Box<Seen>>,
        ending: Option<Ending>,
    ) {
        if let Some(seen) = seen {
            exchange.keep_seen(seen);
        }
        if let Some(ending) = ending {
            exchange.end_with(ending);
        }
        if !self.scripts.said.is_empty() {
            self.note_said(noted);
        }
    }

    /// What scripts have said goes into the record of the request.
    #[cold]
    pub fn note_said(&mut self, noted: Noted) {
        self.records.note_said(noted, &mut self.scripts.said);
    }

    /// A connection or a session that comes to a listener, from a client.
    pub fn arriving(&self, (listener, client): (SocketAddr, SocketAddr)) -> Arriving {
        Arriving { client, listener_port: listener.port(), unix_s: self.records.unix_s() }
    }

    /// Prepares for a batch.
    pub fn begin_batch(&mut self, buffered_bytes: usize, unix_s: u64) {
        if self.room.is_short || buffered_bytes > self.limits.buffer_bytes / 2 {
            self.room = self.limits.room(buffered_bytes);
        }
        self.date.follow(unix_s);
        self.records.begin_batch(unix_s);
    }
}
