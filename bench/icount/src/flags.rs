//! The command line.

use std::{ffi::OsString, path::PathBuf};

use lexopt::{Arg, Parser, ValueExt};

use crate::rows::Row;

const HELP: &str = "\
Counts the instructions that the data plane takes, under valgrind, and compares them with a file.

Usage: weir-icount --counts FILE --profiles DIR [--write | --row NAME]

  --counts FILE    what was counted before; a row that grew by more than 2 % is an error
  --profiles DIR   where callgrind's files go, one per row
  --write          write FILE anew
  --row NAME       count this row only, and list the functions that take most of it
  --run NAME       do what the row does, uncounted: what runs under valgrind
  --time NAME      print one JSON object: the row's instructions as recorded when this was built, and its time here and now
";

pub struct Flags {
    pub counts: PathBuf,
    pub profiles: PathBuf,
    pub write: bool,
}

pub enum Task {
    Count(Flags),
    Explain(&'static Row, Flags),
    Run(&'static Row),
    Time(&'static Row),
}

/// `None` when help was all that was asked for.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Option<Task>, lexopt::Error> {
    let (mut counts, mut profiles, mut write, mut row) = (None, None, false, None);
    let mut parser = Parser::from_iter(args);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("counts") => counts = Some(parser.value()?.into()),
            Arg::Long("profiles") => profiles = Some(parser.value()?.into()),
            Arg::Long("write") => write = true,
            Arg::Long("row") => row = Some(parser.value()?.parse_with(Row::named)?),
            Arg::Long("run") => return Ok(Some(Task::Run(parser.value()?.parse_with(Row::named)?))),
            Arg::Long("time") => return Ok(Some(Task::Time(parser.value()?.parse_with(Row::named)?))),
            Arg::Long("help") => {
                print!("{HELP}");
                return Ok(None);
            }
            other => return Err(other.unexpected()),
        }
    }
    let flags = Flags {
        counts: counts.ok_or("--counts is missing")?,
        profiles: profiles.ok_or("--profiles is missing")?,
        write,
    };
    match row {
        Some(_) if flags.write => Err("--write counts every row: it goes without --row".into()),
        Some(row) => Ok(Some(Task::Explain(row, flags))),
        None => Ok(Some(Task::Count(flags))),
    }
}
