//! Clients return to the server that their cookie names, on any engine.

use weir_api::dataplane::v1::{CookiePersistence, Plan};
use weir_proxy::io::Gone;

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
    plan.pools[0].persistence =
        Some(CookiePersistence { cookie_name: "to".into(), always: true, http_only: true, max_age_s: 600 });
    let mut stage = Stage::new(&plan);
    assert_eq!(ask(&mut stage, "Cookie: to=t1\r\n").1, "to=t1; Path=/; Max-Age=600; HttpOnly");
}
