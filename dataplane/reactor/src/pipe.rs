//! Pipes through which bytes go from one socket to another without being copied into this process: splice(2) moves
//! pages, where read and write copy them. 512 KB cost half of what they cost through a 64 KiB buffer, and an eighth of
//! the system calls.
//!
//! A relay has a pipe only while it holds bytes, so a few pipes serve thousands of connections.

use std::{
    cell::Cell,
    io::{self, IoSlice},
    net::TcpStream,
    os::fd::{AsRawFd, OwnedFd},
    rc::Rc,
};

use crate::socket;

/// The capacity of one pipe: the most that an unprivileged user may ask for. If all pipes of such a user together
/// exceed 64 MiB, the kernel gives less, down to a page or two. Then a relay moves less at a time.
pub const PIPE_BYTES: usize = 1024 * 1024;

pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    /// Bytes in it.
    pub held: usize,
    made: Rc<Cell<usize>>,
}

pub struct Pipes {
    idle: Vec<Pipe>,
    made: Rc<Cell<usize>>,
    most: usize,
}

impl Pipes {
    /// The limit of pipes. When all of them are full, bytes are copied as they are without pipes.
    pub fn new(most: usize) -> Self {
        Self { idle: Vec::new(), made: Rc::default(), most }
    }

    /// An empty pipe; `None` if the limit is reached, or the kernel gives none.
    pub fn take(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.idle.pop() {
            return Some(pipe);
        }
        if self.made.get() >= self.most {
            return None;
        }
        self.make(PIPE_BYTES).ok()
    }

    /// A single pipe that takes no more than `bytes`.
    #[cfg(test)]
    pub fn of_one(bytes: usize) -> Self {
        let mut pipes = Self::new(1);
        let pipe = pipes.make(bytes).unwrap();
        pipes.idle.push(pipe);
        pipes
    }

    fn make(&mut self, bytes: usize) -> io::Result<Pipe> {
        let (read, write) = socket::pipe(bytes)?;
        self.made.set(self.made.get() + 1);
        Ok(Pipe { read, write, held: 0, made: self.made.clone() })
    }

    /// Keeps a pipe for the next relay. What is still in one goes with it.
    pub fn put_back(&mut self, pipe: Pipe) {
        if pipe.held == 0 {
            self.idle.push(pipe);
        }
    }
}

impl Pipe {
    /// Moves up to `bytes` out of a socket. 0: the peer has ended.
    pub fn fill(&mut self, from: &TcpStream, bytes: usize) -> io::Result<usize> {
        let moved = socket::splice(from.as_raw_fd(), self.write.as_raw_fd(), bytes.min(PIPE_BYTES))?;
        self.held += moved;
        Ok(moved)
    }

    /// Takes the pages of memory that does not change, as many as it has room for.
    pub fn lend(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        let lent = socket::lend(self.write.as_raw_fd(), pieces)?;
        self.held += lent;
        Ok(lent)
    }

    /// Moves what is in it into a socket, as far as that takes it.
    pub fn drain(&mut self, to: &TcpStream) -> io::Result<usize> {
        let moved = socket::splice(self.read.as_raw_fd(), to.as_raw_fd(), self.held)?;
        self.held -= moved;
        Ok(moved)
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.made.set(self.made.get() - 1);
    }
}
