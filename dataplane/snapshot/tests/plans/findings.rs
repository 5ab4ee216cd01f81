//! Every error in a Plan with its finding, compared with `findings.txt`. `WEIR_GEN=write` writes that file again.

use std::fmt::Write;

use weir_api::dataplane::v1::*;
use weir_snapshot::Snapshot;

use crate::plan::*;

/// A child of the first service for a.test, which gives its clients to children by server name.
fn child(plan: &mut Plan, edit: impl FnOnce(&mut VirtualService)) {
    let parent = &mut plan.virtual_services[0];
    parent.hosting = Hosting::ByServerName.into();
    let mut child = VirtualService {
        uuid: "child-1".to_owned(),
        name: "child".to_owned(),
        listeners: Vec::new(),
        hosting: 0,
        parent_uuid: parent.uuid.clone(),
        server_names: vec!["a.test".to_owned()],
        ..parent.clone()
    };
    edit(&mut child);
    plan.virtual_services.push(child);
}

/// The second service, made one of datagrams.
pub fn datagrams(plan: &mut Plan) -> &mut VirtualService {
    let service = &mut plan.virtual_services[1];
    (service.http, service.tcp, service.l4) = (None, None, Some(L4Profile::default()));
    service.udp = Some(UdpProfile { idle_timeout_s: 10, ..UdpProfile::default() });
    service.listeners[0].protocol = TransportProtocol::Udp.into();
    service.pool_uuid = "pool-1".to_owned();
    service
}

fn rewriting(plan: &mut Plan, search: &str) {
    let pair = Replacement { search: search.to_owned(), ..Replacement::default() };
    let content_types = if search.is_empty() { vec!["text/html".to_owned()] } else { Vec::new() };
    plan.virtual_services[0].http.as_mut().unwrap().content_rewrite =
        Some(ContentRewrite { content_types, pairs: vec![pair] });
}

fn compressing(plan: &mut Plan, edit: impl FnOnce(&mut Compression)) {
    let mut compression = Compression {
        content_types: vec!["text/html".to_owned()],
        level_normal: 1,
        level_aggressive: 5,
        ..Compression::default()
    };
    edit(&mut compression);
    plan.virtual_services[0].http.as_mut().unwrap().compression = Some(compression);
}

fn scripted(plan: &mut Plan, source: &str) {
    let script = Script { event: ScriptEvent::HttpReq.into(), source: source.to_owned(), position: 0 };
    let set = ScriptSet {
        uuid: "scripts-1".to_owned(),
        name: "steer".to_owned(),
        scripts: vec![script],
        ..ScriptSet::default()
    };
    plan.script_sets = vec![set];
    plan.virtual_services[0].script_set_uuids = vec!["scripts-1".to_owned()];
}

fn caching(plan: &mut Plan, edit: impl FnOnce(&mut Cache)) {
    let mut cache = Cache { max_bytes: 1000, ..Cache::default() };
    edit(&mut cache);
    plan.virtual_services[0].http.as_mut().unwrap().cache = Some(cache);
}

pub type Case = (&'static str, fn(&mut Plan));

pub const CASES: &[Case] = &[
    ("nothing is wrong", |_| {}),
    ("a DataScript", |p| scripted(p, "avi.vs.log('x')")),
    ("a DataScript that is none", |p| scripted(p, "local a = 1\nbreak")),
    ("a DataScript that is none, and no service has", |p| {
        scripted(p, "break");
        p.virtual_services[0].script_set_uuids.clear();
    }),
    ("rate limiters of DataScripts", |p| {
        scripted(p, "avi.vs.log('x')");
        let limit = |name: &str, count| ScriptLimit { name: name.to_owned(), count, period_s: 1, burst: 0 };
        p.script_sets[0].limits = vec![limit("a", 0), limit("", 1), limit("a", 1)];
    }),
    ("a limit of DataScripts that counts nothing", |p| {
        scripted(p, "avi.vs.log('x')");
        p.virtual_services[0].script_limit = Some(RateLimit::default());
    }),
    ("no revision", |p| p.revision = 0),
    ("a listener without an address", |p| p.virtual_services[0].listeners[0].address = "shop".to_owned()),
    ("a listener on port 0", |p| p.virtual_services[0].listeners[0].port = 0),
    ("a listener on a port that is none", |p| p.virtual_services[0].listeners[0].port = 70_000),
    ("two services on one address", |p| p.virtual_services[1].listeners.push(listener("192.0.2.10", 443, false))),
    ("one service twice on one address", |p| p.virtual_services[1].listeners.push(listener("2001:db8::1", 80, false))),
    ("a cache", |p| caching(p, |_| {})),
    ("a cache for nothing", |p| caching(p, |cache| cache.min_bytes = 1001)),
    ("a cache that leaves out paths by an expression", |p| {
        let criterion = TextCriterion::Regex.into();
        caching(p, |cache| {
            cache.blocked_paths = Some(TextMatch { criterion, values: vec!["a".to_owned()], ..TextMatch::default() });
        })
    }),
    ("TLS to servers as the port has it, without what that needs", |p| {
        p.pools[0].tls_by_service = true;
    }),
    ("TLS to servers as the port has it, without TLS", |p| {
        (p.pools[0].tls_by_service, p.pools[0].use_service_port) = (true, true);
        p.pools[0].server_tls = None;
    }),
    ("rewriting of no type", |p| rewriting(p, "a")),
    ("rewriting of an empty text", |p| rewriting(p, "")),
    ("rewriting of what is no expression, beside a text", |p| {
        rewriting(p, "");
        let rewrite = p.virtual_services[0].http.as_mut().unwrap().content_rewrite.as_mut().unwrap();
        let of = |search: &str, number, is_expression| Replacement {
            search: search.to_owned(),
            number,
            is_expression,
            ..Replacement::default()
        };
        rewrite.pairs = vec![of("a", 0, false), of("(", 2, true), of("b*", 5, true)];
    }),
    ("compression", |p| compressing(p, |_| {})),
    ("compression of nothing", |p| compressing(p, |compression| compression.content_types.clear())),
    ("compression at levels that are none", |p| {
        compressing(p, |compression| (compression.level_normal, compression.level_aggressive) = (0, 10))
    }),
    ("compression with filters that cannot be read", |p| {
        let filter = |level, subnet: &str| CompressionFilter {
            level,
            compares_clients: true,
            subnets: vec![subnet.to_owned()],
            ..CompressionFilter::default()
        };
        compressing(p, |compression| compression.filters = vec![filter(9, "10.0.0.0/8"), filter(0, "10.0.0.0/99")])
    }),
    ("a child without its parent", |p| child(p, |child| child.parent_uuid = "virtualservice-9".to_owned())),
    ("a child of a service that has none", |p| child(p, |child| child.parent_uuid = "virtualservice-2".to_owned())),
    ("a child with a port", |p| child(p, |child| child.listeners = vec![listener("192.0.2.10", 81, false)])),
    ("a child with children", |p| child(p, |child| child.hosting = 1)),
    ("a child of layer 4 under HTTP", |p| {
        child(p, |child| (child.http, child.l4) = (None, Some(L4Profile::default())))
    }),
    ("a child without an SSL profile where TLS is terminated", |p| child(p, |child| child.tls = None)),
    ("two children of one name", |p| {
        child(p, |_| {});
        child(p, |child| (child.uuid, child.name) = ("child-2".to_owned(), "second".to_owned()));
    }),
    ("names of children that are none", |p| {
        child(p, |child| child.server_names = vec!["*".to_owned(), "a b".to_owned()]);
    }),
    ("rules of a child that match nothing", |p| {
        child(p, |child| {
            let rule = |criterion| HostRule {
                path: Some(TextMatch { criterion, ..TextMatch::default() }),
                ..HostRule::default()
            };
            let host = "a.test".to_owned();
            child.host_matches = vec![HostMatch { host, rules: vec![rule(1), rule(9)] }];
        });
        p.virtual_services[0].hosting = 2;
    }),
    ("two children of one path in letters of another case", |p| {
        for (uuid, value) in [("child-1", "/Cart"), ("child-2", "/cart")] {
            child(p, |child| {
                let path = TextMatch { criterion: 1, values: vec![value.to_owned()], ..TextMatch::default() };
                let rules = vec![HostRule { path: Some(path), ..HostRule::default() }];
                child.host_matches = vec![HostMatch { host: "a.test".to_owned(), rules }];
                (child.uuid, child.name) = (uuid.to_owned(), uuid.to_owned());
                child.server_names.clear();
            });
        }
        p.virtual_services[0].hosting = 2;
    }),
    ("what a child wants with a group that is not there", |p| {
        child(p, |child| {
            let client = AddressMatch { address_group_uuids: vec!["group-9".to_owned()], ..AddressMatch::default() };
            let matched = HttpMatch { client: Some(client), ..HttpMatch::default() };
            let rules = vec![HostRule { r#match: Some(matched), ..HostRule::default() }];
            child.host_matches = vec![HostMatch { host: "a.test".to_owned(), rules }];
            child.server_names.clear();
        });
        p.virtual_services[0].hosting = 2;
    }),
    ("paths of a child that gets connections", |p| {
        child(p, |child| {
            let rules = vec![HostRule::default()];
            child.host_matches = vec![HostMatch { host: "b.test".to_owned(), rules }];
        });
    }),
    ("a name of a child where no port speaks TLS", |p| {
        child(p, |_| {});
        p.virtual_services[0].listeners.iter_mut().for_each(|listener| listener.tls = false);
    }),
    ("a parent of requests at layer 4", |p| {
        let parent = &mut p.virtual_services[1];
        (parent.hosting, parent.http, parent.l4) = (2, None, Some(L4Profile::default()));
    }),
    ("a hosting from the future", |p| p.virtual_services[0].hosting = 3),
    ("two services of one uuid", |p| p.virtual_services[1].uuid = "virtualservice-1".to_owned()),
    ("a service without a uuid", |p| p.virtual_services[1].uuid.clear()),
    ("a pool that is not there", |p| p.virtual_services[0].pool_uuid = "pool-9".to_owned()),
    ("no application profile", |p| p.virtual_services[0].http = None),
    ("HTTP and layer 4 at once", |p| p.virtual_services[0].l4 = Some(L4Profile::default())),
    ("a PROXY protocol from the future", |p| {
        p.virtual_services[0].http = None;
        p.virtual_services[0].l4 = Some(L4Profile { proxy_protocol: 3, ..L4Profile::default() });
    }),
    ("a protocol without a name at layer 4", |p| {
        p.virtual_services[0].http = None;
        p.virtual_services[0].l4 =
            Some(L4Profile { alpn_protocols: vec!["h2".to_owned(), String::new()], ..L4Profile::default() });
    }),
    ("no network profile", |p| p.virtual_services[0].tcp = None),
    ("TCP and UDP at once", |p| datagrams(p).tcp = Some(TcpProfile::default())),
    ("UDP for HTTP", |p| {
        let service = datagrams(p);
        (service.http, service.l4) = (Some(HttpProfile::default()), None);
    }),
    ("UDP on listeners of TCP, and TLS", |p| {
        let service = datagrams(p);
        service.listeners.push(listener("2001:db8::1", 54, false));
        service.listeners.push(Listener { protocol: 1, ..listener("2001:db8::1", 55, true) });
        service.tls = None;
    }),
    ("UDP at every address", |p| datagrams(p).listeners[0].address = "::".to_owned()),
    ("a listener of UDP for a service of TCP", |p| p.virtual_services[1].listeners[0].protocol = 1),
    ("a listener of a protocol from the future", |p| p.virtual_services[1].listeners[0].protocol = 2),
    ("sessions without an idle time", |p| datagrams(p).udp = Some(UdpProfile::default())),
    ("a number of answers from the future", |p| datagrams(p).udp.as_mut().unwrap().answers = 9),
    ("addresses of clients kept towards servers of another family", |p| {
        datagrams(p).udp.as_mut().unwrap().keep_client_address = true;
        p.virtual_services[1].listeners[0].address = "2001:db8::7".to_owned();
    }),
    ("datagrams to servers with TLS", |p| datagrams(p).pool_uuid = "pool-2".to_owned()),
    ("one address and port for TCP and UDP", |p| datagrams(p).listeners[0].address = "192.0.2.10".to_owned()),
    ("PROXY headers from sources that are no subnets", |p| {
        let sources = suites(&["10.0.0.0/8", "10.0.0.0/33", "balancer"]);
        p.virtual_services[0].tcp.as_mut().unwrap().proxy_protocol_sources = sources;
    }),
    ("a header name that is none", |p| {
        p.virtual_services[0].http.as_mut().unwrap().xff_name = "X Forwarded".to_owned()
    }),
    ("a header update from the future", |p| p.virtual_services[0].http.as_mut().unwrap().xff_update = 9),
    ("a treatment of underscores from the future", |p| p.virtual_services[0].http.as_mut().unwrap().underscores = 9),
    ("TLS without an SSL profile", |p| p.virtual_services[0].tls = None),
    ("TLS without a certificate", |p| p.virtual_services[0].certificate_uuids.clear()),
    ("a certificate that is not there", |p| p.virtual_services[0].certificate_uuids[1] = "certificate-9".to_owned()),
    ("a certificate that is not there, and no SSL profile", |p| {
        p.virtual_services[0].certificate_uuids[1] = "certificate-9".to_owned();
        p.virtual_services[0].tls = None;
    }),
    ("a key of another certificate", |p| p.certificates[0].key_pkcs8_der = p.certificates[1].key_pkcs8_der.clone()),
    ("tokens for nobody, with keys that are none or from the future", |p| {
        let key = |algorithm: i32| TokenKey { id: None, algorithm, spki_der: b"key".to_vec() };
        let keys = vec![key(TokenAlgorithm::Es256.into()), key(99)];
        p.virtual_services[0].tokens = Some(TokenRules { keys, ..TokenRules::default() });
    }),
    ("tokens without a key", |p| {
        p.virtual_services[1].tokens = Some(TokenRules { audience: "shop".to_owned(), ..TokenRules::default() });
    }),
    ("rules of access from the future, that compare with what is not there, and none for an engine from before", |p| {
        let rule = |position| Some(HttpRule { name: "a".to_owned(), position, ..HttpRule::default() });
        let gone = |criterion: i32| TextMatch {
            criterion,
            values: vec!["(?=a)".to_owned()],
            string_group_uuids: vec!["stringgroup-9".to_owned()],
            ..TextMatch::default()
        };
        let text = |criterion| {
            let value = Some(gone(criterion));
            Some(claim_match::Value::Text(TextClaim { value }))
        };
        let claim = |value| ClaimMatch { name: "sub".to_owned(), value, ..ClaimMatch::default() };
        let path = HttpMatch { path: Some(gone(TextCriterion::Equals.into())), ..HttpMatch::default() };
        let authentication = vec![
            AuthenticationRule { rule: None, skip: true },
            AuthenticationRule { rule: rule(1).map(|rule| HttpRule { r#match: Some(path), ..rule }), skip: true },
        ];
        let authorize = |position, claims, action| AuthorizationRule { rule: rule(position), claims, action };
        let authorization = vec![
            authorize(0, vec![], None),
            authorize(1, vec![], Some(authorization_rule::Action::Status(200))),
            authorize(2, vec![claim(None), claim(text(99))], Some(authorization_rule::Action::Allow(Allow {}))),
            authorize(3, vec![claim(text(1))], Some(authorization_rule::Action::Allow(Allow {}))),
        ];
        let access = Some(AccessRules { audience: String::new(), authentication, authorization });
        p.virtual_services[0].tokens =
            Some(TokenRules { audience: "shop".to_owned(), access, ..TokenRules::default() });
    }),
    ("a certificate that cannot be read", |p| p.certificates[0].chain_der[0].truncate(99)),
    ("a key that cannot be read", |p| p.certificates[0].key_pkcs8_der = b"secret".to_vec()),
    ("a certificate object without a certificate", |p| p.certificates[0].chain_der.clear()),
    ("no TLS version that is implemented", |p| tls(p).versions = vec![TlsVersion::TlsVersion11.into()]),
    ("a TLS version from the future", |p| tls(p).versions.push(14)),
    ("group of key exchange that is unknown", |p| tls(p).groups = suites(&["X25519", "P-521"])),
    ("no cipher suite that is implemented", |p| tls(p).cipher_suites = suites(&["TLS_RSA_WITH_AES_128_CBC_SHA"])),
    ("no cipher suite that fits a certificate", |p| {
        p.virtual_services[0].certificate_uuids.truncate(1);
        tls(p).cipher_suites = suites(&["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
    }),
    ("cipher suites and versions that are not implemented", |p| {
        tls(p).versions.extend([1, 2, 4]);
        tls(p).cipher_suites.extend(suites(&["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"]));
    }),
    ("a certificate that no cipher suite fits", |p| {
        tls(p).cipher_suites = suites(&["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]);
    }),
    ("a certificate that nobody can ask for", |p| {
        p.virtual_services[0].certificate_uuids.swap(0, 1);
        p.virtual_services[0].certificate_uuids.push("certificate-3".to_owned());
        p.certificates.push(Certificate { uuid: "certificate-3".to_owned(), ..p.certificates[0].clone() });
    }),
    ("one SSL profile with a fault in two services", |p| {
        tls(p).cipher_suites.extend(suites(&["TLS_RSA_WITH_AES_128_CBC_SHA"]));
        let (profile, certificates) =
            (p.virtual_services[0].tls.clone(), p.virtual_services[0].certificate_uuids.clone());
        let other = &mut p.virtual_services[1];
        (other.tls, other.certificate_uuids, other.listeners[0].tls) = (profile, certificates, true);
    }),
    ("HTTP/2 without a profile of it", |p| p.virtual_services[0].listeners[0].http2 = true),
    ("HTTP/2 with numbers that make no sense", |p| {
        p.virtual_services[0].http.as_mut().unwrap().http2 = Some(Http2Profile::default());
    }),
    ("servers with an address, a port, a ratio or a name that is none", |p| {
        let servers = &mut p.pools[0].servers;
        servers[0].address = "0.0.0.0".to_owned();
        servers[1].port = 65_536;
        servers[2].ratio = 21;
        servers.extend([server("10.0.0.4", 80), server("10.0.0.4", 80)]);
        servers[3].ratio = 0;
        servers[3].id.clear();
    }),
    ("one server twice", |p| p.pools[0].servers.push(server("10.0.0.1", 8080))),
    ("too many servers", |p| p.pools[0].servers = (0..16385).map(|n| server("10.0.0.1", n + 1)).collect()),
    ("enumerators from the future", |p| {
        (p.pools[0].algorithm, p.pools[0].hash_input, p.pools[0].fail_action) = (90, 91, 92);
    }),
    ("a pool group with pools that are not there, or twice, and a ratio that is none", |p| {
        let member = |pool: &str, ratio| GroupMember { pool_uuid: pool.to_owned(), ratio, priority: 0 };
        p.pool_groups = vec![PoolGroup {
            uuid: "poolgroup-1".to_owned(),
            name: "canary".to_owned(),
            members: vec![member("pool-9", 1), member("pool-1", 1001), member("pool-1", 0)],
            fail_answer: Some(FailAnswer { answer: Some(fail_answer::Answer::BackupPoolUuid("pool-8".to_owned())) }),
            ..PoolGroup::default()
        }];
    }),
    ("a virtual service with a pool and a group that is not there", |p| {
        p.virtual_services[0].pool_group_uuid = "poolgroup-9".to_owned();
    }),
    ("answers without servers that cannot be given", |p| {
        (p.pools[0].fail_action, p.pools[1].fail_action) = (FailAction::Answer.into(), FailAction::Answer.into());
        p.pools[1].fail_answer = Some(FailAnswer {
            answer: Some(fail_answer::Answer::Redirect(HttpRedirect { status: 200, ..HttpRedirect::default() })),
        });
    }),
    ("a backup that is not there", |p| {
        p.pools[0].fail_action = FailAction::Answer.into();
        p.pools[0].fail_answer =
            Some(FailAnswer { answer: Some(fail_answer::Answer::BackupPoolUuid("pool-8".to_owned())) });
    }),
    ("another server after responses with statuses that are none", |p| {
        let statuses = vec![StatusRange { first: 500, last: 599 }, StatusRange { first: 200, last: 204 }];
        p.pools[0].reselect = Some(Reselect { statuses, ..Reselect::default() });
    }),
    ("a hash by a header without a name", |p| p.pools[1].hash_header.clear()),
    ("persistence by a header that is no name", |p| p.pools[0].persistence_header = "a b".to_owned()),
    ("an unknown choice for bound clients", |p| p.pools[0].when_down = 93),
    ("TLS to servers without an SSL profile", |p| server_tls(p).profile = None),
    ("TLS to servers with a certificate and a PKI profile that are not there", |p| {
        server_tls(p).certificate_uuid = "certificate-9".to_owned();
        server_tls(p).pki_profile_uuid = "pkiprofile-9".to_owned();
    }),
    ("TLS to servers with names that are none", |p| {
        server_tls(p).server_name = "a b".to_owned();
        server_tls(p).host_check = true;
    }),
    ("TLS to servers that are checked by a name that is none", |p| {
        server_tls(p).domain_names = suites(&["one.internal", ""]);
        server_tls(p).host_check = true;
    }),
    ("TLS to servers with no cipher suite that is implemented", |p| {
        server_tls(p).profile.as_mut().unwrap().cipher_suites = suites(&["TLS_RSA_WITH_AES_128_CBC_SHA"]);
    }),
    ("TLS to servers with a version that is not implemented", |p| {
        server_tls(p).profile.as_mut().unwrap().versions.push(TlsVersion::TlsVersion11.into());
    }),
    ("an authority that cannot be read", |p| p.pki_profiles[0].ca_certs_der.push(b"root".to_vec())),
    ("a PKI profile without an authority", |p| p.pki_profiles[0].ca_certs_der.clear()),
    ("a network policy that is not there", |p| p.virtual_services[0].network_policy_uuid = "policy-9".to_owned()),
    ("a network policy of a child", |p| {
        network_policy(p, |_| {});
        p.virtual_services[0].network_policy_uuid.clear();
        child(p, |child| child.network_policy_uuid = "policy-1".to_owned());
    }),
    ("rules for connections that engines cannot try", |p| {
        network_policy(p, |rules| {
            rules[0].r#match.as_mut().unwrap().client.as_mut().unwrap().subnets.push("10.0.0.0/33".to_owned());
            let group = vec!["group-9".to_owned()];
            rules.push(NetworkRule { position: 3, ..rules[0].clone() });
            rules[1].r#match.as_mut().unwrap().client.as_mut().unwrap().address_group_uuids = group;
            rules.push(NetworkRule { position: 4, ..NetworkRule::default() });
            let rate = ConnectionRate { per_s: 0, burst: 3 };
            let action = Some(network_rule::Action::Rate(rate));
            rules.push(NetworkRule { position: 5, action, ..NetworkRule::default() });
        });
    }),
    ("rules for pools that engines cannot try", |p| {
        let chooses = |uuid: &str| Some(PoolChoice { pool_uuid: uuid.to_owned(), ..PoolChoice::default() });
        let client = AddressMatch { subnets: vec!["10.0.0.0/33".to_owned()], ..AddressMatch::default() };
        let matched = Some(ConnectionMatch { client: Some(client), ..ConnectionMatch::default() });
        let field = "l4_policies[0]".to_owned();
        p.virtual_services[0].pool_rules = vec![
            PoolRule { name: "a".to_owned(), field: field.clone(), pool: chooses("pool-9"), ..PoolRule::default() },
            PoolRule { name: "b".to_owned(), field, pool: chooses("pool-1"), r#match: matched },
        ];
    }),
    ("more rules for connections than engines try", |p| {
        network_policy(p, |rules| *rules = vec![rules[0].clone(); 1025]);
    }),
    ("two pools and two certificates of one uuid", |p| {
        p.pools[1].uuid = "pool-1".to_owned();
        p.certificates[1].uuid = "certificate-1".to_owned();
    }),
    ("more listeners than an engine takes", |p| {
        p.virtual_services[0].listeners = (0..20_000).map(|n| listener("192.0.2.1", n, false)).collect();
    }),
    ("faults in several objects at once", |p| {
        p.virtual_services[0].listeners[1].port = 0;
        p.virtual_services[1].pool_uuid = "pool-9".to_owned();
        p.pools[0].servers[0].port = 0;
        p.certificates[0].key_pkcs8_der.clear();
    }),
];

/// A policy for the first service, with one rule.
fn network_policy(plan: &mut Plan, edit: impl FnOnce(&mut Vec<NetworkRule>)) {
    let client = AddressMatch { subnets: vec!["10.0.0.0/8".to_owned()], ..AddressMatch::default() };
    let matched = ConnectionMatch { client: Some(client), ..ConnectionMatch::default() };
    let action = Some(network_rule::Action::Deny(Close { reset: true }));
    let mut rules = vec![NetworkRule { r#match: Some(matched), action, ..NetworkRule::default() }];
    edit(&mut rules);
    let (uuid, name) = ("policy-1".to_owned(), "house".to_owned());
    plan.network_policies.push(NetworkPolicy { uuid, name, rules });
    plan.virtual_services[0].network_policy_uuid = "policy-1".to_owned();
}

fn server_tls(plan: &mut Plan) -> &mut ServerTls {
    plan.pools[1].server_tls.as_mut().unwrap()
}

fn tls(plan: &mut Plan) -> &mut TlsProfile {
    plan.virtual_services[0].tls.as_mut().unwrap()
}

fn suites(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn transcript() -> String {
    let mut text = String::new();
    for (title, change) in CASES {
        let mut plan = plan();
        change(&mut plan);
        writeln!(text, "# {title}").unwrap();
        let (verdict, findings) = match Snapshot::build(&plan, None, &worker()) {
            Ok((_, warnings)) => ("accepted", warnings.to_vec()),
            Err(errors) => ("refused", errors),
        };
        writeln!(text, "{verdict}").unwrap();
        for finding in findings {
            let Finding { kind, name, field, message, .. } = finding;
            writeln!(text, "  {kind} {name:?}, {field}: {message}").unwrap();
        }
        writeln!(text).unwrap();
    }
    text
}

#[test]
fn every_error_names_object_and_field() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plans/findings.txt");
    let found = transcript();
    if std::env::var_os("WEIR_GEN").is_some_and(|wish| wish == "write") {
        std::fs::write(path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    for (found, expected) in found.split("\n\n").zip(expected.split("\n\n")) {
        assert_eq!(found, expected);
    }
    assert_eq!(found, expected);
}
