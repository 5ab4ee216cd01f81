//! What must hold for any first bytes of a connection on which a PROXY header is expected.

use weir_wire::proxy_protocol::{self, BYTES_MAX, Header, Malformed, V2_BYTES_MAX};

/// Reads the bytes as they come one by one, which leads to the same result as all of them at once. Returns whether they
/// begin with a header.
pub fn check(input: &[u8]) -> bool {
    let whole = proxy_protocol::read(input);
    let parts = (0..=input.len()).map(|len| proxy_protocol::read(&input[..len]));
    let first = parts.into_iter().find(|read| *read != Ok(None)).unwrap_or(Ok(None));
    assert_eq!(first, whole);
    match whole {
        Ok(Some(header)) => check_header(input, &header),
        Ok(None) => assert!(input.len() < V2_BYTES_MAX, "nobody waits without end"),
        Err(Malformed) => {}
    }
    matches!(whole, Ok(Some(_)))
}

/// What a header says is what a server gets to read, if it is written again.
fn check_header(input: &[u8], header: &Header<'_>) {
    assert!(header.len <= input.len().min(V2_BYTES_MAX));
    let Some(ends) = header.ends else { return };
    let tlvs = proxy_protocol::passed_on(header.tlvs, None);
    assert!(tlvs.len() <= header.tlvs.len());
    let mut room = vec![0; BYTES_MAX + tlvs.len()];
    let written = proxy_protocol::v2(ends.client, ends.listener, &tlvs, &mut room);
    let again = proxy_protocol::read(&room[..written]).expect("well-formed").expect("whole");
    assert_eq!(again.len, written);
    let canonical = |end: std::net::SocketAddr| (end.ip().to_canonical(), end.port());
    if let Some(ends_again) = again.ends {
        assert_eq!(again.tlvs, tlvs);
        assert_eq!(canonical(ends_again.client), canonical(ends.client));
        assert_eq!(canonical(ends_again.listener), canonical(ends.listener));
    }
}
