//! Rules for connections, and for sessions of datagrams: who is let in.

use std::{net::SocketAddr, sync::Arc};

use weir_rate::{Limit, Moment, Tally};

use crate::condition::{AddressMatch, NumberMatch};

/// Shared by the virtual services that have it. Each counts the rates of its rules for itself.
#[derive(Debug)]
pub struct NetworkPolicy {
    pub uuid: String,
    pub name: String,
    pub rules: Vec<NetworkRule>,
}

#[derive(Debug)]
pub struct NetworkRule {
    /// Shared with what the rule has decided about.
    pub name: Arc<str>,
    pub matched: ConnectionMatch,
    /// In seconds since 1970: from then on the rule is as if it were not there.
    pub until: u64,
    pub action: NetworkAction,
    /// What it lets in or bars leaves a record, as if a filter held.
    pub log: bool,
}

/// What records say of the rule that has decided about a connection. It may outlive the policy, and keeps nothing else of
/// it: the addresses that a policy names can be many.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecidedBy {
    pub name: Arc<str>,
    pub log: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkAction {
    Allow,
    Deny,
    /// Of all connections that the rule matches. Within the rate, the next rule is tried.
    Limit(Limit),
}

/// What is set must match.
#[derive(Clone, Debug, Default)]
pub struct ConnectionMatch {
    pub client: Option<AddressMatch>,
    /// Where the client is: of its address, too.
    pub place: Option<AddressMatch>,
    pub client_port: Option<NumberMatch>,
    pub listener_port: Option<NumberMatch>,
}

/// A connection that comes.
#[derive(Clone, Copy, Debug)]
pub struct Arriving {
    pub client: SocketAddr,
    pub listener_port: u16,
    /// In seconds since 1970.
    pub unix_s: u64,
}

/// What becomes of a connection, and the rule that decides; `None`: no rule does, so it is let in.
pub type Decided<'p> = (Result<(), Barred>, Option<&'p NetworkRule>);

/// Why a connection is not let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Barred {
    Denied,
    TooOften,
}

impl NetworkPolicy {
    /// Those of its rules.
    pub fn limits(&self) -> impl Iterator<Item = Limit> {
        self.rules.iter().filter_map(|rule| match rule.action {
            NetworkAction::Limit(limit) => Some(limit),
            NetworkAction::Allow | NetworkAction::Deny => None,
        })
    }

    /// Lets a connection in or bars it. `tally` is that of the virtual service; without it, rates are not limited.
    pub fn judge(&self, arriving: &Arriving, tally: Option<&Tally>, at: Moment) -> Decided<'_> {
        for rule in &self.rules {
            if !rule.matched.holds(arriving) || rule.until <= arriving.unix_s {
                continue;
            }
            match &rule.action {
                NetworkAction::Allow => return (Ok(()), Some(rule)),
                NetworkAction::Deny => return (Err(Barred::Denied), Some(rule)),
                NetworkAction::Limit(limit) => {
                    if tally.is_some_and(|tally| tally.admit_any(limit, at).is_err()) {
                        return (Err(Barred::TooOften), Some(rule));
                    }
                }
            }
        }
        (Ok(()), None)
    }
}

impl DecidedBy {
    pub fn of(rule: &NetworkRule) -> Self {
        Self { name: rule.name.clone(), log: rule.log }
    }
}

impl ConnectionMatch {
    /// Whether one of what is set matches, or nothing is set.
    pub fn holds_any(&self, client: SocketAddr, listener_port: u16) -> bool {
        let parts = [
            self.client.as_ref().map(|address| address.holds(client.ip())),
            self.place.as_ref().map(|address| address.holds(client.ip())),
            self.client_port.as_ref().map(|port| port.holds(client.port().into())),
            self.listener_port.as_ref().map(|port| port.holds(listener_port.into())),
        ];
        parts.contains(&Some(true)) || parts.iter().all(Option::is_none)
    }

    #[inline]
    fn holds(&self, arriving: &Arriving) -> bool {
        let Self { client, place, client_port, listener_port } = self;
        client.as_ref().is_none_or(|client| client.holds(arriving.client.ip()))
            && place.as_ref().is_none_or(|place| place.holds(arriving.client.ip()))
            && client_port.as_ref().is_none_or(|port| port.holds(arriving.client.port().into()))
            && listener_port.as_ref().is_none_or(|port| port.holds(arriving.listener_port.into()))
    }
}

#[cfg(test)]
mod tests {
    use weir_rate::Tallies;

    use super::*;
    use crate::addresses::{AddressGroup, AddressRange, Addresses};

    fn clients(negated: bool, first: &str, last: &str) -> Option<AddressMatch> {
        let range = AddressRange { first: first.parse().unwrap(), last: last.parse().unwrap() };
        Some(AddressMatch::new(negated, Addresses::of([range]), Vec::new()))
    }

    fn ports(negated: bool, port: u32) -> Option<NumberMatch> {
        Some(NumberMatch { negated, ranges: vec![port..=port] })
    }

    fn rule(action: NetworkAction, matched: ConnectionMatch) -> NetworkRule {
        NetworkRule { name: "".into(), matched, until: u64::MAX, action, log: false }
    }

    fn policy(rules: Vec<NetworkRule>) -> NetworkPolicy {
        NetworkPolicy { uuid: String::new(), name: String::new(), rules }
    }

    fn judged(policy: &NetworkPolicy, client: &str, listener_port: u16) -> Result<(), Barred> {
        let arriving = Arriving { client: client.parse().unwrap(), listener_port, unix_s: 1_000 };
        policy.judge(&arriving, None, Moment::counting(5)).0
    }

    #[test]
    fn first_rule_that_decides_ends_the_policy() {
        let policy = policy(vec![
            rule(
                NetworkAction::Allow,
                ConnectionMatch { client: clients(false, "10.0.0.1", "10.0.0.9"), ..Default::default() },
            ),
            rule(NetworkAction::Deny, ConnectionMatch { listener_port: ports(false, 443), ..Default::default() }),
        ]);
        assert_eq!(judged(&policy, "10.0.0.5:7", 443), Ok(()));
        assert_eq!(judged(&policy, "10.0.0.10:7", 443), Err(Barred::Denied));
        assert_eq!(judged(&policy, "10.0.0.10:7", 80), Ok(()));
        let places = [("10.0.0.5:7", 443), ("10.0.0.10:7", 443), ("10.0.0.10:7", 80)].map(|(client, listener_port)| {
            let arriving = Arriving { client: client.parse().unwrap(), listener_port, unix_s: 1_000 };
            let decisive = policy.judge(&arriving, None, Moment::counting(5)).1?;
            policy.rules.iter().position(|rule| std::ptr::eq(rule, decisive))
        });
        assert_eq!(places, [Some(0), Some(1), None]);
    }

    #[test]
    fn all_that_a_rule_compares_must_match() {
        let matched = ConnectionMatch {
            client: clients(true, "2001:db8::", "2001:db8::ffff"),
            place: clients(true, "198.51.100.0", "198.51.100.255"),
            client_port: ports(false, 53),
            listener_port: ports(true, 53),
        };
        let policy = policy(vec![rule(NetworkAction::Deny, matched)]);
        for (client, port, barred) in [
            ("[2001:db9::1]:53", 80, true),
            ("[2001:db8::1]:53", 80, false),
            ("[2001:db9::1]:54", 80, false),
            ("[2001:db9::1]:53", 53, false),
            ("192.0.2.1:53", 80, true),
            ("198.51.100.7:53", 80, false),
        ] {
            assert_eq!(judged(&policy, client, port).is_err(), barred, "{client} to {port}");
        }
    }

    #[test]
    fn one_of_several_is_enough_where_rules_choose() {
        let matched = ConnectionMatch {
            client: clients(false, "10.0.0.1", "10.0.0.9"),
            listener_port: ports(true, 80),
            ..Default::default()
        };
        for (client, port, holds) in
            [("10.0.0.5:1", 80, true), ("10.0.1.5:1", 80, false), ("10.0.1.5:1", 81, true), ("10.0.0.5:1", 81, true)]
        {
            assert_eq!(matched.holds_any(client.parse().unwrap(), port), holds, "{client} to {port}");
        }
        assert!(ConnectionMatch::default().holds_any("10.0.0.1:1".parse().unwrap(), 80));
    }

    #[test]
    fn what_is_kept_of_a_rule_keeps_no_addresses() {
        let range = AddressRange { first: "10.0.0.1".parse().unwrap(), last: "10.0.0.9".parse().unwrap() };
        let addresses = Addresses::of([range]);
        let group = Arc::new(AddressGroup { uuid: String::new(), name: String::new(), addresses });
        let weak = Arc::downgrade(&group);
        let client = Some(AddressMatch::new(false, Addresses::default(), vec![group]));
        let mut allowing = rule(NetworkAction::Allow, ConnectionMatch { client, ..Default::default() });
        (allowing.name, allowing.log) = ("friends".into(), true);
        let policy = Arc::new(policy(vec![allowing]));
        let arriving = Arriving { client: "10.0.0.5:7".parse().unwrap(), listener_port: 80, unix_s: 1_000 };
        let by = policy.judge(&arriving, None, Moment::counting(5)).1.map(DecidedBy::of);
        drop(policy);
        assert_eq!(by, Some(DecidedBy { name: "friends".into(), log: true }));
        assert!(weak.upgrade().is_none());
    }

    #[test]
    fn rule_ends_with_its_time() {
        let mut denying = rule(NetworkAction::Deny, ConnectionMatch::default());
        denying.until = 1_001;
        let mut policy = policy(vec![denying]);
        assert_eq!(judged(&policy, "10.0.0.1:7", 80), Err(Barred::Denied));
        policy.rules[0].until = 1_000;
        assert_eq!(judged(&policy, "10.0.0.1:7", 80), Ok(()));
    }

    #[test]
    fn rate_is_that_of_all_that_a_rule_matches_and_later_rules_follow() {
        let limit = Limit::new("policy", "rule", 3, 1, 0);
        let policy = policy(vec![
            rule(NetworkAction::Limit(limit), ConnectionMatch::default()),
            rule(
                NetworkAction::Deny,
                ConnectionMatch { client: clients(false, "10.0.0.9", "10.0.0.9"), ..Default::default() },
            ),
        ]);
        let tally = Tallies::new(1).of("", 1, policy.limits());
        let come = |client: &str, at| {
            let arriving = Arriving { client: client.parse().unwrap(), listener_port: 80, unix_s: 0 };
            policy.judge(&arriving, Some(&tally), at).0
        };
        let now = Moment::counting(5);
        assert_eq!((come("10.0.0.1:1", now), come("10.0.0.2:1", now)), (Ok(()), Ok(())));
        assert_eq!(come("10.0.0.9:1", Moment::looking(5)), Err(Barred::Denied));
        assert_eq!(come("10.0.0.3:1", now), Ok(()));
        assert_eq!(come("10.0.0.4:1", now), Err(Barred::TooOften));
    }
}
