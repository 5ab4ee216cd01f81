//! Errors that operators exclude from the errors are counted beside their class.

use weir_api::dataplane::v1::{Analytics, Plan, StatusRange};
use weir_proxy::io::Gone;

use crate::{
    GET,
    http2::{Browser, http2},
    origin::{Origin, to_http2},
    tape::{Stage, plan},
};

/// The virtual service excludes 503 and 404, its pool 503 alone.
fn excluding(mut plan: Plan) -> Plan {
    let only = |status| StatusRange { first: status, last: status };
    plan.virtual_services[0].analytics =
        Some(Analytics { not_errors: vec![only(404), only(503)], ..Analytics::default() });
    plan.pools[0].not_errors = vec![only(503)];
    plan
}

/// What is excluded of the responses to clients, and of those of the server.
fn excluded(stage: &Stage) -> [Option<[u64; 5]>; 2] {
    let counters = stage.proxy.counters();
    [counters.service(0).and_then(|service| service.excluded_responses()), counters.excluded_of_server(0)]
        .map(Option::<&[u64; 5]>::copied)
}

#[test]
fn statuses_that_are_no_errors_are_counted_for_the_service_and_the_server() {
    let mut stage = Stage::new(&excluding(plan(1)));
    let client = stage.client();
    stage.says(client, GET);
    let server = stage.connected();
    for status in [200, 500, 503, 404, 503] {
        stage.says(server, format!("HTTP/1.1 {status} It\r\nContent-Length: 0\r\n\r\n"));
        stage.says(client, GET);
    }
    assert_eq!(excluded(&stage), [Some([0, 0, 0, 1, 2]), Some([0, 0, 0, 0, 2])]);
    assert_eq!(stage.proxy.counters().server(0).expect("a server").responses, [0, 1, 0, 1, 3]);
}

/// A server that resets connections before it answers is no error for one service, and one for another.
#[test]
fn resets_of_servers_are_no_errors_where_the_profile_says_so() {
    for (causes, want) in [(vec!["server_reset".to_owned()], Some([0, 0, 0, 0, 1])), (Vec::new(), None)] {
        let mut plan = plan(1);
        plan.virtual_services[0].analytics = Some(Analytics { causes_not_errors: causes, ..Analytics::default() });
        let mut stage = Stage::new(&plan);
        let client = stage.client();
        stage.says(client, GET);
        let server = stage.connected();
        stage.gone(server, Gone::Reset);
        let counters = stage.proxy.counters();
        assert_eq!(counters.service(0).expect("a service").responses, [0, 0, 0, 0, 1]);
        assert_eq!(excluded(&stage), [want, None]);
        let counters = stage.proxy.counters();
        assert_eq!((counters.server(0).expect("a server").failures, counters.resets_of_server(0)), (1, 1));
    }
}

#[test]
fn so_are_those_of_streams_and_of_weir_itself() {
    let mut stage = Stage::new(&http2(to_http2(excluding(plan(1)))));
    let mut browser = Browser::new(&mut stage);
    browser.asks(&mut stage, "GET", &[], true);
    let mut origin = Origin::new(&mut stage);
    let head = origin.head(1, 503, &[], true);
    origin.says(&mut stage, &head);
    assert_eq!(excluded(&stage), [Some([0, 0, 0, 0, 1]); 2]);

    let mut stage = Stage::new(&excluding(plan(0)));
    let client = stage.client();
    stage.says(client, GET);
    assert_eq!(excluded(&stage), [Some([0, 0, 0, 0, 1]), None]);
}
