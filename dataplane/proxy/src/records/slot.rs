//! The notes on one request.

use std::{net::SocketAddr, sync::Arc};

use weir_policy::Trace;
use weir_snapshot::Pool;
use weir_telemetry::{
    Cause, Spans,
    record::{Flags, Kind, NO_SERVER, Outcome, Texts},
};

use crate::io::Time;

#[derive(Default)]
pub(crate) struct Slot {
    pub texts: Texts,
    pub other_method: Short,
    /// Of the response.
    pub content_type: Short,
    /// The head has arrived.
    pub begun: Time,
    pub flags: Flags,
    pub filters: u16,
    /// As in a record.
    pub method: u8,
    pub http: u8,
    pub status: u16,
    pub server_status: u16,
    pub cause: Option<Cause>,
    pub servers_tried: usize,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub server_response_bytes: u64,
    /// `None`: no server has had the request.
    pub spans: Option<Spans>,
    pub of_server: OfServer,
    /// The pool of that server.
    pub pool: Option<Arc<Pool>>,
    pub trace: [u8; 16],
    pub span: [u8; 8],
    /// That of the client, if `span` is the engine's: [`Flags::OWN_SPAN`].
    pub client_span: Option<[u8; 8]>,
    /// Header fields, if the record shows them.
    pub block: Option<u32>,
}

/// The server that had the request last.
#[derive(Clone, Copy)]
pub(crate) struct OfServer {
    /// Its id, or [`NO_SERVER`].
    pub server: u32,
    /// This end of the connection to it.
    pub local: Option<SocketAddr>,
    /// 0: the connection was there already.
    pub connect_us: u32,
}

/// The server that a tunnel had.
#[derive(Clone)]
pub(crate) struct OfTunnel {
    pub of_server: OfServer,
    pub rtt_nanos: u64,
    pub pool: Option<Arc<Pool>>,
}

impl Default for OfServer {
    fn default() -> Self {
        Self { server: NO_SERVER, local: None, connect_us: 0 }
    }
}

impl Slot {
    /// Begins with the notes on another request.
    #[inline]
    pub fn begin(&mut self, now: Time, http: u8) {
        self.texts.clear();
        self.other_method.len = 0;
        self.content_type.len = 0;
        self.begun = now;
        self.flags = Flags::default();
        (self.filters, self.method, self.http) = (0, 0, http);
        (self.status, self.server_status, self.cause, self.servers_tried) = (0, 0, None, 0);
        (self.request_bytes, self.response_bytes, self.server_response_bytes) = (0, 0, 0);
        self.spans = None;
        self.of_server = OfServer::default();
        self.pool = None;
        (self.trace, self.span) = ([0; 16], [0; 8]);
    }

    /// The request gets a span of the engine.
    #[cold]
    pub fn join(&mut self, trace: &Trace) {
        let Trace { parent, is_new } = *trace;
        self.client_span = (!is_new).then_some(self.span);
        (self.trace, self.span) = (parent.trace, parent.span);
        self.flags |= Flags::TRACED | Flags::OWN_SPAN;
        if parent.is_sampled {
            self.flags |= Flags::SAMPLED;
        }
    }

    /// What the record has in the place of the suites that a client offered.
    #[inline]
    pub fn client_span<'r>(&'r self, offered: &'r [u8]) -> &'r [u8] {
        match &self.client_span {
            _ if !self.flags.has(Flags::OWN_SPAN) => offered,
            Some(span) => span,
            None => &[],
        }
    }

    /// `client_rtt` is in nanoseconds, 0 if it is not known.
    #[inline]
    pub fn outcome(&self, kind: Kind, client_rtt: u64, now: Time) -> Outcome {
        let total = now.nanos.saturating_sub(self.begun.nanos);
        let mut spans = self.spans.unwrap_or(Spans { wait: total, ..Spans::default() });
        if self.flags.has(Flags::WEBSOCKET) {
            // The transfer goes on until its end.
            spans.transfer = total.saturating_sub(spans.wait + spans.server_rtt + spans.app_response);
        }
        Outcome {
            status: self.status,
            cause: self.cause,
            servers_tried: self.servers_tried,
            spans,
            client_rtt,
            is_long: kind != Kind::Request || self.flags.has(Flags::TUNNEL) || self.flags.has(Flags::WEBSOCKET),
        }
    }
}

/// A short text, cut if it is longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short {
    bytes: [u8; Self::MOST],
    len: u8,
}

impl Default for Short {
    fn default() -> Self {
        Self { bytes: [0; Self::MOST], len: 0 }
    }
}

impl Short {
    const MOST: usize = 64;

    pub fn set(&mut self, text: &[u8]) {
        let kept = &text[..text.len().min(Self::MOST)];
        self.bytes[..kept.len()].copy_from_slice(kept);
        self.len = kept.len() as u8;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}
