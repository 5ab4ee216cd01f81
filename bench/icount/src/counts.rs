//! The recorded counts: what each row took when its count was last accepted.

use std::{collections::BTreeMap, fmt, io::ErrorKind, path::Path};

use crate::{Failure, profile::Counted};

/// How much a row may grow before its new count has to be accepted.
const GROWTH_MAX_PERCENT: u64 = 2;

const HEAD: &str = "\
# Instructions of the data plane for one of each row (src/rows.rs says what that is); `make check` counts them again.
# Own code is all that the data plane runs but aws-lc. Allocations are how often it asks for memory, rounded up.
# Written by `make bench-icount WRITE=1`.
";
const TOOLS: &str = "counted with ";

#[derive(PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Compiler and valgrind.
    tools: String,
    rows: BTreeMap<String, Counted>,
}

impl Counts {
    pub fn new(tools: String) -> Self {
        Self { tools, rows: BTreeMap::new() }
    }

    pub fn note(&mut self, row: &str, counted: Counted) {
        self.rows.insert(row.to_owned(), counted);
    }

    pub fn of(&self, row: &str) -> Option<Counted> {
        self.rows.get(row).copied()
    }

    /// What stood in the file when this program was built, beside the code that it holds.
    pub fn of_this_tree() -> Result<Self, Failure> {
        Self::parse(include_str!("../counts.txt")).map_err(|line| format!("counts.txt: no count: {line:?}").into())
    }

    /// Empty when there is no such file.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        match std::fs::read_to_string(file) {
            Ok(text) => Self::parse(&text).map_err(|line| format!("{}: no count: {line:?}", file.display()).into()),
            Err(why) if why.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(why) => Err(format!("{}: {why}", file.display()).into()),
        }
    }

    /// The error is the line that is not a count.
    fn parse(text: &str) -> Result<Self, &str> {
        let mut counts = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(tools) = line.strip_prefix(TOOLS) {
                counts.tools = tools.to_owned();
                continue;
            }
            let mut words = line.split_whitespace();
            let count = |word: Option<&str>| word.and_then(|word| word.parse().ok()).ok_or(line);
            let row = words.next().ok_or(line)?;
            let [own, cryptography, allocations] = [words.next(), words.next(), words.next()].map(count);
            let counted = Counted { own: own?, cryptography: cryptography?, allocations: allocations? };
            counts.note(row, counted);
        }
        Ok(counts)
    }

    /// Why `now` must not stand beside these counts; `None` when it may.
    pub fn complaint(&self, now: &Self) -> Option<String> {
        let grown: String = now.rows.iter().map(|(row, counted)| self.growth(row, *counted)).collect();
        if grown.is_empty() {
            return None;
        }
        let tools = match self.tools == now.tools {
            true => String::new(),
            false => format!("This is {}; recorded was {}.\n", now.tools, self.tools),
        };
        Some(format!(
            "the data plane takes more than recorded, by more than {GROWTH_MAX_PERCENT} %:\n{grown}{tools}\
             Find the work and take it out (`make bench-icount ROW=name` lists the dearest functions), or accept it:\n\
             `make bench-icount WRITE=1`, commit the file with the change, and give the reason in the message."
        ))
    }

    fn growth(&self, row: &str, now: Counted) -> String {
        let Some(before) = self.of(row) else { return format!("  {row}: not recorded\n") };
        let parts = [
            ("instructions of own code", before.own, now.own),
            ("instructions of cryptography", before.cryptography, now.cryptography),
            ("allocations", before.allocations, now.allocations),
        ];
        let grown = parts.into_iter().filter(|(_, before, now)| *now * 100 > *before * (100 + GROWTH_MAX_PERCENT));
        let line = |(part, before, now): (&str, u64, u64)| {
            format!("  {row}: {before} → {now} {part}, {}\n", change(before, now))
        };
        grown.map(line).collect()
    }
}

/// In percent, with its sign.
pub fn change(before: u64, now: u64) -> String {
    format!("{:+.1} %", (now as f64 / before.max(1) as f64 - 1.0) * 100.0)
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (own, cryptography, allocations) = ("own code", "cryptography", "allocations");
        write!(f, "{HEAD}{TOOLS}{}\n# {:18}{own:>10}{cryptography:>15}{allocations:>14}\n", self.tools, "row")?;
        for (row, Counted { own, cryptography, allocations }) in &self.rows {
            writeln!(f, "{row:20}{own:>10}{cryptography:>15}{allocations:>14}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(own: u64, cryptography: u64) -> Counts {
        let mut counts = Counts::new("rustc 1, valgrind 3".to_owned());
        counts.note("request", Counted { own, cryptography, allocations: 0 });
        counts
    }

    #[test]
    fn what_is_written_is_read_again() {
        let counts = counts(4000, 0);
        assert_eq!(Counts::parse(&counts.to_string()), Ok(counts));
    }

    #[test]
    fn line_that_is_no_count_is_refused() {
        assert_eq!(Counts::parse("request 4000 many"), Err("request 4000 many"));
        assert_eq!(Counts::parse("request 4000 0"), Err("request 4000 0"));
    }

    #[test]
    fn row_may_grow_by_two_percent_and_shrink_as_it_likes() {
        for (own, cryptography) in [(1000, 1000), (1020, 1020), (10, 10)] {
            assert_eq!(counts(1000, 1000).complaint(&counts(own, cryptography)), None);
        }
    }

    #[test]
    fn row_that_begins_to_allocate_is_named() {
        let mut now = counts(1000, 0);
        now.note("request", Counted { own: 1000, cryptography: 0, allocations: 1 });
        let complaint = counts(1000, 0).complaint(&now).unwrap();
        assert!(complaint.contains("request: 0 → 1 allocations"), "{complaint}");
    }

    #[test]
    fn row_that_grew_more_is_named_with_both_counts() {
        let complaint = counts(1000, 500).complaint(&counts(1021, 600)).unwrap();
        assert!(complaint.contains("request: 1000 → 1021 instructions of own code, +2.1 %"), "{complaint}");
        assert!(complaint.contains("request: 500 → 600 instructions of cryptography, +20.0 %"), "{complaint}");
        assert!(complaint.contains("make bench-icount WRITE=1"), "{complaint}");
    }

    #[test]
    fn row_that_is_not_recorded_and_another_compiler_are_told() {
        let complaint = Counts::new("rustc 0".to_owned()).complaint(&counts(1, 0)).unwrap();
        assert!(complaint.contains("request: not recorded"), "{complaint}");
        assert!(complaint.contains("This is rustc 1, valgrind 3; recorded was rustc 0."), "{complaint}");
    }
}
