//! Sending of [lasting](crate::lasting) memory: the network gets its pages, and no copies. 100 KB cost two thirds of what
//! they cost copied.

use std::io::{self, ErrorKind, IoSlice};

use crate::{
    output::{PIECES_FEW, PIECES_MAX, write_up_to},
    pipe::{Pipe, Pipes},
    slot::Slot,
    socket,
};

/// What is to be sent next of a queue that has lasting pieces.
pub(crate) enum Next {
    /// So many pieces at the front, which last.
    Lasting(usize),
    /// So many pieces at the front, before others that last.
    Before(usize),
}

/// `None`: nothing that is queued lasts, or it is not worth it.
#[inline]
pub(crate) fn next(slot: &Slot) -> Option<Next> {
    if slot.queue.len() <= PIECES_FEW { None } else { next_of_many(slot) }
}

fn next_of_many(slot: &Slot) -> Option<Next> {
    let mut pieces = slot.queue.iter().take(PIECES_MAX);
    match pieces.position(|piece| piece.is_lasting())? {
        0 => Some(Next::Lasting(1 + pieces.take_while(|piece| piece.is_lasting()).count())),
        before => Some(Next::Before(before)),
    }
}

/// Returns how much of how much was sent.
pub(crate) fn send(slot: &Slot, next: Next, pipes: &mut Pipes) -> io::Result<(usize, usize)> {
    let Some(stream) = &slot.stream else { return Err(ErrorKind::WouldBlock.into()) };
    let (Next::Lasting(count) | Next::Before(count)) = next;
    let mut pieces = [IoSlice::new(&[]); PIECES_MAX];
    let filled = pieces.iter_mut().zip(slot.queue.iter().take(count)).map(|(piece, buf)| *piece = IoSlice::new(buf));
    let pieces = {
        let filled = filled.count();
        &pieces[..filled]
    };
    let bytes = pieces.iter().map(|piece| piece.len()).sum();
    if let Next::Before(_) = next {
        return Ok((socket::send_before_more(stream, pieces)?, bytes));
    }
    let Some((mut pipe, lent)) = lend(pieces, pipes) else { return Ok((write_up_to(slot, bytes)?, bytes)) };
    let mut sent = 0;
    let end = loop {
        if pipe.held == 0 {
            break Ok(sent);
        }
        match pipe.drain(stream) {
            Ok(moved) => sent += moved,
            Err(err) if err.kind() == ErrorKind::Interrupted => {}
            Err(err) => break if sent == 0 { Err(err) } else { Ok(sent) },
        }
    };
    // With what the socket has not taken, the pipe goes: it is lent again when there is room.
    pipes.put_back(pipe);
    Ok((end?, lent))
}

/// A pipe with these pieces, as far as it takes them. `None`: there is none, or the kernel does not do that here.
fn lend(pieces: &[IoSlice<'_>], pipes: &mut Pipes) -> Option<(Pipe, usize)> {
    let mut pipe = pipes.take()?;
    match pipe.lend(pieces) {
        Ok(lent) => Some((pipe, lent)),
        Err(_) => {
            pipes.put_back(pipe);
            None
        }
    }
}
