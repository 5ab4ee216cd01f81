//! Each case is a line of a table: a script, the request that it sees, and what comes of it.

use std::{fmt::Write, rc::Rc, sync::Arc};

use weir_rate::{Gauge, Limit, Tallies};
use weir_rules::{
    AddressGroup, AddressRange, Addresses, EditKind, Excess, HttpVersion, LocalResponse, Redirect, StringGroup,
};
use weir_script::{
    Acts, Census, Chosen, Ending, Event, Label, Ran, Script, ScriptSet, Scripts, Seen, SeenTls, Served, Servers,
};
use weir_wire::{
    head::{FieldTable, Limits},
    http1::{self, Parsed},
    x509::{Says, Text},
};

#[derive(Debug)]
struct Certificate;

impl Says for Certificate {
    fn text(&self, text: Text) -> &str {
        match text {
            Text::Subject => "CN=user",
            Text::Serial => "0A",
            _ => "",
        }
    }

    fn common_name(&self) -> Option<String> {
        Some("user".into())
    }
}

/// One of two servers of the first pool is up.
struct OneUp;

impl Servers for OneUp {
    fn census(&self, _: usize, pool: usize) -> Census {
        if pool == 0 { Census { up: 1, all: 2 } } else { Census::default() }
    }

    fn is_up(&self, _: usize, pool: usize, named: &str) -> bool {
        pool == 0 && named == "10.0.0.1:80"
    }
}

fn label((at, text): (usize, String)) -> Label {
    Label { text, at }
}

fn set(event: Event, source: &str) -> ScriptSet {
    let strings = |name: &str, pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
        Arc::new(StringGroup::new(String::new(), name.into(), pairs, false))
    };
    let [first, last] = ["10.0.0.0", "10.255.255.255"].map(|address| address.parse().expect("an address"));
    let addresses = Addresses::of([AddressRange { first, last }]);
    let script = Script::compile("steer", event, source);
    ScriptSet {
        scripts: vec![script],
        pools: vec!["pool-a".into(), "pool-b".into()],
        pool_groups: vec!["group-a".into(), "group-b".into()],
        labels: vec![["", "a.test/", "a.test/shop"].map(String::from).into_iter().enumerate().map(label).collect()],
        string_groups: vec![strings("places", &[("/a", "one"), ("/a/b", "two")]), strings("words", &[("bad", "")])],
        limits: vec![("twice".into(), limit("twice"))],
        address_groups: vec![Arc::new(AddressGroup { uuid: String::new(), name: "inside".into(), addresses })],
        ..ScriptSet::default()
    }
}

fn served(sets: impl IntoIterator<Item = ScriptSet>) -> Arc<Served> {
    let sets = sets.into_iter().map(Arc::new).collect();
    let excess =
        Excess::Respond(LocalResponse { status: 429, content_type: "a/b".into(), content: b"slow down".into() });
    let limits = [limit("twice"), limit("custom")];
    let tally = Some(Tallies::new(1).of("shop", 1, limits));
    Arc::new(Served {
        sets,
        engines: 3,
        tally,
        open: Some(Gauge::default()),
        limit: Some((limits[1], excess)),
        ..Served::default()
    })
}

/// Two events in a minute.
fn limit(name: &str) -> Limit {
    Limit::new("", name, 2, 60, 0)
}

/// The head that a case writes as `GET /path {Name: value} …`.
fn lines(text: &str) -> String {
    let fields = text.split('{').skip(1).filter_map(|part| part.split('}').next());
    fields.fold(String::new(), |all, field| all + field + "\r\n")
}

/// `BAD TLS GET /`: the certificate of the client is not good. `GET /` has no answer yet; `GET / -> 200` has one. `<<` begins a body, and `=>` a server. `in` names the event.
fn see(request: &str, seen: &mut Seen) -> Event {
    if let Some(event) = see_connection(request, seen) {
        return event;
    }
    for event in [Event::Authentication, Event::Authenticated] {
        if let Some(request) = request.strip_suffix(&format!(" in {}", event.name())) {
            see_heads(request, seen);
            return event;
        }
    }
    let (request, body) = request.split_once(" <<").map_or((request, None), |(head, body)| (head, Some(body.trim())));
    let (request, server) = request.split_once(" => ").map_or((request, None), |(head, server)| (head, Some(server)));
    let event = see_heads(request, seen);
    seen.body = body.unwrap_or_default().as_bytes().to_vec();
    if let Some(server) = server {
        seen.sends_to(Some(server.parse().expect("an address")), "pool-a");
        return Event::Balanced;
    }
    match event {
        Event::Request if body.is_some() => Event::RequestData,
        Event::Response if body.is_some() => Event::ResponseData,
        event => event,
    }
}

/// `HTTP in TCP_CLIENT_ACCEPT`, `TLS L4 in SSL_HANDSHAKE_DONE`, `L4 << some bytes in L4_REQUEST`; `<<!`: no more come.
fn see_connection(request: &str, seen: &mut Seen) -> Option<Event> {
    let (request, event) = request.rsplit_once(" in ")?;
    let event = Event::ALL.into_iter().find(|named| named.is_of_connection() && named.name() == event)?;
    let (of, bytes) = request.split_once(" <<").unwrap_or((request, ""));
    seen.begin_connection("shop", of.ends_with("L4"));
    seen.is_whole = bytes.starts_with('!');
    seen.body = bytes.trim_start_matches('!').trim().as_bytes().to_vec();
    seen.client = "10.1.2.3:4000".parse().expect("an address");
    seen.listener = "192.0.2.1:80".parse().expect("an address");
    seen.tls = of.starts_with("TLS").then(tls);
    Some(event)
}

fn tls() -> SeenTls {
    SeenTls {
        version: "TLSv1.3",
        cipher: "TLS_AES_128_GCM_SHA256",
        server_name: Some("a.test".into()),
        certificate: Some(Arc::new(Certificate)),
        shows_certificate: true,
    }
}

fn see_heads(request: &str, seen: &mut Seen) -> Event {
    let (asked, answered) = request.split_once(" -> ").map_or((request, None), |(one, other)| (one, Some(other)));
    let (is_bad, asked) = asked.strip_prefix("BAD ").map_or((false, asked), |rest| (true, rest));
    let (is_tls, asked) = asked.strip_prefix("TLS ").map_or((false, asked), |rest| (true, rest));
    let start = asked.split('{').next().unwrap_or_default().trim();
    let host = if asked.contains("{Host:") { "" } else { "Host: a.test\r\n" };
    let text = format!("{start} HTTP/1.1\r\n{host}{}\r\n", lines(asked));
    let mut table = FieldTable::new();
    match http1::request(text.as_bytes(), &Limits::new(0, 0, 0), &mut table) {
        Ok(Parsed::Whole(request)) => seen.begin("shop", &request.head, HttpVersion::Http11),
        other => panic!("{text}: {other:?}"),
    }
    seen.client = "10.1.2.3:4000".parse().expect("an address");
    seen.listener = "192.0.2.1:80".parse().expect("an address");
    seen.tls = is_tls.then(tls);
    if let Some(tls) = seen.tls.as_mut().filter(|_| is_bad) {
        tls.certificate = None;
    }
    match answered {
        None => Event::Request,
        Some("none takes it") => {
            seen.cause = "no_server";
            Event::Unbalanced
        }
        Some("failed") => {
            seen.cause = "server_refused";
            Event::Failed
        }
        Some(answer) => {
            seen.status = answer[..3].parse().expect("a status");
            seen.server = (!answer.contains("stored")).then(|| "10.0.0.1:8080".parse().expect("an address"));
            for field in lines(answer).lines() {
                let (name, value) = field.split_once(": ").expect("a field");
                seen.response.add(name.as_bytes(), value.as_bytes());
            }
            Event::Response
        }
    }
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn told(ran: &Ran, seen: &Seen) -> String {
    let Acts { edits, target_changed, host_changed, chosen, persist, hashed, collect, ending, log, .. } = &ran.acts;
    let mut all = Vec::new();
    if !log.is_empty() {
        all.push(format!("log {}", log.replace('\n', " / ")));
    }
    if ran.acts.is_significant {
        all.push("significant".into());
    }
    for edit in edits {
        let kind = match edit.kind {
            EditKind::Add => "add",
            EditKind::Replace => "replace",
            EditKind::Remove => "remove",
        };
        let (cookie, between) = if edit.cookie { ("cookie ", "=") } else { ("", ": ") };
        let value = edit.value.as_ref().map(|value| format!("{between}{}", text_of(value))).unwrap_or_default();
        all.push(format!("{kind} {cookie}{}{value}", edit.name));
    }
    if *target_changed {
        all.push(format!("target {}", text_of(&seen.target)));
    }
    if *host_changed {
        all.push(format!("host {}", text_of(&seen.host)));
    }
    match chosen {
        None => {}
        Some(Chosen::Pool { pool, server: None, .. }) => all.push(format!("pool {pool}")),
        Some(Chosen::Pool { pool, server: Some(server), .. }) => all.push(format!("pool {pool} server {server}")),
        Some(Chosen::Group { group, labeled, .. }) => {
            all.push(format!("group {group}"));
            all.extend(labeled.map(|at| format!("labeled {at}")));
        }
    }
    if let Some(persist) = persist {
        let at = persist.server.map(|server| format!(" at {server}")).unwrap_or_default();
        all.push(format!("persists{at}"));
    }
    if let Some(hashed) = hashed {
        all.push(format!("hashed {}", text_of(hashed)));
    }
    if ran.acts.bytes_changed {
        all.push(format!("bytes {}", text_of(&seen.body)).trim_end().to_owned());
    }
    if ran.acts.awaits > 0 {
        all.push(format!("waits for {} bytes", ran.acts.awaits));
    }
    if *collect > 0 {
        all.push(format!("wants {collect} bytes"));
    }
    match ending {
        None => {}
        Some(Ending::Close { reset }) => all.push(if *reset { "reset".into() } else { "close".into() }),
        Some(Ending::Redirect { status, location }) => all.push(format!("{status} to {}", text_of(location))),
        Some(Ending::Respond { status, fields, content }) => {
            let mut text = status.to_string();
            for (name, value) in fields {
                write!(text, " {{{name}: {}}}", text_of(value)).expect("a String takes all");
            }
            if !content.is_empty() {
                write!(text, " {}", text_of(content)).expect("a String takes all");
            }
            all.push(text);
        }
    }
    if let Some(beyond) = &ran.acts.beyond {
        all.push(format!("again in {} s", beyond.wait_s()));
    }
    if let Some(fault) = &ran.fault {
        all.push(format!("fault {fault}"));
    }
    if all.is_empty() { "nothing".into() } else { all.join("; ") }
}

/// Runs the cases of a file, and names all that come out otherwise.
fn check(cases: &str) {
    let mut wrong = String::new();
    let mut scripts = Scripts::asking(Rc::new(OneUp));
    for line in cases.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let [script, request, wanted] =
            line.split(" | ").map(str::trim).collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{line}"));
        let mut seen = scripts.room();
        let event = see(request, &mut seen);
        let set = set(event, script);
        seen.number = set.asks_names().then_some(7);
        let ran = scripts.run(&served([set]), event, &mut seen);
        let found = told(&ran, &seen);
        if found != wanted {
            writeln!(wrong, "{script} | {request}\n  wanted {wanted}\n  found  {found}").expect("a String takes all");
        }
        scripts.give_back(seen);
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn scripts_read_what_the_table_says() {
    check(include_str!("cases/read.txt"));
}

#[test]
fn scripts_do_what_the_table_says() {
    check(include_str!("cases/act.txt"));
}

#[test]
fn scripts_calculate_what_the_table_says() {
    check(include_str!("cases/utils.txt"));
}

#[test]
fn scripts_keep_what_the_table_says() {
    check(include_str!("cases/tables.txt"));
}

#[test]
fn scripts_see_bodies_and_servers_as_the_table_says() {
    check(include_str!("cases/bodies.txt"));
}

#[test]
fn scripts_for_connections_do_what_the_table_says() {
    check(include_str!("cases/connections.txt"));
}

#[test]
fn scripts_before_the_rules_do_what_the_table_says() {
    check(include_str!("cases/entry.txt"));
}

#[test]
fn scripts_limit_what_the_table_says() {
    check(include_str!("cases/rates.txt"));
}

#[test]
fn profile_says_what_becomes_of_a_request_beyond_its_limit() {
    let (host, path, add_query) = Default::default();
    let redirect = Redirect { status: 302, tls: true, port: None, host, path, keep_query: true, add_query };
    for (excess, action, wanted) in [
        (Excess::Report, "NONE", "log true avi.RL_ACTION_NONE"),
        (Excess::Close { reset: false }, "CLOSE_CONN", "close; again in 30 s"),
        (Excess::Close { reset: true }, "RESET_CONN", "reset; again in 30 s"),
        (Excess::Redirect(redirect), "REDIRECT", "302 to https://a.test/x?y; again in 30 s"),
    ] {
        for (defers, wanted) in [("false", wanted), ("true", &*format!("log true avi.RL_ACTION_{action}"))] {
            let source = format!(
                "avi.vs.rate_limit(avi.RL_CUSTOM_STRING, 'k', true) avi.vs.rate_limit(avi.RL_CUSTOM_STRING, 'k', true) \
                local beyond, action = avi.vs.rate_limit(avi.RL_CUSTOM_STRING, 'k', {defers}) \
                assert(action == avi.RL_ACTION_{action}) avi.vs.log(beyond, ' ', action)"
            );
            let mut served = Arc::into_inner(served([set(Event::Request, &source)])).expect("it is alone");
            served.limit = Some((limit("custom"), excess.clone()));
            let (mut scripts, mut seen) = (Scripts::default(), Box::default());
            see("GET /x?y", &mut seen);
            assert_eq!(told(&scripts.run(&Arc::new(served), Event::Request, &mut seen), &seen), wanted);
        }
    }
}

#[test]
fn question_counts_for_no_limit() {
    let source = "for i = 1, 9 do avi.vs.log(avi.vs.ratelimit.exceed('twice', 'k')) end";
    let (served, mut scripts) = (served([set(Event::Request, source)]), Scripts::default());
    let mut seen = scripts.room();
    see("GET /", &mut seen);
    seen.is_asked_only = true;
    let said = told(&scripts.run(&served, Event::Request, &mut seen), &seen);
    assert_eq!(said, format!("log false{}", " / false".repeat(8)));
}

/// Runs scripts one after the other, each at its second; returns what they log.
fn kept(served: &Arc<Served>, times: &[u64]) -> Vec<String> {
    let mut scripts = Scripts::default();
    let mut at = |second: &u64| {
        let mut seen = scripts.room();
        see("GET /", &mut seen);
        seen.now_ns = second * 1_000_000_000;
        told(&scripts.run(served, Event::Request, &mut seen), &seen)
    };
    times.iter().map(&mut at).collect()
}

#[test]
fn tables_are_there_for_later_requests_and_other_workers_until_their_time_is_over() {
    let source = "local n, left = avi.vs.table_lookup('hits', avi.vs.client_ip(), 0) \
        avi.vs.log(tostring(n), ' ', tostring(left)) \
        if not n then avi.vs.table_insert('hits', avi.vs.client_ip(), 7, 60) end";
    let served = served([set(Event::Request, source)]);
    assert_eq!(kept(&served, &[5, 5, 34]), ["log nil nil", "log 7 60", "log 7 31"]);
    assert_eq!(kept(&served, &[64, 65]), ["log 7 1", "log nil nil"]);
}

#[test]
fn lookup_and_refresh_prolong_a_value() {
    let source = "local v = avi.vs.table_lookup('k') if not v then avi.vs.table_insert('k', 'v', 10) end \
        avi.vs.log(tostring(v), ' ', tostring(avi.vs.table_refresh('k', 20)))";
    let served = served([set(Event::Request, source)]);
    // A lookup that says no time leaves the value at least 300 seconds.
    assert_eq!(kept(&served, &[1, 20, 319, 620]), ["log nil true", "log v true", "log v true", "log nil true"]);
}

#[test]
fn question_keeps_nothing() {
    let source = "avi.vs.log(tostring(avi.vs.table_insert('k', 'v')), tostring(avi.vs.table_lookup('k')))";
    let (served, mut scripts) = (served([set(Event::Request, source)]), Scripts::default());
    for _ in 0..2 {
        let mut seen = scripts.room();
        see("GET /", &mut seen);
        seen.is_asked_only = true;
        assert_eq!(told(&scripts.run(&served, Event::Request, &mut seen), &seen), "log truenil");
    }
}

/// As docs/datascript.md shows it.
#[test]
fn cookie_with_a_tag_is_decrypted_and_a_changed_one_is_not() {
    let tag = "local SECRET, KEY = 'secret', '0123456789012345' \
        local function tag(text) return avi.utils.sha256_hash(SECRET .. avi.utils.sha256_hash(SECRET .. text)) end ";
    let seal = "local vector = avi.utils.rand_bytes(16) \
        local sealed = vector .. avi.crypto.encrypt('user-7', KEY, vector) \
        avi.vs.log(tag(sealed) .. avi.utils.base64_encode(sealed))";
    let open = "local cookie = avi.http.get_cookie('who') or '' \
        local sealed = avi.utils.base64_decode(string.sub(cookie, 65)) local who \
        if sealed and string.sub(cookie, 1, 64) == tag(sealed) then \
        who = avi.crypto.decrypt(string.sub(sealed, 17), KEY, string.sub(sealed, 1, 16)) end avi.vs.log(tostring(who))";
    let mut scripts = Scripts::default();
    let mut log = |source: &str, request: &str| {
        let mut seen = scripts.room();
        let event = see(request, &mut seen);
        scripts.run(&served([set(event, &format!("{tag}{source}"))]), event, &mut seen).acts.log
    };
    let cookie = log(seal, "GET / -> 200");
    assert_eq!(log(open, &format!("GET / {{Cookie: who={cookie}}}")), "user-7");
    let other = if cookie.ends_with("A=") { "Q=" } else { "A=" };
    let changed = format!("{}{other}", &cookie[..cookie.len() - 2]);
    for cookie in [&*changed, &cookie[..64], &cookie[..70], "x", ""] {
        assert_eq!(log(open, &format!("GET / {{Cookie: who={cookie}}}")), "nil", "{cookie}");
    }
}

#[test]
fn library_is_as_the_table_says() {
    check(include_str!("cases/library.txt"));
}

#[test]
fn syntax_error_names_script_event_and_line() {
    let set = set(Event::Response, "local a = 1\nif a then");
    let fault = set.scripts[0].fault().expect("it is no script").to_string();
    assert_eq!(fault, "steer HTTP_RESP:2: Expected 'end' (to close 'then' at column 6), got <eof>");
}

/// The controller's own test reads the same file.
#[test]
fn scripts_compile_where_the_table_says() {
    let mut wrong = String::new();
    for line in include_str!("cases/syntax.txt").lines().filter(|line| !line.starts_with('#')) {
        let (takes, written) = line.split_once(" | ").expect("two columns");
        let mut parts = written.split('×');
        let mut source = parts.next().expect("a script").to_owned();
        for part in parts {
            let digits = part.bytes().take_while(u8::is_ascii_digit).count();
            let repeated = source.pop().expect("a character").to_string();
            source += &repeated.repeat(part[..digits].parse().expect("a number"));
            source += &part[digits..];
        }
        let set = set(Event::Request, &source.replace("\\n", "\n"));
        if set.scripts[0].fault().is_none() != (takes.trim() == "yes") {
            writeln!(wrong, "{written}: {:?}", set.scripts[0].fault()).expect("a String takes all");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn broken_script_fails_in_its_turn_each_time() {
    let mut scripts = Scripts::default();
    let sets = ["avi.vs.log('one')", "local a = 1\nif a then", "error('never')"];
    let sets = served(sets.map(|source| set(Event::Request, source)));
    for _ in 0..2 {
        let mut seen = scripts.room();
        see("GET /", &mut seen);
        let told = told(&scripts.run(&sets, Event::Request, &mut seen), &seen);
        let why = "steer HTTP_REQ:2: Expected 'end' (to close 'then' at column 6), got <eof>";
        assert_eq!(told, format!("log one; fault {why}"));
        scripts.give_back(seen);
    }
}

#[test]
fn scripts_of_one_event_run_in_order_until_one_answers() {
    let mut scripts = Scripts::default();
    let sets =
        ["avi.vs.log('one') avi.vs.reqvar.a = 1", "avi.vs.log(avi.vs.reqvar.a) avi.vs.ds_done()", "error('never')"];
    let sets = served(sets.map(|source| set(Event::Request, source)));
    let mut seen = scripts.room();
    see("GET /", &mut seen);
    assert_eq!(told(&scripts.run(&sets, Event::Request, &mut seen), &seen), "log one / 1");
    assert_eq!(told(&scripts.run(&sets, Event::Response, &mut seen), &seen), "nothing");
}

#[test]
fn event_that_goes_on_has_what_the_last_one_has_left() {
    let source = "for i = 1, 70000 do end avi.vs.log('all')";
    let served = served([Event::Unbalanced, Event::Failed].map(|event| set(event, source)));
    let (mut scripts, mut seen) = (Scripts::default(), Box::default());
    see("GET / -> none takes it", &mut seen);
    // A machine that is busy may take away the time of a script.
    let mut run = |event, goes_on: bool| match goes_on {
        true => told(&scripts.run_on(&served, event, &mut seen), &seen),
        false => {
            let mut again = (0..50).map(|_| told(&scripts.run(&served, event, &mut seen), &seen));
            again.find(|told| !told.contains("takes too long")).expect("time enough")
        }
    };
    for _ in 0..2 {
        assert_eq!(run(Event::Unbalanced, false), "log all");
        let second = run(Event::Failed, true);
        assert!(second.contains("it has used up its"), "{second}");
        assert_eq!(run(Event::Failed, false), "log all");
    }
}

#[test]
fn nothing_of_one_event_is_there_in_the_next() {
    let mut scripts = Scripts::default();
    let set = served([set(Event::Request, "avi.vs.log(tostring(kept)) kept = 1")]);
    for _ in 0..3 {
        let mut seen = scripts.room();
        see("GET /", &mut seen);
        assert_eq!(told(&scripts.run(&set, Event::Request, &mut seen), &seen), "log nil");
        scripts.give_back(seen);
    }
}

#[test]
fn forgotten_scripts_can_be_loaded_again() {
    let mut scripts = Scripts::default();
    let sets = served(["avi.vs.log(1)", "avi.vs.log(2)"].map(|source| set(Event::Request, source)));
    for _ in 0..2 {
        let mut seen = scripts.room();
        see("GET /", &mut seen);
        assert_eq!(told(&scripts.run(&sets, Event::Request, &mut seen), &seen), "log 1 / 2");
        scripts.keep(sets.sets[..1].iter().flat_map(|set| &set.scripts));
    }
}
