//! The fixed part of a record, as `api/record` lays it out.

use std::net::{IpAddr, SocketAddr};

use crate::{Spans, record::Reasons};

/// Of the fixed part.
pub(super) const BYTES: usize = 256;
const VERSION: u8 = 1;
/// Where the lengths of the texts stand.
const LENGTHS: usize = 232;
pub(super) const TEXTS: usize = 12;

/// The number of the server where there was none.
pub const NO_SERVER: u32 = u32::MAX;

/// What ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    Request = 1,
    /// Of layer 4, or one that never made a request.
    Connection = 2,
    /// Of datagrams.
    Session = 3,
}

/// Why there is a record: the first that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Class {
    Significant = 1,
    Filtered = 2,
    All = 3,
}

impl Class {
    pub const ALL: [Self; 3] = [Class::Significant, Class::Filtered, Class::All];

    pub(super) fn index(self) -> usize {
        self as usize - 1
    }
}

/// Properties that a record has or has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(u32);

impl Flags {
    pub const HEADERS_CUT: Self = Self(1 << 6);
    /// The connection to the server had served a request before.
    pub const SERVER_REUSED: Self = Self(1 << 8);
    /// The client returned to the server of its last response.
    pub const PERSISTED: Self = Self(1 << 9);
    pub const TLS: Self = Self(1 << 10);
    pub const RESUMED: Self = Self(1 << 11);
    pub const TRACED: Self = Self(1 << 12);
    pub const SAMPLED: Self = Self(1 << 13);
    /// The response was made by the data plane.
    pub const LOCAL: Self = Self(1 << 14);
    pub const WEBSOCKET: Self = Self(1 << 15);
    pub const GRPC: Self = Self(1 << 16);
    /// Bytes were passed on without parsing, from some point on.
    pub const TUNNEL: Self = Self(1 << 17);
    /// The span is the engine's, and that of the client stands in the place of the suites that a client offered.
    pub const OWN_SPAN: Self = Self(1 << 18);

    /// The text with this number, of those that come with a request, was longer than a record holds.
    pub(super) fn cut(text: usize) -> Self {
        Self(1 << text)
    }

    pub fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl std::ops::BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl std::ops::BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What a handshake with a client has agreed on, by the numbers of IANA; 0: nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tls {
    pub version: u16,
    pub suite: u16,
    pub group: u16,
    /// That ended a handshake, plus 1.
    pub alert: u16,
}

/// All of a record but its texts.
#[derive(Clone, Debug)]
pub struct Record {
    pub kind: Kind,
    pub class: Class,
    /// As in `Methods` of `api/record`.
    pub method: u8,
    /// 10, 11 or 20; 0: none.
    pub http: u8,
    pub servers_tried: usize,
    pub weight: u32,
    pub flags: Flags,
    pub sequence: u64,
    /// In microseconds since 1970.
    pub end_unix_us: u64,
    pub reasons: Reasons,
    pub service: u32,
    /// Or [`NO_SERVER`].
    pub server: u32,
    pub client: SocketAddr,
    /// The other end of the client's connection.
    pub source: IpAddr,
    pub vip: SocketAddr,
    pub server_local: Option<SocketAddr>,
    /// 0: none was sent, none came.
    pub status: u16,
    pub server_status: u16,
    /// The number of a [`Cause`](crate::Cause) plus 1; 0: nothing failed.
    pub cause: u16,
    pub filters: u16,
    pub tls: Tls,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub server_response_bytes: u64,
    pub spans: Spans,
    /// 0: not known.
    pub client_rtt_us: u32,
    pub client_rtt_age_ms: u32,
    /// 0: no new connection.
    pub connect_us: u32,
    pub trace: [u8; 16],
    pub span: [u8; 8],
}

impl Record {
    /// Writes the fixed part. `bytes` are those of the whole record, `lengths` of each text.
    #[inline]
    pub(super) fn write(&self, out: &mut [u8; BYTES], bytes: u16, lengths: [u16; TEXTS]) {
        let (spans, total_us) = micros(self.spans);
        out[0..2].copy_from_slice(&bytes.to_le_bytes());
        out[2..8].copy_from_slice(&[
            VERSION,
            self.kind as u8,
            self.class as u8,
            self.method,
            self.http,
            self.servers_tried.min(255) as u8,
        ]);
        out[8..12].copy_from_slice(&self.weight.to_le_bytes());
        out[12..16].copy_from_slice(&self.flags.0.to_le_bytes());
        out[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        out[24..32].copy_from_slice(&self.end_unix_us.to_le_bytes());
        out[32..40].copy_from_slice(&self.reasons.bits().to_le_bytes());
        out[40..44].copy_from_slice(&self.service.to_le_bytes());
        out[44..48].copy_from_slice(&self.server.to_le_bytes());
        out[48..64].copy_from_slice(&long(self.client.ip()));
        out[64..80].copy_from_slice(&long(self.source));
        out[80..96].copy_from_slice(&long(self.vip.ip()));
        let local = self.server_local.map_or(([0; 16], 0), |local| (long(local.ip()), local.port()));
        out[96..112].copy_from_slice(&local.0);
        let Tls { version, suite, group, alert } = self.tls;
        let ports = [self.client.port(), self.vip.port(), local.1];
        let numbers = [self.status, self.server_status, self.cause, self.filters, version, suite, group, alert];
        for (place, number) in out[112..134].as_chunks_mut().0.iter_mut().zip(ports.into_iter().chain(numbers)) {
            *place = number.to_le_bytes();
        }
        out[134..136].fill(0);
        let Spans { wait, server_rtt, app_response, transfer } = spans;
        let counts = [self.request_bytes, self.response_bytes, self.server_response_bytes];
        let times = [wait, app_response, transfer, total_us];
        for (place, number) in out[136..192].as_chunks_mut().0.iter_mut().zip(counts.into_iter().chain(times)) {
            *place = number.to_le_bytes();
        }
        let short = [self.client_rtt_us, self.client_rtt_age_ms, server_rtt as u32, self.connect_us];
        for (place, number) in out[192..208].as_chunks_mut().0.iter_mut().zip(short) {
            *place = number.to_le_bytes();
        }
        out[208..224].copy_from_slice(&self.trace);
        out[224..232].copy_from_slice(&self.span);
        for (place, length) in out[LENGTHS..].as_chunks_mut().0.iter_mut().zip(lengths) {
            *place = length.to_le_bytes();
        }
    }
}

/// In microseconds, with their sum. A round trip that a record cannot hold is the server's own time.
fn micros(Spans { wait, server_rtt, app_response, transfer }: Spans) -> (Spans, u64) {
    let [wait, server_rtt, app_response, transfer] =
        [wait, server_rtt, app_response, transfer].map(|nanos| nanos / 1000);
    let excess = server_rtt.saturating_sub(u64::from(u32::MAX));
    let (server_rtt, app_response) = (server_rtt - excess, app_response + excess);
    (Spans { wait, server_rtt, app_response, transfer }, wait + server_rtt + app_response + transfer)
}

/// As an address of IPv6, into which one of IPv4 is mapped.
#[inline]
fn long(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}
