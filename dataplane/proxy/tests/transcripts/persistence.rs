//! Clients return to the server that their cookie names, on any engine.

use std::time::Duration;

use weir_api::dataplane::v1::{CookiePersistence, Plan};
use weir_proxy::io::{Close, Gone};
use weir_telemetry::{Cause, record::Reasons};

use crate::{
    OK, status,
    tape::{Stage, plan},
};

/// Three servers, which cookies name "t0" to "t2".
fn persistent() -> Plan {
    let mut plan = plan(3);
    let pool = &mut plan.pools[0];
    pool.persistence = Some(CookiePersistence { cookie_name: "to".into(), ..Default::default() });
    for (number, server) in pool.servers.iter_mut().enumerate() {
        server.token = format!("t{number}");
    }
    plan
}

fn get(cookies: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{cookies}\r\n")
}

/// Sends a request on a new connection. Returns the server that got it, and the cookie of the response.
fn ask(stage: &mut Stage, cookies: &str) -> (String, String) {
    let client = stage.client();
    stage.says(client, get(cookies));
    let server = stage.connected();
    stage.says(server, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    (stage.dialled_address(), cookie(&stage.sent(client)))
}

fn cookie(response: &str) -> String {
    assert_eq!(status(response), "200");
    let line = response.lines().find(|line| line.starts_with("Set-Cookie: "));
    line.unwrap_or_default().trim_start_matches("Set-Cookie: ").to_owned()
}

#[test]
fn client_comes_back_to_its_server_on_every_engine_whatever_the_order_of_the_pool() {
    let mut turned = persistent();
    turned.pools[0].servers.rotate_left(1);
    let (mut one, mut other) = (Stage::new(&persistent()), Stage::new(&turned));
    for _ in 0..3 {
        let (server, cookie) = ask(&mut one, "");
        let (pair, attributes) = cookie.split_once("; ").expect("a cookie is set");
        assert_eq!(attributes, "Path=/");
        for engine in [&mut other, &mut one] {
            for cookies in [format!("Cookie: {pair}\r\n"), format!("cookie: a=b; to=; {pair};c\r\n")] {
                assert_eq!(ask(engine, &cookies), (server.clone(), String::new()), "{cookies}");
            }
        }
    }
}

#[test]
fn cookie_that_names_no_server_is_replaced() {
    let mut stage = Stage::new(&persistent());
    for cookies in ["Cookie: to=t7\r\n", "Cookie: too=t1\r\n", "Cookie: to\r\n", "Cookie: to=t1x\r\n", "X: to=t1\r\n"] {
        assert_ne!(ask(&mut stage, cookies).1, "", "{cookies}");
    }
}

#[test]
fn client_of_a_server_that_takes_nothing_gets_another_and_its_cookie() {
    let mut disabled = persistent();
    disabled.pools[0].servers[1].enabled = false;
    let mut stage = Stage::new(&disabled);
    let (server, set) = ask(&mut stage, "Cookie: to=t1\r\n");
    assert!(server != "10.1.0.2:8000" && set.starts_with("to=t"), "{server} {set}");

    let mut stage = Stage::new(&persistent());
    let client = stage.client();
    stage.says(client, get("Cookie: to=t1\r\n"));
    assert_eq!(stage.dialled_address(), "10.1.0.2:8000");
    let refusing = stage.dialled();
    stage.gone(refusing, Gone::Refused);
    let second = stage.connected();
    assert_ne!(stage.dialled_address(), "10.1.0.2:8000");
    stage.says(second, OK);
    assert_ne!(cookie(&stage.sent(client)), "");
}

#[test]
fn connection_of_a_client_does_not_keep_it_from_the_server_that_it_names() {
    let mut plan = persistent();
    plan.virtual_services[0].http.as_mut().expect("speaks HTTP").connection_multiplexing = false;
    let mut stage = Stage::new(&plan);
    let client = stage.client();
    stage.says(client, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let first = stage.connected();
    let own = stage.dialled_address();
    stage.says(first, OK);
    stage.sent(client);
    let (named, address) = if own == "10.1.0.1:8000" { ("t2", "10.1.0.3:8000") } else { ("t0", "10.1.0.1:8000") };
    stage.says(client, format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: to={named}\r\n\r\n"));
    assert_eq!((stage.dials(), stage.dialled_address().as_str()), (2, address));
}

#[test]
fn cookie_has_what_the_profile_asks_for() {
    let mut plan = persistent();
    plan.pools[0].persistence = Some(CookiePersistence {
        cookie_name: "to".into(),
        always: true,
        http_only: true,
        max_age_s: 600,
        ..Default::default()
    });
    let mut stage = Stage::new(&plan);
    assert_eq!(ask(&mut stage, "Cookie: to=t1\r\n").1, "to=t1; Path=/; Max-Age=600; HttpOnly");
}

/// A tenant in the header field X-Tenant names "red" to "blue".
fn by_tenant() -> Plan {
    let mut plan = plan(3);
    plan.pools[0].persistence_header = "X-Tenant".into();
    for (server, value) in plan.pools[0].servers.iter_mut().zip(["red", "green", "blue"]) {
        server.header_value = value.into();
    }
    plan
}

#[test]
fn header_field_names_the_server_and_no_cookie_is_set() {
    let mut stage = Stage::new(&by_tenant());
    for _ in 0..3 {
        for (value, server) in [("red", 1), ("green", 2), (" blue ", 3)] {
            let asked = ask(&mut stage, &format!("x-tenant: {value}\r\n"));
            assert_eq!(asked, (format!("10.1.0.{server}:8000"), String::new()));
        }
    }
    let others: std::collections::BTreeSet<_> =
        ["X-Tenant: yellow\r\n", "X-Tenant:\r\n", ""].map(|lines| ask(&mut stage, lines).0).into();
    assert_eq!(others.len(), 3, "the algorithm chooses");
}

#[test]
fn cookie_by_another_key_is_read_and_not_replaced() {
    let mut plan = persistent();
    for (number, server) in plan.pools[0].servers.iter_mut().enumerate() {
        server.other_tokens = vec![format!("old{number}"), format!("new{number}")];
    }
    let mut stage = Stage::new(&plan);
    for token in ["t1", "old1", "new1"] {
        assert_eq!(ask(&mut stage, &format!("Cookie: to={token}\r\n")), ("10.1.0.2:8000".into(), String::new()));
    }
}

#[test]
fn profile_says_what_clients_of_a_server_get_that_is_down() {
    use weir_api::dataplane::v1::WhenServerDown;
    for when_down in [WhenServerDown::Another, WhenServerDown::Abort, WhenServerDown::Continue] {
        let mut plan = by_tenant();
        (plan.pools[0].monitored, plan.pools[0].when_down) = (true, when_down.into());
        let mut stage = Stage::new(&plan);
        for server in ["server 0", "server 2"] {
            stage.proxy.set_server_up(&mut stage.tape, "pool", server, true);
        }
        let client = stage.client();
        stage.says(client, get("X-Tenant: green\r\n"));
        match when_down {
            WhenServerDown::Another => assert_ne!(stage.dialled_address(), "10.1.0.2:8000"),
            WhenServerDown::Continue => assert_eq!(stage.dialled_address(), "10.1.0.2:8000"),
            WhenServerDown::Abort => {
                assert_eq!((stage.dials(), stage.closed(client)), (0, Some(Close::Abort)));
                assert_eq!(stage.failures(Cause::NoServer), 1);
            }
        }
        let client = stage.client();
        stage.says(client, get("X-Tenant: blue\r\n"));
        assert_eq!(stage.dialled_address(), "10.1.0.3:8000");
    }
}

#[test]
fn disabled_server_keeps_its_clients_if_the_pool_wants_that() {
    for keeps_disabled in [false, true] {
        let mut plan = by_tenant();
        plan.pools[0].keeps_disabled = keeps_disabled;
        plan.pools[0].servers[1].enabled = false;
        let mut stage = Stage::new(&plan);
        assert_eq!(ask(&mut stage, "X-Tenant: green\r\n").0 == "10.1.0.2:8000", keeps_disabled);
        assert_ne!(ask(&mut stage, "").0, "10.1.0.2:8000", "it gets no new clients");
        assert_ne!(ask(&mut stage, "").0, "10.1.0.2:8000");
    }
}

#[test]
fn clients_of_a_network_have_one_server() {
    let servers_of = |bits: Option<u32>, clients: &[String]| {
        let mut plan = plan(8);
        plan.pools[0].algorithm = weir_api::dataplane::v1::Algorithm::ConsistentHash.into();
        plan.pools[0].hashed_bits = bits;
        let mut stage = Stage::new(&plan);
        let mut ask = |client: &String| {
            let conn = stage.client_from("10.0.0.1:80", client);
            stage.says(conn, get(""));
            stage.connected();
            stage.dialled_address()
        };
        clients.iter().map(&mut ask).collect::<std::collections::BTreeSet<_>>().len()
    };
    let of_one: Vec<_> = (1..40).map(|last| format!("10.2.0.{last}:4000")).collect();
    let of_many: Vec<_> = (1..40).map(|third| format!("10.2.{third}.1:4000")).collect();
    let of_ipv6: Vec<_> = (1..40).map(|last| format!("[2001:db8::{last}]:4000")).collect();
    assert_eq!((servers_of(Some(24), &of_one), servers_of(Some(64), &of_ipv6)), (1, 1));
    assert!(servers_of(Some(24), &of_many) > 4 && servers_of(None, &of_one) > 4 && servers_of(None, &of_ipv6) > 4);
    assert_eq!((servers_of(Some(0), &of_many), servers_of(Some(128), &of_one) > 4), (1, true));
}

/// The same servers, with cookies that count for ten minutes, sealed by these keys.
fn dated(keys: &[u8]) -> Plan {
    let mut plan = persistent();
    let persistence = plan.pools[0].persistence.as_mut().expect("cookies name servers");
    (persistence.timeout_s, persistence.seal_keys) = (600, keys.iter().map(|key| vec![*key; 32]).collect());
    plan
}

fn pair(cookie: &str) -> String {
    let (pair, attributes) = cookie.split_once("; ").expect("a cookie is set");
    assert_eq!((attributes, pair.len()), ("Path=/", "to=".len() + 22));
    format!("Cookie: {pair}\r\n")
}

#[test]
fn dated_cookie_leads_to_its_server_on_every_engine_until_it_expires() {
    let mut stages = [Stage::new(&dated(&[1])), Stage::new(&dated(&[1]))];
    let (server, cookie) = ask(&mut stages[0], "");
    let pair = pair(&cookie);
    for stage in &mut stages {
        assert_eq!(ask(stage, &pair), (server.clone(), String::new()));
        stage.tape.sleep(Duration::from_secs(599));
        assert_eq!(ask(stage, &pair), (server.clone(), String::new()));
        stage.tape.sleep(Duration::from_secs(1));
        let (_, fresh) = ask(stage, &pair);
        assert_ne!(self::pair(&fresh), pair, "it has expired");
    }
    let (now, then) = (ask(&mut stages[0], "").1, ask(&mut stages[0], &format!("{pair}Cookie: to=t1\r\n")));
    assert_eq!(then.0, "10.1.0.2:8000", "one that names a server counts, beside one that has expired");
    assert_ne!(now, "");
}

#[test]
fn all_keys_open_dated_cookies_and_no_other_opens_them() {
    let (server, cookie) = ask(&mut Stage::new(&dated(&[1])), "");
    let pair = pair(&cookie);
    let mut endless = dated(&[2, 1]);
    endless.pools[0].persistence.as_mut().expect("cookies name servers").timeout_s = 0;
    for plan in [dated(&[1]), dated(&[2, 1]), endless] {
        assert_eq!(ask(&mut Stage::new(&plan), &pair), (server.clone(), String::new()));
    }
    for cookie in [pair.clone(), pair.replacen("to=", "to=A", 1), "Cookie: to=AAAAAAAAAAAAAAAAAAAAAA\r\n".into()] {
        self::pair(&ask(&mut Stage::new(&dated(&[2])), &cookie).1);
    }
}

#[test]
fn cookie_without_a_date_still_leads_to_its_server_and_gets_one() {
    let mut stage = Stage::new(&dated(&[1]));
    let (server, cookie) = ask(&mut stage, "Cookie: to=t1\r\n");
    assert_eq!(server, "10.1.0.2:8000");
    assert_eq!(ask(&mut stage, &pair(&cookie)), (server, String::new()));
}

#[test]
fn address_binds_a_client_to_its_server_if_the_profile_says_so() {
    use weir_api::dataplane::v1::{Algorithm, WhenServerDown};
    let mut plan = plan(3);
    plan.pools[0].algorithm = Algorithm::ConsistentHash.into();
    plan.pools[0].monitored = true;
    let asked = |plan: &Plan, up: bool, own: Option<&str>| {
        let mut stage = Stage::new(plan);
        for number in 0..3 {
            let (name, is_own) = (format!("server {number}"), own == Some(&*format!("10.1.0.{}:8000", number + 1)));
            stage.proxy.set_server_up(&mut stage.tape, "pool", &name, true);
            stage.proxy.set_server_up(&mut stage.tape, "pool", &name, up || !is_own);
        }
        let client = stage.client();
        stage.says(client, get(""));
        if stage.dials() == 0 {
            return (format!("{:?}", stage.closed(client)), stage.failures(Cause::NoServer));
        }
        (stage.dialled_address(), 0)
    };
    let (own, _) = asked(&plan, true, None);
    let of = |plan: &Plan| asked(plan, false, Some(&own));
    assert_ne!(of(&plan).0, own);
    plan.pools[0].when_down = WhenServerDown::Continue.into();
    assert_eq!(of(&plan).0, own);
    plan.pools[0].when_down = WhenServerDown::Abort.into();
    assert_eq!(of(&plan), ("Some(Abort)".to_owned(), 1));
    let at: usize = own["10.1.0.".len()..own.len() - 5].parse().expect("a number");
    plan.pools[0].servers[at - 1].enabled = false;
    assert_ne!(asked(&plan, true, None).0, own);
    plan.pools[0].keeps_disabled = true;
    assert_eq!(asked(&plan, true, None).0, own);
}

#[test]
fn record_says_why_a_client_has_another_server_than_before() {
    let mut plan = dated(&[1]);
    (plan.pools[0].monitored, plan.pools[0].servers[1].enabled) = (true, false);
    plan.virtual_services[0].analytics = Some(weir_api::dataplane::v1::Analytics::default());
    let mut stage = Stage::new(&plan);
    for server in ["server 0", "server 1"] {
        stage.proxy.set_server_up(&mut stage.tape, "pool", server, true);
    }
    let old = pair(&ask(&mut stage, "").1);
    stage.tape.sleep(Duration::from_secs(600));
    for cookies in [&*old, "Cookie: to=t0\r\n", "Cookie: to=t1\r\n", "Cookie: to=t2\r\n"] {
        ask(&mut stage, cookies);
    }
    let taken = stage.records();
    let found: Vec<_> = taken.records().iter().map(|record| record.reasons()).collect();
    let changed = Reasons::PERSISTENCE_CHANGED;
    let [disabled, down] = [Reasons::PERSISTENCE_DISABLED, Reasons::PERSISTENCE_DOWN].map(|why| (why | changed).bits());
    assert_eq!(found, [Reasons::PERSISTENCE_EXPIRED.bits(), disabled, down]);
}
