//! The names of rules in a record, one behind the other: the list that a rule is in, the number of bytes of its name, and the
//! name. A list whose number has the highest bit set is not named in full. `api/record` reads this.

/// The list that a rule is in, by its number in the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RuleList {
    /// Of a network security policy.
    Connections = 1,
    /// Of the child that a request is for.
    Hosts = 2,
    Security = 3,
    Requests = 4,
    Responses = 5,
    /// Whether a request needs a token.
    Authentication = 6,
    /// What its token is good for.
    Authorization = 7,
}

/// Of a name.
const NAME_BYTES_MAX: usize = 128;
const BYTES_MAX: usize = 4096;
const CUT: u8 = 0x80;

#[derive(Default, Debug)]
pub struct RuleNames {
    packed: Vec<u8>,
}

impl RuleNames {
    pub fn clear(&mut self) {
        self.packed.clear();
    }

    /// A rule has acted. It may have acted on an earlier response, too.
    pub fn add(&mut self, list: RuleList, name: &str) {
        let kept = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
        if self.packed.len() + 2 + kept.len() > BYTES_MAX {
            return self.cut(list);
        }
        self.push(list as u8, kept);
        if kept.len() < name.len() {
            self.cut(list);
        }
    }

    /// Other rules of this list have acted.
    pub fn cut(&mut self, list: RuleList) {
        self.push(list as u8 | CUT, "");
    }

    fn push(&mut self, list: u8, name: &str) {
        let is_there = self.all().any(|other| other == (list, name.as_bytes()));
        if !is_there {
            self.packed.extend_from_slice(&[list, name.len() as u8]);
            self.packed.extend_from_slice(name.as_bytes());
        }
    }

    fn all(&self) -> impl Iterator<Item = (u8, &[u8])> {
        let mut left = &self.packed[..];
        std::iter::from_fn(move || {
            let (&[list, bytes], rest) = left.split_first_chunk()?;
            let (name, rest) = rest.split_at_checked(bytes.into())?;
            left = rest;
            Some((list, name))
        })
    }

    pub fn bytes(&self) -> &[u8] {
        &self.packed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_behind_each_other_and_each_once() {
        let mut names = RuleNames::default();
        for (list, name) in [
            (RuleList::Security, "a"),
            (RuleList::Requests, "b c"),
            (RuleList::Security, "a"),
            (RuleList::Requests, "a"),
        ] {
            names.add(list, name);
        }
        assert_eq!(names.bytes(), b"\x03\x01a\x04\x03b c\x04\x01a");
        names.clear();
        assert!(names.bytes().is_empty());
    }

    #[test]
    fn packs_what_others_read() {
        let mut names = RuleNames::default();
        names.add(RuleList::Security, "a");
        names.add(RuleList::Hosts, "/a b");
        names.add(RuleList::Requests, "b c");
        names.add(RuleList::Responses, &"é".repeat(65));
        assert_eq!(names.bytes(), include_bytes!("../../../../api/record/testdata/rules.bin"));
    }

    #[test]
    fn long_names_and_many_are_cut() {
        let mut names = RuleNames::default();
        names.add(RuleList::Responses, &"é".repeat(100));
        let name = "é".repeat(64);
        assert_eq!(names.all().collect::<Vec<_>>(), [(5, name.as_bytes()), (0x85, b"")]);
        (0..100).for_each(|n| names.add(RuleList::Hosts, &format!("{n:0100}")));
        assert!(names.bytes().len() <= BYTES_MAX + 4);
        assert_eq!(names.all().last(), Some((0x82, &b""[..])));
    }
}
