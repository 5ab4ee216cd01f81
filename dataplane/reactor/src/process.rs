//! What the binaries ask the kernel about themselves: cores, descriptor limit, CPU time, memory, signals.

use std::{
    fs, io,
    mem::size_of,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    path::Path,
    time::Duration,
};

/// The cores this process may run on.
pub fn cores() -> io::Result<Vec<usize>> {
    // SAFETY: all zeroes is an empty set; the kernel writes at most `size_of` bytes into it.
    let (asked, set) = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set), set)
    };
    check(asked)?;
    // SAFETY: each index is below the set's size.
    Ok((0..libc::CPU_SETSIZE as usize).filter(|&core| unsafe { libc::CPU_ISSET(core, &set) }).collect())
}

/// Bytes of the kernel's generator, which was seeded long before this process began.
pub fn random() -> [u8; 16] {
    let mut bytes = [0; 16];
    loop {
        // SAFETY: the kernel writes at most so many bytes into the array.
        let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        // A signal may interrupt it; so few bytes come as a whole.
        if usize::try_from(got) == Ok(bytes.len()) {
            return bytes;
        }
    }
}

/// A thread of this process, as the kernel numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Thread(libc::pid_t);

impl Thread {
    /// The calling one.
    pub fn current() -> Self {
        // SAFETY: no pointers, and it cannot fail.
        Self(unsafe { libc::gettid() })
    }

    /// Lets it run on these cores only.
    pub fn keep_on(self, cores: &[usize]) -> io::Result<()> {
        if cores.iter().any(|core| *core >= libc::CPU_SETSIZE as usize) {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        // SAFETY: all zeroes is an empty set, each core is below its size, and the kernel only reads it.
        check(unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            cores.iter().for_each(|core| libc::CPU_SET(*core, &mut set));
            libc::sched_setaffinity(self.0, size_of::<libc::cpu_set_t>(), &set)
        })
    }

    /// What it had of processors so far.
    pub fn scheduled(self) -> io::Result<Scheduled> {
        let text = fs::read_to_string(format!("/proc/self/task/{}/schedstat", self.0))?;
        let mut numbers = text.split_whitespace().map(|number| number.parse().map(Duration::from_nanos));
        match (numbers.next(), numbers.next()) {
            (Some(Ok(ran)), Some(Ok(waited))) => Ok(Scheduled { ran, waited }),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Scheduled {
    pub ran: Duration,
    /// It would have run, and others did.
    pub waited: Duration,
}

/// Forbids huge pages for this process. To clear a huge page, and to move others out of its way, delays a worker for
/// milliseconds each time that its memory grows. With 9,400 clients that read nothing, the 99th percentile of other
/// clients' requests was 3.4 ms without huge pages, and 8.6 ms with them.
pub fn forgo_huge_pages() -> io::Result<()> {
    let none: libc::c_ulong = 0;
    // SAFETY: no pointers; the kernel wants what it does not use to be zero.
    check(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1 as libc::c_ulong, none, none, none) })
}

/// Raises the soft limit of open descriptors to the hard one; returns it.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives both calls.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    Ok(limit.rlim_cur)
}

/// For more descriptors than this, room is not made in advance: each takes 8 bytes of the kernel's memory.
const DESCRIPTORS_AT_ONCE: u64 = 1 << 20;

/// Makes room for this many descriptors in the kernel's table. Call it before any other thread starts. Each time that
/// the table of several threads doubles, the thread that needs a descriptor waits for 8 to 20 ms, until no core can use
/// the old table.
pub fn make_room_for_descriptors(count: u64) -> io::Result<()> {
    let last = count.min(DESCRIPTORS_AT_ONCE).saturating_sub(1) as libc::c_int;
    let any = fs::File::open("/dev/null")?;
    // SAFETY: no pointers; the descriptor returned is checked before it is owned.
    let far = unsafe { libc::fcntl(any.as_raw_fd(), libc::F_DUPFD_CLOEXEC, last) };
    check(far)?;
    // SAFETY: it was just returned by the kernel, is open, and has no other owner.
    drop(unsafe { OwnedFd::from_raw_fd(far) });
    Ok(())
}

/// Processor time of all threads so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuTime {
    pub user: Duration,
    pub system: Duration,
}

pub fn cpu_time() -> io::Result<CpuTime> {
    // SAFETY: all zeroes is a valid `rusage`, which the kernel fills.
    let (asked, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        (libc::getrusage(libc::RUSAGE_SELF, &mut usage), usage)
    };
    check(asked)?;
    let span =
        |time: libc::timeval| Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64);
    Ok(CpuTime { user: span(usage.ru_utime), system: span(usage.ru_stime) })
}

/// Processor time of the calling thread so far.
pub fn thread_cpu_time() -> io::Result<Duration> {
    let mut spent = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spent` outlives the call.
    check(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut spent) })?;
    Ok(Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32))
}

/// The most memory that this process can have: that of the machine, or the limit of its control groups.
pub fn memory_bytes_max() -> u64 {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    let path = Path::new(GROUPS).join(group.trim_start_matches('/'));
    let paths = path.ancestors().take_while(|path| path.starts_with(GROUPS));
    let allowed = paths.filter_map(|path| fs::read_to_string(path.join("memory.max")).ok()?.trim().parse().ok());
    allowed.fold(physical_memory_bytes(), u64::min)
}

const GROUPS: &str = "/sys/fs/cgroup";

/// How many ports the kernel has for UDP sockets that are bound to none.
pub fn ports() -> usize {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    ports_in(&range).unwrap_or(PORTS_USUAL)
}

/// Linux, unless somebody changes the range.
const PORTS_USUAL: usize = 28_232;

fn ports_in(range: &str) -> Option<usize> {
    let mut ends = range.split_whitespace().map(str::parse::<usize>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (last + 1).checked_sub(first).filter(|ports| *ports > 0)
}

fn physical_memory_bytes() -> u64 {
    // SAFETY: no pointers.
    let (pages, page_bytes) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or_default() * u64::try_from(page_bytes).unwrap_or_default()
}

/// Memory in use, as the kernel counts it.
pub fn resident_bytes() -> io::Result<u64> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    // SAFETY: no pointers.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    pages.map(|pages| pages * page_bytes).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
}

/// SIGTERM and SIGINT, taken synchronously by one thread instead of interrupting any.
pub struct Termination(libc::sigset_t);

impl Termination {
    /// To be called before any other thread starts: threads inherit what is blocked.
    pub fn block() -> io::Result<Self> {
        // SAFETY: `sigemptyset` initialises the set before any other use; the kernel reads it.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            check(libc::sigemptyset(&mut set))?;
            check(libc::sigaddset(&mut set, libc::SIGTERM))?;
            check(libc::sigaddset(&mut set, libc::SIGINT))?;
            match libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) {
                0 => Ok(Self(set)),
                code => Err(io::Error::from_raw_os_error(code)),
            }
        }
    }

    /// Waits for one of the signals.
    pub fn wait(&self) -> io::Result<()> {
        let mut signal = 0;
        // SAFETY: the set is initialised and `signal` outlives the call.
        match unsafe { libc::sigwait(&self.0, &mut signal) } {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(code)),
        }
    }
}

fn check(outcome: i32) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_is_kept_on_the_cores_it_is_told_and_let_go_again() {
        let all = cores().unwrap();
        let last = *all.last().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || {
            loop {
                tell.send((Thread::current(), cores().unwrap())).unwrap();
                if wait.recv().is_err() {
                    return;
                }
            }
        });
        let (thread, _) = told.recv().unwrap();
        for wanted in [&[last][..], &all] {
            thread.keep_on(wanted).unwrap();
            go_on.send(()).unwrap();
            assert_eq!(told.recv().unwrap().1, wanted);
        }
        drop(go_on);
        other.join().unwrap();
        assert!(Thread::current().keep_on(&[1_000_000]).is_err());
    }

    #[test]
    fn ports_are_those_from_the_first_to_the_last_of_the_range() {
        for (range, ports) in [("32768\t60999\n", Some(28_232)), ("1024 1024", Some(1)), ("9 3", None), ("", None)] {
            assert_eq!(ports_in(range), ports);
        }
        assert_ne!(ports(), 0);
    }

    #[test]
    fn thread_that_works_is_seen_to_run() {
        let before = Thread::current().scheduled().unwrap();
        let mut sum = 1u64;
        while Thread::current().scheduled().unwrap().ran < before.ran + Duration::from_millis(2) {
            sum = (0..100_000u64).fold(sum, |sum, n| std::hint::black_box(sum ^ n.wrapping_mul(sum | 1)));
        }
    }

    #[test]
    fn thread_counts_its_own_time_only() {
        let before = thread_cpu_time().unwrap();
        let others = std::thread::spawn(|| {
            while thread_cpu_time().unwrap() < Duration::from_millis(30) {}
            thread_cpu_time().unwrap()
        });
        let others = others.join().unwrap();
        assert!(others >= Duration::from_millis(30));
        assert!(thread_cpu_time().unwrap() - before < others, "it only waited");
    }

    #[test]
    fn counts_own_time_and_memory() {
        let before = cpu_time().unwrap();
        let busy = (0..20_000_000u64).fold(0u64, |sum, n| std::hint::black_box(sum ^ n.wrapping_mul(sum | 1)));
        std::hint::black_box(busy);
        let after = cpu_time().unwrap();
        assert!(after.user + after.system > before.user + before.system);
        assert!(resident_bytes().unwrap() > 100_000);
        assert!(raise_descriptor_limit().unwrap() > 0);
    }
}
