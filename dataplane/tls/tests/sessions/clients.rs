//! Clients that are asked for a certificate: who gets in, who gets which alert, and who may resume.

use weir_tls::{
    Authorities, Certificate, CertificateFault, ClientAuth, ClientConfig, Error, PeerSettings, PkiSettings, Provider,
    Revocation, ServerConfig, TlsSettings, Version,
};
use weir_wire::x509::{Says, Text};

use crate::pair::*;

macro_rules! shown {
    ($name:literal $(, $issuer:literal)*) => {
        Shown {
            chain: &[
                include_bytes!(concat!("../../testdata/clients/", $name, ".crt.der")),
                $(include_bytes!(concat!("../../testdata/clients/", $issuer, ".crt.der")),)*
            ],
            key: include_bytes!(concat!("../../testdata/clients/", $name, ".key.der")),
        }
    };
}
macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../../testdata/clients/", $name, ".der")).as_slice()
    };
}

/// What a client shows.
#[derive(Clone, Copy)]
struct Shown {
    chain: &'static [&'static [u8]],
    key: &'static [u8],
}

const GOOD: Shown = shown!("client");
const ROOT: &[u8] = file!("root.crt");
const MIDDLE: &[u8] = file!("middle.crt");
const CRL: &[u8] = file!("root.crl");
const MIDDLE_CRL: &[u8] = file!("middle.crl");
const NOW: u64 = 1_800_000_000;

fn read(settings: &PkiSettings) -> Authorities {
    Authorities::read(settings).unwrap()
}

fn trusting(certificates: &[&[u8]]) -> Authorities {
    read(&pki(certificates))
}

/// By these lists.
fn asking_lists(certificates: &[&[u8]], lists: &[&[u8]]) -> PkiSettings {
    let lists = lists.iter().map(|list| list.to_vec()).collect();
    PkiSettings { revocation: Some(Revocation { lists, ..Revocation::default() }), ..pki(certificates) }
}

/// Whoever has no good certificate gets an alert.
fn strict(authorities: Authorities) -> ClientAuth {
    ClientAuth { authorities, required: true, refuses_missing: true, refuses_bad: true }
}

/// Handshakes end well; who reads the requests decides.
fn lenient(authorities: Authorities) -> ClientAuth {
    ClientAuth { refuses_missing: false, refuses_bad: false, ..strict(authorities) }
}

fn settings(version: Version) -> TlsSettings {
    TlsSettings { versions: vec![version], tickets: Some(tickets(&[1])), ..server_settings(&[TLS13, ECDSA]) }
}

fn asking(version: Version, clients: &ClientAuth) -> ServerConfig {
    ServerConfig::build(&settings(version), &[certificate(DEFAULT_EC)], Some(clients), &Provider::new()).unwrap().0
}

/// Resumes sessions.
fn showing(shown: Option<Shown>) -> ClientConfig {
    let read = |Shown { chain, key }: Shown| {
        let chain: Vec<_> = chain.iter().map(|der| der.to_vec()).collect();
        Certificate::read(&chain, key, &Provider::new()).unwrap()
    };
    let peer = PeerSettings { verification: None, certificate: shown.map(read), sni: true };
    let settings = TlsSettings { session_resumption: true, ..server_settings(&[TLS13, ECDSA]) };
    ClientConfig::build(&settings, &peer, &Provider::new()).unwrap().0.towards(1)
}

/// What a server that is strict makes of a client, by version, and what the client hears.
fn outcomes(authorities: &Authorities, shown: Option<Shown>) -> [Result<(), CertificateFault>; 2] {
    [Version::Tls12, Version::Tls13].map(|version| {
        let mut pair = Pair::new(&showing(shown), &asking(version, &strict(authorities.clone())), "a.test");
        match pair.deliver(usize::MAX) {
            Ok(()) => Ok(()),
            Err(Error::ClientCertificate(fault)) => {
                assert!(!pair.server.to_peer.is_empty(), "no alert");
                let alert = std::mem::take(&mut pair.server.to_peer);
                assert!(matches!(pair.client.receive(&alert), Err(Error::Peer(..))));
                Err(fault)
            }
            Err(other) => panic!("{other}"),
        }
    })
}

#[test]
fn client_with_a_good_certificate_gets_in_and_others_get_an_alert() {
    use CertificateFault::*;
    let authorities = trusting(&[ROOT, file!("old-root.crt")]);
    for (what, shown, fault) in [
        ("good", Some(GOOD), None),
        ("none", None, Some(Missing)),
        ("expired", Some(shown!("expired")), Some(Expired)),
        ("not yet valid", Some(shown!("early")), Some(NotYetValid)),
        ("for servers", Some(shown!("server-only")), Some(Purpose)),
        ("of another authority", Some(shown!("stranger")), Some(UnknownAuthority)),
        ("with that authority", Some(shown!("stranger", "other-root")), Some(UnknownAuthority)),
        ("of an authority of the same name", Some(shown!("forged")), Some(UnknownAuthority)),
        ("with that authority", Some(shown!("forged", "false-root")), Some(UnknownAuthority)),
        ("self-signed", Some(shown!("self-signed")), Some(UnknownAuthority)),
        ("of an authority that has expired", Some(shown!("under-old-root")), Some(Expired)),
        ("of an issuer that it does not send", Some(shown!("via-middle")), Some(UnknownAuthority)),
        ("of an issuer that it sends", Some(shown!("via-middle", "middle")), None),
        ("of an issuer that is too deep", Some(shown!("too-deep", "deep", "middle")), Some(Chain)),
        ("of another client", Some(shown!("by-leaf", "client")), Some(Chain)),
        ("for a name that its issuer may sign for", Some(shown!("good-name", "constrained")), None),
        ("for another name", Some(shown!("bad-name", "constrained")), Some(Names)),
        ("of an authority itself", Some(shown!("root")), Some(Chain)),
    ] {
        let expected = fault.map_or(Ok(()), Err);
        assert_eq!(outcomes(&authorities, shown), [expected; 2], "{what}");
    }
}

#[test]
fn end_of_a_chain_is_trusted_and_what_stands_before_it_must_be_signed() {
    let via_middle = Some(shown!("via-middle"));
    assert_eq!(outcomes(&trusting(&[ROOT, MIDDLE]), via_middle), [Ok(()); 2], "the profile has the issuer");
    assert_eq!(outcomes(&trusting(&[MIDDLE]), via_middle), [Ok(()); 2], "the profile ends there");
    assert_eq!(outcomes(&trusting(&[MIDDLE]), Some(GOOD)), [Err(CertificateFault::UnknownAuthority); 2]);
    let own_only = read(&PkiSettings { ignores_peer_chain: true, ..pki(&[ROOT]) });
    let sends_issuer = Some(shown!("via-middle", "middle"));
    assert_eq!(outcomes(&own_only, sends_issuer), [Err(CertificateFault::UnknownAuthority); 2]);
}

#[test]
fn certificate_of_a_client_among_the_authorities_signs_for_nobody() {
    let authorities = trusting(&[GOOD.chain[0], ROOT]);
    assert_eq!(outcomes(&authorities, Some(shown!("by-leaf"))), [Err(CertificateFault::UnknownAuthority); 2]);
    let none = trusting(&[GOOD.chain[0]]);
    let built = ServerConfig::build(
        &settings(Version::Tls13),
        &[certificate(DEFAULT_EC)],
        Some(&strict(none)),
        &Provider::new(),
    );
    assert_eq!(built.unwrap_err(), Error::NoAuthority);
}

#[test]
fn revoked_client_is_refused_and_so_is_any_without_a_list_that_is_valid() {
    use CertificateFault::*;
    let (revoked, middle) = (Some(shown!("revoked")), Some(shown!("via-middle", "middle")));
    let by = |settings: &PkiSettings, shown| outcomes(&read(settings), shown);
    let lists = asking_lists(&[ROOT], &[CRL]);
    assert_eq!(by(&pki(&[ROOT]), revoked), [Ok(()); 2], "nobody asks");
    assert_eq!(by(&lists, Some(GOOD)), [Ok(()); 2]);
    assert_eq!(by(&lists, revoked), [Err(Revoked); 2]);
    assert_eq!(by(&lists, middle), [Err(CrlMissing); 2], "no list of the issuer");
    assert_eq!(by(&asking_lists(&[ROOT], &[CRL, MIDDLE_CRL]), middle), [Ok(()); 2]);
    assert_eq!(by(&asking_lists(&[ROOT], &[CRL, file!("middle-revokes.crl")]), middle), [Err(Revoked); 2]);
    assert_eq!(by(&asking_lists(&[ROOT], &[]), Some(GOOD)), [Err(CrlMissing); 2], "no list at all");
    assert_eq!(by(&asking_lists(&[file!("false-root.crt"), ROOT], &[CRL]), revoked), [Err(Revoked); 2]);
    let expired = asking_lists(&[ROOT], &[file!("root-expired.crl")]);
    assert_eq!(by(&expired, Some(GOOD)), [Err(CrlExpired); 2]);
    let with = |settings: &PkiSettings, change: fn(&mut Revocation)| {
        let mut settings = settings.clone();
        settings.revocation.as_mut().into_iter().for_each(change);
        settings
    };
    assert_eq!(by(&with(&expired, |lists| lists.allows_expired = true), Some(GOOD)), [Ok(()); 2]);
    let only_middle = asking_lists(&[ROOT], &[MIDDLE_CRL]);
    assert_eq!(by(&only_middle, middle), [Err(CrlMissing); 2], "no list for the issuer itself");
    assert_eq!(by(&with(&only_middle, |lists| lists.only_leaf = true), middle), [Ok(()); 2]);
    let unreadable = Authorities::read(&asking_lists(&[ROOT], &[CRL, b"list"]));
    assert!(matches!(unreadable, Err(Error::ListUnreadable { position: 1, .. })));
}

#[test]
fn server_that_decides_later_knows_what_was_shown() {
    use CertificateFault::*;
    let authorities = trusting(&[ROOT]);
    for version in [Version::Tls12, Version::Tls13] {
        let server = asking(version, &lenient(authorities.clone()));
        for (shown, fault) in
            [(GOOD, None), (shown!("expired"), Some(Expired)), (shown!("stranger"), Some(UnknownAuthority))]
        {
            let pair = Pair::handshaken(&showing(Some(shown)), &server, "a.test");
            let certificate = pair.server.session.client_certificate().unwrap();
            assert_eq!(certificate.fault(), fault);
            assert_eq!(certificate.judge(&authorities, NOW).err(), fault);
        }
        let pair = Pair::handshaken(&showing(None), &server, "a.test");
        assert!(pair.server.session.client_certificate().is_none());
    }
    let pair = Pair::handshaken(&showing(Some(GOOD)), &asking(Version::Tls13, &strict(authorities)), "a.test");
    let certificate = pair.server.session.client_certificate().unwrap();
    assert_eq!(certificate.text(Text::Subject), "CN=client \\C3\\A4,OU=Ops,O=Example\\, Inc.,C=DE");
}

#[test]
fn open_connection_is_judged_anew_after_a_change_and_after_its_certificate_has_ended() {
    let before = trusting(&[ROOT]);
    let pair =
        Pair::handshaken(&showing(Some(shown!("revoked"))), &asking(Version::Tls13, &strict(before.clone())), "a.test");
    let certificate = pair.server.session.client_certificate().unwrap();
    assert_eq!(certificate.judge(&before, NOW), Ok(()));
    let after = read(&asking_lists(&[ROOT], &[CRL]));
    assert_eq!(certificate.judge(&after, NOW), Err(CertificateFault::Revoked));
    assert_eq!(certificate.fault(), Some(CertificateFault::Revoked));
    assert_eq!(certificate.judge(&trusting(&[file!("other-root.crt")]), NOW), Err(CertificateFault::UnknownAuthority));
    assert_eq!(certificate.judge(&before, NOW), Ok(()));
    let in_a_century = 4_900_000_000;
    assert_eq!(certificate.judge(&before, in_a_century), Err(CertificateFault::Expired));
}

/// Whether the second of two handshakes resumes the session of the first, and what its client has shown then.
fn resumes(client: &ClientConfig, first: &ServerConfig, second: &ServerConfig) -> (bool, bool) {
    Pair::handshaken(client, first, "a.test");
    let pair = Pair::handshaken(client, second, "a.test");
    let session = &pair.server.session;
    (session.handshaken().unwrap().resumed, session.client_certificate().is_some())
}

#[test]
fn session_is_resumed_with_its_certificate_and_only_by_what_has_judged_it() {
    for version in [Version::Tls12, Version::Tls13] {
        let auth = |settings: &PkiSettings| lenient(read(settings));
        let server = |settings: &PkiSettings| asking(version, &auth(settings));
        let (plain, lists) = (pki(&[ROOT]), asking_lists(&[ROOT], &[CRL]));
        let good = || showing(Some(GOOD));
        assert_eq!(resumes(&good(), &server(&plain), &server(&plain)), (true, true));
        assert_eq!(resumes(&good(), &server(&lists), &server(&lists)), (true, true));
        for (what, other) in [
            ("a list", server(&lists)),
            ("another authority", server(&pki(&[ROOT, MIDDLE]))),
            ("another mode", asking(version, &strict(read(&plain)))),
            ("another mode", asking(version, &ClientAuth { required: false, ..auth(&plain) })),
        ] {
            assert_eq!(resumes(&good(), &server(&plain), &other), (false, true), "{what}");
            assert_eq!(resumes(&good(), &other, &server(&plain)), (false, true), "{what} before");
        }
        let asks_nobody = self::server(&settings(version), &[DEFAULT_EC]);
        assert_eq!(resumes(&good(), &asks_nobody, &server(&plain)), (false, true));
        assert_eq!(resumes(&good(), &server(&plain), &asks_nobody), (false, false));
    }
}

#[test]
fn client_without_a_good_certificate_resumes_only_where_it_needs_none() {
    for version in [Version::Tls12, Version::Tls13] {
        let required = asking(version, &lenient(trusting(&[ROOT])));
        let welcome = asking(version, &ClientAuth { required: false, ..lenient(trusting(&[ROOT])) });
        for (shown, server, resumed) in [
            (None, &required, false),
            (Some(shown!("expired")), &required, false),
            (None, &welcome, true),
            (Some(shown!("expired")), &welcome, false),
        ] {
            assert_eq!(resumes(&showing(shown), server, server), (resumed, shown.is_some()));
        }
    }
}

/// Servers are told of the client from its certificate.
#[test]
fn certificate_of_a_resumed_session_says_the_same_as_in_the_full_handshake() {
    for version in [Version::Tls12, Version::Tls13] {
        for required in [false, true] {
            let authorities = trusting(&[ROOT]);
            let server = asking(version, &ClientAuth { required, ..lenient(authorities.clone()) });
            let client = showing(Some(shown!("via-middle", "middle")));
            let said = || {
                let pair = Pair::handshaken(&client, &server, "a.test");
                let certificate = pair.server.session.client_certificate().unwrap();
                assert_eq!(certificate.judge(&authorities, NOW), Ok(()));
                let said = Text::ALL.map(|text| certificate.text(text).to_owned());
                (pair.server.session.handshaken().unwrap().resumed, said)
            };
            let (resumed, first) = said();
            assert!(!resumed && first.iter().all(|text| !text.is_empty()), "{first:?}");
            for _ in 0..3 {
                assert_eq!(said(), (true, first.clone()), "{version:?}, required: {required}");
            }
        }
    }
}

/// They are kept as long as the connection lasts.
#[test]
fn client_with_too_many_bytes_of_certificates_gets_an_alert_whatever_its_server_lets_in() {
    let with = |count: usize| {
        let mut chain = vec![MIDDLE; count];
        chain[0] = GOOD.chain[0];
        showing(Some(Shown { chain: chain.leak(), ..GOOD }))
    };
    let fitting = (16 * 1024 - GOOD.chain[0].len()) / MIDDLE.len();
    for version in [Version::Tls12, Version::Tls13] {
        let server = asking(version, &ClientAuth { required: false, ..lenient(trusting(&[ROOT])) });
        let mut pair = Pair::new(&with(fitting + 1), &server, "a.test");
        assert_eq!(pair.deliver(usize::MAX), Ok(()));
        let mut pair = Pair::new(&with(fitting + 2), &server, "a.test");
        let refused = Err(Error::ClientCertificate(CertificateFault::TooLong));
        assert_eq!(pair.deliver(usize::MAX), refused);
        assert!(!pair.server.to_peer.is_empty(), "no alert");
    }
}

#[test]
fn session_with_a_long_chain_has_no_ticket_rather_than_a_long_one() {
    let server = asking(Version::Tls13, &lenient(trusting(&[ROOT])));
    const LONG: &[&[u8]] = &{
        let mut chain = [MIDDLE; 12];
        chain[0] = GOOD.chain[0];
        chain
    };
    assert_eq!(resumes(&showing(Some(Shown { chain: LONG, ..GOOD })), &server, &server), (false, true));
}
