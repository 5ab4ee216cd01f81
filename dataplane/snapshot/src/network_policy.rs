//! A policy of the Plan for who is let in, read once for all virtual services that have it.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_rate::Limit;
use weir_rules::{ConnectionMatch, NetworkAction, NetworkPolicy, NetworkRule};

use crate::{
    finding::{Findings, Subject},
    kept::Kept,
    policies::{Groups, number},
};

pub(crate) type KeptNetworkPolicy = Kept<v1::NetworkPolicy, Arc<NetworkPolicy>>;

/// Most rules of one policy: they are tried one after the other.
const RULES_MAX: usize = 1024;

pub(crate) fn subject(source: &v1::NetworkPolicy) -> Subject<'_> {
    Subject { kind: "networksecuritypolicy", uuid: &source.uuid, name: &source.name }
}

/// The uuids of the groups that connections are compared with.
pub(crate) fn address_groups(matched: Option<&v1::ConnectionMatch>) -> impl Iterator<Item = &str> {
    let clients = matched.into_iter().flat_map(|matched| matched.client.iter().chain(&matched.place));
    clients.flat_map(|clients| clients.address_group_uuids.iter().map(String::as_str))
}

impl KeptNetworkPolicy {
    /// The uuids of the groups that its rules compare with.
    pub fn address_groups(&self) -> impl Iterator<Item = &str> {
        self.source.rules.iter().flat_map(|rule| address_groups(rule.r#match.as_ref()))
    }
}

impl Groups<'_> {
    /// `None` if the policy is unusable; the findings give the reasons.
    pub fn read_network_policy(
        &self,
        source: &Arc<v1::NetworkPolicy>,
        findings: &mut Findings,
    ) -> Option<KeptNetworkPolicy> {
        let subject = subject(source);
        if source.rules.len() > RULES_MAX {
            let message = format!("are {}, and engines try at most {RULES_MAX}", source.rules.len());
            findings.error(subject, "rules", message);
            return None;
        }
        let mut rules = Vec::new();
        let mut is_sound = true;
        for (place, from) in source.rules.iter().enumerate() {
            // What is counted goes on when other rules change. Several rules may have one name.
            let namesakes = source.rules[..place].iter().filter(|rule| rule.name == from.name).count();
            match self.read_network_rule(subject, from, namesakes, findings) {
                Some(rule) => rules.push(rule),
                None => is_sound = false,
            }
        }
        let policy = NetworkPolicy { uuid: source.uuid.clone(), name: source.name.clone(), rules };
        is_sound.then(|| Kept { source: source.clone(), object: Arc::new(policy) })
    }

    fn read_network_rule(
        &self,
        subject: Subject<'_>,
        from: &v1::NetworkRule,
        namesakes: usize,
        findings: &mut Findings,
    ) -> Option<NetworkRule> {
        use v1::network_rule::Action;
        let at = format!("rules[{}]", from.position);
        let matched = match &from.r#match {
            None => Some(ConnectionMatch::default()),
            Some(matched) => self.connection_match(subject, &format!("{at}.match."), matched, findings),
        };
        let action = match &from.action {
            Some(Action::Allow(_)) => NetworkAction::Allow,
            Some(Action::Deny(_)) => NetworkAction::Deny,
            Some(Action::Rate(rate)) if rate.per_s > 0 => {
                let identity = format!("{} {namesakes}", from.name);
                NetworkAction::Limit(Limit::new(subject.uuid, &identity, rate.per_s, 1, rate.burst))
            }
            Some(Action::Rate(_)) => {
                findings.error(subject, format!("{at}.rl_param.max_rate"), "is 0; choose 1 or more");
                return None;
            }
            None => {
                findings.error(
                    subject,
                    format!("{at}.action"),
                    "has no action that this engine knows; upgrade the engine",
                );
                return None;
            }
        };
        let (name, until, log) = (from.name.as_str().into(), from.until_unix_s, from.log);
        Some(NetworkRule { name, matched: matched?, until, action, log })
    }

    pub fn connection_match(
        &self,
        subject: Subject<'_>,
        within: &str,
        from: &v1::ConnectionMatch,
        findings: &mut Findings,
    ) -> Option<ConnectionMatch> {
        let mut addresses = |from: &Option<v1::AddressMatch>, field: &str| match from {
            None => Some(None),
            Some(from) => self.address_match(subject, &format!("{within}{field}."), from, findings).map(Some),
        };
        let (client, place) = (addresses(&from.client, "client_ip"), addresses(&from.place, "geo_matches"));
        let (client_port, listener_port) = (from.client_port.as_ref(), from.listener_port.as_ref());
        Some(ConnectionMatch {
            client: client?,
            place: place?,
            client_port: client_port.map(number),
            listener_port: listener_port.map(number),
        })
    }
}
