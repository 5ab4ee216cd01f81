//! What a child wants of requests beside their host and path.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_rules::{AddressGroup, Conditions};

use crate::{
    finding::{Findings, Subject},
    policies::{groups::Groups, rule::RuleReader},
};

#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub source: Arc<v1::HttpMatch>,
    pub conditions: Arc<Conditions>,
}

/// Equal if operators have said the same: groups may have other addresses.
impl PartialEq for Wanted {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Wanted {}

impl Wanted {
    /// `at`: where it is. `None`: it cannot be used; the findings say why.
    pub fn read(
        service: Subject<'_>,
        at: String,
        source: &v1::HttpMatch,
        groups: &Groups<'_>,
        findings: &mut Findings,
    ) -> Option<Self> {
        let reader = RuleReader { subject: service, list: "vh_matches", groups };
        let conditions = reader.conditions(at, source, findings)?;
        Some(Self { source: Arc::new(source.clone()), conditions: Arc::new(Conditions::of(conditions)) })
    }

    /// Whether its groups are those of this snapshot.
    pub fn is_current(&self, groups: &Groups<'_>) -> bool {
        let is_current = |group: &Arc<AddressGroup>| {
            let found = groups.addresses.find(&group.uuid).flatten();
            found.is_some_and(|kept| Arc::ptr_eq(&kept.object, group))
        };
        self.conditions.address_groups().all(is_current)
    }
}

/// The uuids of the groups of strings that requests are compared with.
pub(crate) fn string_groups(matched: &v1::HttpMatch) -> impl Iterator<Item = &str> {
    let texts = matched.path.iter().chain(&matched.query);
    texts.flat_map(|text| text.string_group_uuids.iter().map(String::as_str))
}

/// The uuids of the groups of addresses that requests are compared with.
pub(crate) fn address_groups(matched: &v1::HttpMatch) -> impl Iterator<Item = &str> {
    let addresses = matched.client.iter().chain(&matched.source).chain(&matched.place);
    addresses.flat_map(|addresses| addresses.address_group_uuids.iter().map(String::as_str))
}
