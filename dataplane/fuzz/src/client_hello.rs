//! What must hold for the first bytes of any connection.

use weir_wire::tls::{ClientHello, ClientHelloReader, NoClientHello};

/// Bytes that come one by one mean the same as bytes that come at once, and what is read lies within bounds.
pub fn check(bytes: &[u8]) {
    let whole = read(bytes, bytes.len().max(1));
    for size in [1, 3] {
        assert_eq!(read(bytes, size), whole, "in pieces of {size}");
    }
}

type Said = (Option<String>, Vec<Vec<u8>>, Vec<u16>);

fn read(bytes: &[u8], size: usize) -> Result<Option<Said>, NoClientHello> {
    let mut reader = ClientHelloReader::default();
    for piece in bytes.chunks(size) {
        if reader.take(piece)? {
            return reader.client_hello().map(|hello| Some(said(&hello)));
        }
    }
    Ok(None)
}

fn said(hello: &ClientHello<'_>) -> Said {
    let name = hello.server_name().map(str::to_owned);
    assert!(name.as_ref().is_none_or(|name| name.len() <= 253));
    let protocols: Vec<_> = hello.protocols().map(<[u8]>::to_vec).collect();
    assert!(protocols.iter().all(|protocol| !protocol.is_empty()));
    (name, protocols, hello.versions().collect())
}
