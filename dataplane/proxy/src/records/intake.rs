//! Notes on a request when its head has come: later the head is gone.

use std::net::{IpAddr, SocketAddr};

use weir_snapshot::{Analytics, Hidden, VirtualService};
use weir_telemetry::record::{Flags, Outcome};
use weir_wire::{
    TraceParent, grpc,
    head::{Fields, Method, Name, NameSet, RequestHead, ResponseHead, SWITCHING_PROTOCOLS, Version},
};

use crate::{
    io::Time,
    records::{Noted, Recorder, Said, Slot, headers::Hiding},
};

/// Methods by their numbers, as in `Methods` of `api/record`. CONNECT is 6.
const OTHER_METHOD: u8 = 255;
const CONTENT_TYPE: &[u8] = b"content-type";

/// A request that has come.
pub(crate) struct Come<'h> {
    /// The id of its virtual service.
    pub service: u32,
    pub head: &'h RequestHead<'h>,
    pub head_bytes: usize,
    /// It came on a stream.
    pub http2: bool,
    pub client: IpAddr,
    pub now: Time,
}

impl<'h> Come<'h> {
    #[inline]
    pub fn of(
        service: u32,
        head: &'h RequestHead<'h>,
        (head_bytes, http2): (usize, bool),
        client: SocketAddr,
        now: Time,
    ) -> Self {
        Self { service, head, head_bytes, http2, client: client.ip(), now }
    }
}

/// What a record shows of a head.
struct Shown<'h> {
    /// Host, path, query, user agent, referer, X-Forwarded-For.
    texts: [&'h [u8]; 6],
    trace_parent: &'h [u8],
}

impl Recorder {
    /// Begins notes on a request.
    #[inline(never)]
    pub fn begin_request(&mut self, analytics: &Analytics, come: &Come<'_>) -> Noted {
        let Come { service, head, head_bytes, http2, client, now } = *come;
        let filters = match analytics.filters.is_empty() {
            true => 0,
            false => self.filters_of(analytics, head, client),
        };
        let Some((at, slot)) = self.slots.take(service) else { return Noted::without_slot(filters) };
        slot.begin(now, version(head.version, http2), filters);
        let method = NUMBERS[head.method as usize];
        (slot.draft.fixed.method, slot.draft.fixed.request_bytes) = (method, head_bytes as u64);
        if method == OTHER_METHOD {
            slot.other_method.set(head.method_text);
        }
        let Shown { texts, trace_parent } = Shown::of(head);
        if !trace_parent.is_empty() {
            slot.note_trace(analytics, trace_parent);
        }
        match analytics.is_plain {
            true => slot.draft.fill(texts),
            false => self.fill_masked(analytics, at, head),
        }
        Noted::in_slot(at)
    }

    #[cold]
    fn filters_of(&mut self, analytics: &Analytics, head: &RequestHead<'_>, client: IpAddr) -> u16 {
        analytics.filters_of(client, Some(head.path), self.keeper.unix_s, &mut self.scratch)
    }

    /// Fills a slot with what a virtual service shows of texts, and with header fields if it records these.
    #[cold]
    fn fill_masked(&mut self, analytics: &Analytics, at: u32, head: &RequestHead<'_>) {
        let Some(slot) = self.slots.find(at) else { return };
        let mut shown = Shown::of(head);
        if let Some(hidden) = &analytics.hidden {
            shown.hide(hidden);
        }
        if !analytics.query_masks.is_empty() {
            let [.., query, _, referer, _] = &mut shown.texts;
            self.hidden.clear();
            let mut hiding = Hiding { analytics, scratch: &mut self.scratch };
            hiding.write_query(query, &mut self.hidden);
            let end = self.hidden.len();
            hiding.write_url(referer, &mut self.hidden);
            (*query, *referer) = self.hidden.split_at(end);
        }
        slot.draft.fill(shown.texts);
        if analytics.wants_headers(slot.draft.fixed.filters) {
            self.note_fields(analytics, at, &head.fields, false);
        }
    }

    /// Notes the header fields of a request. `awaits_rule`: the record shows them only if a rule for responses wants that.
    #[cold]
    pub(super) fn note_fields(&mut self, analytics: &Analytics, at: u32, fields: &Fields<'_>, awaits_rule: bool) {
        let Some(slot) = self.slots.find(at) else { return };
        let mut is_cut = true;
        if let Some((number, block)) = self.blocks.take() {
            (slot.block, slot.awaits_rule) = (Some(number), awaits_rule);
            block.clear();
            is_cut = (Hiding { analytics, scratch: &mut self.scratch }).write(fields, &mut block.request);
        }
        if is_cut && (slot.block.is_some() || !awaits_rule) {
            slot.draft.fixed.flags |= Flags::HEADERS_CUT;
        }
    }

    /// Begins notes on a request whose head could not be read, or has not come.
    #[cold]
    pub fn begin_unread(
        &mut self,
        service: u32,
        analytics: &Analytics,
        client: SocketAddr,
        http2: bool,
        now: Time,
    ) -> Noted {
        let filters = analytics.filters_of(client.ip(), None, self.keeper.unix_s, &mut self.scratch);
        let Some((at, slot)) = self.slots.take(service) else { return Noted::without_slot(filters) };
        slot.begin(now, if http2 { 20 } else { 0 }, filters);
        Noted::in_slot(at)
    }
}

// Later notes.
impl Recorder {
    /// Takes what scripts have said of a request.
    #[cold]
    pub fn note_said(&mut self, noted: Noted, said: &mut Said) {
        let Said { lines, names, is_significant } = std::mem::take(said);
        if let Some(names) = names {
            self.note_names(noted, &names);
        }
        if (!lines.is_empty() || is_significant)
            && let Some(slot) = self.slot(noted)
        {
            slot.say(&lines, is_significant);
        }
    }

    /// The head of a server's response has come, with so many bytes.
    #[inline(never)]
    pub fn note_head(&mut self, noted: Noted, service: &VirtualService, head: &ResponseHead<'_>, bytes: usize) {
        if head.status < 200 && head.status != SWITCHING_PROTOCOLS {
            return;
        }
        let Some(slot) = self.slot(noted) else { return };
        (slot.draft.fixed.server_status, slot.draft.fixed.server_response_bytes) = (head.status, bytes as u64);
        slot.draft.set_content_type(head.fields.first(CONTENT_TYPE));
        if let Some(analytics) = service.analytics.as_deref().filter(|analytics| !analytics.is_plain) {
            self.note_masked(noted, analytics, head);
        }
    }

    /// The same where a virtual service hides something, or records header fields.
    #[cold]
    fn note_masked(&mut self, noted: Noted, analytics: &Analytics, head: &ResponseHead<'_>) {
        let Some(slot) = noted.slot().and_then(|at| self.slots.find(at)) else { return };
        let stand = analytics.hidden.as_ref().and_then(|hidden| hidden.content_type);
        slot.draft.set_content_type(Hidden::shown(stand, head.fields.first(CONTENT_TYPE)));
        if let Some(block) = slot.block.and_then(|block| self.blocks.find(block)) {
            // Of several heads the last one counts.
            block.response.clear();
            if (Hiding { analytics, scratch: &mut self.scratch }).write(&head.fields, &mut block.response) {
                slot.draft.fixed.flags |= Flags::HEADERS_CUT;
            }
        }
    }

    /// The head or the trailers of a server's answer to a call have come.
    pub fn note_call(&mut self, noted: Noted, service: &VirtualService, fields: &Fields<'_>) {
        let hidden = service.analytics.as_deref().and_then(|analytics| analytics.hidden.as_ref());
        if hidden.is_none_or(|hidden| hidden.grpc_status.is_none()) {
            self.note_grpc_status(noted, grpc::status(fields));
        }
    }

    /// A call ends with this status of gRPC, if it has one.
    pub fn note_grpc_status(&mut self, noted: Noted, status: Option<u32>) {
        if let (Some(slot), Some(status)) = (self.slot(noted), status) {
            slot.draft.fixed.grpc_status = u16::try_from(status.saturating_add(1)).unwrap_or(u16::MAX);
        }
    }

    /// The head of a server's response does not count: another server gets the request.
    #[cold]
    pub fn forget_head(&mut self, noted: Noted) {
        let Some(slot) = noted.slot().and_then(|at| self.slots.find(at)) else { return };
        (slot.draft.fixed.server_status, slot.draft.fixed.server_response_bytes) = (0, 0);
        slot.draft.fixed.grpc_status = 0;
        slot.draft.set_content_type(&[]);
        if let Some(block) = slot.block.and_then(|block| self.blocks.find(block)) {
            block.response.clear();
        }
    }

    /// The head of a server's response goes to its client, with so many bytes.
    #[inline(never)]
    pub fn note_response(&mut self, noted: &mut Noted, service: &VirtualService, status: u16, bytes: usize) {
        if let Some(slot) = self.slot(*noted) {
            (slot.draft.fixed.status, slot.draft.fixed.response_bytes) = (status, bytes as u64);
        } else if let Some(analytics) = service.analytics.as_deref() {
            noted.weigh(analytics, &Outcome { status, ..Outcome::default() });
        }
    }
}

impl<'h> Shown<'h> {
    #[inline(always)]
    fn of(head: &RequestHead<'h>) -> Self {
        let (path, query) = head.path_and_query();
        let [user_agent, referer, trace_parent] = head.fields.last_of([b"user-agent", b"referer", b"traceparent"]);
        let forwarded_for = match head.fields.has(Name::XForwardedFor) {
            true => head.fields.among(NameSet::of(&[Name::XForwardedFor])).last().map_or(&b""[..], |field| field.value),
            false => b"",
        };
        let texts = [head.host.unwrap_or_default(), path, query, user_agent, referer, forwarded_for];
        Self { texts, trace_parent }
    }

    /// Replaces what the virtual service hides.
    fn hide(&mut self, hidden: &Hidden) {
        let [host, _, _, user_agent, referer, forwarded_for] = &mut self.texts;
        for (text, stand) in [
            (host, hidden.host),
            (user_agent, hidden.user_agent),
            (referer, hidden.referer),
            (forwarded_for, hidden.forwarded_for),
        ] {
            *text = Hidden::shown(stand, text);
        }
    }
}

impl Slot {
    #[cold]
    fn note_trace(&mut self, analytics: &Analytics, text: &[u8]) {
        let stand = analytics.hidden.as_ref().and_then(|hidden| hidden.trace_parent);
        if let Some(parent) = TraceParent::read(Hidden::shown(stand, text)) {
            let fixed = &mut self.draft.fixed;
            (fixed.trace, fixed.span) = (parent.trace, parent.span);
            fixed.flags |= Flags::TRACED | if parent.is_sampled { Flags::SAMPLED } else { Flags::default() };
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

/// [`number`] of each.
static NUMBERS: [u8; Method::Other as usize + 1] = {
    use Method::*;
    let mut numbers = [0; Other as usize + 1];
    let methods = [Get, Head, Post, Put, Delete, Options, Trace, Patch, Other];
    let mut at = 0;
    while at < methods.len() {
        numbers[methods[at] as usize] = number(methods[at]);
        at += 1;
    }
    numbers
};

const fn number(method: Method) -> u8 {
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
