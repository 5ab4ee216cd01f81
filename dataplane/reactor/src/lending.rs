//! Sending of [lasting](crate::lasting) memory: the network gets its pages, and no copies. To a client that has received
//! what was sent before, 100 KB cost two thirds of what they cost copied.

use std::{
    io::{self, ErrorKind, IoSlice},
    net::TcpStream,
};

use weir_proxy::buf::Buf;

use crate::{
    pipe::{Pipe, Pipes},
    slot::{PIECES_FEW, PIECES_MAX, Slot},
    socket,
};

/// What is to be sent next of a queue that has lasting pieces: so many pieces at the front, with so many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    pieces: usize,
    pub bytes: usize,
    /// They last, or stand before others that last.
    last: bool,
}

/// Less is copied sooner than it is lent.
const LENT_BYTES_LEAST: usize = 48 * 1024;
/// What the peer may still have to receive. Where that is more, the socket takes a part of what it is lent, and lending of
/// the rest was in vain.
const UNACKNOWLEDGED_BYTES_MAX: usize = 16 * 1024;

/// `None`: nothing that is queued lasts, or it is not worth it.
#[inline]
pub(crate) fn next(slot: &Slot) -> Option<Next> {
    if slot.queue.len() <= PIECES_FEW || slot.queued_bytes < LENT_BYTES_LEAST { None } else { next_of_many(slot) }
}

fn next_of_many(slot: &Slot) -> Option<Next> {
    let (mut before, mut lasting) = (Next::none(false), Next::none(true));
    for piece in slot.queue.iter().take(PIECES_MAX) {
        match piece.is_lasting() {
            true => lasting.add(piece),
            false if lasting.pieces == 0 => before.add(piece),
            false => break,
        }
    }
    if lasting.pieces <= PIECES_FEW || lasting.bytes < LENT_BYTES_LEAST {
        return None;
    }
    let unacknowledged = slot.stream.as_ref().and_then(|stream| socket::unacknowledged_bytes(stream).ok())?;
    let next = if before.pieces == 0 { lasting } else { before };
    (unacknowledged <= UNACKNOWLEDGED_BYTES_MAX).then_some(next)
}

impl Next {
    fn none(last: bool) -> Self {
        Self { pieces: 0, bytes: 0, last }
    }

    fn add(&mut self, piece: &Buf) {
        self.pieces += 1;
        self.bytes += piece.len();
    }
}

/// Returns how much of how much was sent. `None`: no pipe takes all of it.
pub(crate) fn send(slot: &Slot, next: Next, pipes: &mut Pipes) -> Option<io::Result<(usize, usize)>> {
    let Some(stream) = &slot.stream else { return Some(Err(ErrorKind::WouldBlock.into())) };
    let mut pieces = [IoSlice::new(&[]); PIECES_MAX];
    pieces.iter_mut().zip(&slot.queue).take(next.pieces).for_each(|(piece, buf)| *piece = IoSlice::new(buf));
    let pieces = &pieces[..next.pieces];
    let sent = match next.last {
        true => give(lend(pieces, next.bytes, pipes)?, stream, pipes),
        false => socket::send_before_more(stream, pieces),
    };
    Some(sent.map(|sent| (sent, next.bytes)))
}

/// Moves what is in the pipe into the socket. With what the socket does not take, the pipe goes.
fn give(mut pipe: Pipe, stream: &TcpStream, pipes: &mut Pipes) -> io::Result<usize> {
    let mut sent = 0;
    while pipe.held > 0 {
        match pipe.drain(stream) {
            Ok(moved) => sent += moved,
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            Err(err) if sent == 0 => return Err(err),
            Err(_) => break,
        }
    }
    pipes.put_back(pipe);
    Ok(sent)
}

/// A pipe with these pieces, which have so many bytes. `None`: there is none that takes all of them.
fn lend(pieces: &[IoSlice<'_>], bytes: usize, pipes: &mut Pipes) -> Option<Pipe> {
    let mut pipe = pipes.take()?;
    if pipe.lend(pieces).is_ok_and(|lent| lent == bytes) {
        return Some(pipe);
    }
    pipes.put_back(pipe);
    None
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::lasting;

    const PIECE_BYTES: usize = 16 * 1024;

    fn slot(queue: Vec<Buf>) -> (Slot, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let peer = TcpStream::connect(listener.local_addr().expect("its address")).expect("a peer");
        let (stream, _) = listener.accept().expect("our end");
        let queued_bytes = queue.iter().map(|piece| piece.len()).sum();
        (Slot { stream: Some(stream), queue: queue.into(), queued_bytes, ..Slot::new() }, peer)
    }

    /// A head, and so many lasting pieces of one length.
    fn answer(pieces: usize, bytes: usize) -> Vec<Buf> {
        let mut whole = lasting::of(&vec![vec![7; bytes]; pieces]).expect("a mapping");
        let pieces = (0..pieces).map(|_| whole.split_to(bytes));
        [Buf::from_vec(vec![1; 300])].into_iter().chain(pieces).collect()
    }

    #[test]
    fn content_is_lent_behind_its_head_and_small_pieces_are_not() {
        let mut pipes = Pipes::new(1);
        let (mut slot, _peer) = slot(answer(6, PIECE_BYTES));
        assert_eq!(next(&slot), Some(Next { pieces: 1, bytes: 300, last: false }));
        slot.queue.pop_front();
        let all = Next { pieces: 6, bytes: 6 * PIECE_BYTES, last: true };
        assert_eq!(next(&slot), Some(all));
        let sent = send(&slot, all, &mut pipes).expect("a pipe").expect("a peer");
        assert_eq!(sent, (6 * PIECE_BYTES, 6 * PIECE_BYTES));
        assert!(next(&slot).is_none(), "the peer has not received that");
        let (slot, _peer) = self::slot(answer(PIECES_FEW, PIECE_BYTES));
        assert!(next(&slot).is_none(), "behind their head, these pieces would be copied");
        // Frames of HTTP/2, and ranges of one byte that were asked for together.
        for (answers, bytes) in [(8, PIECE_BYTES), (60, 1), (3, 3 * PIECE_BYTES - 1)] {
            let (slot, _peer) = self::slot((0..answers).flat_map(|_| answer(1, bytes)).collect());
            assert!(next(&slot).is_none(), "{answers} answers of {bytes} bytes");
        }
    }

    #[test]
    fn what_a_pipe_does_not_take_as_a_whole_is_copied() {
        let pieces = answer(4, PIECE_BYTES);
        let pieces: Vec<_> = pieces[1..].iter().map(|piece| IoSlice::new(piece)).collect();
        let bytes = 4 * PIECE_BYTES;
        assert_eq!(lend(&pieces, bytes, &mut Pipes::new(1)).map(|pipe| pipe.held), Some(bytes));
        assert!(lend(&pieces, bytes, &mut Pipes::of_one(4096)).is_none());
        assert!(lend(&pieces, bytes, &mut Pipes::new(0)).is_none());
    }
}
