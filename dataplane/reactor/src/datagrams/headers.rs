//! The two system calls that carry many datagrams at once, and the lists of headers that they need. The lists are reused.

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsRawFd, BorrowedFd},
};

use weir_proxy::datagrams::io::Datagram;

use super::{TAKE_MAX, arena::Arena};
use crate::socket;

pub(super) struct Headers {
    messages: Vec<libc::mmsghdr>,
    vectors: Vec<libc::iovec>,
    names: Vec<libc::sockaddr_storage>,
}

impl Headers {
    pub fn new() -> Self {
        let list = || 0..TAKE_MAX;
        Self {
            // SAFETY: all zeroes is a valid header without address, bytes or control data.
            messages: list().map(|_| unsafe { std::mem::zeroed() }).collect(),
            vectors: list().map(|_| libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }).collect(),
            // SAFETY: all zeroes is a valid address of no family.
            names: list().map(|_| unsafe { std::mem::zeroed() }).collect(),
        }
    }

    /// Receives up to `most` datagrams into the next free slots of `arena`, and returns how many. At most [`TAKE_MAX`]
    /// come, and no more than the arena has room for.
    pub fn receive(&mut self, from: BorrowedFd<'_>, arena: &mut Arena, most: usize) -> io::Result<usize> {
        let most = most.min(TAKE_MAX).min(arena.room());
        for (index, slot) in arena.free(most).enumerate() {
            self.vectors[index] = libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: slot.len() };
            let name_bytes = size_of::<libc::sockaddr_storage>();
            self.point(index, name_bytes as libc::socklen_t);
        }
        let (messages, flags) = (self.messages.as_mut_ptr(), libc::MSG_DONTWAIT);
        // SAFETY: the first `most` headers point at distinct slots of the arena and entries of our lists, with their
        // lengths. All of them outlive the call, and nothing else uses them meanwhile.
        let count = unsafe {
            libc::recvmmsg(from.as_raw_fd(), messages, most as libc::c_uint, flags as _, std::ptr::null_mut())
        };
        let count = usize::try_from(count).map_err(|_| io::Error::last_os_error())?;
        self.messages[..count].iter().for_each(|message| arena.fill(message.msg_len as usize));
        Ok(count)
    }

    /// The peers of the datagrams that the last call received; `None` for an address of an unknown family.
    pub fn peers(&self, count: usize) -> impl Iterator<Item = Option<SocketAddr>> {
        self.names[..count].iter().map(|name| socket::address(name).ok())
    }

    /// Sends datagrams of `arena`, each to its own address, or all to the peer of a connected socket. At most
    /// [`TAKE_MAX`] are looked at.
    ///
    /// # Errors
    /// The first datagram was not sent.
    pub fn send(
        &mut self,
        on: BorrowedFd<'_>,
        arena: &Arena,
        datagrams: impl Iterator<Item = (Datagram, Option<SocketAddr>)>,
    ) -> io::Result<usize> {
        let mut count = 0;
        for (index, (datagram, to)) in datagrams.take(TAKE_MAX).enumerate() {
            let bytes = arena.bytes(datagram);
            self.vectors[index] = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
            let mut name_bytes = 0;
            if let Some(to) = to {
                (self.names[index], name_bytes) = socket::raw(&to);
            }
            self.point(index, name_bytes);
            count += 1;
        }
        let (messages, flags) = (self.messages.as_mut_ptr(), libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL);
        // SAFETY: the first `count` headers point at datagrams of the arena, which the kernel only reads, and at entries
        // of our lists. All of them outlive the call.
        let sent = unsafe { libc::sendmmsg(on.as_raw_fd(), messages, count as libc::c_uint, flags as _) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Has a header point at the entries of its index.
    fn point(&mut self, index: usize, name_bytes: libc::socklen_t) {
        let name: *mut libc::sockaddr_storage = &raw mut self.names[index];
        let header = &mut self.messages[index].msg_hdr;
        header.msg_name = if name_bytes == 0 { std::ptr::null_mut() } else { name.cast() };
        header.msg_namelen = name_bytes;
        header.msg_iov = &raw mut self.vectors[index];
        header.msg_iovlen = 1;
    }
}
