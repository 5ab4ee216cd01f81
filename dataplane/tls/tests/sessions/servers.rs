//! The client side towards the servers of a pool: whom it trusts, what it asks for, and what it resumes.

use weir_tls::{
    Authorities, ClientConfig, Error, HostCheck, PeerSettings, Provider, ServerName, TlsSettings, Verification,
    Version, Warning,
};

use crate::pair::*;

fn name(text: &str) -> ServerName {
    ServerName::parse(text).unwrap()
}

fn config(settings: &TlsSettings, verification: Option<Verification>) -> ClientConfig {
    let peer = PeerSettings { verification, certificate: None, sni: true };
    ClientConfig::build(settings, &peer, &Provider::new()).unwrap().0
}

fn trusting(authority: &[u8], host_check: HostCheck) -> ClientConfig {
    let authorities = Authorities::read(&pki(&[authority])).unwrap();
    config(&server_settings(&[TLS13, ECDSA]), Some(Verification { authorities, host_check }))
}

/// What comes of a handshake with a server that shows this certificate, for each version.
fn outcomes(client: &ClientConfig, certificate: (&[u8], &[u8]), called: &str) -> [Result<(), String>; 2] {
    [Version::Tls12, Version::Tls13].map(|version| {
        let settings = TlsSettings { versions: vec![version], ..server_settings(&[TLS13, ECDSA]) };
        let mut pair = Pair::new(client, &server(&settings, &[certificate]), called);
        pair.deliver(usize::MAX).map_err(|error| match error {
            Error::Untrusted(why) => why,
            other => panic!("{other}"),
        })
    })
}

#[test]
fn server_signed_by_an_authority_is_trusted_whatever_its_name() {
    let client = trusting(AUTHORITY, HostCheck::Off);
    assert_eq!(outcomes(&client, ISSUED, "elsewhere.test"), [Ok(()), Ok(())]);
}

#[test]
fn server_signed_by_another_authority_is_not_trusted() {
    for outcome in outcomes(&trusting(SHOP_RSA.0, HostCheck::Off), ISSUED, "one.internal") {
        assert!(outcome.unwrap_err().contains("UnknownIssuer"));
    }
}

#[test]
fn self_signed_server_is_trusted_where_its_own_certificate_is() {
    assert_eq!(outcomes(&trusting(SHOP_EC.0, HostCheck::Off), SHOP_EC, "shop.example"), [Ok(()), Ok(())]);
    for outcome in outcomes(&trusting(DEFAULT_EC.0, HostCheck::Off), SHOP_EC, "shop.example") {
        assert!(outcome.is_err());
    }
}

#[test]
fn name_of_the_connection_is_checked_where_that_is_wanted() {
    let client = trusting(AUTHORITY, HostCheck::Connection);
    assert_eq!(outcomes(&client, ISSUED, "one.internal"), [Ok(()), Ok(())]);
    assert_eq!(outcomes(&client, ISSUED, "10.0.0.1"), [Ok(()), Ok(())]);
    for outcome in outcomes(&client, ISSUED, "two.internal") {
        assert!(outcome.unwrap_err().contains("not valid for name"));
    }
}

#[test]
fn any_of_the_names_given_will_do() {
    let among = |names: &[&str]| trusting(AUTHORITY, HostCheck::AnyOf(names.iter().map(|n| name(n)).collect()));
    assert_eq!(outcomes(&among(&["two.internal", "one.internal"]), ISSUED, "x.test"), [Ok(()), Ok(())]);
    for outcome in outcomes(&among(&["two.internal"]), ISSUED, "one.internal") {
        assert!(outcome.is_err());
    }
}

#[test]
fn server_is_told_why_it_is_not_trusted() {
    let server = server(&server_settings(&[TLS13, ECDSA]), &[ISSUED]);
    let mut pair = Pair::new(&trusting(SHOP_RSA.0, HostCheck::Off), &server, "a.test");
    assert!(pair.deliver(usize::MAX).is_err());
    let alert = std::mem::take(&mut pair.client.to_peer);
    assert!(pair.server.receive(&alert).unwrap_err().to_string().contains("UnknownCA"));
}

#[test]
fn authority_that_cannot_be_read_is_named_by_its_position() {
    let read = Authorities::read(&pki(&[AUTHORITY, b"root"]));
    assert!(matches!(read, Err(Error::AuthorityUnreadable { position: 1, .. })));
}

#[test]
fn name_is_sent_only_where_that_is_wanted() {
    for (sni, called, sent) in [(true, "one.internal", true), (false, "one.internal", false), (true, "10.0.0.1", false)]
    {
        let peer = PeerSettings { verification: None, certificate: None, sni };
        let (client, _) = ClientConfig::build(&server_settings(&[TLS13, ECDSA]), &peer, &Provider::new()).unwrap();
        let hello = Pair::new(&client, &any_server(), called).client.to_peer;
        let named = hello.windows(called.len()).any(|bytes| bytes == called.as_bytes());
        assert_eq!(named, sent, "{called}");
    }
}

#[test]
fn versions_and_cipher_suites_of_the_profile_are_offered_and_no_others() {
    let settings = TlsSettings { versions: vec![Version::Tls12], ..server_settings(&[TLS13, RSA, "TLS_NULL"]) };
    let peer = PeerSettings { verification: None, certificate: None, sni: true };
    let (client, warnings) = ClientConfig::build(&settings, &peer, &Provider::new()).unwrap();
    assert_eq!(warnings, [Warning::CipherSuitesNotImplemented(owned(&["TLS_NULL"]))]);
    let handshaken = Pair::handshaken(&client, &any_server(), "a.test").client.session.handshaken().unwrap();
    assert_eq!((handshaken.version, handshaken.cipher_suite), (Version::Tls12, RSA));
}

#[test]
fn session_is_resumed_with_the_server_that_it_was_made_with() {
    for suite in [TLS13, ECDSA] {
        let settings =
            TlsSettings { session_resumption: true, tickets: Some(tickets(&[1])), ..server_settings(&[suite]) };
        let client = config(&settings, None);
        let other = TlsSettings { tickets: Some(tickets(&[2])), ..settings.clone() };
        let [one, other] = [&settings, &other].map(|settings| server(settings, &[DEFAULT_EC]));
        let resumes = |number: u32, server| {
            let mut pair = Pair::handshaken(&client.towards(number), server, "a.test");
            pair.client.send(b"request");
            pair.deliver(usize::MAX).unwrap();
            pair.client.session.handshaken().unwrap().resumed
        };
        assert_eq!([resumes(1, &one), resumes(2, &other)], [false, false], "{suite}");
        assert_eq!([resumes(1, &one), resumes(2, &other), resumes(1, &one)], [true, true, true], "{suite}");
    }
}

#[test]
fn configuration_towards_a_server_is_made_once_with_resumption_and_not_at_all_without() {
    let settings = server_settings(&[TLS13]);
    let shared = config(&settings, None);
    assert!(shared.towards(1).is(&shared));
    let client = config(&TlsSettings { session_resumption: true, ..settings }, None);
    let one = client.towards(1);
    assert!(client.towards(1).is(&one) && client.clone().towards(1).is(&one));
    assert!(!client.towards(2).is(&one) && !one.is(&client));
}

#[test]
fn no_session_is_resumed_where_the_profile_says_so() {
    let settings = TlsSettings { tickets: Some(tickets(&[1])), ..server_settings(&[TLS13, ECDSA]) };
    let (client, server) = (config(&server_settings(&[TLS13, ECDSA]), None), server(&settings, &[DEFAULT_EC]));
    for _ in 0..2 {
        let mut pair = Pair::handshaken(&client.towards(1), &server, "a.test");
        pair.client.send(b"request");
        pair.deliver(usize::MAX).unwrap();
        assert!(!pair.client.session.handshaken().unwrap().resumed);
    }
}
