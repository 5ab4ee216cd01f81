//! Single system calls on sockets that the standard library does not have, or makes more expensive: non-blocking
//! accept and connect, options, reset on close. No decisions, no state.

use std::{
    io::{self, IoSlice},
    mem::{MaybeUninit, size_of},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, TcpListener, TcpStream, UdpSocket},
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
};

use weir_proxy::io::Gone;

/// Takes one connection off the backlog, non-blocking from the start.
pub fn accept(listener: &TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let mut storage = MaybeUninit::<libc::sockaddr_storage>::zeroed();
    let mut len = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: `storage` has room for `len` bytes, and both outlive the call.
    let fd = unsafe { libc::accept4(listener.as_raw_fd(), storage.as_mut_ptr().cast(), &mut len, flags) };
    let stream = TcpStream::from(owned(fd)?);
    // SAFETY: zeroed above, so initialised whatever the kernel wrote.
    let peer = address(unsafe { storage.assume_init_ref() })?;
    Ok((stream, peer))
}

/// How a server that has vanished is detected: its connections end two minutes after it fell silent, and requests that
/// wait on them fail. A response may take longer than that, because the kernel of a living server answers the probes.
const SERVER_IDLE_S: u32 = 60;
const SERVER_PROBE_S: i32 = 10;
const SERVER_PROBES: i32 = 6;

/// A non-blocking TCP socket for a connection to `to`, from `source` if one is given. It sends small writes at once,
/// and probes a silent peer.
pub fn open(to: &SocketAddr, source: Option<IpAddr>) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) };
    let stream = TcpStream::from(owned(fd)?);
    stream.set_nodelay(true)?;
    set_keepalive(&stream, SERVER_IDLE_S)?;
    set(&stream, libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, &SERVER_PROBE_S)?;
    set(&stream, libc::IPPROTO_TCP, libc::TCP_KEEPCNT, &SERVER_PROBES)?;
    if let Some(source) = source {
        // The port is chosen at connect, so that one port can serve several destinations.
        set(&stream, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, &1i32)?;
        let (storage, len) = raw(&SocketAddr::new(source, 0));
        // SAFETY: `storage` holds an address of `len` bytes.
        check(unsafe { libc::bind(stream.as_raw_fd(), (&raw const storage).cast(), len) })?;
    }
    Ok(stream)
}

/// Begins to connect; the outcome shows when the socket becomes writable or fails.
pub fn connect(stream: &TcpStream, to: &SocketAddr) -> io::Result<()> {
    let (storage, len) = raw(to);
    // SAFETY: `storage` holds an address of `len` bytes.
    let begun = check(unsafe { libc::connect(stream.as_raw_fd(), (&raw const storage).cast(), len) });
    match begun {
        Err(err) if err.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        outcome => outcome,
    }
}

/// A non-blocking UDP socket that is connected to `to`, from the address and port of a client. The error is `AddrInUse`
/// if a socket has them that does not share: not one of ours. Sockets of ours that have them differ in `to`, which the
/// caller ensures.
pub fn open_datagrams_from(client: &SocketAddr, to: &SocketAddr) -> io::Result<UdpSocket> {
    let socket = bind_transparently(client)?;
    connect_datagrams(&socket, to)?;
    Ok(socket)
}

/// Tells whether this process may send from the addresses and ports of clients of the same family as `like`.
///
/// # Errors
/// It lacks a capability: `CAP_NET_ADMIN`, or `CAP_NET_BIND_SERVICE` for ports below 1024. Or the kernel has no such
/// family.
pub fn check_client_addresses(like: IpAddr) -> io::Result<()> {
    // Addresses for documentation (RFC 5737, RFC 3849), which no client has.
    let client = match like {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::V6(_) => IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    };
    match bind_transparently(&SocketAddr::new(client, 1)) {
        Err(err) if err.kind() != io::ErrorKind::AddrInUse => Err(err),
        _ => Ok(()),
    }
}

/// A UDP socket with an address that this machine does not have (`IP_TRANSPARENT`, ip(7)). Sockets with the same address
/// and port share them.
fn bind_transparently(at: &SocketAddr) -> io::Result<UdpSocket> {
    let socket = open_datagrams(at)?;
    match at {
        SocketAddr::V4(_) => set(&socket, libc::IPPROTO_IP, libc::IP_TRANSPARENT, &1i32)?,
        SocketAddr::V6(_) => set(&socket, libc::IPPROTO_IPV6, libc::IPV6_TRANSPARENT, &1i32)?,
    }
    set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, &1i32)?;
    let (storage, len) = raw(at);
    // SAFETY: `storage` holds an address of `len` bytes.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const storage).cast(), len) })?;
    Ok(socket)
}

/// A non-blocking UDP socket for the family of an address.
pub fn open_datagrams(like: &SocketAddr) -> io::Result<UdpSocket> {
    let family = if like.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0) };
    Ok(UdpSocket::from(owned(fd)?))
}

/// Connects a UDP socket to a server. If it is bound to no port, the kernel chooses one.
pub fn connect_datagrams(socket: &UdpSocket, to: &SocketAddr) -> io::Result<()> {
    let (storage, len) = raw(to);
    // SAFETY: `storage` holds an address of `len` bytes.
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const storage).cast(), len) })
}

/// Disconnects a UDP socket whose port the kernel has chosen. The port is free then.
pub fn disconnect(socket: &UdpSocket) -> io::Result<()> {
    let nobody = libc::sockaddr { sa_family: libc::AF_UNSPEC as libc::sa_family_t, sa_data: [0; 14] };
    let len = size_of::<libc::sockaddr>() as libc::socklen_t;
    // SAFETY: `nobody` is an address of `len` bytes.
    check(unsafe { libc::connect(socket.as_raw_fd(), &raw const nobody, len) })
}

/// Drops the datagrams that wait at a non-blocking UDP socket, and errors of earlier ones. A socket with the kernel's
/// usual memory holds about 280.
pub fn drop_datagrams(socket: &UdpSocket) {
    for _ in 0..1024 {
        if matches!(socket.recv(&mut []), Err(err) if err.kind() == io::ErrorKind::WouldBlock) {
            return;
        }
    }
}

/// The address that a socket is bound to.
pub fn bound_to(fd: BorrowedFd<'_>) -> io::Result<SocketAddr> {
    let mut storage = MaybeUninit::<libc::sockaddr_storage>::zeroed();
    let mut len = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
    // SAFETY: `storage` has room for `len` bytes, and both outlive the call.
    check(unsafe { libc::getsockname(fd.as_raw_fd(), storage.as_mut_ptr().cast(), &mut len) })?;
    // SAFETY: zeroed above, so initialised whatever the kernel wrote.
    address(unsafe { storage.assume_init_ref() })
}

/// Whether `fd` is a UDP socket.
pub fn takes_datagrams(fd: BorrowedFd<'_>) -> bool {
    option(fd, libc::SOL_SOCKET, libc::SO_TYPE) == Some(libc::SOCK_DGRAM)
        && option(fd, libc::SOL_SOCKET, libc::SO_PROTOCOL) == Some(libc::IPPROTO_UDP)
}

/// Has the kernel refuse datagrams of IPv4 that are too long for the way, where it would cut them into fragments. A
/// socket of many peers sends faster without fragments: the kernel gives its datagrams no numbers. False: the operator
/// has turned the discovery of path MTUs off (`ip_no_pmtu_disc`), and fragments stay as they are.
pub fn refuse_fragments(socket: BorrowedFd<'_>) -> bool {
    option(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER) == Some(libc::IP_PMTUDISC_WANT)
        && set(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &libc::IP_PMTUDISC_DO).is_ok()
}

/// The opposite of [`refuse_fragments`].
pub fn send_fragments(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &libc::IP_PMTUDISC_WANT)
}

/// Has the kernel join datagrams of the same peer and length that arrive behind each other.
pub fn receive_trains(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(&socket, libc::SOL_UDP, libc::UDP_GRO, &1i32)
}

/// Whether [`receive_trains`] was called on the socket, by whatever process.
pub fn receives_trains(socket: BorrowedFd<'_>) -> bool {
    option(socket, libc::SOL_UDP, libc::UDP_GRO).is_some_and(|value| value != 0)
}

/// A pipe of `bytes`, or of as many as the kernel allows, with its reading end first.
pub fn pipe(bytes: usize) -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel writes two descriptors into an array of two.
    check(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK | libc::O_CLOEXEC) })?;
    let (read, write) = (owned(ends[0])?, owned(ends[1])?);
    // If the kernel refuses the size, the pipe keeps its own: to give the pipe back would cost four calls at each try.
    // SAFETY: no pointers.
    let _ = unsafe { libc::fcntl(write.as_raw_fd(), libc::F_SETPIPE_SZ, bytes as libc::c_int) };
    Ok((read, write))
}

/// Sends, and has the kernel hold back the last segment for what follows at once.
pub fn send_before_more(stream: &TcpStream, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    // SAFETY: all zeros is a message of nothing to nobody in particular.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    // An IoSlice is an iovec by the standard library's word; the kernel only reads it.
    message.msg_iov = pieces.as_ptr().cast_mut().cast();
    message.msg_iovlen = pieces.len() as _;
    // SAFETY: `message` and the pieces it names outlive the call.
    let sent = unsafe { libc::sendmsg(stream.as_raw_fd(), &message, libc::MSG_MORE | libc::MSG_NOSIGNAL) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Has the kernel hold back what does not fill a segment: until [`push`], a shutdown, or 200 ms have passed.
pub fn cork(stream: &TcpStream) -> io::Result<()> {
    set(stream, libc::IPPROTO_TCP, libc::TCP_CORK, &1i32)
}

/// Sends what [`send_before_more`] or [`cork`] held back.
pub fn push(stream: &TcpStream) -> io::Result<()> {
    // Uncorking pushes, corked or not, and leaves Nagle's algorithm as it is.
    set(stream, libc::IPPROTO_TCP, libc::TCP_CORK, &0i32)
}

/// Moves up to `bytes` between a socket and a pipe, whichever way; waits for neither.
pub fn splice(from: RawFd, to: RawFd, bytes: usize) -> io::Result<usize> {
    let flags = libc::SPLICE_F_MOVE | libc::SPLICE_F_NONBLOCK;
    // SAFETY: null offsets are what the kernel expects of sockets and pipes.
    let moved = unsafe { libc::splice(from, std::ptr::null_mut(), to, std::ptr::null_mut(), bytes, flags) };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

/// Puts pages of this process into a pipe, not copies of them. Whoever reads the pipe, and the network behind it, sees
/// what the pages have when they are read: nobody may change them until then, and nothing tells when that is. So the memory
/// is of a [mapping](crate::lasting) which is never used for anything else.
pub fn lend(pipe: RawFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    // SAFETY: `IoSlice` has the layout of `iovec`, and `pieces` lives for the call. The kernel holds the pages afterwards.
    let lent = unsafe { libc::vmsplice(pipe, pieces.as_ptr().cast(), pieces.len(), libc::SPLICE_F_NONBLOCK) };
    if lent < 0 { Err(io::Error::last_os_error()) } else { Ok(lent as usize) }
}

/// Bytes that were sent and that the peer has not acknowledged.
pub fn unacknowledged_bytes(stream: &TcpStream) -> io::Result<usize> {
    let mut bytes = 0i32;
    // SAFETY: the kernel writes one `int`, which outlives the call.
    check(unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut bytes) })?;
    Ok(usize::try_from(bytes).unwrap_or_default())
}

/// Drops up to `bytes` of the received bytes, without a copy by the kernel; 0: the peer has ended.
pub fn discard(stream: &TcpStream, bytes: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC TCP writes to no buffer (tcp(7)).
    let dropped = unsafe { libc::recv(stream.as_raw_fd(), std::ptr::null_mut(), bytes, libc::MSG_TRUNC) };
    usize::try_from(dropped).map_err(|_| io::Error::last_os_error())
}

/// Makes the next close a reset.
pub fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    set(stream, libc::SOL_SOCKET, libc::SO_LINGER, &libc::linger { l_onoff: 1, l_linger: 0 })
}

/// Has [`accept`] return a new connection only when its first bytes are there, or after about a second.
pub fn set_defer_accept(listener: &TcpListener, on: bool) -> io::Result<()> {
    set(listener, libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT, &i32::from(on))
}

pub fn set_nodelay(socket: &impl AsRawFd, on: bool) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, &i32::from(on))
}

/// Probes a peer that has been silent for `idle_s` seconds; 0 turns probing off.
pub fn set_keepalive(socket: &impl AsRawFd, idle_s: u32) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_KEEPALIVE, &i32::from(idle_s > 0))?;
    if idle_s > 0 {
        // The kernel's own bound on TCP_KEEPIDLE is 32767.
        set(socket, libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, &(idle_s.min(32_767) as i32))?;
    }
    Ok(())
}

fn set<T>(socket: &impl AsRawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is `len` bytes long, and the kernel only reads it.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const *value).cast(), len) })
}

/// The begin of the kernel's `struct tcp_info` of a connection, in words. What an older kernel does not have is 0.
pub fn tcp_info<const WORDS: usize>(stream: &TcpStream) -> io::Result<[u32; WORDS]> {
    let mut words = [0u32; WORDS];
    let mut len = size_of::<[u32; WORDS]>() as libc::socklen_t;
    let at = words.as_mut_ptr().cast();
    // SAFETY: `words` has room for `len` bytes, and both outlive the call.
    check(unsafe { libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, at, &mut len) })?;
    Ok(words)
}

/// What an error says about a peer.
pub fn gone(err: &io::Error) -> Gone {
    match err.raw_os_error() {
        Some(libc::ECONNREFUSED) => Gone::Refused,
        Some(libc::ECONNRESET | libc::EPIPE | libc::ECONNABORTED) => Gone::Reset,
        Some(libc::ETIMEDOUT | libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EHOSTDOWN | libc::ENETDOWN) => {
            Gone::Unreachable
        }
        _ => Gone::Local,
    }
}

fn check(outcome: i32) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn owned(fd: i32) -> io::Result<OwnedFd> {
    check(fd)?;
    // SAFETY: `fd` was just returned by the kernel, is open, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Whether `fd` is a listening socket.
pub fn is_listening(fd: BorrowedFd<'_>) -> bool {
    option(fd, libc::SOL_SOCKET, libc::SO_ACCEPTCONN) == Some(1)
}

/// Whether `fd` is a TCP socket with a port that neither listens nor is connected: its owner may have it listen later.
pub fn can_listen(fd: BorrowedFd<'_>) -> bool {
    /// The kernel's `TCP_CLOSE`.
    const CLOSED: u8 = 7;
    // The state is the first byte of the kernel's `struct tcp_info`.
    let state = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO).map(|begin| begin.to_ne_bytes()[0]);
    state == Some(CLOSED) && bound_to(fd).is_ok_and(|at| at.port() != 0)
}

/// `None`: the descriptor has no such option.
fn option(fd: BorrowedFd<'_>, level: i32, name: i32) -> Option<i32> {
    let mut value = 0i32;
    let mut len = size_of::<i32>() as libc::socklen_t;
    let at = (&raw mut value).cast();
    // SAFETY: `value` has room for `len` bytes, and both outlive the call.
    let asked = unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, at, &mut len) };
    (asked == 0).then_some(value)
}

pub fn address(storage: &libc::sockaddr_storage) -> io::Result<SocketAddr> {
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the storage holds a `sockaddr_in`, which is smaller and no stricter aligned.
            let v4 = unsafe { &*(&raw const *storage).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Ok(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above, for `sockaddr_in6`.
            let v6 = unsafe { &*(&raw const *storage).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Ok(SocketAddrV6::new(ip, u16::from_be(v6.sin6_port), v6.sin6_flowinfo, v6.sin6_scope_id).into())
        }
        _ => Err(io::Error::from_raw_os_error(libc::EAFNOSUPPORT)),
    }
}

pub fn raw(address: &SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: all zeroes is a valid `sockaddr_storage`.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let at = &raw mut storage;
    let len = match address {
        SocketAddr::V4(v4) => {
            let value = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                sin_zero: [0; 8],
            };
            // SAFETY: a `sockaddr_storage` has room and alignment for every kind of address.
            unsafe { at.cast::<libc::sockaddr_in>().write(value) };
            size_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let value = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: as above.
            unsafe { at.cast::<libc::sockaddr_in6>().write(value) };
            size_of::<libc::sockaddr_in6>()
        }
    };
    (storage, len as libc::socklen_t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_address_reads_back() {
        for text in ["127.0.0.1:80", "[2001:db8::7]:8443", "255.1.2.3:65535"] {
            let address: SocketAddr = text.parse().unwrap();
            assert_eq!(self::address(&raw(&address).0).unwrap(), address);
        }
    }

    #[test]
    fn pipe_is_taken_as_the_kernel_gives_it() {
        use std::{
            fs::File,
            io::{Read, Write},
        };
        let more_than_any_user_may_have = usize::MAX;
        let (read, write) = pipe(more_than_any_user_may_have).unwrap();
        File::from(write).write_all(b"through").unwrap();
        let mut got = String::new();
        File::from(read).read_to_string(&mut got).unwrap();
        assert_eq!(got, "through");
    }

    #[test]
    fn tells_listening_socket_from_others() {
        use std::os::fd::AsFd;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = open(&listener.local_addr().unwrap(), None).unwrap();
        assert!(is_listening(listener.as_fd()));
        assert!(!is_listening(stream.as_fd()));
    }

    #[test]
    fn silent_servers_are_probed() {
        use std::os::fd::AsFd;
        let stream = open(&"127.0.0.1:80".parse().unwrap(), None).unwrap();
        let tcp = |name| option(stream.as_fd(), libc::IPPROTO_TCP, name);
        assert_eq!(option(stream.as_fd(), libc::SOL_SOCKET, libc::SO_KEEPALIVE), Some(1));
        let probes = [libc::TCP_KEEPIDLE, libc::TCP_KEEPINTVL, libc::TCP_KEEPCNT].map(tcp);
        assert_eq!(probes, [60, 10, 6].map(Some));
    }

    #[test]
    fn connects_from_named_source_address() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let stream = open(&to, Some("127.0.0.9".parse().unwrap())).unwrap();
        connect(&stream, &to).unwrap();
        let (_, peer) = accept(&listener).unwrap();
        assert_eq!(peer.ip().to_string(), "127.0.0.9");
    }
}
