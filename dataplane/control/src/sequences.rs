//! Sequences of changes: what the control thread keeps of the snapshots follows each of them.

use std::{collections::BTreeSet, net::SocketAddr, net::TcpListener};

use proptest::prelude::*;
use weir_api::dataplane::v1::{Plan, Socket, Sockets};
use weir_snapshot::{Change, Snapshot, TransportAddress};

use crate::{applying::Served, held::Held, sample::Rows};

#[path = "../../sim/src/difference.rs"]
mod difference;
#[allow(dead_code, reason = "tests of `snapshot` use all of it")]
#[path = "../../snapshot/tests/plans/plan.rs"]
mod plan;
#[path = "../../snapshot/tests/plans/steps.rs"]
mod steps;

const PORTS: [u32; 5] = [80, 81, 82, 83, 443];

/// A socket for each port of the Plans, and where it listens.
fn sockets() -> (Held, Vec<SocketAddr>) {
    let mut held = Held::new(1);
    let addresses = PORTS.map(|_| {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap();
        let named = Socket { address: at.ip().to_string(), port: at.port().into(), ..Socket::default() };
        held.take(&Sockets { sockets: vec![named], last: true }, vec![socket.into()]).unwrap();
        at
    });
    (held, addresses.to_vec())
}

/// The same Plan at the addresses of the sockets.
fn placed(plan: &Plan, addresses: &[SocketAddr]) -> Plan {
    let mut placed = plan.clone();
    for listener in placed.virtual_services.iter_mut().flat_map(|service| &mut service.listeners) {
        let at = addresses[PORTS.iter().position(|port| *port == listener.port).unwrap()];
        (listener.address, listener.port) = (at.ip().to_string(), at.port().into());
    }
    placed
}

fn listening(snapshot: &Snapshot) -> BTreeSet<TransportAddress> {
    snapshot.listeners().map(|(at, _)| at).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn rows_of_samples_and_addresses_follow_each_change(
        sequence in prop::collection::vec((prop::collection::vec(steps::step(), 1..4), 0_usize..32), 1..30),
    ) {
        let (held, addresses) = sockets();
        let (mut served, mut rows) = (Served::new(1), Rows::of(&Snapshot::empty(), 1));
        let mut renewed = BTreeSet::new();
        let mut plan = Plan::default();
        for (steps, replaced) in std::iter::once((steps::foundation(), 0)).chain(sequence) {
            let mut next = plan.clone();
            next.revision += 1;
            steps.iter().for_each(|step| steps::take(&mut next, step));
            let change = difference::between(&placed(&plan, &addresses), &placed(&next, &addresses));
            let Ok(prepared) = served.prepare(&Change::from(change), &held) else { continue };
            let before = served.listening.clone();
            served.accept(prepared.snapshots, 1);
            let snapshot = &served.snapshots[0];
            let after = listening(snapshot);
            prop_assert_eq!(&served.listening, &after);
            let given: Vec<_> = prepared.sockets.into_iter().flatten().map(TcpListener::from).collect();
            let given: Vec<_> = given.iter().map(|socket| TransportAddress::tcp(socket.local_addr().unwrap())).collect();
            let new = after.difference(&before).chain(after.intersection(&renewed)).copied();
            prop_assert_eq!(given.len(), new.clone().count());
            prop_assert_eq!(BTreeSet::from_iter(given), BTreeSet::from_iter(new));
            rows.follow(snapshot);
            prop_assert_eq!(&rows, &Rows::of(snapshot, 1));
            // The agent replaces some of the sockets.
            let chosen = addresses.iter().enumerate().filter(|(index, _)| replaced & (1 << index) != 0);
            let chosen: BTreeSet<_> = chosen.map(|(_, at)| TransportAddress::tcp(*at)).collect();
            renewed = chosen.intersection(&after).copied().collect();
            served.renew(chosen);
            plan = next;
        }
    }
}
