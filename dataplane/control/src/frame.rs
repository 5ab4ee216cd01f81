//! Frames on the unix socket: a 4-byte big-endian length, one protobuf message, and descriptors as ancillary data.

use std::{
    io::{ErrorKind, Read},
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::Instant,
};

use prost::Message;
use weir_reactor::unix;

use crate::Error;

/// A longer frame is refused before memory is allocated for it.
pub const BYTES_MAX: usize = 64 * 1024 * 1024;

const HEADER_BYTES: usize = 4;

/// The maximum of a first frame, including fields that later agents may add to their greeting.
const FIRST_BYTES_MAX: usize = 1024;

/// Reads one frame; blocks until it is complete.
pub fn read<M: Message + Default>(stream: &UnixStream) -> Result<(M, Vec<OwnedFd>), Error> {
    let mut fds = Vec::new();
    let mut header = [0; HEADER_BYTES];
    fill(stream, &mut header, &mut fds)?;
    let bytes = u32::from_be_bytes(header) as usize;
    if bytes > BYTES_MAX {
        return Err(Error::FrameTooLong { bytes, most: BYTES_MAX });
    }
    let mut body = vec![0; bytes];
    fill(stream, &mut body, &mut fds)?;
    let message = M::decode(&*body).map_err(|why| Error::BadFrame(why.to_string()))?;
    Ok((message, fds))
}

/// Reads the first frame of an unknown peer: a short one, complete by `until`. Closes descriptors that come with it.
pub fn read_first<M: Message + Default>(stream: &UnixStream, until: Instant) -> Result<M, Error> {
    let mut frame = [0; HEADER_BYTES + FIRST_BYTES_MAX];
    let (header, body) = frame.split_at_mut(HEADER_BYTES);
    fill_until(stream, header, until)?;
    let bytes = header.iter().fold(0, |bytes, byte| bytes << 8 | usize::from(*byte));
    let body = body.get_mut(..bytes).ok_or(Error::FrameTooLong { bytes, most: FIRST_BYTES_MAX })?;
    fill_until(stream, body, until)?;
    stream.set_read_timeout(None)?;
    M::decode(&*body).map_err(|why| Error::BadFrame(why.to_string()))
}

fn fill_until(mut stream: &UnixStream, mut room: &mut [u8], until: Instant) -> Result<(), Error> {
    while !room.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Error::Silent);
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(room) {
            Ok(0) => return Err(Error::Closed),
            Ok(len) => room = &mut room[len..],
            Err(err) if matches!(err.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(err) => return Err(err.into()),
        }
    }
    Ok(())
}

fn fill(stream: &UnixStream, mut room: &mut [u8], fds: &mut Vec<OwnedFd>) -> Result<(), Error> {
    while !room.is_empty() {
        match unix::receive(stream, room, fds) {
            Ok(0) => return Err(Error::Closed),
            Ok(len) => room = &mut room[len..],
            Err(err) if err.kind() == std::io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err.into()),
        }
    }
    Ok(())
}

/// Writes one frame with `fds` as ancillary data (at most [`unix::FDS_MAX`]).
pub fn write(stream: &UnixStream, message: &impl Message, fds: &[BorrowedFd<'_>]) -> Result<(), Error> {
    let bytes = message.encoded_len();
    if bytes > BYTES_MAX {
        return Err(Error::FrameTooLong { bytes, most: BYTES_MAX });
    }
    let mut frame = Vec::with_capacity(HEADER_BYTES + bytes);
    frame.extend_from_slice(&(bytes as u32).to_be_bytes());
    message.encode_raw(&mut frame);
    let mut sent = unix::send(stream, &frame, fds)?;
    while sent < frame.len() {
        sent += unix::send(stream, &frame[sent..], &[])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::fd::AsFd};

    use weir_api::dataplane::v1::{Drain, ToDataplane, to_dataplane::Frame};

    use super::*;

    fn drain(timeout_ms: u32) -> ToDataplane {
        ToDataplane { frame: Some(Frame::Drain(Drain { timeout_ms })) }
    }

    #[test]
    fn each_frame_comes_with_its_own_descriptors() {
        let (here, there) = UnixStream::pair().unwrap();
        write(&here, &drain(1), &[here.as_fd(), there.as_fd()]).unwrap();
        write(&here, &drain(2), &[here.as_fd()]).unwrap();
        write(&here, &drain(3), &[]).unwrap();
        let read = || read::<ToDataplane>(&there).map(|(message, fds)| (message, fds.len())).unwrap();
        assert_eq!([read(), read(), read()], [(drain(1), 2), (drain(2), 1), (drain(3), 0)]);
    }

    #[test]
    fn refuses_frame_that_is_too_long_before_reading_it() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&u32::MAX.to_be_bytes()).unwrap();
        assert!(matches!(read::<ToDataplane>(&there), Err(Error::FrameTooLong { .. })));
    }

    #[test]
    fn refuses_garbage_and_detects_a_cut_frame() {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(b"\0\0\0\x03\xff\xff\xff\0\0\0\x09cut").unwrap();
        drop(here);
        assert!(matches!(read::<ToDataplane>(&there), Err(Error::BadFrame(_))));
        assert!(matches!(read::<ToDataplane>(&there), Err(Error::Closed)));
    }
}
