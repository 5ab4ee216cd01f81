//! Bytes that are not HTTP: they are passed on unchanged, after an optional header about the client.

use std::net::SocketAddr;

use weir_wire::proxy_protocol;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct L4Profile {
    /// `None`: servers are not told who the client is.
    pub proxy_protocol: Option<ProxyProtocol>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProxyProtocol {
    V1,
    V2,
}

impl ProxyProtocol {
    pub const BYTES_MAX: usize = proxy_protocol::BYTES_MAX;

    /// Writes the header in front of the client's bytes, and returns its length. `tlvs` are the vectors of version 2.
    /// `out` has room for them and for [`Self::BYTES_MAX`].
    pub fn write(self, client: SocketAddr, listener: SocketAddr, tlvs: &[u8], out: &mut [u8]) -> usize {
        match self {
            ProxyProtocol::V1 => proxy_protocol::v1(client, listener, out),
            ProxyProtocol::V2 => proxy_protocol::v2(client, listener, tlvs, out),
        }
    }
}
