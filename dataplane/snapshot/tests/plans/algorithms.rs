//! Algorithms that some versions do not know, and what workers share of them.

use weir_api::dataplane::v1::{self as api, Plan};
use weir_balance::{Algorithm, Cores};
use weir_snapshot::{Pool, Snapshot, Worker};

use crate::plan::*;

fn with(algorithm: api::Algorithm, newer: i32) -> Plan {
    let mut plan = plan();
    (plan.pools[0].algorithm, plan.pools[0].newer_algorithm, plan.pools[0].core_nonaffinity) =
        (algorithm.into(), newer, 3);
    plan
}

fn pool(snapshot: &Snapshot) -> &Pool {
    snapshot.pool("pool-1").unwrap()
}

#[test]
fn newer_algorithm_counts_where_it_is_known() {
    for (newer, expected) in [
        (api::Algorithm::FewestTasks.into(), Algorithm::FewestTasks),
        (api::Algorithm::CoreAffinity.into(), Algorithm::CoreAffinity),
        (api::Algorithm::RoundRobinOfEngine.into(), Algorithm::RoundRobinOfEngine),
        (0, Algorithm::Random),
        (1_000, Algorithm::Random),
    ] {
        let snapshot = built(&with(api::Algorithm::Random, newer), None);
        assert_eq!(pool(&snapshot).balance.algorithm, expected);
    }
}

#[test]
fn workers_know_their_place_and_share_tickets_as_long_as_a_pool_is_there() {
    let workers = Worker::all(2, 7);
    let plan = with(api::Algorithm::RoundRobin, api::Algorithm::RoundRobinOfEngine.into());
    let [one, other] = [0, 1].map(|at| Snapshot::build(&plan, None, &workers[at]).unwrap().0);
    assert_eq!(pool(&one).balance.cores, Cores { worker: 0, workers: 2, nonaffinity: 3 });
    assert_eq!(pool(&other).balance.cores, Cores { worker: 1, workers: 2, nonaffinity: 3 });
    assert_eq!(pool(&one).balance.tickets, pool(&other).balance.tickets);
    let mut changed = plan.clone();
    changed.pools[0].servers.push(server("10.0.0.4", 8080));
    changed.pools[1].newer_algorithm = api::Algorithm::RoundRobinOfEngine.into();
    let next = Snapshot::build(&changed, Some(&one), &workers[0]).unwrap().0;
    assert_eq!(pool(&next).balance.tickets, pool(&other).balance.tickets);
    assert_ne!(next.pool("pool-2").unwrap().balance.tickets, pool(&next).balance.tickets);
}
