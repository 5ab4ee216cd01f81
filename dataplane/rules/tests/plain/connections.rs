//! Rules for connections, of network policies and of layer 4: their words, a plain reading of them, and the comparison.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use proptest::{collection::vec, option, prelude::*, sample::select};
use weir_rate::Moment;
use weir_rules::{Arriving, Barred, ConnectionMatch, NetworkAction, NetworkPolicy, NetworkRule};

use crate::{
    compiled,
    conditions::{is_among, is_in},
    generator,
    words::{Addresses, Numbers},
};

/// What of a connection is compared.
#[derive(Clone, Default)]
pub struct Match {
    client: Option<Addresses>,
    /// Where the client is: the addresses of a country or a continent.
    place: Option<Addresses>,
    client_port: Option<Numbers>,
    vs_port: Option<Numbers>,
}

#[derive(Clone)]
pub struct Rule {
    matched: Match,
    /// From then on, the rule is as if it were not there.
    until: u64,
    allows: bool,
}

#[derive(Clone, Debug)]
pub struct Connection {
    client: SocketAddr,
    vs_port: u16,
    time: u64,
}

impl Match {
    /// Of each part that is given, whether it holds.
    fn parts(&self, connection: &Connection) -> Vec<bool> {
        let address: IpAddr = connection.client.ip();
        let addresses = [&self.client, &self.place].into_iter().flatten().map(|addresses| is_in(addresses, address));
        let client_port = self.client_port.iter().map(|port| is_among(port, connection.client.port().into()));
        let vs_port = self.vs_port.iter().map(|port| is_among(port, connection.vs_port.into()));
        addresses.chain(client_port).chain(vs_port).collect()
    }
}

/// Rules of network policies want all of their parts: the first rule that matches decides. Without one, the connection is
/// let in.
pub fn first_that_decides<'r>(rules: &'r [Rule], connection: &Connection) -> Option<&'r Rule> {
    let decides = |rule: &&Rule| rule.until > connection.time && !rule.matched.parts(connection).contains(&false);
    rules.iter().find(decides)
}

/// Rules of layer 4 want one of their parts, or have none.
pub fn chooses(matched: &Match, connection: &Connection) -> bool {
    let parts = matched.parts(connection);
    parts.is_empty() || parts.contains(&true)
}

/// Rules, and what meets them.
#[derive(Clone)]
pub struct Case {
    rules: Vec<Rule>,
    connections: Vec<Connection>,
}

/// Proptest shows the smallest case that fails by `Debug`.
impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rules.iter().enumerate().try_for_each(|(at, Rule { matched, until, allows })| {
            write!(f, "\nrule {at}, allows {allows}, until {until}:")?;
            let Match { client, place, client_port, vs_port } = matched;
            let show = |name, part: Option<&dyn fmt::Display>| part.map(|part| format!(" {name} {part}"));
            let parts = [
                show("client", client.as_ref().map(|part| part as _)),
                show("place", place.as_ref().map(|part| part as _)),
                show("client port", client_port.as_ref().map(|part| part as _)),
                show("port", vs_port.as_ref().map(|part| part as _)),
            ];
            parts.into_iter().flatten().try_for_each(|part| f.write_str(&part))
        })?;
        self.connections.iter().try_for_each(|connection| write!(f, "\n{connection:?}"))
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Case { rules: vec![self.clone()], connections: Vec::new() }.fmt(f)
    }
}

pub fn case() -> impl Strategy<Value = Case> {
    let ports = || generator::numbers(vec![53, 80, 443]);
    let matched = (
        option::of(generator::addresses()),
        option::weighted(0.3, generator::addresses()),
        option::weighted(0.3, ports()),
        option::weighted(0.3, ports()),
    );
    let times = || select(vec![10_u64, 20, 30]);
    let rule = (matched, prop_oneof![3 => Just(u64::MAX), 1 => times()], any::<bool>()).prop_map(
        |((client, place, client_port, vs_port), until, allows)| {
            let matched = Match { client, place, client_port, vs_port };
            Rule { matched, until, allows }
        },
    );
    let port = || select(vec![53_u16, 80, 443]);
    let connection = ((generator::address(), port()), port(), times()).prop_map(|(client, vs_port, time)| Connection {
        client: client.into(),
        vs_port,
        time,
    });
    (vec(rule, 0..8), vec(connection, 1..10)).prop_map(|(rules, connections)| Case { rules, connections })
}

fn compile(matched: &Match) -> ConnectionMatch {
    ConnectionMatch {
        client: matched.client.as_ref().map(compiled::addresses),
        place: matched.place.as_ref().map(compiled::addresses),
        client_port: matched.client_port.as_ref().map(compiled::numbers),
        listener_port: matched.vs_port.as_ref().map(compiled::numbers),
    }
}

/// Compares what the compiled rules do with all connections of a case.
pub fn compare(case: &Case) -> Result<(), TestCaseError> {
    let rule = |(at, rule): (usize, &Rule)| NetworkRule {
        name: at.to_string().into(),
        matched: compile(&rule.matched),
        until: rule.until,
        action: if rule.allows { NetworkAction::Allow } else { NetworkAction::Deny },
        log: false,
    };
    let rules = case.rules.iter().enumerate().map(rule).collect();
    let policy = NetworkPolicy { uuid: String::new(), name: String::new(), rules };
    for connection in &case.connections {
        let Connection { client, vs_port, time } = *connection;
        let arriving = Arriving { client, listener_port: vs_port, unix_s: time };
        let (verdict, by) = policy.judge(&arriving, None, Moment::counting(0));
        let plain = first_that_decides(&case.rules, connection);
        let place = plain.and_then(|rule| case.rules.iter().position(|other| std::ptr::eq(rule, other)));
        prop_assert_eq!(by.map(|rule| rule.name.to_string()), place.map(|at| at.to_string()), "{:?}", connection);
        prop_assert_eq!(verdict == Err(Barred::Denied), plain.is_some_and(|rule| !rule.allows), "{:?}", connection);

        let holds = |rule: &NetworkRule| rule.matched.holds_any(client, vs_port);
        let compiled: Vec<bool> = policy.rules.iter().map(holds).collect();
        let plain: Vec<bool> = case.rules.iter().map(|rule| chooses(&rule.matched, connection)).collect();
        prop_assert_eq!(compiled, plain, "rules of layer 4, {:?}", connection);
    }
    Ok(())
}
