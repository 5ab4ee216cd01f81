//! What can go wrong on the link, by who caused it.

use std::{fmt, io, path::PathBuf};

#[derive(Debug)]
pub enum Error {
    // Caused by the environment.
    /// The socket cannot be served at this path.
    Bind {
        path: PathBuf,
        why: io::Error,
    },
    /// Another data plane answers at this path.
    InUse {
        path: PathBuf,
    },
    Io(io::Error),
    // Caused by the agent.
    FrameTooLong {
        bytes: usize,
        most: usize,
    },
    BadFrame(String),
    BadSockets(String),
    /// The first frame was no greeting.
    NoGreeting,
    /// Nothing arrived in time.
    Silent,
    /// The peer is a process of another user.
    Foreign {
        uid: u32,
    },
    /// The stream ended, between two frames or inside one.
    Closed,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Bind { path, why } => {
                write!(f, "cannot serve the control socket at {}: {why}; choose another with --socket", path.display())
            }
            Error::InUse { path } => {
                write!(f, "another data plane serves {}; stop it or choose another path with --socket", path.display())
            }
            Error::Io(why) => write!(f, "{why}"),
            Error::FrameTooLong { bytes, most } => {
                write!(f, "a frame of {bytes} bytes is longer than the {most} allowed")
            }
            Error::BadFrame(why) => write!(f, "a frame cannot be decoded: {why}"),
            Error::BadSockets(why) => write!(f, "sockets refused: {why}"),
            Error::NoGreeting => write!(f, "its first frame is not a greeting"),
            Error::Silent => write!(f, "it sent nothing in time"),
            Error::Foreign { uid } => write!(f, "it is a process of another user ({uid})"),
            Error::Closed => write!(f, "the agent closed the link"),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(why: io::Error) -> Self {
        Error::Io(why)
    }
}
