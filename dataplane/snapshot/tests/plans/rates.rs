//! What limits of rates have counted, through changes of the Plan.

use weir_api::dataplane::v1::{Plan, RateLimit, rate_limit::Action};
use weir_rules::Arriving;
use weir_snapshot::{Entry, Snapshot};

use crate::plan::*;

const S: u64 = 1_000_000_000;

/// The first virtual service lets in eight connections a minute, and is on so many engines.
fn limited(engines: u32) -> Plan {
    let mut plan = plan();
    let action = Some(Action::Close(Default::default()));
    let limit = RateLimit { name: "limit".to_owned(), count: 8, period_s: 60, action, ..RateLimit::default() };
    plan.virtual_services[0].connection_limits = vec![limit];
    plan.virtual_services[0].engines = engines;
    plan
}

/// How many of twenty connections it lets in at once.
fn let_in(snapshot: &Snapshot, second: u64) -> usize {
    let gate = snapshot.service(SHOP).unwrap().gate.as_ref().unwrap();
    let arriving = Arriving { client: "192.0.2.1:4000".parse().unwrap(), listener_port: 80, unix_s: 0 };
    (0..20).filter(|_| matches!(gate.enter(&arriving, second * S), Entry::In { .. })).count()
}

#[test]
fn refused_plan_changes_no_limit_in_force() {
    let worker = worker();
    let before = Snapshot::build(&limited(2), None, &worker).unwrap().0;
    assert_eq!(let_in(&before, 100), 4);
    let mut refused = limited(8);
    refused.virtual_services[1].pool_uuid = "pool-9".to_owned();
    Snapshot::build(&refused, Some(&before), &worker).unwrap_err();
    assert_eq!(let_in(&before, 200), 4);
}

#[test]
fn limit_keeps_what_it_has_counted_when_its_share_changes() {
    let worker = worker();
    let before = Snapshot::build(&limited(1), None, &worker).unwrap().0;
    assert_eq!(let_in(&before, 100), 8);
    let after = Snapshot::build(&limited(2), Some(&before), &worker).unwrap().0;
    drop(before);
    assert_eq!((let_in(&after, 100), let_in(&after, 200)), (0, 4));
}
