//! What a person reads: the counts beside the recorded ones, and what they come to in time.

use std::{fmt::Write, time::Duration};

use crate::{
    Failure,
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

/// The table.
pub fn text(lines: &[Line], recorded: &Counts) -> Result<String, Failure> {
    let paced = Row::of_pace()?;
    let pace = lines.iter().find(|line| line.row.name == paced.name).map_or(0.0, Line::pace);
    let mut text = format!(
        "{:18}{:>10}{:>10}{:>9}{:>14}{:>10}{:>9}{:>13}{:>11}{:>8}\n",
        "row", "own code", "recorded", "", "cryptography", "recorded", "", "allocations", "own µs ≈", "all µs"
    );
    for line in lines {
        let before = recorded.of(line.row.name);
        let counted = line.counted;
        let _ = writeln!(
            text,
            "{:18}{}{}{:>13}{:>11.2}{:>8.2}  {}",
            line.row.name,
            beside(10, counted.own, before.map(|before| before.own)),
            beside(14, counted.cryptography, before.map(|before| before.cryptography)),
            counted.allocations,
            line.own_micros(pace),
            line.micros(),
            line.row.what,
        );
    }
    Ok(text)
}

/// One line, for programs.
pub fn json(line: &Line, pace: f64) -> String {
    let Counted { own, cryptography, .. } = line.counted;
    format!(
        "{{\"row\":\"{}\",\"own_instructions\":{own},\"cryptography_instructions\":{cryptography},\"own_us\":{:.3},\"all_us\":{:.3}}}\n",
        line.row.name,
        line.own_micros(pace),
        line.micros(),
    )
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
    /// Microseconds for an instruction.
    pub fn pace(&self) -> f64 {
        self.micros() / self.counted.own as f64
    }

    /// Time of own code: the row's where it has no cryptography, and otherwise reckoned from its instructions by a pace.
    fn own_micros(&self, pace: f64) -> f64 {
        if self.counted.cryptography == 0 { self.micros() } else { self.counted.own as f64 * pace }
    }

    fn micros(&self) -> f64 {
        self.time.as_secs_f64() * 1e6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(own: u64, cryptography: u64, micros: u64) -> Line {
        let row = Row::of_pace().unwrap();
        Line { row, counted: Counted { own, cryptography, allocations: 0 }, time: Duration::from_micros(micros) }
    }

    #[test]
    fn time_of_own_code_is_measured_without_cryptography_and_reckoned_beside_it() {
        let pace = line(1000, 0, 2).pace();
        let plain = "{\"row\":\"request\",\"own_instructions\":3000,\"cryptography_instructions\":0,\"own_us\":5.000,\"all_us\":5.000}\n";
        assert_eq!(json(&line(3000, 0, 5), pace), plain);
        assert!(json(&line(3000, 9000, 50), pace).contains("\"own_us\":6.000,\"all_us\":50.000"));
    }
}
