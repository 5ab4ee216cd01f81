//! The sending side.

use std::{
    io::{Cursor, Write},
    net::{IpAddr, SocketAddr},
};

use super::{SIGNATURE, TCP_OVER_IPV4, TCP_OVER_IPV6, V1_BYTES_MAX};

/// Room that either version needs at most, without the vectors of version 2.
pub const BYTES_MAX: usize = V1_BYTES_MAX;

const VERSION_2_PROXY: u8 = 0x21;
const IPV4_BYTES: usize = 12;
const IPV6_BYTES: usize = 36;
const UNSPECIFIED: u8 = 0;

/// Writes version 1, a line of text; returns its bytes. `out` has room for [`BYTES_MAX`].
pub fn v1(client: SocketAddr, listener: SocketAddr, out: &mut [u8]) -> usize {
    let (from, to) = (client.ip().to_canonical(), listener.ip().to_canonical());
    let family = match (from, to) {
        (IpAddr::V4(_), IpAddr::V4(_)) => "TCP4",
        (IpAddr::V6(_), IpAddr::V6(_)) => "TCP6",
        _ => return written(out, |line| line.write_all(b"PROXY UNKNOWN\r\n")),
    };
    written(out, |line| write!(line, "PROXY {family} {from} {to} {} {}\r\n", client.port(), listener.port()))
}

/// Writes version 2, which is binary; returns its bytes. `tlvs` are its vectors, at most 32 KiB. `out` has room for them
/// and for [`BYTES_MAX`].
pub fn v2(client: SocketAddr, listener: SocketAddr, tlvs: &[u8], out: &mut [u8]) -> usize {
    let length = |addresses: usize| ((addresses + tlvs.len()) as u16).to_be_bytes();
    written(out, |header| {
        header.write_all(&SIGNATURE)?;
        match (client.ip().to_canonical(), listener.ip().to_canonical()) {
            (IpAddr::V4(from), IpAddr::V4(to)) => {
                header.write_all(&[VERSION_2_PROXY, TCP_OVER_IPV4])?;
                header.write_all(&length(IPV4_BYTES))?;
                header.write_all(&from.octets())?;
                header.write_all(&to.octets())?;
            }
            (IpAddr::V6(from), IpAddr::V6(to)) => {
                header.write_all(&[VERSION_2_PROXY, TCP_OVER_IPV6])?;
                header.write_all(&length(IPV6_BYTES))?;
                header.write_all(&from.octets())?;
                header.write_all(&to.octets())?;
            }
            _ => return header.write_all(&[VERSION_2_PROXY, UNSPECIFIED, 0, 0]),
        }
        header.write_all(&client.port().to_be_bytes())?;
        header.write_all(&listener.port().to_be_bytes())?;
        header.write_all(tlvs)
    })
}

/// What did not fit is left out: with [`BYTES_MAX`] of room everything fits.
fn written(out: &mut [u8], write: impl FnOnce(&mut Cursor<&mut [u8]>) -> std::io::Result<()>) -> usize {
    let mut cursor = Cursor::new(out);
    match write(&mut cursor) {
        Ok(()) => cursor.position() as usize,
        Err(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(client: &str, listener: &str) -> String {
        let mut out = [0; BYTES_MAX];
        let len = v1(client.parse().unwrap(), listener.parse().unwrap(), &mut out);
        String::from_utf8(out[..len].to_vec()).unwrap()
    }

    fn binary(client: &str, listener: &str) -> Vec<u8> {
        let mut out = [0; BYTES_MAX];
        let len = v2(client.parse().unwrap(), listener.parse().unwrap(), b"", &mut out);
        out[..len].to_vec()
    }

    #[test]
    fn line_of_version_1_names_both_ends() {
        assert_eq!(text("192.0.2.7:5000", "203.0.113.1:25"), "PROXY TCP4 192.0.2.7 203.0.113.1 5000 25\r\n");
        assert_eq!(text("[2001:db8::7]:1", "[2001:db8::1]:2"), "PROXY TCP6 2001:db8::7 2001:db8::1 1 2\r\n");
        assert_eq!(text("[::ffff:192.0.2.7]:1", "192.0.2.1:2"), "PROXY TCP4 192.0.2.7 192.0.2.1 1 2\r\n");
        assert_eq!(text("[2001:db8::7]:1", "192.0.2.1:2"), "PROXY UNKNOWN\r\n");
    }

    #[test]
    fn longest_line_of_version_1_fits() {
        let longest = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535";
        assert!(text(longest, longest).ends_with(" 65535 65535\r\n"));
    }

    #[test]
    fn header_of_version_2_is_as_long_as_it_says() {
        for (client, listener, family, bytes) in [
            ("192.0.2.7:5000", "203.0.113.1:25", TCP_OVER_IPV4, 12),
            ("[2001:db8::7]:1", "[2001:db8::1]:2", TCP_OVER_IPV6, 36),
            ("[2001:db8::7]:1", "192.0.2.1:2", UNSPECIFIED, 0),
        ] {
            let header = binary(client, listener);
            assert_eq!(header[..12], SIGNATURE);
            assert_eq!(header[12..16], [VERSION_2_PROXY, family, 0, bytes]);
            assert_eq!(header.len(), 16 + usize::from(bytes));
        }
        let header = binary("192.0.2.7:5000", "203.0.113.1:25");
        assert_eq!(header[16..], [192, 0, 2, 7, 203, 0, 113, 1, 0x13, 0x88, 0, 25]);
    }
}
