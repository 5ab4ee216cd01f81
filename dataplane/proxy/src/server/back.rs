//! A connection to a server that carries streams: how many, which wait, and how far it has come.

use weir_snapshot::{Http2ToServers, STREAMS_MAX};
use weir_wire::{
    head::HEAD_BYTES_CEILING,
    http2::{Config, Role, Settings},
};

use crate::{
    carrier::Carrier,
    io::{Conn, Time},
};

/// The window of a connection for what its server sends.
const WINDOW: u32 = 4 << 20;
/// The window of a stream while memory is short, and until the client has shown that it takes what comes.
const STREAM_WINDOW_FIRST: u32 = 65_535;
/// The window of a stream on which much comes.
const STREAM_WINDOW: u32 = 1 << 20;
/// What a connection to a server is beside, if it carries streams.
pub(crate) struct Back {
    pub carrier: Carrier,
    /// The client's connection that it is for, where connections are not shared, or a request has authenticated it.
    pub sole: Option<Conn>,
    /// Streams that wait until the server has told its settings, or that it still stands.
    pub waiting: Vec<Conn>,
    /// Streams, those that wait included.
    pub load: u32,
    pub stage: Stage,
    /// It gets no more streams, and ends with the last.
    pub is_retired: bool,
    /// The last stream that the server takes, if it has said that it takes no new ones.
    pub last: Option<u32>,
    /// The limit of streams, as far as it was known when the connect began.
    streams_max: u32,
}

/// How far a connection that carries streams has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The server has not told its settings.
    New,
    /// Streams can open.
    Ready,
    /// The server has to tell that it still stands.
    Asked,
}

impl Back {
    pub fn new(http2: &Http2ToServers, sole: Option<Conn>, streams_max: u32, now: Time) -> Self {
        let settings = Settings { enable_push: false, initial_window: STREAM_WINDOW_FIRST, ..Settings::default() };
        let config = Config {
            settings,
            window: WINDOW,
            // Each request has its own limit, which is not larger.
            head_bytes: HEAD_BYTES_CEILING,
            control_frames: http2.control_frames,
            empty_frames: 0,
        };
        Self {
            carrier: Carrier::new(Role::Client, config, now),
            sole,
            waiting: Vec::new(),
            load: 0,
            stage: Stage::New,
            is_retired: false,
            last: None,
            streams_max,
        }
    }

    /// How many streams it may carry.
    pub fn streams_max(&self) -> u32 {
        match self.stage {
            Stage::New => self.streams_max,
            _ => self.carrier.connection.peer().max_concurrent_streams.unwrap_or(STREAMS_MAX).min(STREAMS_MAX),
        }
    }

    pub fn has_room(&self) -> bool {
        !self.is_retired && self.load < self.streams_max()
    }

    /// It carries nothing, and other requests could have it.
    pub fn is_unused(&self) -> bool {
        self.load == 0 && self.stage == Stage::Ready
    }

    /// Whether so much of it is taken that the next connection should open.
    pub fn is_nearly_full(&self) -> bool {
        self.load >= self.streams_max() - self.streams_max() / 4
    }

    /// What the window of a stream should become.
    pub fn window(memory_is_short: bool) -> u32 {
        if memory_is_short { STREAM_WINDOW_FIRST } else { STREAM_WINDOW }
    }
}
