//! The TLS handshakes of a service in its row of a sample.

use weir_api::dataplane::v1::{ErrorCounter, TlsRow, VirtualServiceCounters};
use weir_telemetry::{AGREED_MAX, Agreed, Handshakes};

/// A row that is there keeps its place, so that no count falls: the workers together may have more rows than a sample
/// takes, and name them in any order.
pub fn fill(row: &mut VirtualServiceCounters, counted: &Handshakes) {
    let table = row.tls.get_or_insert_default();
    table.others_total = counted.others();
    (row.tls13_handshakes_total, row.tls_resumptions_total) = (counted.tls13(), counted.resumed());
    for (agreed, total) in counted.agreed() {
        match table.rows.iter().position(|row| is_of(row, agreed)) {
            Some(at) => table.rows[at].total = *total,
            None if table.rows.len() < AGREED_MAX => table.rows.push(new_row(agreed, *total)),
            None => table.others_total += total,
        }
    }
    table.failures.clear();
    let failure =
        |(fault, total): (weir_telemetry::HandshakeFault, u64)| ErrorCounter { cause: fault.name().into(), total };
    table.failures.extend(counted.faults().map(failure));
    row.tls_failures_total = table.failures.iter().map(|failure| failure.total).sum();
}

fn is_of(row: &TlsRow, agreed: &Agreed) -> bool {
    row.cipher_suite == agreed.cipher_suite
        && row.version == agreed.version
        && row.group == agreed.group.unwrap_or_default()
        && row.key == agreed.key.unwrap_or_default()
        && row.resumed == agreed.resumed
}

fn new_row(agreed: &Agreed, total: u64) -> TlsRow {
    TlsRow {
        version: agreed.version.into(),
        cipher_suite: agreed.cipher_suite.into(),
        group: agreed.group.unwrap_or_default().into(),
        key: agreed.key.unwrap_or_default().into(),
        resumed: agreed.resumed,
        total,
    }
}

#[cfg(test)]
mod tests {
    use weir_telemetry::{Counters, HandshakeFault, Happening};

    use super::*;

    fn agreed(number: usize) -> Agreed {
        const NAMES: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let cipher_suite = &NAMES[number..=number];
        Agreed { version: "TLS 1.3", cipher_suite, group: Some("X25519"), key: None, resumed: true }
    }

    fn worker(agreements: std::ops::Range<usize>) -> Counters {
        let mut counters = Counters::default();
        agreements.for_each(|at| counters.note(Happening::Handshake { service: 0, agreed: agreed(at) }));
        counters
    }

    fn filled(row: &mut VirtualServiceCounters, workers: &[&Counters]) -> Vec<(String, u64)> {
        let mut sum = Counters::default();
        workers.iter().for_each(|worker| sum.add(worker));
        fill(row, sum.service(0).unwrap().handshakes().unwrap());
        row.tls.as_ref().unwrap().rows.iter().map(|row| (row.cipher_suite.clone(), row.total)).collect()
    }

    #[test]
    fn no_count_falls_whatever_the_order_of_workers_with_too_many_rows() {
        let (one, other) = (worker(0..31), worker(20..51));
        let mut row = VirtualServiceCounters::default();
        let first = filled(&mut row, &[&one, &other]);
        assert_eq!((first.len(), row.tls.as_ref().unwrap().others_total), (31, 20));
        assert_eq!(filled(&mut row, &[&other, &one]), first);
        assert_eq!(row.tls.as_ref().unwrap().others_total, 20);
        assert_eq!((row.tls13_handshakes_total, row.tls_resumptions_total), (62, 62));
    }

    #[test]
    fn totals_count_what_has_no_row() {
        let mut row = VirtualServiceCounters::default();
        filled(&mut row, &[&worker(0..40)]);
        assert_eq!(row.tls.as_ref().unwrap().others_total, 9, "which the worker counts together");
        assert_eq!((row.tls13_handshakes_total, row.tls_resumptions_total), (40, 40));
    }

    #[test]
    fn failures_have_their_reasons_and_their_sum() {
        let mut counters = worker(0..1);
        for fault in [HandshakeFault::NoVersion, HandshakeFault::Timeout, HandshakeFault::Timeout] {
            counters.note(Happening::HandshakeFailed { service: 0, fault });
        }
        let mut row = VirtualServiceCounters::default();
        filled(&mut row, &[&counters]);
        let failures = &row.tls.as_ref().unwrap().failures;
        let named: Vec<_> = failures.iter().map(|failure| (&*failure.cause, failure.total)).collect();
        assert_eq!((named, row.tls_failures_total), (vec![("timeout", 2), ("no_version", 1)], 3));
    }
}
