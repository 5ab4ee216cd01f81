//! Clients return to the server that their cookie of the application names: a token stands before its value.

use weir_api::dataplane::v1::{CookiePersistence, EditKind, HttpMatch, HttpPolicySet, HttpRequestRule, Plan};
use weir_proxy::io::Conn;

use crate::{
    policies::{edit, rule, with},
    tape::{Stage, plan},
    websocket::{ASKS, SWITCHES, with_websockets},
};

fn token(number: usize) -> String {
    format!("{number:032x}")
}

/// Three servers.
fn bound() -> Plan {
    binding(plan(3))
}

fn binding(mut plan: Plan) -> Plan {
    let pool = &mut plan.pools[0];
    pool.persistence = Some(CookiePersistence { cookie_name: "id".into(), prefixes: true, ..Default::default() });
    pool.servers.iter_mut().enumerate().for_each(|(number, server)| server.token = token(number));
    plan
}

fn get(cookies: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{cookies}\r\n")
}

/// Sends a request on a new connection. Returns the client, and the server with its address and what it got.
fn ask(stage: &mut Stage, cookies: &str) -> (Conn, Conn, String, String) {
    let client = stage.client();
    stage.says(client, get(cookies));
    let server = stage.connected();
    let asked = stage.sent(server);
    (client, server, stage.dialled_address(), asked)
}

/// What a client gets for the lines of a response.
fn answer(stage: &mut Stage, cookies: &str, lines: &str) -> (String, String) {
    let (client, server, address, _) = ask(stage, cookies);
    stage.says(server, format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n{lines}\r\nok"));
    (address, stage.sent(client))
}

fn lines<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    text.lines().filter_map(|line| line.strip_prefix(name)).collect()
}

#[test]
fn client_returns_on_each_engine_to_the_server_that_set_its_cookie_which_sees_its_own_value() {
    let mut engines = [Stage::new(&bound()), Stage::new(&bound())];
    for _ in 0..3 {
        let set = "Set-Cookie: a=b\r\nSet-Cookie: id=xyz; Path=/; HttpOnly\r\n";
        let (server, told) = answer(&mut engines[0], "", set);
        let set = lines(&told, "Set-Cookie: ");
        let (pair, attributes) = set[1].split_once("; ").expect("attributes");
        assert_eq!((set[0], attributes), ("a=b", "Path=/; HttpOnly"));
        assert!(pair.ends_with("~xyz"), "{pair}");
        for engine in &mut engines {
            let (_, _, address, asked) = ask(engine, &format!("Cookie: a=b; {pair}\r\ncookie: c=d\r\n"));
            assert_eq!((&address, lines(&asked, "Cookie: ")), (&server, vec!["a=b; c=d; id=xyz"]));
        }
    }
}

#[test]
fn servers_get_all_cookies_of_the_name_in_their_order_and_none_is_changed_without_a_token() {
    let mut stage = Stage::new(&bound());
    let [one, two] = [token(1), token(2)];
    let (_, _, address, asked) = ask(&mut stage, &format!("Cookie: id=old; id=\"{two}~b\"; x=1; id={one}~c\r\n"));
    assert_eq!(lines(&asked, "Cookie: "), ["x=1; id=old; id=\"b\"; id=c"]);
    let (.., same, _) = ask(&mut stage, &format!("Cookie: id={two}~z\r\n"));
    assert_eq!(address, same, "the first one with a token counts");
    let (_, _, _, asked) = ask(&mut stage, "cookie: id=old;  x=1\r\n");
    assert_eq!(lines(&asked, "cookie: "), ["id=old;  x=1"]);
}

#[test]
fn token_of_no_server_goes_too_and_a_cookie_that_a_server_removes_gets_none() {
    let mut stage = Stage::new(&bound());
    let (_, _, _, asked) = ask(&mut stage, &format!("Cookie: id={}~a\r\n", token(77)));
    assert_eq!(lines(&asked, "Cookie: "), ["id=a"]);
    let (_, told) = answer(&mut stage, "", "Set-Cookie: id=; Max-Age=0\r\n");
    assert_eq!(lines(&told, "Set-Cookie: "), ["id=; Max-Age=0"]);
}

#[test]
fn rule_that_removes_or_replaces_all_cookies_does_so_with_the_cookie_of_servers() {
    for (kind, value, want) in [(EditKind::Remove, None, vec![]), (EditKind::Replace, Some("a=b"), vec!["a=b"])] {
        let rules = HttpPolicySet {
            request_rules: vec![HttpRequestRule {
                rule: rule("cookies", HttpMatch::default()),
                edits: vec![edit(kind, "Cookie", value)],
                ..HttpRequestRule::default()
            }],
            ..HttpPolicySet::default()
        };
        let mut stage = Stage::new(&with(bound(), rules));
        let (.., asked) = ask(&mut stage, &format!("Cookie: x=1; id={}~admin\r\n", token(1)));
        assert_eq!(lines(&asked, "Cookie: "), want, "{asked}");
    }
}

#[test]
fn profile_and_prefix_both_change_a_cookie() {
    let mut plan = bound();
    plan.virtual_services[0].http.as_mut().expect("it is HTTP").httponly_cookies = true;
    let (_, told) = answer(&mut Stage::new(&plan), "", "Set-Cookie: id=a; Path=/\r\n");
    let set = lines(&told, "Set-Cookie: ");
    assert!(set[0].starts_with("id=0") && set[0].ends_with("~a; Path=/; HttpOnly"), "{set:?}");
}

#[test]
fn cookie_that_comes_with_a_switch_to_websocket_gets_its_prefix() {
    let mut stage = Stage::new(&with_websockets(bound()));
    let client = stage.client();
    stage.says(client, ASKS);
    let server = stage.connected();
    stage.says(server, SWITCHES.replace("\r\nUpgrade", "\r\nSet-Cookie: id=a\r\nUpgrade"));
    let told = stage.sent(client);
    assert!(told.starts_with("HTTP/1.1 101 "), "{told}");
    let set = lines(&told, "Set-Cookie: ");
    assert!(set.len() == 1 && set[0].starts_with("id=0") && set[0].ends_with("~a"), "{told}");
}
