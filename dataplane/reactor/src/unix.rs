//! Passes descriptors over a unix socket (SCM_RIGHTS), to hand listening sockets from agent to data plane. The calls
//! block; only the control thread uses them.

use std::{
    io,
    mem::size_of,
    os::{
        fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
};

use weir_proxy::io::{Protocol, TransportAddress};

use crate::socket;

/// Most descriptors in one message; the kernel's bound is 253.
pub const FDS_MAX: usize = 250;

const CONTROL_BYTES: usize = 1024;

/// Where a socket for clients is bound, and for which protocol.
pub fn bound_to(fd: BorrowedFd<'_>) -> io::Result<TransportAddress> {
    let address = socket::bound_to(fd)?;
    let protocol = if socket::takes_datagrams(fd) { Protocol::Udp } else { Protocol::Tcp };
    Ok(TransportAddress { protocol, address })
}

/// Aligned as the kernel's header wants it.
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// Whose process is at the other end, as it was when it connected.
pub fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `bytes` into `credentials`, and how many into `bytes`; both outlive the call.
    let asked = unsafe {
        let into = (&raw mut credentials).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, into, &mut bytes)
    };
    if asked < 0 { Err(io::Error::last_os_error()) } else { Ok(credentials.uid) }
}

/// This process's user.
pub fn own_uid() -> u32 {
    // SAFETY: no pointers, and it cannot fail.
    unsafe { libc::geteuid() }
}

/// Sends the beginning of `bytes`, with `fds` beside it, and returns the number of bytes sent. `bytes` must not be
/// empty.
pub fn send(stream: &UnixStream, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<usize> {
    if fds.len() > FDS_MAX || bytes.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "no bytes, or more than 250 descriptors, in a message",
        ));
    }
    let mut control = Control([0; CONTROL_BYTES]);
    let mut vector = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let mut message = header(&mut vector, &mut control);
    if fds.is_empty() {
        message.msg_controllen = 0;
    } else {
        let fds_bytes = (fds.len() * size_of::<RawFd>()) as u32;
        // SAFETY: CMSG_SPACE only computes; 250 descriptors need 1016 bytes and `control` has 1024, so the first header
        // and its data lie inside it.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(fds_bytes) as usize;
            let first = libc::CMSG_FIRSTHDR(&message);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(fds_bytes) as usize;
            let data = libc::CMSG_DATA(first).cast::<RawFd>();
            for (index, fd) in fds.iter().enumerate() {
                data.add(index).write_unaligned(fd.as_raw_fd());
            }
        }
    }
    // SAFETY: `message` points at `vector` and `control`, which outlive the call; the kernel reads only.
    let sent = unsafe { libc::sendmsg(stream.as_raw_fd(), &message, libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Receives into `room`, and appends the descriptors that came beside. Returns the number of bytes, 0 at the end.
pub fn receive(stream: &UnixStream, room: &mut [u8], fds: &mut Vec<OwnedFd>) -> io::Result<usize> {
    let mut control = Control([0; CONTROL_BYTES]);
    let mut vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    let mut message = header(&mut vector, &mut control);
    // SAFETY: `message` points at `vector` (the caller's room) and `control`, both writable and alive for the call.
    let got = unsafe { libc::recvmsg(stream.as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    take_fds(&message, fds);
    if message.msg_flags & libc::MSG_CTRUNC != 0 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "more descriptors in a message than there is room for"));
    }
    Ok(got)
}

fn take_fds(message: &libc::msghdr, fds: &mut Vec<OwnedFd>) {
    // SAFETY: the kernel filled the control buffer and its length; the CMSG functions stay inside it, and each
    // descriptor in an SCM_RIGHTS header is open and ours alone.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(current) = header.as_ref() {
            if current.cmsg_level == libc::SOL_SOCKET && current.cmsg_type == libc::SCM_RIGHTS {
                let bytes = current.cmsg_len - libc::CMSG_LEN(0) as usize;
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                for index in 0..bytes / size_of::<RawFd>() {
                    fds.push(OwnedFd::from_raw_fd(data.add(index).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
}

fn header(vector: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: all zeroes is a valid `msghdr`.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = vector;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES;
    message
}

#[cfg(test)]
mod tests {
    use std::{net::TcpListener, os::fd::AsFd};

    use super::*;

    #[test]
    fn passes_as_many_descriptors_as_a_frame_may_have() {
        let (here, there) = UnixStream::pair().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(send(&here, b"frame", &[listener.as_fd(); FDS_MAX]).unwrap(), 5);
        let (mut room, mut fds) = ([0; 16], Vec::new());
        assert_eq!(receive(&there, &mut room, &mut fds).unwrap(), 5);
        assert_eq!((&room[..5], fds.len()), (&b"frame"[..], FDS_MAX));
        let passed = TcpListener::from(fds.remove(FDS_MAX - 1));
        assert_eq!(passed.local_addr().unwrap(), listener.local_addr().unwrap());
    }

    #[test]
    fn reports_end_of_stream() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(here);
        assert_eq!(receive(&there, &mut [0; 4], &mut Vec::new()).unwrap(), 0);
    }
}
