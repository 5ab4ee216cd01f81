//! What can go wrong on the link, by whose doing.

use std::{fmt, io, path::PathBuf};

#[derive(Debug)]
pub enum Error {
    // The environment's.
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
    // The agent's.
    FrameTooLong {
        bytes: usize,
        most: usize,
    },
    BadFrame(String),
    BadSockets(String),
    /// It did not greet as an agent does.
    NoGreeting,
    /// Nothing came for too long.
    Silent,
    /// Another user's process.
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
            Error::NoGreeting => write!(f, "it does not greet as an agent does"),
            Error::Silent => write!(f, "it says nothing"),
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
