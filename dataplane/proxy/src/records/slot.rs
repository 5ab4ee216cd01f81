//! The notes on one request.

use std::{net::SocketAddr, rc::Rc, sync::Arc};

use weir_policy::Trace;
use weir_rules::Told;
use weir_snapshot::Pool;
use weir_telemetry::{
    Cause, Spans,
    record::{Draft, Fixed, Flags, Kind, Outcome, RuleNames},
};

use crate::io::Time;

#[derive(Default)]
pub(crate) struct Slot {
    /// The record, as far as it is known.
    pub draft: Draft,
    pub other_method: Short,
    /// The head has arrived.
    pub begun: Time,
    cause: Option<Cause>,
    /// `None`: no server has had the request.
    pub spans: Option<Spans>,
    /// The pool of the server, if the batch may not list that yet.
    pub pool: Option<Arc<Pool>>,
    /// That of the client, if the record's is the engine's: [`Flags::OWN_SPAN`].
    pub client_span: Option<[u8; 8]>,
    /// What scripts have said, with [`Flags::SCRIPTED`].
    said: String,
    /// One of them wants the record to be significant, with the same.
    has_significant: bool,
    /// With [`Flags::NAMED`].
    pub(super) names: Option<Rc<Told>>,
    /// The rules that have acted, with [`Flags::RULED`].
    pub(super) rules: RuleNames,
    /// Header fields, if the record shows them.
    pub block: Option<u32>,
    /// It shows them only if a rule for responses wants that.
    pub(super) awaits_rule: bool,
}

/// With one of these, a record has texts beside those of the draft.
const OF_OTHER_TEXTS: Flags = Flags::OWN_SPAN.and(OF_PLACE);
/// With one of these, the place of suites has more than those.
pub(super) const OF_PLACE: Flags = Flags::SCRIPTED.and(Flags::RULED).and(Flags::ADMITTED).and(Flags::NAMED);

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

impl Slot {
    /// Begins with the notes on another request.
    #[inline(always)]
    pub fn begin(&mut self, now: Time, http: u8, filters: u16) {
        self.draft.fixed.begin(http, filters);
        self.other_method.len = 0;
        self.begun = now;
        self.cause = None;
        self.spans = None;
    }

    /// Scripts have said something.
    #[cold]
    pub fn say(&mut self, lines: &str, is_significant: bool) {
        if !self.draft.fixed.flags.has(Flags::SCRIPTED) {
            self.said.clear();
            self.has_significant = false;
        } else if !self.said.is_empty() {
            self.said.push('\n');
        }
        self.said.push_str(lines);
        self.has_significant |= is_significant;
        self.draft.fixed.flags |= Flags::SCRIPTED;
    }

    /// Empty: nothing.
    pub fn said(&self) -> &str {
        if self.draft.fixed.flags.has(Flags::SCRIPTED) { &self.said } else { "" }
    }

    /// Something has failed.
    pub fn set_cause(&mut self, cause: Option<Cause>) {
        self.cause = cause;
        self.draft.fixed.cause = cause.map_or(0, |cause| cause as u16 + 1);
    }

    /// The last of what has failed.
    pub fn cause(&self) -> Option<Cause> {
        self.cause
    }

    #[inline(always)]
    pub fn set_server(&mut self, OfServer { server, local, connect_us }: &OfServer, pool: Option<Arc<Pool>>) {
        let fixed = &mut self.draft.fixed;
        (fixed.server, fixed.connect_us) = (*server, *connect_us);
        fixed.set_server_local(local.as_ref());
        self.pool = pool;
    }

    /// The request gets a span of the engine.
    #[cold]
    pub fn join(&mut self, trace: &Trace) {
        let Trace { parent, is_new } = *trace;
        let fixed = &mut self.draft.fixed;
        self.client_span = (!is_new).then_some(fixed.span);
        (fixed.trace, fixed.span) = (parent.trace, parent.span);
        fixed.flags |= Flags::TRACED | Flags::OWN_SPAN;
        fixed.flags.remove(Flags::SAMPLED);
        if parent.is_sampled {
            fixed.flags |= Flags::SAMPLED;
        }
    }

    /// Whether the record has no texts but those of the draft.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.other_method.is_empty() && self.block.is_none() && !self.draft.fixed.flags.has_some(OF_OTHER_TEXTS)
    }

    /// How long the parts took that there have been until now.
    #[inline(always)]
    pub fn spans(&self, now: Time) -> Spans {
        let total = now.nanos.saturating_sub(self.begun.nanos);
        let mut spans = self.spans.unwrap_or(Spans { wait: total, ..Spans::default() });
        if self.draft.fixed.flags.has(Flags::WEBSOCKET) {
            // The transfer goes on until its end.
            spans.transfer = total.saturating_sub(spans.wait + spans.server_rtt + spans.app_response);
        }
        spans
    }

    /// Whether nothing has failed, and no script has said something.
    #[inline(always)]
    pub fn is_clean(&self) -> bool {
        let Fixed { status, servers_tried, cause, flags, .. } = &self.draft.fixed;
        *status < 400 && *servers_tried <= 1 && *cause == 0 && !flags.has_some(Flags::PERSISTENCE | Flags::SCRIPTED)
    }

    /// `client_rtt` is in nanoseconds, 0 if it is not known.
    pub fn outcome(&self, kind: Kind, spans: Spans, client_rtt: u64) -> Outcome {
        let Fixed { status, servers_tried, flags, .. } = self.draft.fixed;
        let is_long = kind != Kind::Request || flags.has(Flags::TUNNEL) || flags.has(Flags::WEBSOCKET);
        Outcome {
            status,
            cause: self.cause,
            servers_tried: servers_tried.into(),
            spans,
            client_rtt,
            is_long,
            bond: flags,
            by_script: flags.has(Flags::SCRIPTED) && self.has_significant,
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

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}
