//! The command line.

use std::{ffi::OsString, path::PathBuf};

use lexopt::{Arg, Parser, ValueExt};
use weir_control::log::Level;

const HELP: &str = "\
The data plane of a Weir engine: takes client connections, balances them over servers.

It is started and commanded by the agent (weir agent), which gives it listening sockets and a Plan over a unix
socket. It keeps serving when the agent goes away; the next agent that connects takes over.

Usage: weir-dataplane --socket PATH [options]

  --socket PATH      unix socket to serve for the agent (created with mode 0600)
  --workers N        worker threads; default: one for each core this process may use
  --no-pin           do not pin workers to cores, whatever the Plan says
  --log-level LEVEL  error, warn, info or debug; default: info. Logs go to standard error
  --version          print the version, and that of the TLS library
  --help             print this

Signals: SIGTERM or SIGINT ends each connection with its response, then the process (30 s at most); a second one
ends it at once. Exit status: 0 drained, 1 failed, 2 wrong command line.

Example, as the agent starts it:
  weir-dataplane --socket /run/weir/dataplane.sock --workers 4
";

const WORKERS_MAX: usize = 1024;

#[derive(PartialEq, Eq, Debug)]
pub struct Flags {
    pub socket: PathBuf,
    pub workers: Option<usize>,
    pub pin: bool,
    pub log_level: Level,
}

/// `None` if the output has been printed already (help or version).
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Option<Flags>, lexopt::Error> {
    let mut parser = Parser::from_iter(args);
    let (mut socket, mut workers, mut pin, mut log_level) = (None, None, true, Level::Info);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Long("socket") => socket = Some(PathBuf::from(parser.value()?)),
            Arg::Long("workers") => workers = Some(parser.value()?.parse_with(worker_count)?),
            Arg::Long("no-pin") => pin = false,
            Arg::Long("log-level") => log_level = parser.value()?.parse()?,
            Arg::Long("help") | Arg::Short('h') => return print(HELP),
            Arg::Long("version") => return print(&version()),
            other => return Err(other.unexpected()),
        }
    }
    let socket = socket.ok_or("--socket PATH is missing: the unix socket on which to serve the agent")?;
    Ok(Some(Flags { socket, workers, pin, log_level }))
}

fn version() -> String {
    format!("weir-dataplane {}\nTLS: {}\n", crate::VERSION, weir_tls::LIBRARIES)
}

fn print(text: &str) -> Result<Option<Flags>, lexopt::Error> {
    print!("{text}");
    Ok(None)
}

fn worker_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=WORKERS_MAX) => Ok(count),
        _ => Err(format!("--workers is a number from 1 to {WORKERS_MAX}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<Flags>, String> {
        parse(line.split(' ').map(OsString::from)).map_err(|why| why.to_string())
    }

    #[test]
    fn reads_every_flag() {
        let flags = parsed("weir-dataplane --socket /run/x --workers 3 --no-pin --log-level debug").unwrap();
        let expected = Flags { socket: "/run/x".into(), workers: Some(3), pin: false, log_level: Level::Debug };
        assert_eq!(flags, Some(expected));
    }

    #[test]
    fn version_names_the_tls_library_on_a_line_of_its_own() {
        assert!(version().lines().any(|line| line.starts_with("TLS: rustls ")), "{}", version());
    }

    #[test]
    fn says_what_is_wrong_with_a_flag() {
        assert!(parsed("weir-dataplane").unwrap_err().contains("--socket PATH is missing"));
        assert!(parsed("weir-dataplane --workers 0").unwrap_err().contains("from 1 to 1024"));
        assert!(parsed("weir-dataplane --log-level loud").unwrap_err().contains("error, warn, info or debug"));
        assert!(parsed("weir-dataplane --sockets x").unwrap_err().contains("--sockets"));
    }
}
