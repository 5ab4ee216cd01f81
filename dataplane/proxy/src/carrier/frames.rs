//! Frames on their way out. Small ones share a buffer; large content goes as it is.

use weir_wire::{head::Overflow, http2::Connection};

use crate::{buf::Buf, carrier::Outbox, io::Io};

/// Content of at most so many bytes is copied behind the header of its frame: a piece of its own would cost more.
const COPIED_BYTES: usize = 2048;

#[derive(Default)]
pub(crate) struct Frames {
    done: Vec<Buf>,
    open: Option<Buf>,
}

impl Frames {
    /// How many pieces they take.
    pub fn pieces(&self) -> usize {
        self.done.len() + usize::from(self.open.is_some())
    }

    /// Takes the control frames out of `control`.
    pub fn control<I: Io>(&mut self, io: &mut I, control: &mut Vec<u8>) {
        self.append(io, control);
        control.clear();
    }

    pub fn append<I: Io>(&mut self, io: &mut I, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.room(io, bytes.len()).append(bytes);
        }
    }

    pub fn head<I: Io>(
        &mut self,
        io: &mut I,
        connection: &mut Connection<Outbox>,
        id: u32,
        is_last: bool,
        block: &[u8],
    ) -> Result<(), Overflow> {
        let out = self.room(io, block.len() + connection.overhead(block.len()));
        let written = connection.write_head(out.room(), id, is_last, |space| {
            space.get_mut(..block.len()).ok_or(Overflow)?.copy_from_slice(block);
            Ok::<_, Overflow>(block.len())
        })?;
        out.filled(written);
        Ok(())
    }

    pub fn data<I: Io>(&mut self, io: &mut I, header: &[u8], content: Buf) {
        if content.len() <= COPIED_BYTES {
            let out = self.room(io, header.len() + content.len());
            out.append(header);
            out.append(&content);
            return;
        }
        // A header must not cost a block of its own.
        if self.open.as_mut().is_none_or(|open| open.room().len() < header.len()) {
            self.close();
            self.open = Some(Buf::with_room(header.len()));
        }
        self.append(io, header);
        self.close();
        self.done.push(content);
    }

    /// The pieces in their order.
    pub fn end(mut self) -> Vec<Buf> {
        self.close();
        self.done
    }

    /// The open buffer, with room for so many bytes.
    fn room<I: Io>(&mut self, io: &mut I, bytes: usize) -> &mut Buf {
        if self.open.as_mut().is_some_and(|open| open.room().len() < bytes) {
            self.close();
        }
        self.open.get_or_insert_with(|| io.buffer_for(bytes))
    }

    fn close(&mut self) {
        self.done.extend(self.open.take());
    }
}
