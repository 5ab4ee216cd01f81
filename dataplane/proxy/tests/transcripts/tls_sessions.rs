//! Clients that a session of TLS binds to their server.

use weir_api::dataplane::v1::{self as api, Algorithm, TicketKeys};
use weir_tls::ClientConfig;

use crate::{
    GET,
    hosted::{Visitor, terminating},
    tape::{Stage, l4_plan, plan},
};

fn bound_by_session(plan: api::Plan) -> api::Plan {
    let mut plan = terminating(plan);
    plan.virtual_services.truncate(1);
    let service = &mut plan.virtual_services[0];
    service.hosting = api::Hosting::None.into();
    let tls = service.tls.as_mut().expect("it terminates TLS");
    tls.session_resumption = true;
    let keys = vec![vec![7; 80]];
    tls.ticket_keys = Some(TicketKeys { keys, lifetime_s: 3600, until_unix_s: u64::MAX, keep_origin: true });
    let pool = &mut plan.pools[0];
    (pool.algorithm, pool.hashes_tls_session) = (Algorithm::ConsistentHash.into(), true);
    plan
}

#[test]
fn client_that_resumes_its_session_from_elsewhere_keeps_its_server_on_each_engine() {
    for plan in [plan(8), l4_plan(8)] {
        let plan = bound_by_session(plan);
        let server_of = |number: u8, config: &ClientConfig| {
            let mut stage = Stage::new(&plan);
            let conn = stage.client_from("10.0.0.1:80", &format!("10.2.0.{number}:4000"));
            let mut visitor = Visitor::with(conn, config, "a.test");
            visitor.greets(&mut stage, 4000);
            visitor.says(&mut stage, GET);
            stage.dialled_address()
        };
        let resuming = Visitor::config(true);
        let own = server_of(1, &resuming);
        (2..20).for_each(|number| assert_eq!(server_of(number, &resuming), own));
        let anew = |number| server_of(number, &Visitor::config(false));
        assert_eq!(anew(1), own, "the address counts without an earlier session");
        assert!((2..20).any(|number| anew(number) != own));
    }
}

#[test]
fn client_without_tls_is_bound_by_its_address() {
    let mut plan = bound_by_session(plan(8));
    plan.virtual_services[0].listeners[0].tls = false;
    let server_of = |number: u8| {
        let mut stage = Stage::new(&plan);
        let conn = stage.client_from("10.0.0.1:80", &format!("10.2.0.{number}:4000"));
        stage.says(conn, GET);
        stage.dialled_address()
    };
    assert_eq!(server_of(1), server_of(1));
    assert!((2..20).any(|number| server_of(number) != server_of(1)));
}
