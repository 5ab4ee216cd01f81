//! The answers to clients that offer ALPN protocols (RFC 7301): HTTP offers its own, layer 4 those of its servers.

use weir_api::dataplane::v1::{Http2Profile, L4Profile, VirtualService};
use weir_snapshot::{Snapshot, TransportAddress};
use weir_tls::{Error, TlsSession};

use crate::plan::*;

/// The ClientHello of a TLS 1.2 client that offers this one protocol.
fn hello(protocol: &str) -> Vec<u8> {
    let named = prefixed::<1>(protocol.as_bytes());
    let extensions = [
        extension(10, &prefixed::<2>(&[0, 29])), // x25519
        extension(11, &prefixed::<1>(&[0])),     // points as they are
        extension(13, &prefixed::<2>(&[4, 3])),  // ecdsa_secp256r1_sha256
        extension(16, &prefixed::<2>(&named)),
    ];
    let suites = prefixed::<2>(&[0xc0, 0x2b]);
    let body = [&[3, 3][..], &[7; 32], &[0], &suites, &[1, 0], &prefixed::<2>(&extensions.concat())].concat();
    let message = [&[1][..], &prefixed::<3>(&body)].concat();
    [&[22, 3, 1][..], &prefixed::<2>(&message)].concat()
}

fn extension(number: u8, content: &[u8]) -> Vec<u8> {
    [&[0, number][..], &prefixed::<2>(content)].concat()
}

/// `content` behind its length, which takes `BYTES` bytes.
fn prefixed<const BYTES: usize>(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u32).to_be_bytes();
    [&length[4 - BYTES..], content].concat()
}

/// What the first virtual service answers in TLS. `l4`: the service is of layer 4, with these protocols.
fn answer_to(protocol: &str, l4: Option<&[&str]>) -> Result<Vec<u8>, Error> {
    answer_after(protocol, |service| {
        if let Some(spoken) = l4 {
            let alpn_protocols = spoken.iter().map(|name| name.to_string()).collect();
            (service.http, service.l4) = (None, Some(L4Profile { alpn_protocols, ..L4Profile::default() }));
        }
    })
}

/// What the first virtual service answers after a change.
fn answer_after(protocol: &str, change: impl FnOnce(&mut VirtualService)) -> Result<Vec<u8>, Error> {
    let mut plan = plan();
    change(&mut plan.virtual_services[0]);
    let (snapshot, _) = Snapshot::build(&plan, None, &worker()).unwrap();
    let listener = snapshot.listener(TransportAddress::tcp("192.0.2.10:443".parse().unwrap())).unwrap();
    let mut answer = Vec::new();
    let mut session = TlsSession::server(listener.tls("192.0.2.1".parse().unwrap()).unwrap())?;
    session.receive(&mut hello(protocol), &mut |_| {}, &mut answer)?;
    Ok(answer)
}

fn chooses(answer: &[u8], protocol: &str) -> bool {
    let chosen = prefixed::<2>(&prefixed::<1>(protocol.as_bytes()));
    answer.windows(chosen.len()).any(|bytes| bytes == chosen)
}

#[test]
fn layer_4_answers_no_offer_and_refuses_nobody_for_it() {
    for protocol in ["h2", "http/1.1", "foo"] {
        let answer = answer_to(protocol, Some(&[])).unwrap_or_else(|error| panic!("{protocol}: {error}"));
        assert!(!chooses(&answer, protocol), "{protocol}");
    }
}

#[test]
fn layer_4_chooses_what_its_servers_speak() {
    assert!(chooses(&answer_to("h2", Some(&["foo", "h2"])).unwrap(), "h2"));
    assert!(answer_to("http/1.1", Some(&["foo", "h2"])).is_err());
}

#[test]
fn http_speaks_http_1_1_alone() {
    assert!(chooses(&answer_to("http/1.1", None).unwrap(), "http/1.1"));
    assert!(answer_to("h2", None).is_err());
}

#[test]
fn listener_with_http_2_speaks_both_versions() {
    for protocol in ["h2", "http/1.1"] {
        let answer = answer_after(protocol, |service| {
            service.listeners.iter_mut().for_each(|listener| listener.http2 = true);
            let profile =
                Http2Profile { max_concurrent_streams: 1, initial_window_bytes: 1, ..Http2Profile::default() };
            service.http.as_mut().unwrap().http2 = Some(profile);
        });
        assert!(chooses(&answer.unwrap(), protocol), "{protocol}");
    }
}
