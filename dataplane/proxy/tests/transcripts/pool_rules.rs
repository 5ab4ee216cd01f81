//! Rules that choose the pool of a connection, a session or a request by who comes to which port.

use weir_api::dataplane::v1 as api;
use weir_proxy::io::Event;

use crate::{
    OK,
    datagrams::udp_plan,
    explanations::question,
    hosted::get,
    tape::{Stage, l4_plan, plan},
};

const OFFICE: &str = "192.0.2.7:4000";
const OTHER: &str = "198.51.100.1:4000";

/// The plan with a second pool, whose server is 10.1.9.9, for the clients of 192.0.2.0/24, and those of other ports than
/// `port`.
fn ruled(mut plan: api::Plan, port: u32) -> api::Plan {
    let mut second = plan.pools[0].clone();
    second.uuid = "second".into();
    (second.servers[0].id, second.servers[0].address) = ("second".into(), "10.1.9.9".into());
    plan.pools.push(second);
    let client = api::AddressMatch { subnets: vec!["192.0.2.0/24".into()], ..api::AddressMatch::default() };
    let ports = api::NumberMatch { negated: true, ranges: vec![api::NumberRange { first: port, last: port }] };
    let matched = api::ConnectionMatch { client: Some(client), listener_port: Some(ports), ..Default::default() };
    plan.virtual_services[0].pool_rules = vec![api::PoolRule {
        name: "office".into(),
        field: "l4_policies[0]".into(),
        r#match: Some(matched),
        pool: Some(api::PoolChoice { pool_uuid: "second".into(), ..api::PoolChoice::default() }),
    }];
    plan
}

#[test]
fn connection_goes_where_the_first_rule_that_matches_sends_it() {
    let mut stage = Stage::new(&ruled(l4_plan(1), 80));
    for (peer, server) in [(OFFICE, "10.1.9.9:8000"), (OTHER, "10.1.0.1:8000")] {
        stage.client_from("10.0.0.1:80", peer);
        assert_eq!(stage.dialled_address(), server);
    }
    let mut stage = Stage::new(&ruled(l4_plan(1), 81));
    stage.client_from("10.0.0.1:80", OTHER);
    assert_eq!(stage.dialled_address(), "10.1.9.9:8000", "the port is enough");
}

#[test]
fn rule_that_chooses_is_told() {
    for plan in [plan(1), l4_plan(1)] {
        let mut stage = Stage::new(&ruled(plan, 80));
        for (peer, name) in [(OFFICE, Some("office")), (OTHER, None)] {
            let mut asked = question(&get("a", "/"));
            asked.client = peer.parse().expect("an address");
            let told = stage.explain(&asked);
            let pool = told.pool.expect("the client has a pool");
            assert_eq!((told.rules.pool.as_deref(), pool.uuid == "second"), (name, name.is_some()), "{peer}");
        }
    }
}

#[test]
fn request_goes_there_unless_a_rule_of_http_chooses() {
    let mut stage = Stage::new(&ruled(plan(1), 80));
    for (peer, address) in [(OFFICE, "10.1.9.9:8000"), (OTHER, "10.1.0.1:8000")] {
        let client = stage.client_from("10.0.0.1:80", peer);
        stage.says(client, get("a", "/"));
        assert_eq!(stage.dialled_address(), address);
        let server = stage.connected();
        stage.says(server, OK);
        stage.batch(vec![Event::Eof { conn: client }]);
    }
}

#[test]
fn session_goes_there_and_ends_when_it_would_go_elsewhere() {
    for per_datagram in [false, true] {
        let before = ruled(udp_plan(1, |udp| udp.per_datagram = per_datagram), 53);
        let mut stage = Stage::new(&before);
        assert_eq!(stage.asks(OFFICE, 1), "1 to 10.1.9.9 on 0");
        assert_eq!(stage.asks(OTHER, 2), "2 to 10.1.0.1 on 1");
        let mut after = before.clone();
        after.revision += 1;
        after.virtual_services[0].pool_rules.clear();
        stage.replace(&after);
        assert_eq!(stage.asks(OFFICE, 3), "3 to 10.1.0.1 on 2");
        assert_eq!(stage.asks(OTHER, 4), "4 to 10.1.0.1 on 1");
    }
}

#[test]
fn service_without_a_pool_of_its_own_serves_those_whom_rules_send_somewhere() {
    let mut plan = ruled(l4_plan(1), 80);
    plan.virtual_services[0].pool_uuid.clear();
    let mut stage = Stage::new(&plan);
    let (office, other) = (stage.client_from("10.0.0.1:80", OFFICE), stage.client_from("10.0.0.1:80", OTHER));
    assert_eq!((stage.closed(office).is_some(), stage.closed(other).is_some()), (false, true));
}
