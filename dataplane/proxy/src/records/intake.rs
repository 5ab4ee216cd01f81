//! Notes on a request when its head has come: later the head is gone.

use std::net::{IpAddr, SocketAddr};

use memchr::memchr;
use weir_snapshot::{Analytics, Hidden, VirtualService};
use weir_telemetry::record::{Flags, Outcome};
use weir_wire::{
    TraceParent,
    head::{Field, Method, Name, RequestHead, ResponseHead, SWITCHING_PROTOCOLS, Version},
};

use crate::{
    io::Time,
    records::{Noted, Recorder, headers::Hiding},
};

/// Methods by their numbers, as in `Methods` of `api/record`. CONNECT is 6.
const OTHER_METHOD: u8 = 255;

/// A request that has come.
pub(crate) struct Come<'h> {
    pub head: &'h RequestHead<'h>,
    pub head_bytes: usize,
    /// It came on a stream.
    pub http2: bool,
    pub client: IpAddr,
    pub now: Time,
}

impl<'h> Come<'h> {
    pub fn of(head: &'h RequestHead<'h>, head_bytes: usize, http2: bool, client: SocketAddr, now: Time) -> Self {
        Self { head, head_bytes, http2, client: client.ip(), now }
    }
}

/// The fields that a record shows.
#[derive(Default)]
struct Shown<'h> {
    host: &'h [u8],
    user_agent: &'h [u8],
    referer: &'h [u8],
    forwarded_for: &'h [u8],
    trace_parent: &'h [u8],
}

impl Recorder {
    /// Begins notes on a request.
    #[inline(never)]
    pub fn begin_request(&mut self, analytics: &Analytics, come: &Come<'_>) -> Noted {
        let Come { head, head_bytes, http2, client, now } = *come;
        let filters = match analytics.filters.is_empty() {
            true => 0,
            false => analytics.filters_of(client, Some(head.path), self.keeper.unix_s, &mut self.scratch),
        };
        let Some((at, slot)) = self.slots.take() else { return Noted::without_slot(filters) };
        slot.begin(now, version(head.version, http2));
        slot.filters = filters;
        slot.request_bytes = head_bytes as u64;
        slot.method = number(head.method);
        if slot.method == OTHER_METHOD {
            slot.other_method.set(head.method_text);
        }
        let (path, query) = match memchr(b'?', head.path) {
            None => (head.path, &b""[..]),
            Some(at) => (&head.path[..at], &head.path[at + 1..]),
        };
        let mut shown = Shown::of(head);
        if let Some(hidden) = &analytics.hidden {
            shown.hide(hidden);
        }
        let Shown { host, user_agent, referer, forwarded_for, trace_parent } = shown;
        let (query, referer) = match analytics.query_masks.is_empty() {
            true => (query, referer),
            false => {
                self.hidden.clear();
                let mut hiding = Hiding { analytics, scratch: &mut self.scratch };
                hiding.write_query(query, &mut self.hidden);
                let end = self.hidden.len();
                hiding.write_url(referer, &mut self.hidden);
                self.hidden.split_at(end)
            }
        };
        slot.flags = slot.texts.fill([host, path, query, user_agent, referer, forwarded_for]);
        if analytics.wants_headers(filters) {
            slot.flags |= Flags::HEADERS_CUT;
            if let Some((number, block)) = self.blocks.take() {
                slot.block = Some(number);
                block.clear();
                if !(Hiding { analytics, scratch: &mut self.scratch }).write(&head.fields, &mut block.request) {
                    slot.flags.remove(Flags::HEADERS_CUT);
                }
            }
        }
        if !trace_parent.is_empty()
            && let Some(parent) = TraceParent::read(trace_parent)
        {
            (slot.trace, slot.span) = (parent.trace, parent.span);
            slot.flags |= Flags::TRACED | if parent.is_sampled { Flags::SAMPLED } else { Flags::default() };
        }
        Noted::in_slot(at)
    }

    /// Begins notes on a request whose head could not be read, or has not come.
    #[cold]
    pub fn begin_unread(&mut self, analytics: &Analytics, client: SocketAddr, http2: bool, now: Time) -> Noted {
        let filters = analytics.filters_of(client.ip(), None, self.keeper.unix_s, &mut self.scratch);
        let Some((at, slot)) = self.slots.take() else { return Noted::without_slot(filters) };
        slot.begin(now, if http2 { 20 } else { 0 });
        slot.filters = filters;
        Noted::in_slot(at)
    }
}

// Later notes.
impl Recorder {
    /// The head of a server's response has come, with so many bytes.
    #[inline(never)]
    pub fn note_head(&mut self, noted: Noted, service: &VirtualService, head: &ResponseHead<'_>, bytes: usize) {
        if head.status < 200 && head.status != SWITCHING_PROTOCOLS {
            return;
        }
        if let Some(slot) = noted.slot().and_then(|at| self.slots.find(at)) {
            (slot.server_status, slot.server_response_bytes) = (head.status, bytes as u64);
            let is_shown = |field: &Field<'_>| {
                field.name_text.len() == 12 && field.name_text.eq_ignore_ascii_case(b"content-type")
            };
            let content_type = head.fields.iter().find(is_shown).map_or(&b""[..], |field| field.value);
            let analytics = service.analytics.as_deref();
            let stand = analytics.and_then(|analytics| analytics.hidden.as_ref()?.content_type);
            slot.content_type.set(Hidden::shown(stand, content_type));
            if let Some(block) = slot.block.and_then(|block| self.blocks.find(block))
                && let Some(analytics) = analytics
            {
                // Of several heads the last one counts.
                block.response.clear();
                if (Hiding { analytics, scratch: &mut self.scratch }).write(&head.fields, &mut block.response) {
                    slot.flags |= Flags::HEADERS_CUT;
                }
            }
        }
    }

    /// The head of a server's response goes to its client, with so many bytes.
    #[inline(never)]
    pub fn note_response(&mut self, noted: &mut Noted, service: &VirtualService, status: u16, bytes: usize) {
        if let Some(slot) = self.slot(*noted) {
            (slot.status, slot.response_bytes) = (status, bytes as u64);
        } else if let Some(analytics) = service.analytics.as_deref() {
            noted.weigh(analytics, &Outcome { status, ..Outcome::default() });
        }
    }
}

impl<'h> Shown<'h> {
    #[inline]
    fn of(head: &RequestHead<'h>) -> Self {
        let mut shown = Self { host: head.host.unwrap_or_default(), ..Self::default() };
        for field in head.fields.iter() {
            match field.name_text.len() {
                10 if field.name_text.eq_ignore_ascii_case(b"user-agent") => shown.user_agent = field.value,
                7 if field.name_text.eq_ignore_ascii_case(b"referer") => shown.referer = field.value,
                11 if field.name_text.eq_ignore_ascii_case(b"traceparent") => shown.trace_parent = field.value,
                15 if field.name == Name::XForwardedFor => shown.forwarded_for = field.value,
                _ => {}
            }
        }
        shown
    }

    /// Replaces what the virtual service hides.
    #[cold]
    fn hide(&mut self, hidden: &Hidden) {
        for (text, stand) in [
            (&mut self.host, hidden.host),
            (&mut self.user_agent, hidden.user_agent),
            (&mut self.referer, hidden.referer),
            (&mut self.forwarded_for, hidden.forwarded_for),
            (&mut self.trace_parent, hidden.trace_parent),
        ] {
            *text = Hidden::shown(stand, text);
        }
    }
}

fn version(version: Version, http2: bool) -> u8 {
    match version {
        _ if http2 => 20,
        Version::Http10 => 10,
        Version::Http11 => 11,
    }
}

fn number(method: Method) -> u8 {
    match method {
        Method::Get => 1,
        Method::Head => 2,
        Method::Post => 3,
        Method::Put => 4,
        Method::Delete => 5,
        Method::Options => 7,
        Method::Trace => 8,
        Method::Patch => 9,
        Method::Other => OTHER_METHOD,
    }
}
