//! The receiving side: reads the header at the start of a connection, however it was split.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    str::{FromStr, Split},
};

use super::{SIGNATURE, TCP_OVER_IPV4, TCP_OVER_IPV6, tlv};

/// The longest line of version 1, its end included (§2.1).
pub const V1_BYTES_MAX: usize = 107;
/// The longest header of version 2 that is read. The standard allows 64 KiB, and headers of the field stay below 1 KiB.
pub const V2_BYTES_MAX: usize = 4096;

const V1_START: &[u8] = b"PROXY ";
/// What version 2 has in front of addresses.
const V2_START_BYTES: usize = 16;
const VERSION_2: u8 = 2;
const LOCAL: u8 = 0;
const PROXY: u8 = 1;

/// A whole header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header<'b> {
    /// `None`: the connection's own addresses hold, because the sender speaks for itself or names no TCP addresses.
    pub ends: Option<Ends>,
    /// The type-length-value vectors of version 2 (§2.2), all of them well-formed.
    pub tlvs: &'b [u8],
    /// Bytes of the input that the header takes.
    pub len: usize,
}

/// The two ends of the connection that a header speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    pub client: SocketAddr,
    /// Where the client connected to.
    pub listener: SocketAddr,
}

/// The bytes are no header. The connection cannot be read further.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// Reads the header at the start of `input`. `None`: more must come. It comes to an end after at most [`V2_BYTES_MAX`].
pub fn read(input: &[u8]) -> Result<Option<Header<'_>>, Malformed> {
    match input {
        _ if input.starts_with(&SIGNATURE) => v2(input),
        _ if input.starts_with(V1_START) => v1(input),
        _ if SIGNATURE.starts_with(input) || V1_START.starts_with(input) => Ok(None),
        _ => Err(Malformed),
    }
}

fn v1(input: &[u8]) -> Result<Option<Header<'_>>, Malformed> {
    let text = &input[..input.len().min(V1_BYTES_MAX)];
    let Some(end) = text.iter().position(|byte| *byte == b'\n') else {
        return if text.len() < V1_BYTES_MAX { Ok(None) } else { Err(Malformed) };
    };
    let line = text[..end].strip_suffix(b"\r").ok_or(Malformed)?;
    let line = line.strip_prefix(V1_START).ok_or(Malformed)?;
    let mut words = std::str::from_utf8(line).map_err(|_| Malformed)?.split(' ');
    let ends = match words.next() {
        Some("TCP4") => Some(v1_ends::<Ipv4Addr>(&mut words)?),
        Some("TCP6") => Some(v1_ends::<Ipv6Addr>(&mut words)?),
        // What follows has no meaning (§2.1).
        Some("UNKNOWN") => None,
        _ => return Err(Malformed),
    };
    let is_over = ends.is_none() || words.next().is_none();
    if is_over { Ok(Some(Header { ends, tlvs: &[], len: end + 1 })) } else { Err(Malformed) }
}

fn v1_ends<A: FromStr + Into<IpAddr>>(words: &mut Split<'_, char>) -> Result<Ends, Malformed> {
    let mut word = || words.next().ok_or(Malformed);
    let [client, listener, client_port, listener_port] = [word()?, word()?, word()?, word()?];
    let address = |text: &str| text.parse::<A>().map(Into::into).map_err(|_| Malformed);
    Ok(Ends {
        client: SocketAddr::new(address(client)?, port(client_port)?),
        listener: SocketAddr::new(address(listener)?, port(listener_port)?),
    })
}

/// Digits without leading zeros.
fn port(text: &str) -> Result<u16, Malformed> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    if is_number { text.parse().map_err(|_| Malformed) } else { Err(Malformed) }
}

fn v2(input: &[u8]) -> Result<Option<Header<'_>>, Malformed> {
    let Some(&[version_and_command, family, high, low]) = input[SIGNATURE.len()..].first_chunk() else {
        return Ok(None);
    };
    let len = V2_START_BYTES + usize::from(u16::from_be_bytes([high, low]));
    if version_and_command >> 4 != VERSION_2 || len > V2_BYTES_MAX {
        return Err(Malformed);
    }
    let is_local = match version_and_command & 0xf {
        LOCAL => true,
        PROXY => false,
        _ => return Err(Malformed),
    };
    let Some(header) = input.get(..len) else { return Ok(None) };
    if is_local {
        // The sender speaks for itself; what follows has no meaning (§2.2).
        return Ok(Some(Header { ends: None, tlvs: &[], len }));
    }
    let rest = &header[V2_START_BYTES..];
    let (ends, tlvs) = match family {
        TCP_OVER_IPV4 => v2_ends::<4>(rest)?,
        TCP_OVER_IPV6 => v2_ends::<16>(rest)?,
        _ => (None, without_ends(family, rest)?),
    };
    if !tlv::are_sound(tlvs, header) {
        return Err(Malformed);
    }
    Ok(Some(Header { ends, tlvs, len }))
}

/// Two addresses of `N` bytes, and two ports.
fn v2_ends<const N: usize>(rest: &[u8]) -> Result<(Option<Ends>, &[u8]), Malformed>
where
    IpAddr: From<[u8; N]>,
{
    let (client, rest) = rest.split_first_chunk::<N>().ok_or(Malformed)?;
    let (listener, rest) = rest.split_first_chunk::<N>().ok_or(Malformed)?;
    let (client_port, rest) = rest.split_first_chunk().ok_or(Malformed)?;
    let (listener_port, rest) = rest.split_first_chunk().ok_or(Malformed)?;
    let end = |address: &[u8; N], port: &[u8; 2]| SocketAddr::new((*address).into(), u16::from_be_bytes(*port));
    let ends = Ends { client: end(client, client_port), listener: end(listener, listener_port) };
    Ok((Some(ends), rest))
}

/// What follows the addresses of a family that TCP does not have. The sender's connection came from elsewhere, so the
/// connection's own addresses hold.
fn without_ends(family: u8, rest: &[u8]) -> Result<&[u8], Malformed> {
    let addresses = match (family >> 4, family & 0xf) {
        (_, 3..) | (4.., _) => return Err(Malformed),
        (1, _) => 12,
        (2, _) => 36,
        (3, _) => 216,
        // How long its addresses are is not known.
        _ => rest.len(),
    };
    rest.get(addresses..).ok_or(Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A header of version 2.
    fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
        let length = (rest.len() as u16).to_be_bytes();
        [&SIGNATURE[..], &[VERSION_2 << 4 | command, family], &length, rest].concat()
    }

    fn ends(header: &[u8]) -> Option<String> {
        let header = read(header).expect("well-formed").expect("whole");
        header.ends.map(|ends| format!("{} {}", ends.client, ends.listener))
    }

    /// No part of a header is taken for a whole one, or for something else.
    fn reads_in_parts(header: &[u8]) {
        (0..header.len()).for_each(|len| assert_eq!(read(&header[..len]), Ok(None), "{len} of {header:?}"));
        let more = [header, b"GET / HTTP/1.1"].concat();
        assert_eq!(read(&more).map(|whole| whole.map(|header| header.len)), Ok(Some(header.len())));
    }

    #[test]
    fn reads_lines_of_version_1() {
        for (line, expected) in [
            ("PROXY TCP4 192.0.2.7 203.0.113.1 5000 25\r\n", Some("192.0.2.7:5000 203.0.113.1:25")),
            ("PROXY TCP6 2001:db8::7 ::1 65535 0\r\n", Some("[2001:db8::7]:65535 [::1]:0")),
            ("PROXY UNKNOWN\r\n", None),
            ("PROXY UNKNOWN ffff::1 anything at all\r\n", None),
        ] {
            assert_eq!(ends(line.as_bytes()).as_deref(), expected, "{line}");
            reads_in_parts(line.as_bytes());
        }
    }

    #[test]
    fn refuses_other_lines() {
        for line in [
            "GET / HTTP/1.1\r\n",
            "\r\nPROXY TCP4 192.0.2.7 203.0.113.1 5000 25\r\n",
            "proxy TCP4 192.0.2.7 203.0.113.1 5000 25\r\n",
            "PROXY TCP4 192.0.2.7 203.0.113.1 5000 25\n",
            "PROXY TCP4 192.0.2.7 203.0.113.1 5000\r\n",
            "PROXY TCP4 192.0.2.7 203.0.113.1 5000 25 1\r\n",
            "PROXY TCP4 192.0.2.7  203.0.113.1 5000 25\r\n",
            "PROXY TCP4 192.0.2.07 203.0.113.1 5000 25\r\n",
            "PROXY TCP4 192.0.2.7 203.0.113.1 05000 25\r\n",
            "PROXY TCP4 192.0.2.7 203.0.113.1 +500 25\r\n",
            "PROXY TCP4 192.0.2.7 203.0.113.1 65536 25\r\n",
            "PROXY TCP4 2001:db8::7 ::1 5000 25\r\n",
            "PROXY TCP6 192.0.2.7 203.0.113.1 5000 25\r\n",
            "PROXY TCP6 fe80::1%eth0 ::1 5000 25\r\n",
            "PROXY UDP4 192.0.2.7 203.0.113.1 5000 25\r\n",
            "PROXY \r\n",
        ] {
            assert_eq!(read(line.as_bytes()), Err(Malformed), "{line}");
        }
    }

    #[test]
    fn line_has_107_bytes_at_most() {
        let line = |bytes: usize| format!("PROXY UNKNOWN {}\r\n", "x".repeat(bytes - 16));
        assert!(read(line(V1_BYTES_MAX).as_bytes()).is_ok_and(|header| header.is_some()));
        assert_eq!(read(line(V1_BYTES_MAX + 1).as_bytes()), Err(Malformed));
        let endless = format!("PROXY UNKNOWN {}", "x".repeat(200));
        assert_eq!(read(&endless.as_bytes()[..V1_BYTES_MAX - 1]), Ok(None));
        assert_eq!(read(endless.as_bytes()), Err(Malformed));
    }

    const IPV4: [u8; 12] = [192, 0, 2, 7, 203, 0, 113, 1, 0x13, 0x88, 0, 25];

    #[test]
    fn reads_version_2() {
        let ipv6 =
            [[0x20, 1, 0xd, 0xb8], [0; 4], [0; 4], [0, 0, 0, 7], [0; 4], [0; 4], [0; 4], [0, 0, 0, 1], [0, 1, 0, 2]];
        for (header, expected) in [
            (binary(PROXY, TCP_OVER_IPV4, &IPV4), Some("192.0.2.7:5000 203.0.113.1:25")),
            (binary(PROXY, TCP_OVER_IPV6, ipv6.as_flattened()), Some("[2001:db8::7]:1 [::1]:2")),
            (binary(LOCAL, TCP_OVER_IPV4, &IPV4), None),
            (binary(LOCAL, 0, b""), None),
            (binary(LOCAL, 0xff, b"anything"), None),
            (binary(PROXY, 0, b"anything"), None),
            (binary(PROXY, 0x12, &IPV4), None),
            (binary(PROXY, 0x31, &[0; 216]), None),
        ] {
            assert_eq!(ends(&header).as_deref(), expected, "{header:?}");
            reads_in_parts(&header);
        }
    }

    #[test]
    fn refuses_other_headers_of_version_2() {
        let mut version_1 = binary(PROXY, TCP_OVER_IPV4, &IPV4);
        version_1[12] = 0x11;
        for header in [
            version_1,
            binary(2, TCP_OVER_IPV4, &IPV4),
            binary(PROXY, 0x13, &IPV4),
            binary(PROXY, 0x41, &IPV4),
            binary(PROXY, TCP_OVER_IPV4, &IPV4[..11]),
            binary(PROXY, TCP_OVER_IPV6, &IPV4),
            binary(PROXY, TCP_OVER_IPV4, &[&IPV4[..], &[1, 0]].concat()),
            binary(PROXY, TCP_OVER_IPV4, &[&IPV4[..], &[1, 0, 5, b'h']].concat()),
        ] {
            assert_eq!(read(&header), Err(Malformed), "{header:?}");
        }
    }

    #[test]
    fn header_of_version_2_has_4096_bytes_at_most() {
        let header = |bytes: usize| binary(LOCAL, 0, &vec![0; bytes - V2_START_BYTES]);
        assert!(read(&header(V2_BYTES_MAX)).is_ok_and(|header| header.is_some()));
        let longer = header(V2_BYTES_MAX + 1);
        assert_eq!(read(&longer[..V2_START_BYTES]), Err(Malformed), "nobody waits for the rest");
    }

    #[test]
    fn vectors_are_kept_and_a_wrong_checksum_is_refused() {
        let mut header = binary(PROXY, TCP_OVER_IPV4, &[&IPV4[..], &[0xe0, 0, 1, b'x', 3, 0, 4, 0, 0, 0, 0]].concat());
        assert_eq!(read(&header), Err(Malformed));
        let sum = tlv::crc32c(&header, 0..0).to_be_bytes();
        let at = header.len() - 4;
        header[at..].copy_from_slice(&sum);
        let read = read(&header).expect("well-formed").expect("whole");
        assert_eq!(read.tlvs[..4], [0xe0, 0, 1, b'x']);
    }
}
