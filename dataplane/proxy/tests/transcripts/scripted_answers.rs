//! DataScripts for the first bytes of a server whose bytes are not parsed, and what scripts make of bytes.

use weir_api::dataplane::v1::ScriptEvent;
use weir_proxy::io::{Close, Event, Gone};
use weir_telemetry::Cause;

use crate::{
    records::recording,
    scripts::{documented, scripted, scripted_with},
    tape::{Stage, l4_plan, plan},
};

const BYTES: ScriptEvent = ScriptEvent::L4Request;
const ANSWER: ScriptEvent = ScriptEvent::L4Response;

fn said(stage: &mut Stage) -> Vec<String> {
    stage.records().records().iter().map(|record| record.place().2).collect()
}

fn answered(source: &str) -> Stage {
    Stage::new(&recording(scripted_with(l4_plan(1), &[(ANSWER, source)])))
}

#[test]
fn client_gets_what_a_script_makes_of_the_first_bytes_as_its_page_says() {
    for pieces in [&["220 ", "mail.inner.test ESMTP Postfix 3\r\n"][..], &["220 mail.inner.test ESMTP Postfix 3\r\n"]] {
        let mut stage = answered(documented("-- L4_RESPONSE"));
        let client = stage.client();
        let server = stage.connected();
        for (at, piece) in pieces.iter().enumerate() {
            assert_eq!((at, stage.sent(client)), (at, String::new()), "nothing before a script has seen the line");
            stage.says(server, *piece);
        }
        assert_eq!(stage.sent(client), "220 mail\r\n");
        stage.says(client, "QUIT\r\n");
        stage.says(server, "221 mail.inner.test ESMTP Postfix 3\r\n");
        assert_eq!(stage.sent(server), "QUIT\r\n");
        assert_eq!(stage.sent(client), "221 mail.inner.test ESMTP Postfix 3\r\n", "the event comes once");
        stage.batch(vec![Event::Eof { conn: client }, Event::Eof { conn: server }]);
        assert_eq!(said(&mut stage), ["10.1.0.1"]);
    }
}

#[test]
fn what_the_client_sends_crosses_while_a_script_waits_for_its_server() {
    let mut stage = answered("avi.l4.collect(6) avi.vs.log(avi.l4.read(), avi.l4.read(2, 1, 'server'))");
    let client = stage.client();
    stage.says(client, "one");
    let server = stage.connected();
    assert_eq!(stage.sent(server), "one");
    stage.says(server, "abc");
    stage.says(client, "two");
    assert_eq!((stage.sent(server), stage.sent(client)), ("two".to_owned(), String::new()));
    stage.batch(vec![Event::Eof { conn: client }]);
    assert!(stage.is_finished(server), "the end of the client crosses, too");
    stage.says(server, "defg");
    assert_eq!(stage.sent(client), "abcdefg");
    stage.batch(vec![Event::Eof { conn: server }]);
    assert_eq!(said(&mut stage), ["abcdefgbc"]);
}

#[test]
fn script_sees_all_that_a_server_has_sent_when_it_ends() {
    for (bytes, wanted) in [("ab", vec!["2".to_owned()]), ("", vec![String::new()])] {
        let mut stage = answered("avi.vs.log(avi.l4.collect(9))");
        let client = stage.client();
        let server = stage.connected();
        if !bytes.is_empty() {
            stage.says(server, bytes);
        }
        assert_eq!(stage.sent(client), "");
        stage.batch(vec![Event::Eof { conn: server }]);
        assert_eq!(stage.sent(client), bytes);
        assert!(stage.is_finished(client));
        stage.batch(vec![Event::Eof { conn: client }]);
        assert_eq!(said(&mut stage), wanted);
    }
}

#[test]
fn script_ends_the_connection_of_a_server_that_says_what_it_should_not() {
    let source = "if string.contains(avi.l4.read(), 'secret') then avi.vs.close_conn(true) end \
        if avi.l4.read(1) == 'x' then avi.vs.nothing() end \
        if avi.l4.read(1) == 'y' then avi.vs.close_conn() end";
    for (bytes, cause, how) in [
        ("a secret", Cause::ClientDenied, Close::Abort),
        ("x", Cause::ScriptFailed, Close::Linger),
        ("y", Cause::ClientDenied, Close::Linger),
    ] {
        let mut stage = answered(source);
        let client = stage.client();
        let server = stage.connected();
        stage.says(server, bytes);
        assert_eq!(stage.closed(client), Some(how));
        assert!(stage.closed(server).is_some());
        assert_eq!((stage.sent(client), stage.failures(cause)), (String::new(), 1));
    }
}

#[test]
fn server_or_client_may_go_while_a_script_waits() {
    let mut stage = answered("avi.l4.collect(9)");
    let client = stage.client();
    let server = stage.connected();
    stage.says(server, "abc");
    stage.gone(server, Gone::Reset);
    assert!(stage.closed(client).is_some());
    let client = stage.client();
    let server = stage.connected();
    stage.says(server, "abc");
    stage.gone(client, Gone::Reset);
    assert!(stage.closed(server).is_some());
    // A server that takes nothing more may still say something.
    let client = stage.client();
    let server = stage.connected();
    stage.batch(vec![Event::Drained { conn: server }]);
    stage.says(server, "abcdefghi");
    assert_eq!((stage.sent(client), stage.closed(client)), ("abcdefghi".to_owned(), None::<Close>));
}

#[test]
fn server_gets_what_a_script_makes_of_the_first_bytes_of_a_client() {
    let source = "avi.l4.collect(5) avi.l4.discard(2, 1) avi.l4.modify(string.tohex('XYZW'), 1)";
    let mut stage = Stage::new(&scripted_with(l4_plan(1), &[(BYTES, source), (BYTES, "avi.vs.log(avi.l4.read())")]));
    let client = stage.client();
    for piece in ["ab", "c", "def"] {
        assert_eq!(stage.dials(), 0);
        stage.says(client, piece);
    }
    let server = stage.connected();
    assert_eq!(stage.sent(server), "aXYZW");
    stage.says(client, "more");
    assert_eq!(stage.sent(server), "more");
    // All that has come may be gone: the connection goes on.
    let mut stage = Stage::new(&scripted_with(l4_plan(1), &[(BYTES, "avi.l4.discard()")]));
    let client = stage.client();
    stage.says(client, "hello");
    let server = stage.connected();
    stage.says(client, "more");
    assert_eq!(stage.sent(server), "more");
}

#[test]
fn engine_refuses_such_scripts_for_http() {
    let stage = Stage::new(&plan(1));
    assert!(stage.refuses_plan(&scripted(&[(ANSWER, "")])));
    assert!(!stage.refuses_plan(&scripted_with(l4_plan(1), &[(ANSWER, "")])));
}

/// What an MQTT client with this identifier says first (MQTT 3.1.1 §3.1).
fn mqtt_connect(id: &str) -> Vec<u8> {
    let begin = b"\x10\x10\x00\x04MQTT\x04\x02\x00\x3c";
    [&begin[..], &(id.len() as u16).to_be_bytes(), id.as_bytes()].concat()
}

#[test]
fn connections_of_a_device_go_to_one_server_as_the_page_says() {
    let mut plan = scripted_with(l4_plan(3), &[(BYTES, documented("MQTT"))]);
    plan.pools[0].monitored = true;
    let mut stage = Stage::new(&plan);
    for at in 0..3 {
        stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {at}"), true);
    }
    let goes_to = |stage: &mut Stage, id: &str| {
        let client = stage.client();
        stage.says(client, mqtt_connect(id));
        let server = stage.connected();
        let address = stage.dialled_address();
        assert_eq!(stage.sent_bytes(server), mqtt_connect(id));
        stage.gone(client, Gone::Reset);
        address
    };
    let first = goes_to(&mut stage, "meter-1");
    let others: Vec<_> = (0..6).map(|n| goes_to(&mut stage, &format!("lamp-{n}"))).collect();
    assert!(others.iter().any(|address| *address != first), "others go in turn");
    (0..4).for_each(|_| assert_eq!(goes_to(&mut stage, "meter-1"), first));
    // A server that is down is replaced, and the next one is kept.
    let at = first.trim_end_matches(":8000").trim_start_matches("10.1.0.").parse::<usize>().expect("a number") - 1;
    stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {at}"), false);
    let second = goes_to(&mut stage, "meter-1");
    assert_ne!(second, first);
    stage.proxy.set_server_up(&mut stage.tape, "pool", &format!("server {at}"), true);
    (0..4).for_each(|_| assert_eq!(goes_to(&mut stage, "meter-1"), second));
}
