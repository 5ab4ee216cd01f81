//! A thin layer over epoll and eventfd: which descriptors are ready, and how another thread interrupts the wait. It
//! never interprets a token; the driver does.

use std::{
    fs::File,
    io::{self, Write},
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
    sync::Arc,
    time::Duration,
};

/// How many descriptors one wait reports; the others come with the next.
const BATCH: usize = 128;

pub const READABLE: u32 = libc::EPOLLIN as u32;
pub const WRITABLE: u32 = libc::EPOLLOUT as u32;
pub const PEER_DONE: u32 = libc::EPOLLRDHUP as u32;
pub const FAILED: u32 = libc::EPOLLERR as u32;
pub const OVER: u32 = libc::EPOLLHUP as u32;
pub const EDGE: u32 = libc::EPOLLET as u32;

const WAKE: u64 = u64::MAX;

pub struct Poller {
    epoll: OwnedFd,
    wake: Waker,
}

/// Interrupts the wait of one reactor, from any thread.
#[derive(Clone)]
pub struct Waker(Arc<File>);

impl Waker {
    pub fn wake(&self) {
        // Fails only when 2^64 - 2 wakes are pending, and then the wait is interrupted anyway.
        let _ = (&*self.0).write(&1u64.to_ne_bytes());
    }
}

/// The reports of one wait; reused from wait to wait.
pub struct Reports(Vec<libc::epoll_event>);

impl Default for Reports {
    fn default() -> Self {
        Self(Vec::with_capacity(BATCH))
    }
}

#[derive(Clone, Copy)]
pub struct Report {
    pub token: u64,
    pub what: u32,
}

impl Report {
    pub fn has(self, what: u32) -> bool {
        self.what & what != 0
    }
}

impl Reports {
    /// What became ready, without the wake; and whether a wake was among it.
    pub fn each(&self) -> impl Iterator<Item = Report> + '_ {
        self.0.iter().map(|e| Report { token: e.u64, what: e.events }).filter(|r| r.token != WAKE)
    }

    pub fn woken(&self) -> bool {
        self.0.iter().any(|e| e.u64 == WAKE)
    }
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers; the returned descriptor is checked before it is owned.
        let epoll = owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: as above.
        let event = owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        let poller = Self { epoll, wake: Waker(Arc::new(File::from(event))) };
        // Edge-triggered, so that each wake is reported once and the counter need not be read.
        poller.add(poller.wake.0.as_fd(), READABLE | EDGE, WAKE)?;
        Ok(poller)
    }

    pub fn waker(&self) -> Waker {
        self.wake.clone()
    }

    pub fn add(&self, fd: BorrowedFd<'_>, what: u32, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, what, token)
    }

    pub fn change(&self, fd: BorrowedFd<'_>, what: u32, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, what, token)
    }

    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_DEL, fd, 0, 0)
    }

    fn control(&self, operation: i32, fd: BorrowedFd<'_>, what: u32, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: what, u64: token };
        // SAFETY: both descriptors are open, `event` outlives the call, which only reads it.
        let done = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd.as_raw_fd(), &mut event) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Waits until something is ready, or for `wait` (`None`: without limit), but never shorter than that.
    pub fn wait(&self, wait: Option<Duration>, reports: &mut Reports) -> io::Result<()> {
        let wait = wait.map(|wait| libc::timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: wait.subsec_nanos().into(),
        });
        let wait = wait.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        reports.0.clear();
        let room = reports.0.spare_capacity_mut();
        let (epoll, at, len) = (self.epoll.as_raw_fd(), room.as_mut_ptr(), room.len());
        let mask = std::ptr::null::<libc::sigset_t>();
        // epoll_wait counts in milliseconds, too coarse for who starts requests at a fixed rate.
        // SAFETY: the kernel writes at most `len` events into `room`, which has space for as many, and reads `wait`.
        let found = unsafe { libc::syscall(libc::SYS_epoll_pwait2, epoll, at, len, wait, mask, 0usize) };
        let Ok(found) = usize::try_from(found) else {
            let err = io::Error::last_os_error();
            return if err.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(err) };
        };
        // SAFETY: the kernel has written `found` events, and `found` is within the capacity.
        unsafe { reports.0.set_len(found) };
        Ok(())
    }
}

fn owned(fd: i32) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just returned by the kernel, is open, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_each_wake_once() {
        let poller = Poller::new().unwrap();
        let mut reports = Reports::default();
        let waker = poller.waker();
        std::thread::spawn(move || waker.wake()).join().unwrap();
        poller.wait(None, &mut reports).unwrap();
        assert!(reports.woken());
        poller.wait(Some(Duration::ZERO), &mut reports).unwrap();
        assert!(!reports.woken());
        poller.waker().wake();
        poller.wait(None, &mut reports).unwrap();
        assert!(reports.woken());
        assert_eq!(reports.each().count(), 0);
    }
}
