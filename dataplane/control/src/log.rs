//! Log lines for the operator on standard error: a level and a message per line. Nothing is logged per request.

use std::{
    fmt::{self, Display},
    io::Write,
    str::FromStr,
    sync::atomic::{AtomicU8, Ordering},
};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
}

static LEVEL: AtomicU8 = AtomicU8::new(Level::Info as u8);

impl FromStr for Level {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        [Level::Error, Level::Warn, Level::Info, Level::Debug]
            .into_iter()
            .find(|level| level.to_string() == name)
            .ok_or_else(|| format!("{name:?} is no log level; use error, warn, info or debug"))
    }
}

impl Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
        })
    }
}

/// Suppresses lines below `level` from now on.
pub fn set_level(level: Level) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

pub fn error(message: impl Display) {
    write(Level::Error, message);
}

pub fn warn(message: impl Display) {
    write(Level::Warn, message);
}

pub fn info(message: impl Display) {
    write(Level::Info, message);
}

pub fn debug(message: impl Display) {
    write(Level::Debug, message);
}

fn write(level: Level, message: impl Display) {
    if level as u8 <= LEVEL.load(Ordering::Relaxed) {
        // If standard error is closed, nobody can be told.
        let _ = std::io::stderr().write_all(line(level, message).as_bytes());
    }
}

fn line(level: Level, message: impl Display) -> String {
    format!("level={level} msg={:?}\n", message.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_stays_on_one_line() {
        assert_eq!(line(Level::Warn, "a \"b\"\nc"), "level=warn msg=\"a \\\"b\\\"\\nc\"\n");
    }

    #[test]
    fn level_reads_its_own_name() {
        assert_eq!("debug".parse(), Ok(Level::Debug));
        assert!("loud".parse::<Level>().unwrap_err().contains("use error, warn, info or debug"));
    }
}
