//! Addresses of clients: subnets and ranges, as sorted ranges that do not touch.

use std::{net::IpAddr, sync::Arc};

/// From the first to the last address, both included and of one family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressRange {
    pub first: IpAddr,
    pub last: IpAddr,
}

/// A set of addresses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Addresses {
    v4: Box<[(u32, u32)]>,
    v6: Box<[(u128, u128)]>,
}

impl Addresses {
    pub fn of(ranges: impl IntoIterator<Item = AddressRange>) -> Self {
        let (mut v4, mut v6) = (Vec::new(), Vec::new());
        for AddressRange { first, last } in ranges {
            match (first.to_canonical(), last.to_canonical()) {
                (IpAddr::V4(first), IpAddr::V4(last)) => v4.push((u32::from(first), u32::from(last))),
                (IpAddr::V6(first), IpAddr::V6(last)) => v6.push((u128::from(first), u128::from(last))),
                _ => debug_assert!(false, "a range has one family"),
            }
        }
        Self { v4: merged(v4, |last| last.checked_add(1)), v6: merged(v6, |last| last.checked_add(1)) }
    }

    pub fn is_empty(&self) -> bool {
        self.v4.is_empty() && self.v6.is_empty()
    }

    #[inline]
    pub fn contains(&self, address: IpAddr) -> bool {
        match address.to_canonical() {
            IpAddr::V4(address) => holds(&self.v4, u32::from(address)),
            IpAddr::V6(address) => holds(&self.v6, u128::from(address)),
        }
    }
}

fn merged<T: Ord + Copy>(mut ranges: Vec<(T, T)>, after: impl Fn(T) -> Option<T>) -> Box<[(T, T)]> {
    ranges.sort_unstable();
    let mut all: Vec<(T, T)> = Vec::new();
    for (first, last) in ranges {
        match all.last_mut() {
            Some(before) if after(before.1).is_none_or(|next| first <= next) => before.1 = before.1.max(last),
            _ => all.push((first, last)),
        }
    }
    all.into()
}

#[inline]
fn holds<T: Ord + Copy>(ranges: &[(T, T)], address: T) -> bool {
    let after = ranges.partition_point(|range| range.0 <= address);
    after.checked_sub(1).is_some_and(|at| address <= ranges[at].1)
}

/// Shared by the rules that use it.
#[derive(Debug)]
pub struct AddressGroup {
    pub uuid: String,
    pub name: String,
    pub addresses: Addresses,
}

/// The addresses of a rule: its own, and those of groups.
#[derive(Clone, Debug)]
pub(crate) struct AddressRule {
    pub negated: bool,
    pub own: Addresses,
    pub groups: Box<[Arc<AddressGroup>]>,
}

impl AddressRule {
    #[inline]
    pub fn matches(&self, address: IpAddr) -> bool {
        let found = self.own.contains(address) || self.groups.iter().any(|group| group.addresses.contains(address));
        found != self.negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(first: &str, last: &str) -> AddressRange {
        AddressRange { first: first.parse().unwrap(), last: last.parse().unwrap() }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let all = Addresses::of([
            range("10.0.0.5", "10.0.0.9"),
            range("10.0.0.1", "10.0.0.4"),
            range("10.0.0.7", "10.0.0.12"),
            range("255.255.255.0", "255.255.255.255"),
            range("::1", "::1"),
        ]);
        assert_eq!((all.v4.len(), all.v6.len()), (2, 1));
        for (address, inside) in [
            ("10.0.0.0", false),
            ("10.0.0.1", true),
            ("10.0.0.12", true),
            ("10.0.0.13", false),
            ("255.255.255.255", true),
            ("::ffff:10.0.0.3", true),
            ("::1", true),
            ("::2", false),
        ] {
            assert_eq!(all.contains(address.parse().unwrap()), inside, "{address}");
        }
    }

    #[test]
    fn groups_count_too_and_negation_is_of_all() {
        let group = Arc::new(AddressGroup {
            uuid: String::new(),
            name: String::new(),
            addresses: Addresses::of([range("192.0.2.1", "192.0.2.1")]),
        });
        let own = Addresses::of([range("10.0.0.1", "10.0.0.1")]);
        let rule = AddressRule { negated: false, own, groups: Box::new([group]) };
        let negated = AddressRule { negated: true, ..rule.clone() };
        for (address, inside) in [("10.0.0.1", true), ("192.0.2.1", true), ("10.0.0.2", false)] {
            let address = address.parse().unwrap();
            assert_eq!((rule.matches(address), negated.matches(address)), (inside, !inside));
        }
    }
}
