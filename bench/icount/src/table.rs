//! What a person reads: the counts beside the recorded ones, and what they come to in time.

use std::{fmt::Write, time::Duration};

use crate::{
    counts::{Counts, change},
    profile::{Counted, Profile},
    rows::Row,
};

/// What was found out about a row.
pub struct Line {
    pub row: &'static Row,
    pub counted: Counted,
    /// Of the whole, on this machine, now.
    pub time: Duration,
}

/// The table. Time of own code is the row's where it has no cryptography, and otherwise reckoned from its instructions
/// by the pace of `request`.
pub fn text(lines: &[Line], recorded: &Counts) -> String {
    let pace = lines.iter().find(|line| line.row.name == "request").map_or(0.0, |line| line.micros() / line.own());
    let mut text = format!(
        "{:18}{:>10}{:>10}{:>9}{:>14}{:>10}{:>9}{:>11}{:>8}\n",
        "row", "own code", "recorded", "", "cryptography", "recorded", "", "own µs ≈", "all µs"
    );
    for line in lines {
        let before = recorded.of(line.row.name);
        let counted = line.counted;
        let own_micros = if counted.cryptography == 0 { line.micros() } else { line.own() * pace };
        let _ = writeln!(
            text,
            "{:18}{}{}{own_micros:>11.2}{:>8.2}  {}",
            line.row.name,
            beside(10, counted.own, before.map(|before| before.own)),
            beside(14, counted.cryptography, before.map(|before| before.cryptography)),
            line.micros(),
            line.row.what,
        );
    }
    text
}

fn beside(width: usize, now: u64, before: Option<u64>) -> String {
    let change = before.filter(|before| *before != now).map_or(String::new(), |before| change(before, now));
    let before = before.map_or("none".to_owned(), |before| before.to_string());
    format!("{now:>width$}{before:>10}{change:>9}")
}

/// The functions that take most of a row.
pub fn dearest(row: &Row, profile: &Profile) -> String {
    const FUNCTIONS: usize = 50;
    let mut functions: Vec<_> = profile.functions.iter().collect();
    functions.sort_by_key(|(name, instructions)| (std::cmp::Reverse(**instructions), *name));
    let mut text = String::new();
    for (name, instructions) in functions.into_iter().take(FUNCTIONS) {
        let _ = writeln!(text, "{:>10}  {name}", instructions / row.repeats());
    }
    text
}

impl Line {
    fn own(&self) -> f64 {
        self.counted.own as f64
    }

    fn micros(&self) -> f64 {
        self.time.as_secs_f64() * 1e6
    }
}
