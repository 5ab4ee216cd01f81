//! The two system calls that carry many datagrams at once, and the lists of headers that they need. The lists are reused.
//!
//! A header carries a datagram, or a *train*: datagrams of the same length for the same peer, which pass the kernel's
//! protocols as one (UDP_SEGMENT, UDP_GRO). Only the last datagram of a train may be shorter.

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsRawFd, BorrowedFd},
};

use weir_proxy::datagrams::io::Datagram;

use super::{TAKE_MAX, arena::Arena};
use crate::socket;

/// All kernels that know trains send this many datagrams in one, and as many bytes as a datagram of IPv4 has.
const TRAIN_DATAGRAMS_MAX: usize = 64;
const TRAIN_BYTES_MAX: usize = 65_507;
/// The maximum of pieces of memory that one call sends. Datagrams that were received as a train are one.
const VECTORS: usize = 128;

pub(super) struct Headers {
    messages: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
    names: Vec<libc::sockaddr_storage>,
    controls: Vec<Control>,
    trains: Vec<Train>,
}

/// Room for a control message of one number, which says how long the datagrams of a train are.
#[derive(Clone, Copy, Default)]
#[repr(C, align(8))]
struct Control([u8; 24]);

/// What a header is to send.
#[derive(Clone, Copy)]
struct Train {
    to: Option<SocketAddr>,
    datagrams: usize,
    bytes: usize,
    /// The length of each datagram but the last.
    each: usize,
    vectors: usize,
    is_full: bool,
}

/// Why the first datagram or train was not sent.
pub(super) struct Unsent {
    pub error: io::Error,
    pub datagrams: usize,
    /// The length of each.
    pub each: usize,
}

impl Unsent {
    pub fn one(error: io::Error) -> Self {
        Self { error, datagrams: 1, each: 0 }
    }

    /// The datagrams can only be sent one by one: they are too long for a train on this route, or its device cannot
    /// compute checksums.
    pub fn is_no_train(&self) -> bool {
        let refusals = [libc::EINVAL, libc::EMSGSIZE, libc::EIO];
        self.datagrams > 1 && self.error.raw_os_error().is_some_and(|code| refusals.contains(&code))
    }
}

impl Headers {
    pub fn new() -> Self {
        let list = || 0..TAKE_MAX;
        Self {
            // SAFETY: all zeroes is a valid header without address, bytes or control data.
            messages: list().map(|_| unsafe { std::mem::zeroed() }).collect(),
            vectors: (0..VECTORS).map(|_| vector(&[])).collect(),
            // SAFETY: all zeroes is a valid address of no family.
            names: list().map(|_| unsafe { std::mem::zeroed() }).collect(),
            controls: vec![Control::default(); TAKE_MAX],
            trains: Vec::with_capacity(TAKE_MAX),
        }
    }

    /// Receives up to `most` datagrams or trains into the next free slots of `arena`, and returns how many. At most
    /// [`TAKE_MAX`] come, and no more than the arena has room for. A socket that `takes_trains` has UDP_GRO.
    pub fn receive(
        &mut self,
        from: BorrowedFd<'_>,
        arena: &mut Arena,
        most: usize,
        takes_trains: bool,
    ) -> io::Result<usize> {
        let most = most.min(TAKE_MAX).min(arena.room());
        for (index, slot) in arena.free(most).enumerate() {
            self.vectors[index] = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
            let name_bytes = size_of::<libc::sockaddr_storage>();
            self.point(index, name_bytes as libc::socklen_t, index..index + 1, takes_trains);
        }
        let (messages, flags) = (self.messages.as_mut_ptr(), libc::MSG_DONTWAIT);
        // SAFETY: the first `most` headers point at distinct slots of the arena and entries of our lists, with their
        // lengths. All of them outlive the call, and nothing else uses them meanwhile.
        let count = unsafe {
            libc::recvmmsg(from.as_raw_fd(), messages, most as libc::c_uint, flags as _, std::ptr::null_mut())
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        for (message, control) in self.messages[..count].iter().zip(&self.controls) {
            let each = if takes_trains { control.length_of_each(&message.msg_hdr) } else { 0 };
            arena.fill(message.msg_len as usize, each);
        }
        Ok(count)
    }

    /// The peers of the datagrams or trains that the last call received; `None` for an address of an unknown family.
    pub fn peers(&self, count: usize) -> impl Iterator<Item = Option<SocketAddr>> {
        self.names[..count].iter().map(|name| socket::address(name).ok())
    }

    /// Sends datagrams of `arena`, each to its own address, or all to the peer of a connected socket. Neighbours of the
    /// same length and address go as a train, if they are no longer than `train_each_max`. Returns how many datagrams
    /// were sent. They may be fewer than there are.
    pub fn send(
        &mut self,
        on: BorrowedFd<'_>,
        arena: &Arena,
        datagrams: impl Iterator<Item = (Datagram, Option<SocketAddr>)>,
        train_each_max: usize,
    ) -> Result<usize, Unsent> {
        self.couple(arena, datagrams, train_each_max);
        let mut vectors = 0;
        for index in 0..self.trains.len() {
            let train = self.trains[index];
            let mut name_bytes = 0;
            if let Some(to) = train.to {
                (self.names[index], name_bytes) = socket::raw(&to);
            }
            if train.datagrams > 1 {
                self.controls[index] = Control::of_train(train.each);
            }
            self.point(index, name_bytes, vectors..vectors + train.vectors, train.datagrams > 1);
            vectors += train.vectors;
        }
        let (messages, flags) = (self.messages.as_mut_ptr(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
        let count = self.trains.len() as libc::c_uint;
        // SAFETY: the first `count` headers point at datagrams of the arena, which the kernel only reads, and at entries
        // of our lists. All of them outlive the call.
        let sent = unsafe { libc::sendmmsg(on.as_raw_fd(), messages, count, flags as _) };
        let Ok(sent) = usize::try_from(sent) else {
            let (datagrams, each) = self.trains.first().map_or((1, 0), |train| (train.datagrams, train.each));
            return Err(Unsent { error: io::Error::last_os_error(), datagrams, each });
        };
        Ok(self.trains[..sent].iter().map(|train| train.datagrams).sum())
    }

    /// Makes trains of the first datagrams, as many as one call sends, and a list of the memory that they are in.
    fn couple(
        &mut self,
        arena: &Arena,
        datagrams: impl Iterator<Item = (Datagram, Option<SocketAddr>)>,
        train_each_max: usize,
    ) {
        self.trains.clear();
        let mut vectors = 0;
        for (datagram, to) in datagrams {
            let bytes = arena.bytes(datagram);
            let last = self.trains.last_mut().filter(|train| train.takes(to, bytes.len(), train_each_max));
            let Some(train) = last else {
                if self.trains.len() == TAKE_MAX || vectors == VECTORS {
                    return;
                }
                self.vectors[vectors] = vector(bytes);
                vectors += 1;
                self.trains.push(Train::of_one(to, bytes.len()));
                continue;
            };
            let behind = &mut self.vectors[vectors - 1];
            if behind.iov_base.cast_const().cast::<u8>().wrapping_add(behind.iov_len) == bytes.as_ptr() {
                behind.iov_len += bytes.len();
            } else if vectors < VECTORS {
                self.vectors[vectors] = vector(bytes);
                (vectors, train.vectors) = (vectors + 1, train.vectors + 1);
            } else {
                return;
            }
            train.take(bytes.len());
        }
    }

    /// Has a header point at the entries of its index, and at these pieces of memory.
    fn point(&mut self, index: usize, name_bytes: libc::socklen_t, vectors: std::ops::Range<usize>, has_control: bool) {
        let name: *mut libc::sockaddr_storage = &raw mut self.names[index];
        let control: *mut Control = &raw mut self.controls[index];
        let header = &mut self.messages[index].msg_hdr;
        header.msg_name = if name_bytes == 0 { std::ptr::null_mut() } else { name.cast() };
        header.msg_namelen = name_bytes;
        header.msg_iovlen = vectors.len() as _;
        header.msg_iov = &raw mut self.vectors[vectors][0];
        header.msg_control = if has_control { control.cast() } else { std::ptr::null_mut() };
        header.msg_controllen = if has_control { size_of::<Control>() as _ } else { 0 };
    }
}

/// The memory of a datagram that is to be sent: the kernel only reads it.
fn vector(bytes: &[u8]) -> libc::iovec {
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

impl Train {
    fn of_one(to: Option<SocketAddr>, bytes: usize) -> Self {
        Self { to, datagrams: 1, bytes, each: bytes, vectors: 1, is_full: bytes == 0 }
    }

    /// Whether a datagram can be its next one.
    fn takes(&self, to: Option<SocketAddr>, bytes: usize, each_max: usize) -> bool {
        self.to == to
            && !self.is_full
            && (1..=self.each).contains(&bytes)
            && self.each <= each_max
            && self.datagrams < TRAIN_DATAGRAMS_MAX
            && self.bytes + bytes <= TRAIN_BYTES_MAX
    }

    fn take(&mut self, bytes: usize) {
        self.datagrams += 1;
        self.bytes += bytes;
        self.is_full = bytes < self.each;
    }
}

impl Control {
    /// Tells the kernel to cut a train into datagrams of this length.
    fn of_train(each: usize) -> Self {
        let mut control = Self::default();
        let header = libc::cmsghdr {
            cmsg_len: (size_of::<libc::cmsghdr>() + size_of::<u16>()) as _,
            cmsg_level: libc::SOL_UDP,
            cmsg_type: libc::UDP_SEGMENT,
        };
        // SAFETY: the memory is aligned for a header, and has room for it and the number behind it.
        unsafe {
            let at: *mut libc::cmsghdr = control.0.as_mut_ptr().cast();
            at.write(header);
            at.add(1).cast::<u16>().write_unaligned(each as u16);
        }
        control
    }

    /// How long the datagrams of a received train are; 0: it is a single datagram.
    fn length_of_each(&self, message: &libc::msghdr) -> usize {
        if message.msg_controllen < size_of::<libc::cmsghdr>() + size_of::<libc::c_int>() {
            return 0;
        }
        // SAFETY: the memory is aligned for a header, is initialised, and has room for it and the number behind it.
        let (header, each) = unsafe {
            let at: *const libc::cmsghdr = self.0.as_ptr().cast();
            (at.read(), at.add(1).cast::<libc::c_int>().read_unaligned())
        };
        let is_train = header.cmsg_level == libc::SOL_UDP && header.cmsg_type == libc::UDP_GRO;
        if is_train { each.max(0) as usize } else { 0 }
    }
}
