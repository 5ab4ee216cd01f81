//! Groups that rules compare with, read once for all of them.

use std::sync::Arc;

use weir_api::dataplane::v1;
use weir_rules::{AddressGroup, AddressMatch, AddressRange, Addresses, StringGroup};

use crate::{
    Subnet,
    finding::{Findings, Subject},
    kept::{Kept, Objects},
};

pub(crate) type KeptStringGroup = Kept<v1::StringGroup, Arc<StringGroup>>;
pub(crate) type KeptAddressGroup = Kept<v1::AddressGroup, Arc<AddressGroup>>;

/// The groups that the policy sets of one snapshot are read with.
pub(crate) struct Groups<'s> {
    pub strings: &'s Objects<KeptStringGroup>,
    pub addresses: &'s Objects<KeptAddressGroup>,
}

pub(crate) fn subject_of_strings(source: &v1::StringGroup) -> Subject<'_> {
    Subject { kind: "stringgroup", uuid: &source.uuid, name: &source.name }
}

pub(crate) fn subject_of_addresses(source: &v1::AddressGroup) -> Subject<'_> {
    Subject { kind: "ipaddrgroup", uuid: &source.uuid, name: &source.name }
}

pub(crate) fn read_strings(source: &Arc<v1::StringGroup>, before: Option<&KeptStringGroup>) -> KeptStringGroup {
    if let Some(kept) = before.filter(|kept| kept.source == *source) {
        return kept.clone();
    }
    let pairs = source.pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect();
    let object = StringGroup::new(source.uuid.clone(), source.name.clone(), pairs, source.longest_match);
    Kept { source: source.clone(), object: Arc::new(object) }
}

/// `None` if an address is none; the findings say which.
pub(crate) fn read_addresses(
    source: &Arc<v1::AddressGroup>,
    before: Option<&KeptAddressGroup>,
    findings: &mut Findings,
) -> Option<KeptAddressGroup> {
    if let Some(kept) = before.filter(|kept| kept.source == *source) {
        return Some(kept.clone());
    }
    let addresses = addresses(subject_of_addresses(source), "", &source.subnets, &source.ranges, findings)?;
    let object = AddressGroup { uuid: source.uuid.clone(), name: source.name.clone(), addresses };
    Some(Kept { source: source.clone(), object: Arc::new(object) })
}

impl Groups<'_> {
    /// What a rule compares addresses with; `within` is where that is. `None`: it cannot be used; the findings say why.
    pub fn address_match(
        &self,
        subject: Subject<'_>,
        within: &str,
        from: &v1::AddressMatch,
        findings: &mut Findings,
    ) -> Option<AddressMatch> {
        let own = addresses(subject, within, &from.subnets, &from.ranges, findings);
        let mut groups = Vec::new();
        let mut is_sound = true;
        for uuid in &from.address_group_uuids {
            match self.addresses.find(uuid) {
                Some(Some(kept)) => groups.push(kept.object.clone()),
                Some(None) => is_sound = false,
                None => {
                    let message = format!("there is no group of addresses {uuid}");
                    findings.error(subject, format!("{within}group_refs"), message);
                    is_sound = false;
                }
            }
        }
        let own = own.filter(|_| is_sound)?;
        Some(AddressMatch::new(from.negated, own, groups))
    }
}

/// Subnets and ranges. `within` is where they are, as `match.client_ip.`.
pub(crate) fn addresses(
    subject: Subject<'_>,
    within: &str,
    subnets: &[String],
    ranges: &[v1::AddressRange],
    findings: &mut Findings,
) -> Option<Addresses> {
    let mut all = Vec::new();
    let before = findings.errors.len();
    for (at, text) in subnets.iter().enumerate() {
        match Subnet::parse(text) {
            Some(subnet) => all.push(subnet.range()),
            None => findings.error(
                subject,
                format!("{within}prefixes[{at}]"),
                format!("{text:?} is not a subnet like 10.0.0.0/8"),
            ),
        }
    }
    for (at, range) in ranges.iter().enumerate() {
        match range_of(range) {
            Some(range) => all.push(range),
            None => findings.error(
                subject,
                format!("{within}ranges[{at}]"),
                format!("{} to {} is no range of addresses of one family", range.first, range.last),
            ),
        }
    }
    (findings.errors.len() == before).then(|| Addresses::of(all))
}

fn range_of(range: &v1::AddressRange) -> Option<AddressRange> {
    let address = |text: &str| text.parse::<std::net::IpAddr>().ok().map(|address| address.to_canonical());
    let (first, last) = (address(&range.first)?, address(&range.last)?);
    (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(AddressRange { first, last })
}
