//! The fixed part of a record, as `api/record` lays it out: what stands here in memory is what is sent.

use std::net::SocketAddr;

use zerocopy::{Immutable, IntoBytes};

use crate::{Spans, record::Reasons};

#[cfg(target_endian = "big")]
compile_error!("the numbers of records are little-endian");

/// Of the fixed part.
pub(super) const BYTES: usize = size_of::<Fixed>();
const _: () = assert!(BYTES == 264);
const VERSION: u8 = 2;
pub(super) const TEXTS: usize = 14;

/// The number of the server where there was none.
pub const NO_SERVER: u32 = u32::MAX;

/// All of a record but its texts. What 0 stands for in each is said in `api/record`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, IntoBytes, Immutable)]
#[repr(C)]
pub struct Fixed {
    /// Of the whole record.
    pub(super) bytes: u16,
    version: u8,
    pub kind: Kind,
    pub class: Class,
    /// As in `Methods` of `api/record`.
    pub method: u8,
    /// 10, 11 or 20; 0: none.
    pub http: u8,
    /// 255: that many or more.
    pub servers_tried: u8,
    pub weight: u32,
    pub flags: Flags,
    pub sequence: u64,
    /// In microseconds since 1970.
    pub end_unix_us: u64,
    pub reasons: Reasons,
    pub service: u32,
    /// Or [`NO_SERVER`].
    pub server: u32,
    client: Long,
    source: Long,
    vip: Long,
    server_local: Long,
    client_port: u16,
    vip_port: u16,
    server_local_port: u16,
    /// 0: none was sent, none came.
    pub status: u16,
    pub server_status: u16,
    /// The number of a [`Cause`](crate::Cause) plus 1; 0: nothing failed.
    pub cause: u16,
    pub filters: u16,
    pub tls: Tls,
    /// Of a call, plus 1; 0: none was sent.
    pub grpc_status: u16,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub server_response_bytes: u64,
    wait_us: u64,
    app_response_us: u64,
    transfer_us: u64,
    total_us: u64,
    /// 0: not known.
    pub client_rtt_us: u32,
    pub client_rtt_age_ms: u32,
    server_rtt_us: u32,
    /// 0: no new connection.
    pub connect_us: u32,
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub(super) lengths: [u16; TEXTS],
    /// The size is a multiple of eight.
    reserved: u32,
}

/// The 16 bytes of an address of IPv6, into which one of IPv4 is mapped.
type Long = [u64; 2];

/// What ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, IntoBytes, Immutable)]
#[repr(u8)]
pub enum Kind {
    Request = 1,
    /// Of layer 4, or one that never made a request.
    Connection = 2,
    /// Of datagrams.
    Session = 3,
}

/// Why there is a record: the first that holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, IntoBytes, Immutable)]
#[repr(u8)]
pub enum Class {
    Significant = 1,
    Filtered = 2,
    All = 3,
}

/// Properties that a record has or has not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, IntoBytes, Immutable)]
#[repr(transparent)]
pub struct Flags(u32);

/// What a handshake with a client has agreed on, by the numbers of IANA; 0: nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, IntoBytes, Immutable)]
#[repr(C)]
pub struct Tls {
    pub version: u16,
    pub suite: u16,
    pub group: u16,
    /// That ended a handshake, plus 1.
    pub alert: u16,
}

impl Fixed {
    /// Of which nothing is known yet.
    pub(super) const EMPTY: Self = Self {
        bytes: BYTES as u16,
        version: VERSION,
        kind: Kind::Request,
        class: Class::All,
        method: 0,
        http: 0,
        servers_tried: 0,
        weight: 0,
        flags: Flags(0),
        sequence: 0,
        end_unix_us: 0,
        reasons: Reasons::NONE,
        service: 0,
        server: NO_SERVER,
        client: [0; 2],
        source: [0; 2],
        vip: [0; 2],
        server_local: [0; 2],
        client_port: 0,
        vip_port: 0,
        server_local_port: 0,
        status: 0,
        server_status: 0,
        cause: 0,
        filters: 0,
        tls: Tls { version: 0, suite: 0, group: 0, alert: 0 },
        grpc_status: 0,
        request_bytes: 0,
        response_bytes: 0,
        server_response_bytes: 0,
        wait_us: 0,
        app_response_us: 0,
        transfer_us: 0,
        total_us: 0,
        client_rtt_us: 0,
        client_rtt_age_ms: 0,
        server_rtt_us: 0,
        connect_us: 0,
        trace: [0; 16],
        span: [0; 8],
        lengths: [0; TEXTS],
        reserved: 0,
    };

    /// Forgets the record before. What each record sets at its end is left.
    #[inline(always)]
    pub fn begin(&mut self, http: u8, filters: u16) {
        (self.bytes, self.method, self.http, self.servers_tried) = (BYTES as u16, 0, http, 0);
        self.flags = Flags(0);
        self.server = NO_SERVER;
        (self.server_local, self.server_local_port) = ([0; 2], 0);
        (self.status, self.server_status, self.cause, self.filters) = (0, 0, 0, filters);
        (self.request_bytes, self.response_bytes, self.server_response_bytes) = (0, 0, 0);
        (self.grpc_status, self.connect_us) = (0, 0);
        (self.trace, self.span) = ([0; 16], [0; 8]);
        self.lengths = [0; TEXTS];
    }

    /// `source` is the other end of the client's connection.
    #[inline]
    pub fn set_ends(&mut self, client: &SocketAddr, source: &SocketAddr, vip: &SocketAddr) {
        (self.client, self.client_port) = long(client);
        self.source = long(source).0;
        (self.vip, self.vip_port) = long(vip);
    }

    /// This end of the connection to the server.
    #[inline]
    pub fn set_server_local(&mut self, local: Option<&SocketAddr>) {
        (self.server_local, self.server_local_port) = local.map_or(([0; 2], 0), long);
    }

    /// A round trip that a record cannot hold is the server's own time.
    #[inline]
    pub fn set_spans(&mut self, spans: &Spans) {
        let Spans { wait, server_rtt, app_response, transfer } = *spans;
        let [wait, server_rtt, app_response, transfer] =
            [wait, server_rtt, app_response, transfer].map(|nanos| nanos / 1000);
        let excess = server_rtt.saturating_sub(u64::from(u32::MAX));
        self.server_rtt_us = (server_rtt - excess) as u32;
        self.wait_us = wait;
        self.app_response_us = app_response + excess;
        self.transfer_us = transfer;
        self.total_us = wait + server_rtt + app_response + transfer;
    }
}

/// The address, and the port.
#[inline(always)]
fn long(address: &SocketAddr) -> (Long, u16) {
    match address {
        SocketAddr::V4(address) => {
            let octets = u64::from(u32::from_le_bytes(address.ip().octets()));
            ([0, octets << 32 | 0xffff << 16], address.port())
        }
        SocketAddr::V6(address) => {
            let octets = u128::from_le_bytes(address.ip().octets());
            ([octets as u64, (octets >> 64) as u64], address.port())
        }
    }
}

impl Class {
    pub const ALL: [Self; 3] = [Class::Significant, Class::Filtered, Class::All];

    pub(super) fn index(self) -> usize {
        self as usize - 1
    }
}

impl Flags {
    pub const HEADERS_CUT: Self = Self(1 << 6);
    /// The names of the request stand behind the span or the suites, before the names of rules: two texts with their lengths
    /// before them, as a byte each. The first is the id, if somebody has asked for it; the second is the user, if one is known.
    pub const NAMED: Self = Self(1 << 7);
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

    /// A stored response has answered.
    pub const CACHE_HIT: Self = Self(1 << 22);
    /// The response was stored, or is.
    pub const CACHEABLE: Self = Self(1 << 23);

    /// What became of the response's compression: its number in `Compressions` of `api/record`, from 1 to 7.
    pub fn compression(number: u8) -> Self {
        Self(u32::from(number & 7) << 19)
    }

    /// What scripts have said stands in the same place, behind the span or the suites, and before these a byte that says how
    /// long they are.
    pub const SCRIPTED: Self = Self(1 << 24);

    /// The client's cookie was too old.
    pub const PERSISTENCE_EXPIRED: Self = Self(1 << 25);
    /// Another server than the client's has answered.
    pub const PERSISTENCE_CHANGED: Self = Self(1 << 26);
    /// The client's server is down, or disabled.
    pub const PERSISTENCE_DOWN: Self = Self(1 << 27);
    pub const PERSISTENCE_DISABLED: Self = Self(1 << 28);
    /// All of these.
    pub const PERSISTENCE: Self = Self(0xf << 25);

    /// The names of rules stand where what scripts have said stands, and before it: two bytes that say how long they are, and
    /// the names.
    pub const RULED: Self = Self(1 << 29);
    /// The same; the first of them is the rule that has let the connection in or barred it.
    pub const ADMITTED: Self = Self(1 << 30);
    /// A rule wants the record.
    pub const LOGGED: Self = Self(1 << 31);

    /// The text with this number, of those that come with a request, was longer than a record holds.
    pub(super) fn cut(text: usize) -> Self {
        Self(1 << text)
    }

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn bits(self) -> u32 {
        self.0
    }

    pub fn remove(&mut self, other: Self) {
        self.0 &= !other.0;
    }

    pub fn has_some(self, others: Self) -> bool {
        self.0 & others.0 != 0
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
