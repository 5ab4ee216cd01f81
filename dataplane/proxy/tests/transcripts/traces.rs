//! Traces (W3C Trace Context) of which the engine is a part.

use weir_api::dataplane::v1::{self as api, Analytics, Plan, Traces};
use weir_telemetry::record::Packed;

use crate::{
    GET, OK,
    http2::{Browser, http2},
    origin::{Origin, to_http2},
    tape::{Stage, plan},
};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";
const TRACED: u32 = 1 << 12;
const SAMPLED: u32 = 1 << 13;
const OWN_SPAN: u32 = 1 << 18;
const CLIENT_SPAN: usize = 10;

/// Requests get spans. So many of a million that come without a trace are sampled.
fn tracing(mut plan: Plan, sampled_per_million: u32) -> Plan {
    let traces = Some(Traces { sampled_per_million });
    plan.virtual_services[0].analytics = Some(Analytics { all_until_unix_s: u64::MAX, traces, ..Analytics::default() });
    plan
}

fn request(more: &str) -> String {
    format!("GET / HTTP/1.1\r\nHost: a\r\n{more}\r\n")
}

/// The values of a field, in text of either protocol.
fn values(head: &str, name: &str) -> Vec<String> {
    head.split(['\r', '\n', ';'])
        .filter_map(|line| line.trim().split_once(": "))
        .filter(|(field, _)| field.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.to_owned())
        .collect()
}

/// What the record says: the trace, the span of the engine, and that of the client.
fn told(record: Packed<'_>) -> (String, String, String, u32) {
    let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let part = |from, to| hex((from..to).map(|at| record.u8(at)).collect());
    (
        part(208, 224),
        part(224, 232),
        hex(record.text(CLIENT_SPAN).to_vec()),
        record.flags() & (TRACED | SAMPLED | OWN_SPAN),
    )
}

#[test]
fn request_without_a_trace_begins_one() {
    for (more, sampled) in [
        ("", true),
        ("", false),
        ("traceparent: 00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01\r\ntracestate: a=b\r\n", true),
        (
            "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\
             traceparent: 00-1af7651916cd43dd8448eb211c80319c-c7ad6b7169203331-01\r\n",
            false,
        ),
    ] {
        let mut stage = Stage::new(&tracing(plan(1), if sampled { 1_000_000 } else { 0 }));
        let client = stage.client();
        stage.says(client, request(more));
        let server = stage.connected();
        let head = stage.sent(server);
        let [parent] = &values(&head, "traceparent")[..] else { panic!("{head}") };
        assert!(values(&head, "tracestate").is_empty(), "{head}");
        stage.says(server, OK);
        let taken = stage.records();
        let (trace, span, of_client, flags) = told(taken.record());
        assert_eq!(*parent, format!("00-{trace}-{span}-0{}", u8::from(sampled)));
        assert_eq!((of_client, flags), (String::new(), TRACED | OWN_SPAN | if sampled { SAMPLED } else { 0 }));
    }
}

#[test]
fn trace_of_a_client_goes_on_with_the_span_of_the_engine() {
    for flags in ["00", "01"] {
        let mut stage = Stage::new(&tracing(plan(1), 1_000_000));
        let client = stage.client();
        let fields = format!("X-A: 1\r\nTraceParent: 00-{TRACE}-{SPAN}-{flags}\r\ntracestate: a=b\r\nX-B: 2\r\n");
        stage.says(client, request(&fields));
        let server = stage.connected();
        let head = stage.sent(server);
        let [parent] = &values(&head, "traceparent")[..] else { panic!("{head}") };
        assert_eq!(["tracestate", "x-a", "x-b"].map(|name| values(&head, name).concat()), ["a=b", "1", "2"]);
        stage.says(server, OK);
        let taken = stage.records();
        let (trace, span, of_client, noted) = told(taken.record());
        assert_eq!(*parent, format!("00-{TRACE}-{span}-{flags}"));
        assert_eq!((trace, of_client), (TRACE.to_owned(), SPAN.to_owned()));
        assert_ne!(span, SPAN);
        assert_eq!(noted & SAMPLED != 0, flags == "01", "the client decides about its trace");
    }
}

#[test]
fn each_request_has_a_span_of_its_own_on_streams_too() {
    let mut stage = Stage::new(&to_http2(http2(tracing(plan(1), 1_000_000))));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[("traceparent", &format!("00-{TRACE}-{SPAN}-01"))], true);
    let mut origin = Origin::accept(&mut stage, weir_wire::http2::Settings::default());
    browser.asks(&mut stage, "GET", &[], true);
    origin.hears(&mut stage);
    let heard = origin.heard().join("\n");
    let parents = values(&heard, "traceparent");
    let [one, other] = &parents[..] else { panic!("{heard}") };
    assert!(one.starts_with(&format!("00-{TRACE}-")) && one.ends_with("-01"), "{one}");
    assert_ne!(&one[3..35], &other[3..35], "traces");
    assert_ne!(&one[36..52], &other[36..52], "spans");
}

#[test]
fn without_the_option_traces_pass_as_they_are() {
    let mut off = tracing(plan(1), 0);
    off.virtual_services[0].analytics.as_mut().expect("a policy").traces = None;
    let mut stage = Stage::new(&off);
    let client = stage.client();
    stage.says(client, request(&format!("traceparent: 00-{TRACE}-{SPAN}-01\r\ntracestate: a=b\r\n")));
    let server = stage.connected();
    let head = stage.sent(server);
    assert_eq!(values(&head, "traceparent"), [format!("00-{TRACE}-{SPAN}-01")]);
    assert_eq!(values(&head, "tracestate"), ["a=b"]);
    stage.says(server, OK);
    stage.says(client, GET);
    assert!(values(&stage.sent(server), "traceparent").is_empty());
    stage.says(server, OK);
    let taken = stage.records();
    assert_eq!(told(taken.records()[0]), (TRACE.to_owned(), SPAN.to_owned(), String::new(), TRACED | SAMPLED));
    assert_eq!(taken.records()[1].flags() & (TRACED | OWN_SPAN), 0);
}

/// Its server hears of the trace all the same.
#[test]
fn record_does_not_show_a_trace_that_is_hidden() {
    let mut hiding = tracing(plan(1), 1_000_000);
    hiding.virtual_services[0].analytics.as_mut().expect("a policy").header_masks = vec![api::Mask {
        name: Some(api::TextMatch {
            criterion: api::TextCriterion::Equals as i32,
            values: vec!["traceparent".into()],
            ..api::TextMatch::default()
        }),
        remove: false,
    }];
    let mut stage = Stage::new(&hiding);
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    assert_eq!(values(&stage.sent(server), "traceparent").len(), 1);
    stage.says(server, OK);
    let taken = stage.records();
    assert_eq!(told(taken.record()), ("0".repeat(32), "0".repeat(16), String::new(), 0));
}

/// Half of the requests, within what chance allows.
#[test]
fn the_ratio_of_sampled_traces_is_that_of_the_option() {
    let mut stage = Stage::new(&tracing(plan(1), 500_000));
    let client = stage.client();
    let mut sampled = 0;
    let mut server = None;
    for _ in 0..400 {
        stage.says(client, GET);
        let server = *server.get_or_insert_with(|| stage.connected());
        sampled += usize::from(values(&stage.sent(server), "traceparent").concat().ends_with("-01"));
        stage.says(server, OK);
    }
    assert!((140..260).contains(&sampled), "{sampled} of 400");
}
